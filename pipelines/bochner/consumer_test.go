package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// inModule runs the go command in dir, as a module of its own that requires this one, and
// returns what it prints.
func inModule(t *testing.T, dir, command string, args ...string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	module := regexp.MustCompile(`(?m)^module .*`).ReplaceAllString(read(t, root, "go.mod"), "module example.com/consumer")
	module = regexp.MustCompile(`(?ms)^tool \(.*?^\)`).ReplaceAllString(module, "")
	write(t, dir, "go.mod", module+"\nrequire github.com/bochner-ml/bochner v0.0.0\nreplace github.com/bochner-ml/bochner => "+root+"\n")
	write(t, dir, "go.sum", read(t, root, "go.sum"))
	cmd := exec.Command("go", append([]string{command, "-mod=mod"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOPROXY=off", "GOWORK=off")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", command, err, stderr.String())
	}
	return string(out)
}

// The programs of local/consumer are compiled in a module of their own, which has the
// public packages only, and run where nobody has heard of Beam.
func TestAModuleOfItsOwnTrainsLoadsAndPredicts(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"train", "score", "slices", "pipeline"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), "main.go", read(t, "../../local/consumer", name, "main.go"))
	}
	inModule(t, dir, "build", "-ldflags=-s -w", "-o", "bin/", "./...")
	start := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(filepath.Join(dir, "bin", name), args...)
		cmd.Dir = dir
		r := runCommand(t, cmd)
		if r.code != 0 || r.stderr != "" || strings.Count(r.stdout, "\n") != 1 {
			t.Fatalf("%s: exit code %d\n%s%s", name, r.code, r.stdout, r.stderr)
		}
		return strings.TrimSuffix(r.stdout, "\n")
	}
	must(t, dir, "generate", "moons", "--rows", "1000", "--out", "train.csv")
	must(t, dir, "generate", "moons", "--rows", "1000", "--seed", "2", "--out", "test.csv")
	if said := start("train", "train.csv", "test.csv", "model"); said < "accuracy 0.95" || said > "accuracy 1" {
		t.Errorf("said %q", said)
	}
	if said := start("slices"); said != "ridge 400 svm 400 sgd 400" {
		t.Errorf("said %q", said)
	}
	if said := start("pipeline", "model", "counts"); said != "-1: 100, 1: 100" {
		t.Errorf("said %q", said)
	}
	// A model is found by its directory or by its URI, and predicts what the command does.
	must(t, dir, "train", "--data", "train.csv", "--label", "y", "--features", "128", "--lambda", "1e-6", "--calibrate", "platt", "--model", "platt", "--quiet")
	must(t, dir, "predict", "--model", "platt", "--data", "test.csv", "--out", "predicted", "--probabilities", "--quiet")
	rows := strings.Split(read(t, dir, "test.csv"), "\n")
	header := strings.Split(rows[0], ",")
	want := strings.Split(read(t, dir, "predicted", "part-00000.csv"), "\n")
	for i := range 5 {
		fields, said := strings.Split(rows[i+1], ","), strings.Split(want[i+1], ",")
		args := []string{"platt", header[1] + "=" + fields[1], header[0] + "=" + fields[0]}
		p := said[1]
		if said[0] == "1" {
			p = said[2]
		}
		if got := start("score", args...); got != said[0]+" "+p {
			t.Errorf("row %s: %q, and the command predicts %q", rows[i+1], got, want[i+1])
		}
	}
	if r := runCommand(t, exec.Command(filepath.Join(dir, "bin", "score"), filepath.Join(dir, "none"))); r.code != 1 || !strings.HasSuffix(r.stdout, "none: train a model first\n") {
		t.Errorf("no model: %q", r.stdout)
	}
	if r := runCommand(t, exec.Command(filepath.Join(dir, "bin", "score"), "gs://bucket/model")); r.code != 1 || !strings.Contains(r.stdout, "a program that imports github.com/bochner-ml/bochner/io/storage/gcs knows it") {
		t.Errorf("no scheme: %q", r.stdout)
	}

	// A program that scores is small, and has nothing of Beam, of a cloud, or of a network.
	fi, err := os.Stat(filepath.Join(dir, "bin", "score"))
	if err != nil || fi.Size() > 12<<20 {
		t.Errorf("a program that scores has %d bytes, want at most 12 MB: %v", fi.Size(), err)
	}
	for _, dep := range strings.Fields(inModule(t, dir, "list", "-deps", "./score")) {
		for _, heavy := range []string{"github.com/apache/beam", "cloud.google.com", "google.golang.org", "go.opentelemetry.io", "github.com/spf13", "gonum.org/v1/plot", "net"} {
			if dep == heavy || strings.HasPrefix(dep, heavy+"/") {
				t.Errorf("a program that scores has %s", dep)
			}
		}
	}
}
