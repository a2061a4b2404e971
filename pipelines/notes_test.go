package pipelines

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/identity"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/internal/training"
	"github.com/bochner-ml/bochner/pipelines/options"
)

func TestRoundingIsNotedWhereItMatters(t *testing.T) {
	for _, c := range []struct {
		row        ridge.CVResult
		regression bool
		want       []string // nil for no note
	}{
		{ridge.CVResult{MSE: 1, Rounding: 0.009}, false, nil},
		{ridge.CVResult{MSE: 1, Rounding: 0.02}, false, []string{"is about 0.02 smaller"}},
		{ridge.CVResult{MSE: 1, Rounding: 0.02, HeldOutResult: ridge.HeldOutResult{HeldOutRows: 1234, HeldOutMSE: 4}, FoldMSE: 4.02},
			false, nil},
		{ridge.CVResult{MSE: 1, HeldOutResult: ridge.HeldOutResult{HeldOutRows: 1234, HeldOutMSE: 4}, FoldMSE: 9}, false,
			[]string{"mse", "1,234 rows", "is 4,", "compared with 9 for"}},
		{ridge.CVResult{MSE: 1, HeldOutResult: ridge.HeldOutResult{HeldOutRows: 1234, HeldOutMSE: 4}, FoldMSE: 9}, true,
			[]string{"RMSE", "is 2,", "compared with 3 for"}},
		{ridge.CVResult{MSE: 1, HeldOutResult: ridge.HeldOutResult{HeldOutRows: 1234, HeldOutMSE: 4}, FoldMSE: 9, Folds: 1}, true,
			[]string{"RMSE of rounded features is 3,", "compared with 2 in predictions"}},
	} {
		note := training.RoundingNote(c.row, c.regression)
		if (note == nil) != (c.want == nil) {
			t.Errorf("%+v: %q", c.row, note)
		}
		for _, word := range c.want {
			if !strings.Contains(note[0], word) {
				t.Errorf("%+v: %q is not in %q", c.row, word, note)
			}
		}
	}
}

// Predictions far outside of the targets are noted in training, if rows were held out, and in evaluations.
func TestPredictionsFarOutsideOfTheTargetsAreNotes(t *testing.T) {
	r, lines := rand.New(rand.NewPCG(2, 2)), []string{"x,y\n"}
	for i := range 600 {
		x := 2*r.Float64() - 1
		y := x
		if i%60 == 0 {
			x *= 10 // the targets do not follow
		}
		lines = append(lines, fmt.Sprintf("%.4f,%.4f\n", x, y))
	}
	o := options.Train{Prepare: options.Prepare{Kernel: new(identity.Options)}}
	result, m := trainedModel(t, lines, o)
	if !slices.ContainsFunc(result.Notes, func(note string) bool {
		return strings.HasPrefix(note, "held-out rows: ") &&
			strings.Contains(note, "predictions are far outside the range of the training targets")
	}) {
		t.Errorf("notes %q", result.Notes)
	}
	low := m.Manifest.TargetGrid[0].Low
	dir := t.TempDir()
	data := dataset.Options{Files: []string{jobtest.Write(t, dir, "new.csv", "x,y\n0.5,0.4\n-1000,-1\n900,1\n0.1,0\n")},
		Label: "y"}
	e, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: result.Model, Data: data})
	if err != nil || e.Targets.OutOfRange == nil || e.Targets.OutOfRange.Rows != 2 || e.Targets.OutOfRange.Furthest > 2*low ||
		!strings.Contains(jobtest.Text(t, e), "2 of 4 predictions are far outside") {
		t.Errorf("%v, %+v", err, e)
	}
}

// A note reports that there are no intervals with one lambda, for which nothing is held out.
func TestImpossibleIntervalsAreNoted(t *testing.T) {
	for lambda, want := range map[float64]bool{0: false, 1e-3: true} {
		o := options.Train{Decision: options.Decision{Intervals: options.PlainIntervals}}
		if lambda > 0 {
			o.Lambda.Path = []float64{lambda}
		}
		result, m := trainedModel(t, jobtest.Made(t, "friedman", 100, 1), o)
		note := slices.ContainsFunc(result.Notes, func(s string) bool { return strings.HasPrefix(s, "--intervals plain has no effect") })
		if note != want || want == (m.Manifest.Intervals != nil) {
			t.Errorf("lambda %g: notes %q, intervals %v", lambda, result.Notes, m.Manifest.Intervals)
		}
	}
}
