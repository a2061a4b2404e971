package search

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

// hidden returns a pilot of d columns. Only columns 3 and 11 matter, and only together.
func hidden(n, d, classes int, seed uint64, y func(a, b float64) float64) *Pilot {
	rng := rand.New(rand.NewPCG(seed, 5))
	p := &Pilot{N: n, D: d, Classes: classes}
	for i := range n {
		for range d {
			v := rng.Float64()*2 - 1
			if classes > 0 {
				v = float64(rng.IntN(2))
			}
			p.X = append(p.X, float32(v))
		}
		p.Y = append(p.Y, y(float64(p.X[i*d+3]), float64(p.X[i*d+11])))
	}
	return p
}

func product(a, b float64) float64 { return a * b }
func parity(a, b float64) float64  { return float64((int(a) + int(b)) % 2) }

// Two columns that matter only together have the largest weights. Shuffled labels rarely give any.
func TestProductsFindPairs(t *testing.T) {
	seeds := campaign.Pick(4, 8)
	for _, c := range []struct {
		name    string
		classes int
		y       func(a, b float64) float64
	}{{"product", 0, product}, {"parity", 2, parity}} {
		chance := 0
		for seed := range uint64(seeds) {
			p := hidden(1200, 40, c.classes, seed, c.y)
			if w := pairWeights(t, p); w == nil || slices.Max(w) != max(w[3], w[11]) || min(w[3], w[11]) < 100 {
				t.Errorf("%s, seed %d: the weights are %.0f", c.name, seed, w)
			}
			rand.New(rand.NewPCG(seed, 6)).Shuffle(p.N, func(i, j int) { p.Y[i], p.Y[j] = p.Y[j], p.Y[i] })
			if w := pairWeights(t, p); w != nil {
				chance++
			}
		}
		if chance > seeds/4 { // the bound of the largest is passed with probability 0.14 at most
			t.Errorf("%s: of %d shuffles, %d have weights", c.name, seeds, chance)
		}
	}
}

func pairWeights(t *testing.T, p *Pilot) []float64 {
	t.Helper()
	l, err := p.labels()
	if err != nil {
		t.Fatal(err)
	}
	s, err := newViewRows(p, View{Name: standardView}, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]int, p.N)
	for i := range all {
		all[i] = i
	}
	w := (&runner{pilot: p, labels: l, options: Options{Threads: 1}}).pairWeights(s, all)
	r := &runner{pilot: p, labels: l, options: Options{Threads: 3}}
	if more := r.pairWeights(s, all); !slices.Equal(more, w) {
		t.Error("the weights depend on threads")
	}
	return w
}

// The search learns from a pair of columns what a kernel of all columns does not see.
func TestSearchFindsPairs(t *testing.T) {
	campaign.Long(t)
	p := hidden(campaign.Pick(1000, 1500), 40, 0, 1, func(a, b float64) float64 { return math.Sin(9*a) * b })
	found, err := Run(t.Context(), p, Options{Views: []View{{Name: standardView}},
		Kernels: []kernel.Options{&fourier.GaussianOptions{}}, Features: 256, Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	if c := found.Chosen; !c.Products || c.Loss > 0.5 || found.Default.Loss < 0.95 {
		t.Errorf("chosen is %v with a loss of %.3f; the default has %.3f", c.Candidate, c.Loss, found.Default.Loss)
	}
}
