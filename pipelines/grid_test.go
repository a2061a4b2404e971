package pipelines

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/identity"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/pca"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// tables are columns that a coarse or narrow grid cannot hold, with a target that is
// linear in them: rows of numbers, the last of which is the target.
var tables = map[string]func(r *rand.Rand) []float64{
	"rare one-hot": func(r *rand.Rand) []float64 {
		x, rare := r.NormFloat64(), indicator(r, 0.002)
		return []float64{x, rare, x + 30*rare + 0.1*r.NormFloat64()}
	},
	"lognormal": func(r *rand.Rand) []float64 {
		x, l := r.NormFloat64(), math.Exp(2*r.NormFloat64())
		return []float64{x, l, x + 0.3*l + r.NormFloat64()}
	},
	"zeros and ones": func(r *rand.Rand) []float64 {
		a, b, c := indicator(r, 0.3), indicator(r, 0.5), indicator(r, 0.07)
		return []float64{a, b, c, 3*a - 2*b + c + 0.001*r.NormFloat64()}
	},
	"mixed magnitudes": func(r *rand.Rand) []float64 {
		a, b, c := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
		return []float64{1e-9 * a, 1e12 * b, 5e3 * c * c * c, a + b + 0.1*c*c*c + 0.01*r.NormFloat64()}
	},
	"constant and outliers": func(r *rand.Rand) []float64 {
		x, rare := 1000+r.NormFloat64(), indicator(r, 0.01)*r.NormFloat64()/(0.01+math.Abs(r.NormFloat64()))
		return []float64{7, x, rare, x + rare + 0.1*r.NormFloat64()}
	},
}

func indicator(r *rand.Rand, p float64) float64 {
	if r.Float64() < p {
		return 1
	}
	return 0
}

// written returns rows as lines of a file with the target in column y.
func written(rows [][]float64) []string {
	var lines []string
	var b strings.Builder
	for j := range len(rows[0]) - 1 {
		fmt.Fprintf(&b, "x%d,", j)
	}
	lines = append(lines, b.String()+"y\n")
	for _, row := range rows {
		b.Reset()
		for j, v := range row {
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "%.17g", v)
		}
		lines = append(lines, b.String()+"\n")
	}
	return lines
}

// ridgeInFloat64 fits in float64 to standardised columns and returns the root mean square
// error on other rows.
func ridgeInFloat64(train, test [][]float64, lambda float64) float64 {
	d, n := len(train[0])-1, float64(len(train))
	mean, dev := make([]float64, d+1), make([]float64, d+1)
	for _, row := range train {
		for j, v := range row {
			mean[j] += v / n
		}
	}
	for _, row := range train {
		for j, v := range row {
			dev[j] += (v - mean[j]) * (v - mean[j]) / n
		}
	}
	scaled := func(row []float64) []float64 {
		z := make([]float64, d)
		for j := range z {
			z[j] = row[j] - mean[j]
			if dev[j] > 1e-20*mean[j]*mean[j] {
				z[j] /= math.Sqrt(dev[j])
			}
		}
		return z
	}
	g, rhs := mat.NewSymDense(d, nil), mat.NewVecDense(d, nil)
	for _, row := range train {
		z := mat.NewVecDense(d, scaled(row))
		g.SymRankOne(g, 1/n, z)
		rhs.AddScaledVec(rhs, (row[d]-mean[d])/n, z)
	}
	for j := range d {
		g.SetSym(j, j, g.At(j, j)+lambda)
	}
	var c mat.Cholesky
	var w mat.VecDense
	if !c.Factorize(g) || c.SolveVecTo(&w, rhs) != nil {
		panic("not positive definite")
	}
	var squares float64
	for _, row := range test {
		e := mat.Dot(&w, mat.NewVecDense(d, scaled(row))) + mean[d] - row[d]
		squares += e * e / float64(len(test))
	}
	return math.Sqrt(squares)
}

