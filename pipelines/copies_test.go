package pipelines

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/models/svm"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// binary returns n rows of four binary numbers with a label of two classes, the
// second with the probability given for each of the 16 rows, and the log loss of a
// table of the rows' shares.
func binary(n int, p func(row int) float64) (lines []string, lookup float64) {
	r := rand.New(rand.NewPCG(1, 1))
	lines = []string{"a,b,c,d,y\n"}
	var count [16][2]float64
	for range n {
		k := min(r.IntN(16), r.IntN(16)) // some rows are more frequent than others
		y := 0
		if r.Float64() < p(k) {
			y = 1
		}
		count[k][y]++
		lines = append(lines, fmt.Sprintf("%d,%d,%d,%d,%d\n", k&1, k>>1&1, k>>2&1, k>>3, y))
	}
	for _, c := range count {
		for _, m := range c {
			if m > 0 {
				lookup -= m / float64(n) * math.Log(m/(c[0]+c[1]))
			}
		}
	}
	return lines, lookup
}

// evaluated trains on lines and evaluates on the same.
func evaluated(t *testing.T, lines []string, o options.Train) (*results.Train, *results.Evaluate) {
	t.Helper()
	dir := t.TempDir()
	o.Data = dataset.Options{Files: []string{jobtest.Write(t, dir, "train.csv", strings.Join(lines, ""))}, Label: "y"}
	o.Model = filepath.Join(dir, "model")
	r, err := trainPlain(jobtest.Ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: o.Model, Data: o.Data})
	if err != nil {
		t.Fatal(err)
	}
	return r, e
}

// Probabilities of data with few distinct rows are as good as a table of the shares in the rows, and a fifth of
// the rows is held out for them.
func TestCalibrationOfRepeatedRowsIsAsGoodAsATable(t *testing.T) {
	for name, c := range map[string]struct {
		p       func(int) float64
		learner iterative.Options
		lambda  float64
		method  options.Calibration
	}{
		"chance, platt":    {func(int) float64 { return 0.5 }, nil, 1e-6, score.Platt},
		"chance, isotonic": {func(int) float64 { return 0.5 }, nil, 1e-6, score.Isotonic},
		"skewed, platt":    {func(k int) float64 { return 1 / (1 + math.Exp(3-float64(k)/3)) }, nil, 1e-6, score.Platt},
		"skewed, isotonic": {func(k int) float64 { return 1 / (1 + math.Exp(3-float64(k)/3)) }, nil, 1e-6, score.Isotonic},
		"skewed, svm": {func(k int) float64 { return 1 / (1 + math.Exp(3-float64(k)/3)) },
			&svm.LearnerOptions{Shared: iterative.Shared{Objective: iterative.Objective{Loss: "squared"},
				Stop: iterative.Stop{Rounds: 3}}}, 1e-4, score.Isotonic},
	} {
		t.Run(name, func(t *testing.T) {
			lines, lookup := binary(8000, c.p)
			o := fixed(1)
			o.Lambda.Path, o.Calibrate, o.Learner = []float64{c.lambda}, c.method, c.learner
			r, e := evaluated(t, lines, o)
			held := float64(r.Probabilities.Rows) / float64(r.Rows.Used)
			if math.Abs(held-0.2) > 0.01 {
				t.Errorf("%.1f%% of the rows were held out", 100*held)
			}
			loss := e.Probabilities.LogLoss
			if math.Abs(loss/lookup-1) > 0.02 {
				t.Errorf("log loss %.4f, that of a table %.4f", loss, lookup)
			}
			if !strings.Contains(strings.Join(r.Notes, "\n"), "only 16 different rows among 8,000 rows") {
				t.Errorf("notes %q", r.Notes)
			}
		})
	}
}

// Copies of a row are in several folds, so that a regression on ten distinct rows chooses λ by values that the
// other folds have too, and comes within 0.01 of the best R².
func TestRegressionOnTenDistinctRowsReachesTheBestR2(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	lines := []string{"x,y\n"}
	var sum, squares, noise float64
	const n = 4000
	for range n {
		k, e := r.IntN(10), 0.2*r.NormFloat64()
		y := math.Sin(float64(k)) + e
		sum, squares, noise = sum+y, squares+y*y, noise+e*e
		lines = append(lines, fmt.Sprintf("%d,%.6f\n", k, y))
	}
	best := 1 - noise/(squares-sum*sum/n)
	o := options.Train{Prepare: options.Prepare{Task: "regression", Kernel: &fourier.GaussianOptions{Width: 0.5, Features: 128},
		Seed: 1}}
	o.Lambda.Path = []float64{1e-6, 1e-4, 1e-2, 1}
	result, e := evaluated(t, lines, o)
	if got := *e.Targets.R2; math.Abs(got-best) > 0.01 {
		t.Errorf("R² %.4f, of the levels' means %.4f", got, best)
	}
	for _, row := range result.Path {
		if row.Lambda == result.Lambda && math.Abs(row.MSE/row.Train-1) > 0.05 {
			t.Errorf("held-out error %.4g, training error %.4g: there is nothing that the held-out rows do not share", row.MSE,
				row.Train)
		}
	}
}

