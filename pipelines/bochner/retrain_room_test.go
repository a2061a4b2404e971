package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A retraining uses targets of later days beyond the range of the first days, unless the settings leave no
// margin.
func TestRetrainAcceptsLaterTargetsBeyondTheFirstRange(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 7))
	for day := 1; day <= 4; day++ {
		text := "x,y\n"
		for range 400 { // as many as the gate takes
			x := r.Float64()
			text += fmt.Sprintf("%.4f,%.4f\n", x, (x+0.1*r.NormFloat64())*(0.5+0.25*float64(day)))
		}
		if err := os.MkdirAll(filepath.Join(dir, fmt.Sprintf("data/dt=2026-11-0%d", day)), 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, dir, fmt.Sprintf("data/dt=2026-11-0%d/a.csv", day), text)
	}
	for _, c := range []struct {
		models string
		flags  []string
		code   int
		want   string
	}{
		{"roomy", nil, 0, ""},
		{"narrow", []string{"--target_room", "0"}, 8, "target"},
	} {
		var last result
		for day := 2; day <= 4; day++ {
			last = run(t, dir, append([]string{"retrain", "--models", c.models, "--data", "data/dt=YYYY-MM-DD/*.csv", "--label",
				"y", "--task", "regression",
				"--search", "none", "--features", "16", "--paired_gate", "not worse by 1000% at 90%", "--day",
				fmt.Sprintf("2026-11-0%d", day)}, c.flags...)...)
			if day == 2 && last.code != 0 {
				t.Fatalf("%s: the first day: exit code %d\n%s%s", c.models, last.code, last.stdout, last.stderr)
			}
		}
		if last.code != c.code || !strings.Contains(last.stdout+last.stderr, c.want) {
			t.Errorf("%s: exit code %d\n%s%s", c.models, last.code, last.stdout, last.stderr)
		}
	}
}

// The days after the first still fit into sums with class weights, which take 12 bits.
func TestRetrainAcceptsLaterClassWeights(t *testing.T) {
	dir := t.TempDir()
	for day := 1; day <= 4; day++ {
		place := fmt.Sprintf("data/dt=2026-11-0%d", day)
		if err := os.MkdirAll(filepath.Join(dir, place), 0o777); err != nil {
			t.Fatal(err)
		}
		must(t, dir, "generate", "moons", "--rows", "2500", "--seed", fmt.Sprint(day), "--out", place+"/a.csv")
	}
	for day := 2; day <= 4; day++ {
		must(t, dir, "retrain", "--models", "models", "--data", "data/dt=YYYY-MM-DD/*.csv", "--label", "y", "--search",
			"none", "--features", "16", "--class_weight", "1=2,-1=1", "--paired_gate", "not worse by 50% at 90%", "--day",
			fmt.Sprintf("2026-11-0%d", day))
	}
}