// Raw columns on their grids give the model of the columns in float64, and the error on held-out rows is the
// error on other rows.
func TestRawColumnsAreFittedAsInFloat64(t *testing.T) {
	const lambda = 1e-6
	for name, draw := range tables {
		r := rand.New(rand.NewPCG(1, 2))
		var train, test [][]float64
		for range 3000 {
			train = append(train, draw(r))
		}
		for range 3000 {
			test = append(test, draw(r))
		}
		result, m := trainedModel(t, written(train), options.Train{
			Prepare: options.Prepare{Kernel: &identity.Options{}, Seed: 1},
			Lambda:  options.Lambda{Path: []float64{lambda}, Folds: 5},
		})
		var squares float64
		for _, row := range test {
			x := make([]float32, len(row)-1)
			for j := range x {
				x[j] = float32(row[j])
			}
			e := predicted(m, x)[0] - row[len(row)-1]
			squares += e * e / float64(len(test))
		}
		have, want := math.Sqrt(squares), ridgeInFloat64(train, test, lambda)
		if !(math.Abs(have/want-1) < 0.01) {
			t.Errorf("%s: root mean square error %.6g, in float64 %.6g", name, have, want)
		}
		row := result.Path[0]
		// With heavy tails the errors are so, too.
		if held := math.Sqrt(row.MSE); !(math.Abs(held/want-1) < 0.1) {
			t.Errorf("%s: held-out root mean square error %.6g, on other rows %.6g", name, held, want)
		}
		if result.Steps <= blas.MaxByte || row.Rounding > 0.001*row.MSE {
			t.Errorf("%s: %d steps, of which rounding takes %.3g of %.3g", name, result.Steps, row.Rounding, row.MSE)
		}
	}
}

// A thousand groups of rows, each a class, are learned with a small λ: the rounding of features to a coarse
// grid does not hide them.
func TestThousandClustersAreLearned(t *testing.T) {
	campaign.Long(t)
	r := rand.New(rand.NewPCG(7, 7))
	var rows [][]float64
	for c := range 1000 {
		var centre [5]float64
		for j := range centre {
			centre[j] = r.NormFloat64()
		}
		for range 10 {
			row := make([]float64, 5, 6)
			for j := range row {
				row[j] = centre[j] + 0.1*r.NormFloat64()
			}
			rows = append(rows, append(row, float64(c)))
		}
	}
	lines := written(rows)
	result, m := trainedModel(t, lines, options.Train{
		Prepare: options.Prepare{Task: "classification", Kernel: &fourier.GaussianOptions{Features: 1024}, Seed: 1},
		Lambda:  options.Lambda{Path: []float64{1e-10}},
	})
	right := 0
	for _, line := range lines[1:] {
		x, label := parse(t, line)
		if m.Manifest.Vocabulary.Classes[best(predicted(m, x))] == label {
			right++
		}
	}
	// On a grid of 8 bits it is 0.82.
	if share := float64(right) / float64(len(rows)); share < 0.9 || result.Steps != ridge.FineSteps {
		t.Errorf("training accuracy %.4f on %d steps", share, result.Steps)
	}
}

// predicted returns the scores of a row, or its targets.
func predicted(m *models.Model, x []float32) []float64 {
	_, d := m.Map.Dims()
	phi, scores := make([]float32, d), make([]float32, m.Linear.K)
	m.Map.Apply(phi, x, 1)
	m.Linear.Scores(scores, phi, 1)
	said := make([]float64, m.Linear.K)
	m.Targets(said, scores)
	return said
}

func best(scores []float64) int {
	at := 0
	for c, s := range scores {
		if s > scores[at] {
			at = c
		}
	}
	return at
}

// A component that rounding to the grid could explain is rejected, and found on a finer grid.
func TestComponentsBelowTheRoundingOfFeaturesAreRejected(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var rows [][]float64
	for range 1000 {
		rows = append(rows, tables["zeros and ones"](r))
	}
	dir := t.TempDir()
	data := dataset.Options{Files: []string{jobtest.Write(t, dir, "d.csv", strings.Join(written(rows), ""))}, Label: "y"}
	for _, grid := range []string{"8", "16"} {
		result, err := Embed(jobtest.Ctx, options.Embed{
			Prepare: options.Prepare{Data: data, Task: "regression", Kernel: &fourier.GaussianOptions{Width: 50, Features: 64},
				Seed: 1},
			Model: filepath.Join(dir, "model"+grid), LearnerOptions: pca.LearnerOptions{Components: 7, Grid: features.Bits(grid)},
		})
		switch {
		case grid == "8" && (err == nil || !strings.Contains(err.Error(),
			"cannot be distinguished from the rounding of features to their grid")):
			t.Errorf("on 8 bits: %v", err)
		case grid == "16" && (err != nil || len(result.Components) != 7):
			t.Errorf("on 16 bits: %v", err)
		}
	}
}
