//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Memory grows so little with the number of files that 30,000 of them take less than 300 MB. Garbage in one of
// the two measurements counts eleven times, so all of three measurements must exceed the bound to fail.
func TestMemoryGrowsLittleWithTheNumberOfFiles(t *testing.T) {
	const few, many, aim = 300, 3000, 30_000
	peak := func(files int) int64 {
		dir := t.TempDir()
		for i := range files {
			data := fmt.Sprintf("a,b,y\n%d,1,0\n%d,2,1\n0.5,%d,1\n", i, -i, i%7)
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("part-%05d.csv", i)), []byte(data), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		r, peak := runMeasured(t, program(dir, "train", "--quiet", "--data", "*.csv", "--label", "y", "--search", "none",
			"--kernel", "gaussian",
			"--features", "16", "--lambda", "1e-3", "--model", filepath.Join(dir, "model")))
		if r.code != 0 {
			t.Fatalf("exit code %d: %s", r.code, r.stderr)
		}
		return peak
	}
	var all int64
	for range 3 {
		a, b := peak(few), peak(many)
		all = a + (b-a)/(many-few)*(aim-few)
		t.Logf("%d files: %d MB, %d files: %d MB, so %d files: %d MB", few, a>>20, many, b>>20, aim, all>>20)
		if all <= 300<<20 {
			return
		}
	}
	t.Errorf("%d files would take %d MB", aim, all>>20)
}
