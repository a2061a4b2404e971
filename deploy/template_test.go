package deploy

import (
	"encoding/json"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/pipelines/command"
)

// parameter is one of metadata.json, with the fields that Dataflow knows.
type parameter struct {
	Name       string   `json:"name"`
	Label      string   `json:"label"`
	HelpText   string   `json:"helpText"`
	IsOptional bool     `json:"isOptional"`
	Regexes    []string `json:"regexes"`
	ParamType  string   `json:"paramType"`
}

func metadata(t *testing.T) []parameter {
	t.Helper()
	var m struct {
		Name        string      `json:"name"`
		Description string      `json:"description"`
		Parameters  []parameter `json:"parameters"`
	}
	dec := json.NewDecoder(strings.NewReader(read(t, "dataflow/metadata.json")))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil {
		t.Fatal(err)
	}
	if m.Name == "" || len(m.Description) < 20 {
		t.Errorf("%q, %q", m.Name, m.Description)
	}
	return m.Parameters
}

// Every parameter is a flag of a job that the parameter job may name.
func TestTemplateParametersAreFlags(t *testing.T) {
	examples := map[string]string{
		"job": "train", "data": "gs://b/train-*.csv", "label": "y", "label_files": "gs://b/l", "format": "csv",
		"model": "gs://b/m", "out": "gs://b/o", "work": "gs://b/w",
		"kernel": "gaussian", "features": "4096", "width": "median", "lambda": "1e-6,1e-5", "scale": "standard",
		"task": "regression", "seed": "7",
		"gate": "accuracy>=0.95", "max_bad_fraction": "0.01",
	}
	seen := map[string]bool{}
	var jobs []string
	for _, p := range metadata(t) {
		if seen[p.Name] || p.Label == "" || !strings.HasSuffix(p.HelpText, ".") || p.ParamType != "TEXT" {
			t.Errorf("%+v", p)
		}
		seen[p.Name] = true
		for _, expr := range p.Regexes {
			if ok, err := regexp.MatchString(expr, examples[p.Name]); err != nil || !ok {
				t.Errorf("%s: %s does not match %q (%v)", p.Name, expr, examples[p.Name], err)
			}
		}
		if p.Name == "job" {
			jobs = strings.Split(strings.Trim(p.Regexes[0], "^()$"), "|")
			continue
		}
		known := false
		for _, job := range jobs {
			cmd, _, err := command.Root().Find([]string{job})
			if err != nil || cmd.Name() != job {
				t.Fatalf("no job %s", job)
			}
			if f := cmd.Flags().Lookup(p.Name); f != nil {
				known = true
				if err := f.Value.Set(examples[p.Name]); err != nil {
					t.Errorf("%s --%s: %v", job, p.Name, err)
				}
			}
		}
		if !known {
			t.Errorf("%s is a flag of none of %v", p.Name, jobs)
		}
	}
	if len(jobs) != 5 || len(seen) != len(examples) {
		t.Errorf("jobs %v, parameters %v", jobs, seen)
	}
}

func TestTemplateScriptsUseDeclaredParameters(t *testing.T) {
	known := map[string]bool{}
	for _, p := range metadata(t) {
		known[p.Name] = true
	}
	run := read(t, "dataflow/run.sh")
	n := 0
	for _, m := range regexp.MustCompile(`--parameters "?([^"\s]+)"?`).FindAllStringSubmatch(run, -1) {
		for _, pair := range strings.Split(m[1], ",") {
			if name, _, _ := strings.Cut(pair, "="); !known[name] {
				t.Errorf("run.sh: no parameter %s", name)
			}
			n++
		}
	}
	if n != 4 {
		t.Errorf("run.sh has %d parameters", n)
	}
	build := read(t, "dataflow/build.sh")
	byName, _ := stages(t)
	for _, want := range []string{"--target template", "-f deploy/Dockerfile",
		"--metadata-file deploy/dataflow/metadata.json", "--sdk-language GO", "--platform linux/amd64"} {
		if !strings.Contains(build, want) {
			t.Errorf("build.sh has no %s", want)
		}
	}
	if _, ok := byName["template"]; !ok {
		t.Error("the Dockerfile has no target template")
	}
	for _, name := range []string{"dataflow/build.sh", "dataflow/run.sh"} {
		if out, err := exec.Command("sh", "-n", name).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
