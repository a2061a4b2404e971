package main

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/registry"
)

// The command in a lineage trains the same model, for all ways to set its flags.
func TestLineageCommandTrainsTheSameModel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(2, 7))
	for _, name := range []string{"it's 1,2.csv", "b.csv"} {
		text := "x,\"a,b\",l\n"
		for range 100 {
			text += pointRow(r) + "\n"
		}
		write(t, dir, name, text)
	}
	write(t, dir, "flags.yaml", "label: l\ncolumns: [x, 'a,b']\nlambda: [1e-3, 1e-2]\nfeatures: 40\ntest: 0.2\n")
	command := func(model string) string {
		var l registry.Lineage
		if err := json.Unmarshal([]byte(read(t, dir, model, registry.LineageFile)), &l); err != nil {
			t.Fatal(err)
		}
		return l.Command
	}
	must(t, dir, "train", "it's 1,2.csv", "b.csv", "--config", "flags.yaml", "--search", "none", "--quiet", "--model", "m")
	said := command("m")
	sh := exec.Command("sh", "-c", `bochner() { "$BOCHNER" "$@" --quiet; }; `+said)
	own := program(dir)
	sh.Dir, sh.Env = dir, append(own.Environ(), "BOCHNER="+own.Path)
	if r := runCommand(t, sh); r.code != 0 {
		t.Fatalf("%s: exit code %d, %s", said, r.code, r.stderr)
	}
	for _, file := range []string{"manifest.json", "weights.safetensors", registry.LineageFile, "report.html"} {
		if read(t, dir, "m", file) != read(t, dir, "model", file) {
			t.Errorf("%s makes another %s", said, file)
		}
	}
	piped := program(dir, "train", "--data", "-", "--config", "flags.yaml", "--search", "none", "--quiet", "--model", "p")
	piped.Stdin = strings.NewReader(read(t, dir, "b.csv"))
	if r := runCommand(t, piped); r.code != 0 || !strings.Contains(command("p"), " --data=- ") {
		t.Errorf("exit code %d, %s: %s", r.code, r.stderr, command("p"))
	}
}