// Held-out errors of repeated rows match the errors of predictions. Copies in several folds share the rounding
// of their features, by which weights could distinguish values whose predicted features hardly differ, so λ
// stays above that.
func TestHeldOutErrorsOfCopiesMatchPredictions(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	var level [10]float64
	for k := range level {
		level[k] = r.NormFloat64()
	}
	lines := []string{"x,y\n"}
	for range 3000 {
		k := r.IntN(10)
		lines = append(lines, fmt.Sprintf("%d,%.6f\n", k, level[k]+0.27*r.NormFloat64()))
	}
	for _, grid := range []string{"auto", "8"} {
		o := options.Train{Prepare: options.Prepare{Task: "regression", Kernel: &fourier.GaussianOptions{Features: 256}, Seed: 1},
			Learner: &ridge.LearnerOptions{Grid: features.Bits(grid)}}
		result, e := evaluated(t, lines, o)
		for _, row := range result.Path {
			if row.Lambda != result.Lambda {
				continue
			}
			if ratio := math.Sqrt(row.MSE) / e.Targets.RMSE; grid == "auto" && (ratio < 0.95 || ratio > 1.1) {
				t.Errorf("lambda %g: held-out RMSE %.4g, of predictions %.4g", row.Lambda, math.Sqrt(row.MSE), e.Targets.RMSE)
			} else if grid == "8" && ratio < 0.95 &&
				!strings.Contains(strings.Join(result.Notes, "\n"), "copies are rounded alike") {
				t.Errorf("lambda %g: held-out RMSE %.4g, of predictions %.4g, and no note: %q", row.Lambda, math.Sqrt(row.MSE),
					e.Targets.RMSE, result.Notes)
			}
		}
	}
}

// A table of distinct rows gives no note about rows that repeat.
func TestDistinctRowsGiveNoNoteOfRepeats(t *testing.T) {
	lines := jobtest.Made(t, "moons", 400, 1)
	o := fixed(1)
	o.Lambda.Folds = 5
	r, _ := trainedModel(t, lines, o)
	if s := strings.Join(r.Notes, "\n"); strings.Contains(s, "repeat") {
		t.Error(s)
	}
}

// With fewer rows than folds, or few distinct ones, a job ends with a model or with a data error.
func TestFewRowsEndWithAModelOrADataError(t *testing.T) {
	twice := func(s *iterative.Shared) { s.Rounds = 2 }
	for name, learner := range map[string]iterative.Options{
		"ridge": nil, "sgd": jobtest.Iterative("sgd", twice), "svm": jobtest.Iterative("svm", twice),
	} {
		for _, kinds := range []int{1, 2, 20} {
			for _, n := range []int{1, 2, 3, 5, 20} {
				for _, method := range []options.Calibration{"", options.Platt} {
					lines := []string{"a,b,y\n"}
					for i := range n {
						lines = append(lines, fmt.Sprintf("%d,%d,%d\n", i%kinds, i%kinds, i%2))
					}
					o := fixed(1)
					o.Learner, o.Calibrate, o.Lambda = learner, method, options.Lambda{Path: []float64{1e-3, 1e-1}, Folds: 5}
					dir := t.TempDir()
					o.Data = dataset.Options{Files: []string{jobtest.Write(t, dir, "train.csv", strings.Join(lines, ""))}, Label: "y"}
					o.Model = filepath.Join(dir, "model")
					r, err := trainPlain(jobtest.Ctx, o)
					what := fmt.Sprintf("%s, %d kinds, %d rows, calibration %q", name, kinds, n, method)
					if err != nil {
						t.Logf("%s: %v", what, err)
						if exit.CodeOf(err) != exit.CodeData {
							t.Errorf("%s: exit code %d of %v", what, exit.CodeOf(err), err)
						}
					} else if r.Rows.Used != int64(n) {
						t.Errorf("%s: %d rows used", what, r.Rows.Used)
					}
					if n == 20 && method == "" && err != nil {
						t.Errorf("%s: %v", what, err)
					}
				}
			}
		}
	}
}
