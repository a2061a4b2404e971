// Package deploy tests the files of this directory: the tools that take a file can read it, the
// program has every flag in them, and versions match go.mod. The package has only tests, in a
// module of its own, so that the program does not depend on parsers of Dockerfiles and manifests.
package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/bochner-ml/bochner/pipelines/command"
)

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// parsed fails the test unless the program takes the arguments, and returns the
// command that they name.
func parsed(t *testing.T, where string, args []string) *cobra.Command {
	t.Helper()
	root := command.Root()
	cmd, rest, err := root.Find(args)
	if err != nil || cmd == root {
		t.Fatalf("%s: bochner has no job %v", where, args)
	}
	for i, a := range rest { // as a launcher puts them in
		rest[i] = strings.ReplaceAll(a, "$(date -u +%Y-%m-%d)", "2026-01-05")
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Errorf("%s: %s: %v", where, strings.Join(args, " "), err)
	}
	return cmd
}

// parsedConfig fails the test unless --config of the command takes the text.
func parsedConfig(t *testing.T, where, job, text string) map[string]any {
	t.Helper()
	var config map[string]any
	if err := yaml.UnmarshalWithOptions([]byte(text), &config, yaml.Strict()); err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	cmd, _, err := command.Root().Find([]string{job})
	if err != nil {
		t.Fatal(err)
	}
	for name := range config {
		if cmd.Flags().Lookup(name) == nil {
			t.Errorf("%s: bochner %s has no flag --%s", where, job, name)
		}
	}
	if len(config) < 5 {
		t.Errorf("%s: %d flags", where, len(config))
	}
	return config
}

var (
	callOf   = regexp.MustCompile(`\bbochner (train|retrain|models|predict|evaluate|inspect|featurize|kernel|generate)\b([^|;&)\n]*)`)
	flagName = regexp.MustCompile(`(?:^|\s)--([a-z_]+)`)
)

// calls returns the calls of the program in a script or a text, and checks the
// names of their flags.
func calls(t *testing.T, name string) (n int) {
	t.Helper()
	text := strings.ReplaceAll(read(t, name), "\\\n", " ")
	text = regexp.MustCompile(`\$\([^)]*\)`).ReplaceAllString(text, "VALUE")
	for _, m := range callOf.FindAllStringSubmatch(text, -1) {
		cmd, _, err := command.Root().Find([]string{m[1]})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range flagName.FindAllStringSubmatch(m[2], -1) {
			n++
			if cmd.Flags().Lookup(f[1]) == nil {
				t.Errorf("%s: bochner %s has no flag --%s", name, m[1], f[1])
			}
		}
	}
	return n
}

func TestFlagsInDeployTextsExist(t *testing.T) {
	if n := calls(t, "README.md"); n < 20 {
		t.Errorf("README.md: %d flags found, want 20 at least", n)
	}
}

func TestRetrainConfigurationHasGatesAndNoDay(t *testing.T) {
	c := parsedConfig(t, "retrain.yaml", "retrain", read(t, "retrain.yaml"))
	if c["runner"] != "dataflow" || c["day"] != nil || c["gate"] == nil || c["paired_gate"] == nil {
		t.Errorf("%v: runner or gates; or a day, which the scheduler names", c)
	}
}

// Every file of this directory is in the list of tested files.
func TestEveryDeployFileHasATest(t *testing.T) {
	known := map[string]string{
		"Dockerfile": "dockerfile", "Dockerfile.dockerignore": "dockerfile", "retrain.yaml": "flags", "README.md": "flags",
		"dataflow/metadata.json": "template", "dataflow/build.sh": "template", "dataflow/run.sh": "template",
		"k8s/cronjob.yaml": "kubernetes", "k8s/alerts.yaml": "kubernetes", "k8s/stream.yaml": "kubernetes",
		"flink/session.yaml": "kubernetes", "flink/jobserver.yaml": "kubernetes", "flink/train.yaml": "kubernetes",
		"workflows/retrain.yaml": "workflow", "airflow/bochner_retrain.py": "airflow",
	}
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch ext := filepath.Ext(path); {
		case ext == ".go", ext == ".mod", ext == ".sum", path == "flink/README.md":
			return nil
		case ext == ".tf":
			known[path] = "terraform"
		}
		if known[path] == "" {
			t.Errorf("%s: no test reads it", path)
		} else if _, err := os.Stat(known[path] + "_test.go"); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
