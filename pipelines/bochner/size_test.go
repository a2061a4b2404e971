package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
)

// The command chooses a size, prints why, and makes the model of that size. The plan is for the
// largest size.
func TestTrainChoosesTheNumberOfFeatures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(5, 6))
	var b strings.Builder
	b.WriteString("a,b,y\n")
	for range 300 {
		x, z := rng.NormFloat64(), rng.NormFloat64()
		fmt.Fprintf(&b, "%g,%g,%g\n", x, z, x+0.3*z+0.5*rng.NormFloat64()+1e-3*math.Sin(x))
	}
	write(t, dir, "data.csv", b.String())
	flags := []string{"train", "--data", "data.csv", "--label", "y", "--search", "none", "--lambda", "1e-4,1e-2",
		"--quiet"}
	given := append(flags, "--features", "512", "--model", "given")
	must(t, dir, given...)
	for name, size := range map[string][]string{"worth": {"--worth", "0.1%"}, "time": {"--time", "1ns"},
		"both": {"--worth", "0.01", "--time", "10m", "--features", "2048"}} {
		var out struct {
			Size struct {
				Features int
				Why      string
				Trials   []struct{ Features int }
			}
		}
		text := must(t, dir, append(append(flags, size...), "--model", name, "--json")...)
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatal(err)
		}
		if out.Size.Features != 512 || out.Size.Why == "" || len(out.Size.Trials) == 0 {
			t.Errorf("%s: %+v", name, out.Size)
		}
		for _, file := range []string{"manifest.json", "weights.safetensors"} {
			if read(t, filepath.Join(dir, name), file) != read(t, filepath.Join(dir, "given"), file) {
				t.Errorf("%s: %s differs from 512 features", name, file)
			}
		}
	}
	if plan := must(t, dir, append(flags, "--worth", "0.1%", "--plan")...); !strings.Contains(plan, "16384 features") &&
		!strings.Contains(plan, "16,384 features") {
		t.Errorf("the plan is not of the largest size:\n%s", plan)
	}
	if r := run(t, dir, append(flags, "--worth", "few", "--model", "x")...); r.code != 2 ||
		!strings.Contains(r.stderr, "worth") {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
}
