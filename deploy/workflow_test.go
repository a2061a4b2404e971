package deploy

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/rhysd/actionlint"
)

// step is a step of Google Workflows, of which there is one kind each.
type step struct {
	Assign []map[string]any  `yaml:"assign"`
	Call   string            `yaml:"call"`
	Args   map[string]any    `yaml:"args"`
	Result string            `yaml:"result"`
	Return any               `yaml:"return"`
	Raise  string            `yaml:"raise"`
	Steps  []map[string]step `yaml:"steps"`
	Try    *step             `yaml:"try"`
	Except *struct {
		As    string            `yaml:"as"`
		Steps []map[string]step `yaml:"steps"`
	} `yaml:"except"`
}

// The workflow names the day once, runs the job for it, and fails with the outcome.
func TestWorkflowRetrainsForADay(t *testing.T) {
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
	if !slices.Equal(names, []string{"names", "retrain", "done"}) {
		t.Fatal(names)
	}
	run := steps["retrain"]
	if run.Try == nil || run.Try.Call != "googleapis.run.v1.namespaces.jobs.run" || run.Except == nil ||
		len(run.Except.Steps) != 2 || run.Except.Steps[1]["tell"].Raise == "" {
		t.Fatalf("%+v", run)
	}
	body := run.Try.Args["body"].(map[string]any)["overrides"].(map[string]any)["containerOverrides"].([]any)[0].(map[string]any)
	var args []string
	for _, a := range body["args"].([]any) {
		args = append(args, strings.ReplaceAll(a.(string), `${"--day=" + day}`, "--day=2026-11-20"))
	}
	cmd := parsed(t, "workflows/retrain.yaml", args)
	if cmd.Name() != "retrain" || cmd.Flags().Lookup("day").Value.String() != "2026-11-20" ||
		strings.Count(text, "sys.now()") != 1 {
		t.Errorf("%s for day %s", cmd.Name(), cmd.Flags().Lookup("day").Value)
	}
	// All variables of its environment are set.
	_, source := terraform(t)
	for _, m := range regexp.MustCompile(`sys\.get_env\("([A-Z_]+)"\)`).FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(m[1], "GOOGLE_CLOUD_") &&
			!strings.Contains(source["resource.google_workflows_workflow.retrain"], m[1]+" ") {
			t.Errorf("%s is not set", m[1])
		}
	}
	if !strings.Contains(source["resource.google_cloud_run_v2_job.retrain"],
		`mount_path = "`+path.Dir(cmd.Flags().Lookup("config").Value.String())+`"`) {
		t.Error("the flags are elsewhere")
	}
}

func TestWorkflowsRunTheMakefileTargets(t *testing.T) {
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
		if w.Permissions == nil || w.Permissions.Scopes["contents"] == nil || len(w.Permissions.Scopes) != 1 ||
			w.Permissions.Scopes["contents"].Value.Value != "read" {
			t.Errorf("%s may do more than read", e.Name())
		}
		for _, m := range regexp.MustCompile(`uses: (\S+)`).FindAllStringSubmatch(text, -1) {
			if !regexp.MustCompile(`^[\w-]+/[\w-]+@[0-9a-f]{40}$`).MatchString(m[1]) {
				t.Errorf("%s: %s is not pinned to a commit", e.Name(), m[1])
			}
		}
		if !strings.Contains(text, "go-version-file: go.mod") {
			t.Errorf("%s: the version of Go does not come from go.mod", e.Name())
		}
		var targets []string
		for _, m := range regexp.MustCompile(`target: \[(.*)\]|run: make ([\w-]+)`).FindAllStringSubmatch(text, -1) {
			targets = append(targets, strings.Split(m[1]+m[2], ", ")...)
		}
		makefile := read(t, "../Makefile")
		for _, target := range targets {
			if !regexp.MustCompile(`(?m)^` + target + `:`).MatchString(makefile) {
				t.Errorf("%s: make has no target %q", e.Name(), target)
			}
		}
		for _, want := range map[string][]string{
			"ci.yml":      {"check", "test", "race", "test-arm64"},
			"nightly.yml": {"fuzz", "vulnerabilities", "reproducible"},
			"release.yml": {"release"},
		}[e.Name()] {
			if !slices.Contains(targets, want) {
				t.Errorf("%s does not run make %s", e.Name(), want)
			}
		}
	}
}

// A release is built as `make build` builds, except for the version.
func TestReleasesAreBuiltAsMakeBuilds(t *testing.T) {
	var release struct {
		Builds []struct {
			Env, Flags, Tags, Ldflags, Goos, Goarch []string
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "../.goreleaser.yaml")), &release); err != nil || len(release.Builds) != 1 {
		t.Fatal(err, release)
	}
	b, makefile := release.Builds[0], read(t, "../Makefile")
	const version = " -X github.com/bochner-ml/bochner/pipelines/engine.version={{ .Version }}"
	ldflags := strings.TrimSuffix(strings.Join(b.Ldflags, " "), version)
	for _, want := range []string{
		"CGO_ENABLED = 0", "-tags=" + strings.Join(b.Tags, ","), "go build " + b.Flags[0] + " -ldflags='" + ldflags + "'",
	} {
		if !strings.Contains(makefile, want) {
			t.Errorf("the Makefile does not have %q", want)
		}
	}
	if !slices.Equal(b.Env, []string{"CGO_ENABLED=0"}) || len(b.Goos)*len(b.Goarch) != 6 {
		t.Errorf("%+v", b)
	}
}
