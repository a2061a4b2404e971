package paired

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat"
)

// night is a table of losses of two models.
type night struct{ weights, champion, challenger []float64 }

func (n night) sum() *losses {
	l := new(losses)
	for i := range n.champion {
		l.Add(int64(n.weights[i]), n.champion[i], n.challenger[i])
	}
	return l
}

func drawn(r *rand.Rand, n int, weighted bool) (t night) {
	for range n {
		w := 1.0
		if weighted {
			w = float64(1 + r.IntN(7))
		}
		base := r.ExpFloat64()
		t.weights = append(t.weights, w)
		t.champion = append(t.champion, float64(float32(base*(0.5+r.Float64()))))
		t.challenger = append(t.challenger, float64(float32(base*(0.5+r.Float64()))))
	}
	return t
}

func TestMomentsMatchTheRows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, weighted := range []bool{false, true} {
		for _, ratio := range []float64{1, 1.01, 0.5} {
			table := drawn(r, 500, weighted)
			l := table.sum()
			d := l.difference(ratio)
			var w, sum, squares, cubes, ww float64
			for i := range table.champion {
				w += table.weights[i]
				ww += table.weights[i] * table.weights[i]
				sum += table.weights[i] * (table.challenger[i] - ratio*table.champion[i])
			}
			mean := sum / w
			for i := range table.champion {
				z := table.weights[i] * (table.challenger[i] - ratio*table.champion[i] - mean)
				squares += z * z
				cubes += z * z * z
			}
			n := w * w / ww
			for _, c := range []struct {
				name      string
				got, want float64
			}{
				{"mean", d.Mean, mean}, {"error", d.StdErr, math.Sqrt(squares*n/(n-1)) / w},
				{"skew", d.Skew, cubes / math.Pow(squares, 1.5)}, {"effective", d.Effective, n},
			} {
				if math.Abs(c.got-c.want) > 1e-5*(math.Abs(c.want)+0.01) {
					t.Errorf("weighted %v, ratio %g: %s is %g, want %g", weighted, ratio, c.name, c.got, c.want)
				}
			}
			if !weighted && ratio == 1 {
				diff := make([]float64, 500)
				for i := range diff {
					diff[i] = table.challenger[i] - table.champion[i]
				}
				if got, want := d.StdErr*math.Sqrt(500), stat.StdDev(diff, nil); math.Abs(got-want) > 1e-9 {
					t.Errorf("deviation %g, want %g", got, want)
				}
			}
		}
	}
}

// Mean and standard error of tiny differences between large losses are accurate: nothing cancels.
func TestDifferencesOfNearlyEqualLossesAreAccurate(t *testing.T) {
	l := new(losses)
	r := rand.New(rand.NewPCG(2, 2))
	var diff []float64
	for range 1000 {
		a := float32(1000 + r.Float64())
		b := math.Nextafter32(a, 0)
		if r.IntN(3) == 0 {
			b = math.Nextafter32(a, 2000)
		}
		l.Add(1, float64(a), float64(b))
		diff = append(diff, float64(b)-float64(a))
	}
	d := l.difference(1)
	if want := stat.StdDev(diff, nil) / math.Sqrt(1000); math.Abs(d.StdErr/want-1) > 1e-9 ||
		math.Abs(d.Mean/stat.Mean(diff, nil)-1) > 1e-9 {
		t.Errorf("%+v, want mean %g and error %g", d, stat.Mean(diff, nil), want)
	}
	same := new(losses)
	for range 100 {
		same.Add(1, r.Float64(), 0.25)
	}
	equal := new(losses)
	for range 100 {
		v := r.Float64()
		equal.Add(1, v, v)
	}
	e := equal.difference(1)
	if low, high := e.Bounds(0.95); e.Mean != 0 || e.StdErr != 0 || e.P() != 1 || e.PBelow(0) != 1 || e.PBelow(0.1) != 0 ||
		low != 0 || high != 0 {
		t.Errorf("equal losses: %+v, %g to %g, p %g", e, low, high, e.P())
	}
	if d := new(losses).difference(1); d.P() != 1 || d.PBelow(1) != 1 {
		t.Errorf("no rows: %+v", d)
	}
}
