package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The programs of local/consumer are compiled in a module of their own, which has the
// public packages only, and run where nobody has heard of Beam.
func TestAModuleOfItsOwnTrainsLoadsAndPredicts(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	module := read(t, root, "go.mod")
	module = regexp.MustCompile(`(?m)^module .*`).ReplaceAllString(module, "module example.com/consumer")
	module = regexp.MustCompile(`(?ms)^tool \(.*?^\)`).ReplaceAllString(module, "")
	module += "\nrequire github.com/bochner-ml/bochner v0.0.0\nreplace github.com/bochner-ml/bochner => " + root + "\n"
	write(t, dir, "go.mod", module)
	write(t, dir, "go.sum", read(t, root, "go.sum"))
	for _, name := range []string{"train", "score"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), "main.go", read(t, root, "local", "consumer", name, "main.go"))
	}
	cmd := exec.Command("go", "build", "-mod=mod", "-ldflags=-s -w", "-o", dir+"/bin/", "./train", "./score")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOPROXY=off", "GOWORK=off", "GOFLAGS="+os.Getenv("GOFLAGS"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
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
	// The program predicts what the command does.
	must(t, dir, "predict", "--model", "model", "--data", "test.csv", "--out", "predicted")
	rows := strings.Split(read(t, dir, "test.csv"), "\n")[1:6]
	want := strings.Split(read(t, dir, "predicted", "part-00000.csv"), "\n")[1:6]
	for i, row := range rows {
		fields := strings.Split(row, ",")
		got := start("score", append([]string{"model"}, fields[:len(fields)-1]...)...)
		if first, _, _ := strings.Cut(want[i], ","); got != first {
			t.Errorf("row %s: class %s, and the command predicts %s", row, got, want[i])
		}
	}
}
