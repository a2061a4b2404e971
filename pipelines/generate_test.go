package pipelines

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
)

func TestGenerateMakesTheFileOrNothing(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "new", "a.csv")
	g, err := Generate(jobtest.Ctx, options.Generate{Set: "moons", Rows: 1500, Seed: 1, Noise: -1, Out: out})
	if err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(out)
	if err != nil || g.Rows != 1500 || strings.Count(string(first), "\n") != 1501 ||
		!strings.Contains(jobtest.Text(t, g), "wrote 1,500 rows to "+out) {
		t.Errorf("%+v: %v", g, err)
	}
	if string(first) != strings.Join(jobtest.Made(t, "moons", 1500, 1), "")+"\n" {
		t.Error("negative noise is not that of the set")
	}
	_, err = Generate(jobtest.Ctx, options.Generate{Set: "moons", Rows: 1, Out: out})
	jobtest.WantError(t, "a file that exists", err, exit.CodeData, "exists")
	if again, _ := os.ReadFile(out); string(again) != string(first) {
		t.Error("the file that existed has changed")
	}
	stopped, cancel := context.WithCancel(jobtest.Ctx)
	cancel()
	_, err = Generate(stopped, options.Generate{Set: "moons", Rows: 1 << 40, Out: filepath.Join(dir, "b.csv")})
	jobtest.WantError(t, "stopped", err, exit.CodeInterrupted)
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("left %v", list)
	}
	for what, o := range map[string]options.Generate{
		`did you mean "moons"`: {Set: "mons", Rows: 1, Out: "x"},
		"--rows":               {Set: "moons", Out: "x"},
		"--out":                {Set: "moons", Rows: 1},
		"--noise":              {Set: "moons", Rows: 1, Out: "x", Noise: math.NaN()},
	} {
		_, err := Generate(jobtest.Ctx, o)
		jobtest.WantError(t, what, err, exit.CodeUsage, what)
	}
}
