package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// rmseOf returns the RMSE of a model on data.
func rmseOf(t *testing.T, dir, model, data string) float64 {
	t.Helper()
	var report struct{ RMSE float64 }
	if err := json.Unmarshal([]byte(must(t, dir, "evaluate", "--model", model, "--data", data, "--json")), &report); err != nil {
		t.Fatal(err)
	}
	return report.RMSE
}

// A column of numbers that differ little is learned from as well as if its mean had been subtracted before.
func TestLargeNumbersThatDifferLittleKeepTheirDigits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rmse := map[float64]float64{}
	for _, size := range []float64{0, 1e4, 1e5, 1e6, 2e6, -1e7, 1e9} {
		r := rand.New(rand.NewPCG(13, 1))
		var text strings.Builder
		text.WriteString("q,y\n")
		for range 400 {
			v := math.Round(1e4*r.NormFloat64()) / 1e4
			fmt.Fprintf(&text, "%.4f,%.4f\n", size+v, v)
		}
		name := fmt.Sprintf("size%g", size)
		write(t, dir, name+".csv", text.String())
		must(t, dir, "train", "--data", name+".csv", "--label", "y", "--features", "64", "--lambda", "1e-9", "--model", name, "--quiet")
		rmse[size] = rmseOf(t, dir, name, name+".csv")
	}
	for size, got := range rmse {
		if got > 1.2*rmse[0] {
			t.Errorf("numbers near %g: RMSE %g, near 0: %g", size, got, rmse[0])
		}
	}
}

func TestRefusesTargetsThatFloat32CannotHold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for power, want := range map[string]string{
		"e-200": "too small for float32 (numbers below 1.2e-38 lose digits): multiply them by a power of ten",
		"e45":   "do not fit in float32 (largest is 3.4e38): divide all labels by a power of ten",
	} {
		var one, two strings.Builder
		one.WriteString("x,y\n")
		two.WriteString("x,y,z\n")
		for i := range 60 {
			fmt.Fprintf(&one, "%d.5,%d.25%s\n", i%17, 1+i%17, power)
			fmt.Fprintf(&two, "%d.5,%d.25%s,%d\n", i%17, 1+i%17, power, i%13)
		}
		write(t, dir, "one.csv", one.String())
		if r := run(t, dir, "train", "--data", "one.csv", "--label", "y", "--features", "16", "--model", "m"); r.code != 3 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: exit code %d, %s", power, r.code, r.stderr)
		}
		write(t, dir, "two.csv", two.String())
		if r := run(t, dir, "train", "--data", "two.csv", "--label", "y,z", "--features", "16", "--model", "m"); r.code != 3 || !strings.Contains(r.stderr, "float32") {
			t.Errorf("%s of two targets: exit code %d, %s", power, r.code, r.stderr)
		}
	}
}
