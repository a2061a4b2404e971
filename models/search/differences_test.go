package search

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

// board returns a pilot of positions on a board with 8 squares a side and two columns in another
// unit. The label is of(x) plus noise.
func board(n int, seed uint64, of func(x []float32) float64) *Pilot {
	r := rand.New(rand.NewPCG(seed, 0))
	p := &Pilot{N: n, D: 6}
	for range n {
		x := []float32{float32(1 + r.IntN(8)), float32(1 + r.IntN(8)), float32(1 + r.IntN(4)), float32(1 + r.IntN(8)),
			float32(20 + r.IntN(8)), float32(r.IntN(8)) / 2}
		p.X = append(p.X, x...)
		p.Y = append(p.Y, of(x)+r.NormFloat64())
	}
	return p
}

// differencesOf returns the runner of a search of the pilot, and the differences that it found.
func differencesOf(t *testing.T, p *Pilot) (*runner, []preprocess.Difference) {
	t.Helper()
	o := withLevels(p)
	o.Views = o.Views[:1]
	o.Views[0].Steps[0] = preprocess.NewStandard([]float64{4.5, 4.5, 2.5, 4.5, 23.5, 1.75},
		[]float64{5.25, 5.25, 1.25, 5.25, 5.25, 1.3})
	r, _, err := newRunner(p, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range r.options.Views {
		if v.Name == differencesView {
			return r, v.Steps[1].(preprocess.Differences).Pairs
		}
	}
	return r, nil
}

func near(a, b float32, least float64) float64 {
	if d := max(a-b, b-a); float64(d) <= least {
		return 2
	}
	return 0
}

func TestDifferencesThatLabelsDependOnAreFound(t *testing.T) {
	for seed := range uint64(5) {
		p := board(2000, seed, func(x []float32) float64 { return near(x[0], x[3], 0) + near(x[2], x[1], 1) + float64(x[4]) })
		if seed%2 == 1 { // the mean stands for missing numbers
			p.X[0], p.X[6*7], p.X[6*11+3] = 4.4375, 4.4375, 4.5625
		}
		r, found := differencesOf(t, p)
		var of [][2]int
		for _, p := range found {
			of = append(of, [2]int{p.First, p.Second})
		}
		slices.SortFunc(of, func(a, b [2]int) int { return a[0] - b[0] })
		if !slices.Equal(of, [][2]int{{0, 3}, {1, 2}}) {
			t.Fatalf("seed %d: differences of columns %v", seed, of)
		}
		s := r.views[differencesView]
		for i := range p.N { // in numbers before scaling
			for k, by := range found {
				a, b := p.X[i*p.D+by.First], p.X[i*p.D+by.Second]
				d := s.x[i*s.d+p.D+k]
				if unit := max(a-b, b-a); unit == 0 && d > 1e-5 || unit > 0 && !(d/unit > 0.3 && d/unit < 1) {
					t.Fatalf("seed %d, row %d: %v and %v differ by %v", seed, i, a, b, d)
				}
			}
		}
	}
}

func TestSearchTakesDifferences(t *testing.T) {
	campaign.Long(t)
	p := board(1000, 1, func(x []float32) float64 { return 3*near(x[0], x[3], 1) + float64(x[4])/4 })
	o := withLevels(p)
	o.Views = o.Views[:1]
	o.Views[0].Steps[0] = preprocess.NewStandard([]float64{4.5, 4.5, 2.5, 4.5, 23.5, 1.75},
		[]float64{5.25, 5.25, 1.25, 5.25, 5.25, 1.3})
	if r := run(t, p, o); r.Chosen.View != differencesView {
		t.Errorf("chose %v", r.Chosen.Candidate)
	}
}

// Random labels, sums of functions of single columns, and products have no differences, in 40
// tables with 6 pairs each.
func TestNoDifferencesByChance(t *testing.T) {
	for seed := range uint64(40) {
		p := board(900, seed, func(x []float32) float64 {
			return []float64{0, float64(x[0]*x[0] + x[3]), 0, float64(x[0] * x[1])}[seed%4]
		})
		if seed%4 == 2 {
			p.Classes = 3
			for i, y := range p.Y {
				p.Y[i] = float64(max(0, min(2, int(y+1.5))))
			}
		}
		if _, found := differencesOf(t, p); found != nil {
			t.Errorf("seed %d: %v", seed, found)
		}
	}
}

// Differences of large numbers are found, although their sums are not exact in float32.
func TestLargeNumbersHaveDifferences(t *testing.T) {
	p := board(2000, 3, func(x []float32) float64 { return near(x[0], x[3], 0) })
	for i := range p.N {
		for _, j := range []int{0, 1, 3} {
			p.X[i*p.D+j] = (p.X[i*p.D+j] + 1e6) * 16
		}
	}
	if _, found := differencesOf(t, p); len(found) != 1 || found[0].First != 0 || found[0].Second != 3 {
		t.Errorf("differences %v", found)
	}
}
