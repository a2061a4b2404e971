package pipelines

import (
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// foldOf returns the fold of a row among k, by its hash under the seed with the salt "fold". Models
// depend on this rule.
func foldOf(seed uint64, x []float32, k uint64) uint64 { return rowio.Hash(seed^0x666f6c64, x) % k }

// parse returns the numbers and the label of a line.
func parse(t *testing.T, line string) (x []float32, label string) {
	t.Helper()
	words := strings.Split(strings.TrimSpace(line), ",")
	for _, w := range words[:len(words)-1] {
		v, err := strconv.ParseFloat(w, 32)
		if err != nil {
			t.Fatal(err)
		}
		x = append(x, float32(v))
	}
	return x, words[len(words)-1]
}

// trained trains on lines and returns the result with the model.
func trainedModel(t *testing.T, lines []string, o options.Train) (*results.Train, *models.Model) {
	t.Helper()
	dir := t.TempDir()
	o.Data = dataset.Options{Files: []string{jobtest.Write(t, dir, "train.csv", strings.Join(lines, ""))}, Label: "y"}
	o.Model = filepath.Join(dir, "model")
	r, err := trainPlain(jobtest.Ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	m, err := models.LoadURI(jobtest.Ctx, o.Model)
	if err != nil {
		t.Fatal(err)
	}
	return r, m
}

// The held-out error that one pass computes for every fold equals the error on the fold of a model that is
// trained on the other folds.
func TestHeldOutErrorMatchesTrainingWithoutTheFold(t *testing.T) {
	const folds, seed = 5, 3
	lines := jobtest.Made(t, "moons", 400, 1)
	for _, grid := range []string{"8", "16"} {
		o := options.Train{Learner: &ridge.LearnerOptions{Grid: features.Bits(grid)},
			Prepare: options.Prepare{Scale: []string{"none"}, Kernel: &fourier.GaussianOptions{Width: 0.5, Features: 64},
				Seed: seed},
			Lambda: options.Lambda{Path: []float64{1e-4, 1e-2}, Folds: folds},
		}
		together, _ := trainedModel(t, lines, o)
		for i, row := range together.Path {
			var squares float64
			for f := range uint64(folds) {
				train, held := []string{lines[0]}, []string(nil)
				for _, line := range lines[1:] {
					if x, _ := parse(t, line); foldOf(seed, x, folds) == f {
						held = append(held, line)
					} else {
						train = append(train, line)
					}
				}
				if len(held) < 50 {
					t.Fatalf("fold %d has %d rows", f, len(held))
				}
				alone := o
				alone.Lambda = options.Lambda{Path: lambdas(together)[i : i+1]}
				_, m := trainedModel(t, train, alone)
				squares += squaredErrors(t, m, held)
			}
			if mse := squares / float64(len(lines)-1); math.Abs(mse-row.MSE) > 1e-6*mse {
				t.Errorf("lambda %g: held-out error %.9g, by training again %.9g", row.Lambda, row.MSE, mse)
			}
			if row.Folds != folds || !(row.MSE > 0) {
				t.Errorf("%+v", row)
			}
		}
	}
}

// scored returns the number of rows to which a model assigns another class than their own, and its
// mean squared error. For classes this is the error of their codes.
func scored(t *testing.T, m *models.Model, lines []string) (wrong int64, mse float64) {
	t.Helper()
	_, out := m.Map.Dims()
	phi, scores, targets, class := make([]float32, out), make([]float32, m.Linear.K), make([]float64,
		m.Linear.K), make([]int32, 1)
	for _, line := range lines {
		x, label := parse(t, line)
		m.Map.Apply(phi, x, 1)
		m.Linear.Scores(scores, phi, 1)
		m.Targets(targets, scores)
		var want []float64
		if v := m.Manifest.Vocabulary; v != nil {
			truth, _ := v.Index([]byte(label))
			want = slices.Repeat([]float64{-1}, m.Linear.K)
			want[truth] = 1
			if m.Linear.Classes(class, scores, 1); int(class[0]) != truth {
				wrong++
			}
		} else {
			y, err := strconv.ParseFloat(label, 64)
			if err != nil {
				t.Fatal(err)
			}
			want = []float64{y}
		}
		for c, v := range want {
			mse += (targets[c] - v) * (targets[c] - v) / float64(len(lines))
		}
	}
	return wrong, mse
}

// The table's held-out errors equal the errors of a model that is trained without the held-out rows
// and predicts them. This is exact for classes; numbers differ a little, because the grids of the
// two models come from different rows.
func TestScoredErrorsMatchPredictions(t *testing.T) {
	const folds, seed = 4, 3
	for set, tolerance := range map[string]float64{"moons": 1e-9, "friedman": 1e-3} {
		lines := jobtest.Made(t, set, 300, 1)
		o := options.Train{Learner: &ridge.LearnerOptions{Grid: features.Bits8},
			Prepare: options.Prepare{Scale: []string{"none"}, Kernel: &fourier.GaussianOptions{Width: 1, Features: 64}, Seed: seed},
			Lambda:  options.Lambda{Path: []float64{1e-8, 1e-2}, Folds: folds},
		}
		together, _ := trainedModel(t, lines, o)
		train, held := []string{lines[0]}, []string(nil)
		for _, line := range lines[1:] {
			if x, _ := parse(t, line); foldOf(seed, x, folds) == 0 {
				held = append(held, line)
			} else {
				train = append(train, line)
			}
		}
		var errors int64
		for i, row := range together.Path {
			alone := o
			alone.Lambda = options.Lambda{Path: lambdas(together)[i : i+1]}
			_, m := trainedModel(t, train, alone)
			wrong, mse := scored(t, m, held)
			if row.HeldOutRows != int64(len(held)) || row.HeldOutErrors != wrong ||
				!(math.Abs(row.HeldOutMSE-mse) <= tolerance*mse) {
				t.Errorf("%s, lambda %g: %d errors of %d rows, mse %.12g; trained again without them: %d of %d, %.12g",
					set, row.Lambda, row.HeldOutErrors, row.HeldOutRows, row.HeldOutMSE, wrong, len(held), mse)
			}
			errors += wrong
		}
		if set == "moons" {
			if errors == 0 {
				t.Error("no errors: the test sees nothing")
			}
			continue
		}
		// At the smaller λ rounding to 8 bits shows.
		if row := together.Path[0]; math.Abs(row.HeldOutMSE-row.FoldMSE) < 1e-4*row.HeldOutMSE {
			t.Errorf("%+v", row)
		}
	}
}

// lambdas returns the path of λ.
func lambdas(r *results.Train) (out []float64) {
	for _, row := range r.Path {
		out = append(out, row.Lambda)
	}
	return out
}

// squaredErrors returns the sum over rows and classes of (score − code)², with
// features on the grid on which they are trained.
func squaredErrors(t *testing.T, m *models.Model, lines []string) (sum float64) {
	t.Helper()
	g := m.Map.(features.Gridded)
	in, out := g.Dims()
	steps := m.Manifest.Learner.Steps
	z := features.NewGrid(out, steps)
	step := g.Step() * blas.MaxByte / float64(steps)
	for _, line := range lines {
		x, label := parse(t, line)
		if len(x) != in {
			t.Fatal("row length")
		}
		class, ok := m.Manifest.Vocabulary.Index([]byte(label))
		if !ok {
			t.Fatal("unknown class ", label)
		}
		z.Resize(1)
		g.Quantize(z, x, 1, 1)
		for c := range m.Linear.K {
			score := float64(m.Linear.B[c])
			for j := range out {
				score += float64(m.Linear.W[c*out+j]) * step * float64(z.At(0, j))
			}
			code := -1.0
			if c == class {
				code = 1
			}
			sum += (score - code) * (score - code)
		}
	}
	return sum
}
