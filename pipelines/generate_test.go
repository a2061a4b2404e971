package pipelines

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestGenerateMakesTheFileOrNothing(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "new", "a.csv")
	g, err := Generate(ctx, GenerateOptions{Set: "moons", Rows: 1500, Seed: 1, Noise: -1, Out: out})
	if err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(out)
	if err != nil || g.Rows != 1500 || strings.Count(string(first), "\n") != 1501 || !strings.Contains(text(t, g), "wrote 1,500 rows to "+out) {
		t.Errorf("%+v: %v", g, err)
	}
	if string(first) != strings.Join(made(t, "moons", 1500, 1), "")+"\n" {
		t.Error("negative noise is not that of the set")
	}
	_, err = Generate(ctx, GenerateOptions{Set: "moons", Rows: 1, Out: out})
	wantError(t, "a file that exists", err, ExitData, "exists")
	if again, _ := os.ReadFile(out); string(again) != string(first) {
		t.Error("the file that existed has changed")
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	_, err = Generate(stopped, GenerateOptions{Set: "moons", Rows: 1 << 40, Out: filepath.Join(dir, "b.csv")})
	wantError(t, "stopped", err, ExitInterrupted)
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("left %v", list)
	}
	for what, o := range map[string]GenerateOptions{
		`did you mean "moons"`: {Set: "mons", Rows: 1, Out: "x"},
		"--rows":               {Set: "moons", Out: "x"},
		"--out":                {Set: "moons", Rows: 1},
		"--noise":              {Set: "moons", Rows: 1, Out: "x", Noise: math.NaN()},
	} {
		_, err := Generate(ctx, o)
		wantError(t, what, err, ExitUsage, what)
	}
}
