package search

import (
	"math"
	"math/rand/v2"
	"testing"
)

// masked returns a pilot of d columns. Two of them matter only together, next to strong terms of
// two others. With classes, the label is the sign.
func masked(n, d int, classes bool, seed uint64) *Pilot {
	rng := rand.New(rand.NewPCG(seed, 8))
	p := &Pilot{N: n, D: d}
	for i := range n {
		for range d {
			p.X = append(p.X, float32(rng.NormFloat64()))
		}
		x := p.X[i*d:]
		y := 3*float64(x[0]) + float64(x[1]) + math.Sin(3*float64(x[2]))*math.Copysign(1, float64(x[3]))
		if classes {
			p.Classes = 2
			y = math.Copysign(0.5, y) + 0.5
		}
		p.Y = append(p.Y, y)
	}
	return p
}

// screened returns a runner for a pilot with one view and one kernel, its last rung, and candidates
// that were tried there.
func screened(t *testing.T, p *Pilot) (*runner, *rung, []*trialled) {
	t.Helper()
	o := options(p)
	o.Views, o.Kernels = o.Views[:1], o.Kernels[:1]
	r, rungs, err := newRunner(p, o)
	if err != nil {
		t.Fatal(err)
	}
	rung := rungs[len(rungs)-1]
	candidates, err := r.screen(t.Context(), rung)
	if err != nil {
		t.Fatal(err)
	}
	return r, rung, candidates
}

// Two columns that strong terms of others hide are found in residuals, by exact fits and by fits
// with features. The result agrees with the trial.
func TestResidualsShowHiddenPairs(t *testing.T) {
	for _, n := range []int{1000, 2200} {
		r, rung, candidates := screened(t, masked(n, 12, false, 1))
		before := candidates[0]
		left, err := r.residuals(before, 0, rung.train[0], rung)
		if err != nil {
			t.Fatal(err)
		}
		var squares float64
		for _, v := range left[0] {
			squares += float64(v) * float64(v)
		}
		if mean := squares / float64(len(left[0])); !(mean < 0.3*r.variance(rung.train[0])) {
			t.Errorf("%d rows: residuals have a mean square of %.4f, targets %.4f", n, mean, r.variance(rung.train[0]))
		}
		candidates, err = r.pairOfResiduals(t.Context(), candidates, rung)
		if err != nil {
			t.Fatal(err)
		}
		best := candidates[0]
		if !best.InResiduals || !(best.mean() < 0.8*before.mean()) {
			t.Fatalf("%d rows: the best is %v with a loss of %.4f, before %.4f", n, best.Candidate, best.mean(), before.mean())
		}
		for fold, p := range best.pairs {
			if p.columns != [2]int{2, 3} {
				t.Errorf("%d rows, fold %d: columns %v", n, fold, p.columns)
			}
		}
		var result Result
		if err := r.finish(&result, best); err != nil || result.Joined == nil || result.Joined.Pair == nil {
			t.Errorf("%d rows: additional features %v, error %v", n, result.Joined, err)
		}
	}
}

// Residuals of a row come from fits to other rows: the residuals of random labels stay as large as
// the labels.
func TestResidualsAreOfOtherRows(t *testing.T) {
	for _, classes := range []int{0, 2, 4} {
		rng := rand.New(rand.NewPCG(3, 1))
		p := masked(900, 6, false, 1)
		p.Classes = classes
		for i := range p.Y {
			p.Y[i] = rng.NormFloat64()
			if classes > 0 {
				p.Y[i] = float64(rng.IntN(classes))
			}
		}
		r, rung, candidates := screened(t, p)
		rows := rung.train[0]
		left, err := r.residuals(candidates[0], 0, rows, rung)
		if err != nil {
			t.Fatal(err)
		}
		for c, y := range r.codes(rows) {
			var before, after, mean float64
			for i := range y {
				mean += float64(y[i]) / float64(len(y))
			}
			for i := range y {
				before += math.Pow(float64(y[i])-mean, 2)
				after += math.Pow(float64(left[c][i]), 2)
			}
			if !(after > 0.97*before && after < 1.5*before) {
				t.Errorf("%d classes, code %d: squares of residuals are %.3f of the squares of codes", classes, c, after/before)
			}
		}
	}
}

// Pairs are not found in noise more often than by chance.
func TestNoiseHasNoMissedPairs(t *testing.T) {
	found := 0
	for seed := range uint64(6) {
		p := masked(800, 10, true, seed)
		rand.New(rand.NewPCG(seed, 2)).Shuffle(p.N, func(i, j int) { p.Y[i], p.Y[j] = p.Y[j], p.Y[i] })
		r, rung, candidates := screened(t, p)
		more, err := r.pairOfResiduals(t.Context(), candidates, rung)
		if err != nil {
			t.Fatal(err)
		}
		if len(more) > len(candidates) {
			found++
		}
	}
	if found > 2 { // twice the bound's probability of 14%
		t.Errorf("%d of 6", found)
	}
}
