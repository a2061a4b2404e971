package drift

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/models/ridge"
)

// featureSumOf returns the FeatureSum of a ridge.Sum.
func featureSumOf(s *ridge.Sum) FeatureSum { return FeatureSum{s.Rows(), s.Weight(), s.Columns(), s} }

// drawing gives the sums of rows of a distribution.
type drawing struct {
	d, features int
	m           features.Gridded
	r           *rand.Rand
}

func newDrawing(t testing.TB, d, dim int, width float64) *drawing {
	t.Helper()
	m, err := fourier.Gaussian{In: d, Out: dim, Width: width, Seed: 1}.New()
	if err != nil {
		t.Fatal(err)
	}
	return &drawing{d, dim, m.(features.Gridded), rand.New(rand.NewPCG(1, uint64(d)))}
}

// sum returns the sum of n rows, each changed by change.
func (w *drawing) sum(n int, change func(row []float32)) *ridge.Sum {
	s := ridge.NewSum(ridge.Shape{Dim: w.features, Outputs: 2})
	for n > 0 {
		rows := min(n, 500)
		x := make([]float32, rows*w.d)
		for i := range rows {
			row := x[i*w.d : (i+1)*w.d]
			base := w.r.NormFloat64()
			for j := range row {
				row[j] = float32(0.6*base + 0.8*w.r.NormFloat64())
			}
			if change != nil {
				change(row)
			}
		}
		z := features.NewGrid(w.features, features.ByteSteps)
		w.m.Quantize(z, x, rows, 1)
		s.AddLabels(z, make([]int32, rows), nil, 1)
		n -= rows
	}
	return s
}

// A test at 5% rejects two sets of rows that are drawn alike in 5 ± 1% of at least 1,000 draws.
func TestFalseAlarmsOfFeaturesAreAsStated(t *testing.T) {
	draws := 1000
	if campaign.Whole() {
		draws = 10_000
	}
	for _, c := range []struct {
		d, features int
		width       float64
		n, m        int
	}{{2, 64, 1, 100, 200}, {5, 64, 3, 400, 100}, {20, 128, 4, 300, 300}} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			t.Parallel()
			w := newDrawing(t, c.d, c.features, c.width)
			alarms, certain := 0, 0
			for range draws {
				f := CompareFeatures(featureSumOf(w.sum(c.n, nil)), featureSumOf(w.sum(c.m, nil)), 1, 1)
				if f.P <= 0.05 {
					alarms++
				}
				if f.AtLeast > 0 {
					certain++
				}
			}
			share := float64(alarms) / float64(draws)
			t.Logf("%.2f%% of %d draws", 100*share, draws)
			if math.Abs(share-0.05) > 0.01 {
				t.Errorf("%.2f%% false alarms in %d draws, want 5 ± 1%%", 100*share, draws)
			}
			if math.Abs(float64(certain-alarms)) > 0.002*float64(draws) {
				t.Errorf("%d draws with a certain distance, %d with a p-value up to 0.05", certain, alarms)
			}
		})
	}
}

// Features show drift that no column shows: two columns that are swapped, or no longer related.
func TestFeaturesSeeJointDrift(t *testing.T) {
	w := newDrawing(t, 4, 256, 2)
	before := w.sum(4000, func(row []float32) { row[1] = 2*row[0] + row[1]*0.2 })
	for _, c := range []struct { // in this order, because all draw from one generator
		name   string
		change func(row []float32)
		moved  bool
	}{
		{"as before", func(row []float32) { row[1] = 2*row[0] + row[1]*0.2 }, false},
		{"swapped", func(row []float32) { row[1], row[0] = row[0], 2*row[0]+row[1]*0.2 }, true},
		{"other sign", func(row []float32) { row[1] = -2*row[0] + row[1]*0.2 }, true},
		{"shifted by 100", func(row []float32) { row[1] = 2*row[0] + row[1]*0.2; row[2] += 100 }, true},
		{"a tenth of rows", func(row []float32) {
			row[1] = 2*row[0] + row[1]*0.2
			if w.r.IntN(10) == 0 {
				row[2] += 3
			}
		}, true},
		{"a tenth, by half", func(row []float32) { row[1] = 2*row[0] + row[1]*0.2; row[2] += 0.15 }, true},
	} {
		f := CompareFeatures(featureSumOf(before), featureSumOf(w.sum(2000, c.change)), 1, 1)
		t.Logf("%s: %+v", c.name, f)
		if (f.P < 0.001) != c.moved || c.moved && f.Distance <= 0 || (f.AtLeast > 0) != c.moved {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
	if f := CompareFeatures(featureSumOf(before), featureSumOf(w.sum(20, nil)), 1, 1); f.P != 1 || f.AtLeast != 0 {
		t.Errorf("20 rows: %+v", f)
	}
}

// Rows count once, for any weights: 20 rows of weight 1,000 are too few.
func TestFewRowsWithLargeWeightsAreNotCompared(t *testing.T) {
	w := newDrawing(t, 2, 64, 1)
	shape := ridge.Shape{Dim: w.features, Outputs: 2, Weighted: true}
	var sets [2]FeatureSum
	for k, n := range []int{40, 20} {
		x, weights := make([]float32, n*w.d), make([]int64, n)
		for i := range n {
			weights[i] = 1000
			for j := range w.d {
				x[i*w.d+j] = float32(w.r.NormFloat64()) + float32(5*k)
			}
		}
		z, s := features.NewGrid(w.features, features.ByteSteps), ridge.NewSum(shape)
		w.m.Quantize(z, x, n, 1)
		s.Add(z, make([]float64, n), nil, weights, 1)
		sets[k] = FeatureSum{Features: make([]float64, w.features),
			Products: ridge.NewSum(ridge.Shape{Dim: w.features, Outputs: 1})}
		for part := range shape.NumParts() {
			if err := sets[k].AddPart(shape, part, s.Part(part)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if f := CompareFeatures(sets[0], sets[1], 1e-3, 1); f.Rows != [2]int64{40, 20} || f.P != 1 || f.AtLeast != 0 {
		t.Errorf("%+v", f)
	}
	all := sets[1].Without(FeatureSum{Features: make([]float64, w.features)})
	if f := CompareFeatures(sets[0], all, 1e-3, 1); f.Rows != [2]int64{40, 20} || f.P != 1 {
		t.Errorf("%+v", f)
	}
}
