package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/pipelines/registry"
)

// Every command that reads a model takes an alias, and reports the model that it stands for.
func TestModelsAreReadByAlias(t *testing.T) {
	dir := t.TempDir()
	train, all := filepath.Join(dir, "train.csv"), filepath.Join(dir, "models")
	must(t, "generate", "moons", "--rows", "300", "--out", train)
	for _, day := range []string{"2026-01-05", "2026-01-06"} {
		args := []string{"--data", train, "--label", "y", "--features", "32", "--lambda", "1e-4", "--search", "none",
			"--model", filepath.Join(all, day), "--quiet"}
		if day == "2026-01-06" {
			args = append(args, "--seed", "7")
		}
		must(t, append([]string{"train"}, args...)...)
	}
	code, _, stderr := execute("evaluate", "--model", all+"@champion", "--data", train)
	if code != 6 || !strings.Contains(stderr, "has no aliases yet") {
		t.Errorf("code %d: %s", code, stderr)
	}
	must(t, "models", "promote", "--models", all, "--model", "2026-01-05", "--why", "first")
	must(t, "models", "promote", "--models", all, "--model", filepath.Join(all, "2026-01-06"), "--expect", "2026-01-05")
	text := must(t, "models", "list", "--models", all)
	for _, want := range []string{"2026-01-05  previous  ridge    32        300   0.0001", "2026-01-06  champion  ridge"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nlacks %s", text, want)
		}
	}

	champion, ok := all+"@champion", filepath.Join(all, "2026-01-06")
	for _, args := range [][]string{
		{"evaluate", "--data", train},
		{"predict", "--data", train, "--out", filepath.Join(dir, "predictions")},
		{"featurize", "--data", train, "--out", filepath.Join(dir, "features")},
	} {
		code, _, stderr := execute(append(args, "--model", champion)...)
		if code != 0 || !strings.Contains(stderr, "note: "+champion+" is "+ok) {
			t.Errorf("%s: code %d: %s", args[0], code, stderr)
		}
	}
	if text := must(t, "inspect", "--model", champion); !strings.HasPrefix(text, "model     "+ok+", intact") {
		t.Error(text)
	}
	if text := must(t, "evaluate", "--model", champion, "--data", train, "--quiet"); !strings.HasPrefix(text,
		"model "+ok+"\n") {
		t.Error(text)
	}

	code, _, stderr = execute("models", "promote", "--models", all, "--model", "2026-01-05", "--expect", "2026-01-05")
	if code != 3 || !strings.Contains(stderr, "another process changed it") {
		t.Errorf("code %d: %s", code, stderr)
	}
	must(t, "models", "rollback", "--models", all, "--why", "complaints", "--who", "ann")
	var h registry.Events
	if err := json.Unmarshal([]byte(must(t, "models", "history", "--models", all, "--json", "--events", "2")),
		&h); err != nil {
		t.Fatal(err)
	}
	if e := h.Events; len(e) != 2 || e[0].By != "ann" || e[0].Why != "complaints" || e[0].To != "2026-01-05" ||
		e[0].Action != registry.RolledBack ||
		e[1].Command != "bochner models promote --models="+all+" --model="+ok+" --expect=2026-01-05" {
		t.Errorf("%+v", e)
	}
	for want, args := range map[string][]string{
		"--models is missing": {"list"}, "--model is missing: name a model of": {"promote", "--models", all},
		`unknown action "demote"`: {"demote"},
	} {
		if code, _, stderr := execute(append([]string{"models"}, args...)...); code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%v: code %d: %s", args, code, stderr)
		}
	}
	if err := os.RemoveAll(filepath.Join(all, "2026-01-05")); err != nil {
		t.Fatal(err)
	}
	code, _, stderr = execute("predict", "--model", champion, "--data", train, "--out", filepath.Join(dir, "more"))
	if code != 6 || !strings.Contains(stderr, "champion is the model 2026-01-05, which no longer exists") {
		t.Errorf("code %d: %s", code, stderr)
	}
}
