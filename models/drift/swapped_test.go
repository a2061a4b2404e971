package drift

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/models/ridge"
)

// inFeatures are the changes of the second table of the documentation: what the features of a
// model tell in at least 95 of 100 draws of 1,000 and 10,000 rows, by p < 0.05, of 20 normal columns
// of which the first two have that correlation. The reference has 20,000 rows.
var inFeatures = []struct {
	change string
	sizes  [2]float64
	format string
	apply  func(row []float32, size float64)
}{
	{"a column shifted", [2]float64{0.25, 0.08}, "%g deviations",
		func(row []float32, size float64) { row[5] += float32(size) }},
	{"a column multiplied", [2]float64{1.6, 1.25}, "by %g", func(row []float32, size float64) { row[5] *= float32(size) }},
	{"a column swapped with another, unrelated one", [2]float64{0.7, 0.3}, "correlation %g",
		func(row []float32, _ float64) { row[1], row[2] = row[2], row[1] }},
	{"a column in the order of other rows", [2]float64{0.65, 0.3}, "correlation %g",
		func(row []float32, _ float64) { row[1] = row[3] }},
}

// related draws the features of rows of 20 normal columns, the first two of that correlation.
func related(t testing.TB, m features.Gridded, r *rand.Rand, n int, correlation float64,
	change func(row []float32)) *ridge.Sum {
	t.Helper()
	const d, dim = 20, 128
	s := ridge.NewSum(ridge.Shape{Dim: dim, Outputs: 1})
	for n > 0 {
		rows := min(n, 500)
		x := make([]float32, rows*d)
		for i := range rows {
			row := x[i*d : (i+1)*d]
			for j := range row {
				row[j] = float32(r.NormFloat64())
			}
			row[1] = float32(correlation*float64(row[0]) + math.Sqrt(1-correlation*correlation)*float64(row[1]))
			if change != nil {
				change(row)
			}
		}
		z := features.NewGrid(dim, features.ByteSteps)
		m.Quantize(z, x, rows, 1)
		s.AddLabels(z, make([]int32, rows), nil, 1)
		n -= rows
	}
	return s
}

func TestFeaturesCatchTheSizesOfTheDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../docs/comparing.md")
	if err != nil {
		t.Fatal(err)
	}
	made, err := fourier.Gaussian{In: 20, Out: 128, Width: math.Sqrt(40), Seed: 1}.New()
	if err != nil {
		t.Fatal(err)
	}
	m := made.(features.Gridded)
	draws := campaign.Pick(5, 100)
	r := rand.New(rand.NewPCG(3, 9))
	for _, c := range inFeatures {
		line := fmt.Sprintf("| %s |", c.change)
		for k, n := range []int{1000, 10_000} {
			size, correlation := c.sizes[k], 0.0
			line += fmt.Sprintf(" "+c.format+" |", size)
			if strings.HasPrefix(c.format, "correlation") {
				correlation = size
			}
			before, caught := related(t, m, r, 20_000, correlation, nil), 0
			for range draws {
				f := CompareFeatures(featureSumOf(before),
					featureSumOf(related(t, m, r, n, correlation, func(row []float32) { c.apply(row, size) })), 1, 1)
				if f.P < 0.05 {
					caught++
				}
			}
			t.Logf("%s, %g, in %d rows: %d of %d", c.change, size, n, caught, draws)
			if caught < draws*95/100 {
				t.Errorf("%s, %g, in %d rows: caught in %d of %d draws", c.change, size, n, caught, draws)
			}
		}
		if !strings.Contains(string(page), line) {
			t.Errorf("docs/comparing.md lacks %s", line)
		}
	}
}
