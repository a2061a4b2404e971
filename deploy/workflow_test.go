package deploy

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/rhysd/actionlint"
)

// step is a step of Google Workflows, of which there is one kind each.
type step struct {
	Assign []map[string]any `yaml:"assign"`
	Call   string           `yaml:"call"`
	Args   map[string]any   `yaml:"args"`
	Result string           `yaml:"result"`
	Return any              `yaml:"return"`
}

// The pointer is written after the training, which fails if the gate is not passed.
func TestTheWorkflowPromotesWhatWasTrained(t *testing.T) {
	var w struct {
		Main struct {
			Params []string          `yaml:"params"`
			Steps  []map[string]step `yaml:"steps"`
		} `yaml:"main"`
	}
	text := read(t, "workflows/retrain.yaml")
	if err := yaml.UnmarshalWithOptions([]byte(text), &w, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	var names []string
	steps := map[string]step{}
	for _, s := range w.Main.Steps {
		for name, body := range s {
			names = append(names, name)
			steps[name] = body
		}
	}
	if !slices.Equal(names, []string{"names", "train_and_score", "promote", "done"}) {
		t.Fatal(names)
	}
	if steps["train_and_score"].Call != "googleapis.run.v1.namespaces.jobs.run" || steps["promote"].Call != "http.post" || !strings.Contains(text, "name: models/current") {
		t.Errorf("%+v", steps)
	}
	// What it uses is assigned, and what it takes from its environment is given.
	_, source := terraform(t)
	for _, m := range regexp.MustCompile(`sys\.get_env\("([A-Z_]+)"\)`).FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(m[1], "GOOGLE_CLOUD_") && !strings.Contains(source["resource.google_workflows_workflow.retrain"], m[1]+" ") {
			t.Errorf("%s is not set", m[1])
		}
	}
	if !strings.Contains(read(t, "retrain.sh"), "${DAY:-") || !strings.Contains(text, "name: DAY") {
		t.Error("the day of the workflow is not that of the script")
	}
}

func TestContinuousIntegration(t *testing.T) {
	const dir = "../.github/workflows"
	list, err := os.ReadDir(dir)
	if err != nil || len(list) == 0 {
		t.Fatalf("%d workflows: %v", len(list), err)
	}
	for _, e := range list {
		text := read(t, dir+"/"+e.Name())
		w, errs := actionlint.Parse([]byte(text))
		for _, err := range errs {
			t.Errorf("%s: %v", e.Name(), err)
		}
		linter, err := actionlint.NewLinter(&strings.Builder{}, &actionlint.LinterOptions{Shellcheck: "", Pyflakes: ""})
		if err != nil {
			t.Fatal(err)
		}
		found, err := linter.Lint(e.Name(), []byte(text), nil)
		if err != nil || len(found) > 0 {
			t.Errorf("%s: %v %v", e.Name(), err, found)
		}
		if w.Permissions == nil || w.Permissions.Scopes["contents"] == nil || len(w.Permissions.Scopes) != 1 || w.Permissions.Scopes["contents"].Value.Value != "read" {
			t.Errorf("%s may do more than read", e.Name())
		}
		for _, m := range regexp.MustCompile(`uses: (\S+)`).FindAllStringSubmatch(text, -1) {
			if !regexp.MustCompile(`^[\w-]+/[\w-]+@[0-9a-f]{40}$`).MatchString(m[1]) {
				t.Errorf("%s: %s is not pinned to a commit", e.Name(), m[1])
			}
		}
		if !strings.Contains(text, "go-version-file: go.mod") {
			t.Errorf("%s: the version of Go is not that of go.mod", e.Name())
		}
		targets := regexp.MustCompile(`target: \[(.*)\]`).FindStringSubmatch(text)
		if targets == nil {
			t.Fatal("no targets")
		}
		makefile := read(t, "../Makefile")
		for _, target := range strings.Split(targets[1], ", ") {
			if !regexp.MustCompile(`(?m)^` + target + `:`).MatchString(makefile) {
				t.Errorf("make has no target %s", target)
			}
		}
		for _, want := range []string{"check", "test", "race", "test-arm64"} {
			if !slices.Contains(strings.Split(targets[1], ", "), want) {
				t.Errorf("%s is not run", want)
			}
		}
	}
}
