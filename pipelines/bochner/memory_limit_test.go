//go:build linux

package main

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// With any limit of the address space, a training run that does not fit ends with one sentence: before it
// begins if that is certain, otherwise when memory runs out.
func TestTrainingBeyondItsAddressSpaceEndsWithOneSentence(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "generate", "moons", "--rows", "200", "--out", "data.csv")
	refused := false
	for limit := 1_500_000; limit <= 4_000_000; limit += 100_000 { // kB
		cmd := program(dir, "train", "--data", "data.csv", "--label", "y", "--features", "8192", "--lambda", "1e-6",
			"--model", "model")
		cmd.Args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -v %d && exec "$0" "$@"`, limit), cmd.Path},
			cmd.Args[1:]...)
		var err error
		if cmd.Path, err = exec.LookPath("sh"); err != nil {
			t.Fatal(err)
		}
		cmd.Env = append(cmd.Environ(), usualGC...)
		r := runCommand(t, cmd)
		last := r.stderr[strings.LastIndex(strings.TrimSuffix(r.stderr, "\n"), "\n")+1:]
		switch {
		case r.code == 3 && strings.Contains(last, "ulimit -v, less what a Go program reserves, allows"):
			refused = true
		case r.code == 7 && strings.HasPrefix(last, "bochner: out of memory: ") && !strings.Contains(r.stderr, "goroutine"):
			if !refused {
				t.Error("no smaller limit was refused before the training")
			}
			return
		case refused:
			t.Fatalf("%d kB: exit code %d\n%s", limit, r.code, r.stderr)
		}
	}
	t.Error("memory never ran out")
}
