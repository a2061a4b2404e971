//go:build linux

package main

import (
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// strangersRows returns the program of examples/rows, with bytes at its end that tell its copies from others.
func strangersRows(t *testing.T, dir string, mark []byte) string {
	t.Helper()
	module, err := consumers()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "rows")
	if err := os.WriteFile(name, append([]byte(read(t, module, "bin", "together")), mark...), 0o777); err != nil {
		t.Fatal(err)
	}
	return name
}

// strangersPoints makes a model and points for examples/rows, and returns what it must write:
// the predictions of the command for the points, and the model of a training on them.
func strangersPoints(t *testing.T, dir string) (predictions, model string) {
	t.Helper()
	r := rand.New(rand.NewPCG(11, 4))
	for _, name := range []string{"first.csv", "points.csv"} {
		text := "x1,x2,y\n"
		for range 1500 {
			x, y := r.NormFloat64(), r.NormFloat64()
			text += fmt.Sprintf("%.5f,%.5f,%s\n", x, y, map[bool]string{true: "in", false: "out"}[x*x+y*y < 1.2])
		}
		write(t, dir, name, text)
	}
	must(t, dir, "train", "--data", "first.csv", "--label", "y", "--features", "64", "--search", "none", "--model",
		"model", "--quiet")
	must(t, dir, "train", "--recipe", "model", "--data", "points.csv", "--model", "again", "--quiet")
	must(t, dir, "predict", "--model", "model", "--data", "points.csv", "--out", "predicted", "--scores", "--quiet")
	lines, err := csv.NewReader(strings.NewReader(read(t, dir, "predicted", "part-00000.csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i, fields := range lines[1:] {
		want = append(want, fmt.Sprintf("%d %s [%s]\n", i, fields[0], strings.Join(fields[1:], " ")))
	}
	slices.Sort(want)
	return strings.Join(want, ""), digestOf(t, filepath.Join(dir, "again"))
}

// strangersDays returns what examples/rows made of three days: their scores, the digest of the recipe that
// it drew from all of them, and the digest of each day's model. It checks that the sums give the same
// model as a training run by the recipe.
func strangersDays(t *testing.T, dir, out string) string {
	t.Helper()
	lines := slices.Sorted(strings.Lines(read(t, dir, out, "scores")))
	all := strings.Join(append(lines, digestOf(t, filepath.Join(dir, out, "days", "recipe"))), "")
	for _, day := range []string{"20", "21", "22"} {
		all += " " + digestOf(t, filepath.Join(dir, out, "days", "models", "dt=2026-11-"+day))
	}
	if len(lines) != 3 {
		t.Errorf("%s: the scores are %v", out, lines)
	}
	must(t, dir, "fit", "--sums", filepath.Join(out, "days", "sums", "dt=*"), "--model", out+"-days", "--quiet")
	must(t, dir, "train", "--recipe", filepath.Join(out, "days", "recipe"), "--data", "points.csv", "--model", out+"-file",
		"--quiet")
	if digestOf(t, filepath.Join(dir, out+"-days")) != digestOf(t, filepath.Join(dir, out+"-file")) {
		t.Errorf("%s: the model of three days differs from bochner train --recipe", out)
	}
	return all
}

// A pipeline of another module, on rows of its own type from its own source, predicts and trains with the bytes
// of the command: on the direct runner, on prism with its worker in its own process, and with workers in other
// processes.
func TestPipelineOfAnotherModulePredictsAndTrains(t *testing.T) {
	c := newCluster(t)
	dir := t.TempDir()
	predictions, model := strangersPoints(t, dir)
	program := strangersRows(t, dir, c.mark)
	var days []string
	prism := []string{"--runner=universal", "--endpoint=" + c.endpoint}
	for name, flags := range map[string][]string{
		"direct":   {"--runner=direct"},
		"loopback": append(slices.Clone(prism), "--environment_type=LOOPBACK"),
		"workers": append(slices.Clone(prism), "--environment_type=EXTERNAL", "--environment_config="+c.pool,
			"--worker_binary="+program),
	} {
		cmd := exec.Command(program, append(flags, filepath.Join(dir, "model"), filepath.Join(dir, "points.csv"),
			filepath.Join(dir, name))...)
		cmd.Env = append(os.Environ(), "TMPDIR="+c.temp)
		r := runCommand(t, cmd)
		if r.code != 0 || strings.Count(r.stdout, "\n") != 1 {
			t.Fatalf("%s: exit code %d\n%s%s", name, r.code, r.stdout, r.stderr)
		}
		lines := slices.Sorted(strings.Lines(read(t, dir, name, "predictions")))
		if d := cmp.Diff(predictions, strings.Join(lines, "")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if digestOf(t, filepath.Join(dir, name, "models", "sums")) != model {
			t.Errorf("%s: the model differs from bochner train --recipe", name)
		}
		days = append(days, strangersDays(t, dir, name))
	}
	if d := cmp.Diff(days[0], days[1]) + cmp.Diff(days[0], days[2]); d != "" {
		t.Errorf("runners differ: %s", d)
	}
	left, _ := filepath.Glob(filepath.Join(c.temp, "beamloopbackworker-*")) // Beam's, in the loopback mode
	for _, name := range left {
		os.Remove(name)
	}
}