// Every job that makes a model writes its origin next to the manifest. Equal files have equal lineages, in any
// directory; other files with equal rows have another lineage, and an equal model.
func TestModelsHaveLineages(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(2, 7))
	text := "x,y,l\n"
	for range 200 {
		text += pointRow(r) + "\n"
	}
	lines := strings.SplitAfter(text, "\n")
	gone := lines[0] + strings.Join(lines[5:9], "")
	for name, content := range map[string]string{"a.csv": text, "b.csv": lines[0] + strings.Join(lines[101:], ""),
		"elsewhere/a.csv": text, "gone.csv": gone, "cut/1.csv": strings.Join(lines[:101], ""), "cut/2.csv": lines[0] +
			strings.Join(lines[101:], "")} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, dir, name, content)
	}
	lineage := func(model string) (l registry.Lineage) {
		t.Helper()
		text := read(t, dir, model, registry.LineageFile)
		if err := json.Unmarshal([]byte(text), &l); err != nil || strings.Contains(text, dir) ||
			strings.Contains(read(t, dir, model, "manifest.json"), registry.LineageFile) {
			t.Errorf("%s: %v %s", model, err, text)
		}
		return l
	}
	train := func(model string, flags ...string) {
		must(t, dir, append([]string{"train", "--model", model, "--quiet"}, flags...)...)
	}
	plain := []string{"--label", "l", "--features", "40", "--search", "none"}
	train("m1", append(plain, "--data", "a.csv")...)
	train("m2", append(plain, "--data", "elsewhere/a.csv", "--threads", "1")...)
	train("m3", append(plain, "--data", "cut/*")...)
	if a, b := read(t, dir, "m1", registry.LineageFile), read(t, dir, "m2", registry.LineageFile); a != b {
		t.Errorf("equal files elsewhere: %s\n%s", a, b)
	}
	if l := lineage("m3"); digestOf(t, filepath.Join(dir, "m3")) != digestOf(t, filepath.Join(dir, "m1")) ||
		len(l.Sources) != 1 || len(l.Sources[0].Files) != 2 || l.Recipe != "" {
		t.Errorf("files that are cut elsewhere: %+v", l)
	}
	if l := lineage("m1"); l.Program == "" || l.Sources[0].Files[0].Name != "a.csv" ||
		!strings.HasPrefix(l.Sources[0].Files[0].Version, "sha256:") {
		t.Errorf("%+v", l)
	}
	train("again", "--recipe", "m1", "--data", "b.csv")
	for part, data := range map[string]string{"1": "cut/1.csv", "2": "cut/2.csv"} {
		must(t, dir, "sum", "--recipe", "m1", "--data", data, "--out", "sums/"+part, "--quiet")
	}
	must(t, dir, "fit", "--sums", "sums/*", "--model", "fitted", "--quiet")
	must(t, dir, "forget", "--model", "fitted", "--sums", "sums/*", "--data", "gone.csv", "--out", "less", "--quiet")
	again, fitted, less := lineage("again"), lineage("fitted"), lineage("less")
	if again.Recipe != "m1" || again.RecipeSHA256 == "" || again.Sources[0].Files[0].Name != "b.csv" {
		t.Errorf("by a recipe: %+v", again)
	}
	if fitted.RecipeSHA256 != again.RecipeSHA256 || len(fitted.Sources) != 2 || fitted.Sources[1].Sums != "sums/2" ||
		fitted.Sources[1].Files[0].Name != "2.csv" || len(fitted.Forgotten) > 0 {
		t.Errorf("fitted to sums: %+v", fitted)
	}
	if less.Recipe != "fitted" || len(less.Sources) != 2 || len(less.Forgotten) != 1 {
		t.Errorf("without rows: %+v", less)
	}
	inspected(t, dir, "again", "made of   b.csv\n", "recipe    of m1\n")
	inspected(t, dir, "less", "made of   2 parts of the data with 2 files: 1, 2\n",
		"forgotten 1 set of rows, whose sums were subtracted\n", "recipe    of fitted\n")
}

func inspected(t *testing.T, dir, model string, words ...string) {
	t.Helper()
	text := must(t, dir, "inspect", "--model", model)
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%s: lacks %q\n%s", model, w, text)
		}
	}
}

// A lineage identifies the model that lent its weights, and the directory of learned features, by their
// content.
func TestLineagesNameParents(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "generate", "moons", "--rows", "200", "--noise", "0.2", "--out", "a.csv")
	must(t, dir, "align", "--data", "a.csv", "--label", "y", "--features", "8", "--align", "lkrf", "--out", "features",
		"--quiet")
	train := []string{"train", "--data", "a.csv", "--label", "y", "--kernel", "learned", "--frequencies", "features",
		"--learner", "sgd", "--lambda", "1e-3", "--rounds", "2", "--quiet"}
	must(t, dir, append(train, "--model", "m1")...)
	must(t, dir, append(train, "--model", "m2", "--init", "./m1/")...)
	digest := func(file string) string { return models.NewFileEntry("", []byte(read(t, dir, file))).SHA256 }
	m1, err := models.ReadManifest(t.Context(), filepath.Join(dir, "m1"))
	if err != nil {
		t.Fatal(err)
	}
	for model, init := range map[string]*registry.Parent{"m1": nil, "m2": {Name: "m1", SHA256: m1.SHA256}} {
		l, err := registry.ReadLineage(t.Context(), filepath.Join(dir, model))
		if err != nil || l == nil {
			t.Fatalf("%s: %v", model, err)
		}
		if d := cmp.Diff(init, l.Init); d != "" {
			t.Errorf("%s: %s", model, d)
		}
		if d := cmp.Diff(&registry.Parent{Name: "features", SHA256: digest("features/align.json")}, l.Features); d != "" {
			t.Errorf("%s: %s", model, d)
		}
	}
	inspected(t, dir, "m2", "follows   m1, its initial weights (", "follows   features, its learned features (")
}
