package pipelines

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// coinDays are rows of 60 days, 20 of each. A coin tosses the label of a day, and the numbers tell days apart.
func coinDays(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 11))
	var b strings.Builder
	b.WriteString("day,fold,a,b,c,y\n")
	for day := range 60 {
		label := r.IntN(2)
		mean := [3]float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
		for range 20 {
			fmt.Fprintf(&b, "%d,%d", day, day%5)
			for _, m := range mean {
				fmt.Fprintf(&b, ",%.4f", m+0.3*r.NormFloat64())
			}
			fmt.Fprintf(&b, ",%s\n", []string{"heads", "tails"}[label])
		}
	}
	return b.String()
}

// halvesOptions are options whose figures come from halves of the held-out rows.
func halvesOptions(text, dir string, t *testing.T) options.Train {
	o := options.Train{Prepare: options.Prepare{
		Data:   dataset.Options{Files: []string{jobtest.Write(t, dir, "rows.csv", text)}, Label: "y"},
		Kernel: &fourier.GaussianOptions{Features: 64}, Seed: 3}, Search: options.SearchNone}
	o.Model = filepath.Join(dir, "model")
	return o
}

// chosenRow returns the row of the table of the chosen λ.
func chosenRow(r *results.Train) ridge.CVResult {
	return r.Path[slices.IndexFunc(r.Path, func(row ridge.CVResult) bool { return row.Lambda == r.Lambda })]
}

// If a coin tosses the label of a day, held-out errors of later days, given folds of days and groups of days are one
// half, although rows of the same day are held out: curves of probabilities and thresholds do not know the days that
// judge them.
func TestHalvesOfDependentRowsMatchChance(t *testing.T) {
	const runs = 12
	for name, set := range map[string]func(*options.Train){
		"time":  func(o *options.Train) { o.Split.Time, o.Data.Time, o.Data.Drop = true, "day", []string{"fold"} },
		"group": func(o *options.Train) { o.Split.Group, o.Data.Drop = []string{"day"}, []string{"fold"} },
		"fold":  func(o *options.Train) { o.Split.Fold, o.Data.Drop = "fold", []string{"day"} },
	} {
		t.Run(name, func(t *testing.T) {
			var held, expected, losses, judged float64
			for seed := range uint64(runs) {
				o := halvesOptions(coinDays(seed), t.TempDir(), t)
				set(&o)
				o.Threshold = "error"
				r, err := Train(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				row := chosenRow(r)
				held += float64(row.HeldOutErrors) / float64(row.HeldOutRows) / runs
				if name == "fold" {
					if row.HeldOutLogLoss != 0 || r.Threshold.Expected != nil || r.Probabilities == nil {
						t.Errorf("rows of one fold judge curves: %+v, %+v", row, r.Threshold)
					}
					continue
				}
				losses += row.HeldOutLogLoss / runs
				if e := r.Threshold.Expected; e != nil { // nil if all days of a half have one label
					expected += 1 - *e
					judged++
				}
			}
			expected /= judged
			// 12 held-out days: the standard error of a run is 0.14, of the mean 0.042.
			if held < 0.5-3*0.042 || name != "fold" && (expected < 0.5-3*0.042 || losses < math.Ln2) {
				t.Errorf("held-out error %.3f, expected error %.3f, log loss %.3f; chance is 0.5 and 0.693", held, expected, losses)
			}
		})
	}
}

// The expected error of a threshold, and the error without it, are one half on coin flips.
func TestThresholdsExpectChanceOnCoinFlips(t *testing.T) {
	const runs = 30
	var expected, plain float64
	for seed := range uint64(runs) {
		o := halvesOptions(strings.Join(coins(250, 2, seed), ""), t.TempDir(), t)
		o.Threshold, o.Lambda = "error", options.Lambda{Path: []float64{1e-3}, Folds: 5}
		r, err := Train(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		expected += (1 - *r.Threshold.Expected) / runs
		plain += (1 - *r.Threshold.Plain) / runs
	}
	// About 50 held-out rows: the standard error of a run is 0.07, of the mean 0.013.
	if math.Abs(expected-0.5) > 3.5*0.013 || math.Abs(plain-0.5) > 3.5*0.013 {
		t.Errorf("expected error %.3f, without the threshold %.3f; want 0.5", expected, plain)
	}
}

// Prediction sets contain the class of new rows as often as they say, also with curves of many steps.
func TestSetsOfRequestedCurvesCover(t *testing.T) {
	const runs = 8
	four := func(n int, seed uint64) string {
		r := rand.New(rand.NewPCG(seed, 12))
		var b strings.Builder
		b.WriteString("a,b,y\n")
		for range n {
			x := r.NormFloat64()
			class := min(max(0, int(math.Floor(x+2+r.NormFloat64()))), 3)
			fmt.Fprintf(&b, "%.4f,%.4f,c%d\n", x, r.NormFloat64(), class)
		}
		return b.String()
	}
	for _, method := range []options.Calibration{options.CalibrationIsotonic, options.CalibrationPlatt} {
		var covered float64
		for seed := range uint64(runs) {
			dir := t.TempDir()
			o := halvesOptions(four(400, seed), dir, t)
			o.Calibrate = method
			test := jobtest.Write(t, dir, "test.csv", four(1000, 100+seed))
			r, err := TrainAndTest(t.Context(), options.TrainAndTest{Train: o, TestFiles: []string{test}})
			if err != nil {
				t.Fatal(err)
			}
			covered += r.Test.Intervals[0].Coverage / runs
		}
		// About 80 rows make the sets: the standard error of a run is 0.035, of the mean 0.013.
		if covered < 0.9-3*0.013 {
			t.Errorf("%s: sets for 90%% contain %.3f of the classes", method, covered)
		}
	}
}
