package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

// With the planned limit the collector runs at most twice as often as without a limit, and 100 times. A plan
// that is too small for a part of a job shows as time instead of memory: to keep the process within it, the
// collector runs repeatedly.
func TestGarbageCollectorDoesNotRunAllTheTime(t *testing.T) {
	campaign.Long(t)
	dir := t.TempDir()
	var names, texts bytes.Buffer
	memoryNames(&names, campaign.Pick(800, 2000), 60)
	memoryTexts(&texts, campaign.Pick(8000, 16_000), 50)
	for _, c := range []struct {
		what  string
		rows  *bytes.Buffer
		flags string
	}{
		{"a search of some sizes", &names, "--search auto --worth 10% --features 1024"},
		{"types to find", &texts, "--features 64 --lambda 1e-3"},
	} {
		if err := os.WriteFile(filepath.Join(dir, "data.csv"), c.rows.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		collections := func(limit string) int {
			cmd := program(dir, append([]string{"train", "--quiet", "--data", "data.csv", "--label", "y", "--model", "model"},
				strings.Fields(c.flags)...)...)
			cmd.Env = append(cmd.Environ(), "GOGC=100", "GOMEMLIMIT="+limit, "GODEBUG=gctrace=1")
			r := runCommand(t, cmd)
			os.RemoveAll(filepath.Join(dir, "model"))
			if r.code != 0 {
				t.Fatalf("%s: exit code %d\n%s", c.what, r.code, r.stderr)
			}
			return strings.Count(r.stderr, "\ngc ")
		}
		// Where the user sets a limit, the program sets none.
		planned, free := collections("off"), collections("1TiB")
		if t.Logf("%s: %d collections, %d without a limit", c.what, planned, free); planned > 2*free+100 {
			t.Errorf("%s: the collector ran %d times, without a limit %d", c.what, planned, free)
		}
	}
}
