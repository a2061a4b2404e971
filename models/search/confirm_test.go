package search

import (
	"math"
	"math/rand/v2"
	"testing"
)

// clusters returns a pilot of 60 clusters in 20 columns. Each cluster has its own target.
func clusters(n int) *Pilot {
	const d, count = 20, 60
	r := rand.New(rand.NewPCG(1, 2))
	var centres, targets []float64
	for range count {
		targets = append(targets, r.NormFloat64())
		for range d {
			centres = append(centres, r.NormFloat64())
		}
	}
	p := &Pilot{N: n, D: d}
	for range n {
		c := r.IntN(count)
		for j := range d {
			p.X = append(p.X, float32(centres[c*d+j]+0.3*r.NormFloat64()))
		}
		p.Y = append(p.Y, targets[c])
	}
	return p
}

// A kernel of 0.3 median distances, which separates clusters best without features, is not chosen, since 512
// features cannot represent its small values. They can represent a wave of one column.
func TestUnusualWidthsAreConfirmedWithFeatures(t *testing.T) {
	for _, c := range []struct {
		name  string
		pilot *Pilot
		want  float64 // width
	}{
		{"clusters", clusters(500), 1},
		{"a wave", made(500, 1, 0, func(x []float32) float64 { return math.Sin(9 * float64(x[0])) }), 0.3},
	} {
		o := options(c.pilot)
		o.Features = 512
		r, rungs, err := newRunner(c.pilot, o)
		if err != nil {
			t.Fatal(err)
		}
		var candidates []*entry
		for _, w := range []float64{0.3, 1} {
			c := Candidate{View: "none", Kernel: "gaussian", Width: w}
			candidates = append(candidates, &entry{Candidate: c, start: coarse})
		}
		narrow, standard := candidates[0], candidates[1]
		r.standard = standard
		if err := r.tryAll(t.Context(), candidates, rungs[0]); err != nil {
			t.Fatal(err)
		}
		if !(narrow.mean() < standard.mean()) {
			t.Errorf("%s: without features the losses are %v and %v", c.name, narrow.mean(), standard.mean())
		}
		if same, err := r.confirm(t.Context(), candidates, standard, rungs[0]); err != nil || same != standard {
			t.Errorf("%s: a usual width: %+v, %v", c.name, same, err)
		}
		chosen, err := r.confirm(t.Context(), candidates, narrow, rungs[0])
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: losses without features %.3f and %.3f, with 512 %.3f and %.3f", c.name, narrow.trial.Loss,
			standard.trial.Loss, r.trials[len(r.trials)-2].Loss, r.trials[len(r.trials)-1].Loss)
		if chosen.Width != c.want || chosen.trial.Features != 512 || r.standard.trial.Features != 512 {
			t.Errorf("%s: chosen %+v, default %+v", c.name, chosen.trial, r.standard.trial)
		}
	}
}
