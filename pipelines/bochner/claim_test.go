//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

// tries is how many times a race is run; make test-faults asks for more.
func tries(t *testing.T, short int) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("BOCHNER_TRIES"))
	if err != nil {
		return short
	}
	return n
}

// One of the concurrent runs that make the same output makes it whole, and the others end with one sentence,
// with any work directory.
func TestConcurrentRunsOverOneNameHaveOneWinner(t *testing.T) {
	campaign.Long(t)
	t.Parallel()
	dir := t.TempDir()
	for i := range 60 { // a directory of many files, which takes a while to publish
		write(t, dir, fmt.Sprintf("data-%02d.csv", i), replaced(quadrants(40), nil))
	}
	must(t, dir, slices.Concat([]string{"train", "--data", "data-00.csv", "--label", "y", "--model", "applied"},
		smallModel)...)
	jobs := map[string][]string{
		"out":   {"predict", "--model", "applied", "--data", "data-*.csv", "--out", "out"},
		"model": slices.Concat([]string{"train", "--data", "data-*.csv", "--label", "y", "--model", "model"}, smallModel),
		"codes": {"featurize", "--model", "applied", "--data", "data-*.csv", "--out", "codes"},
		"f.csv": {"generate", "friedman", "--rows", "20000", "--out", "f.csv"},
	}
	for out, args := range jobs {
		c := undisturbed(t, &chore{dir: dir, out: out, args: args})
		won, lost := 0, 0
		for try := range tries(t, 3) {
			var both []*started
			for i := range 2 {
				one := *c
				if out != "f.csv" {
					one.args = append(slices.Clone(args), "--work", fmt.Sprintf("work-%s-%d-%d", out, try, i))
				}
				both = append(both, one.start(t))
			}
			for _, s := range both {
				<-s.ended
				switch code, said := s.cmd.ProcessState.ExitCode(), s.stderr.String(); {
				case code == 0:
					won++
				case code == 3 && (strings.Contains(said, "claim "+out+": in use by another run, process ") ||
					strings.Contains(said, out+": already exists")):
					lost++
				default:
					t.Fatalf("%s: exit code %d\n%s", out, code, said)
				}
			}
			c.whole(t, out, c.made(t))
			if left := slices.DeleteFunc(entries(t, dir),
				func(n string) bool { return strings.HasPrefix(n, "data-") || n == "applied" }); len(left) > 0 {
				t.Fatalf("%s: left %q", out, left)
			}
		}
		if won != lost || won != tries(t, 3) {
			t.Errorf("%s: %d runs made it, %d ended with a sentence", out, won, lost)
		}
		t.Logf("%s: %d pairs of runs, %d made it, %d ended with code 3", out, won, won, lost)
	}
}

// A stopped run keeps its claim, and finishes when it continues.
func TestStoppedRunKeepsItsClaim(t *testing.T) {
	t.Parallel()
	c := predicting(t, choreData(t, someTenths))
	s := c.freeze(t, "state/*/*.done")
	r := runProgram(t, c.dir, append(slices.Clone(c.args), "--work", "elsewhere")...)
	if want := fmt.Sprintf("claim out: in use by another run, process %d on ", s.cmd.Process.Pid); r.code != 3 ||
		!strings.Contains(r.stderr, want) {
		t.Errorf("exit code %d, want 3 and %q\n%s", r.code, want, r.stderr)
	}
	if _, err := os.Stat(filepath.Join(c.dir, "elsewhere")); err == nil {
		t.Error("the second run has left its work directory")
	}
	s.cmd.Process.Signal(syscall.SIGCONT)
	<-s.ended
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the first run: exit code %d\n%s", code, s.stderr.String())
	}
	c.whole(t, "beside another run", c.made(t))
}
