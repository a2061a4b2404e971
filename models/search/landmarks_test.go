package search

import (
	"math"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/landmarks"
)

// For clusters, 512 landmarks are much better than 512 random features. For a wave of one column,
// which a few random features represent, they are not, and random features stay.
func TestLandmarksAreChosenWhereRandomFeaturesAreTooFew(t *testing.T) {
	wave := made(1000, 1, 0, func(x []float32) float64 { return math.Sin(3 * float64(x[0])) })
	for name, p := range map[string]*Pilot{"clusters": clusters(1000), "a wave": wave} {
		o := options(p)
		o.Features, o.Landmarks = 512, true
		r, rungs, err := newRunner(p, o)
		if err != nil {
			t.Fatal(err)
		}
		last := rungs[len(rungs)-1]
		e := &entry{Candidate: Candidate{View: "none", Kernel: "gaussian", Width: 0.5}, start: coarse}
		r.standard = e
		if err := r.tryAll(t.Context(), []*entry{e}, last); err != nil {
			t.Fatal(err)
		}
		chosen, err := r.landmarks(t.Context(), e, last)
		if err != nil {
			t.Fatal(err)
		}
		for _, trial := range r.trials {
			t.Logf("%s: %s: %d features, loss %.4f", name, trial.Candidate, trial.Features, trial.Loss)
		}
		if chosen.Landmarks != (name == "clusters") {
			t.Errorf("%s: chosen %s", name, chosen.Candidate)
		}
		if !chosen.Landmarks {
			continue
		}
		var result Result
		if err := r.finish(&result, chosen); err != nil {
			t.Fatal(err)
		}
		result.Joined.Features = 100
		recipe := result.Joined.join(mainOf(t, r, chosen), result.Joined.main(), 1)
		if _, out, err := features.Dims(recipe); err != nil || out != 96 {
			t.Errorf("%d features: %v; want the first 96 landmarks", out, err)
		}
		rows, err := landmarks.Decode(result.Landmarks)
		if err != nil || rows.Count != 512 {
			t.Errorf("%+v: %v; want 512 landmarks", rows, err)
		}
	}
}

// A pair is possible next to any number of landmarks. It has as many features as next to random
// ones.
func TestPairsWorkNextToLandmarks(t *testing.T) {
	odd := false
	for _, n := range []int{400, 401, 402} {
		p := masked(n, 6, false, 1)
		r, rungs, err := newRunner(p, options(p))
		if err != nil {
			t.Fatal(err)
		}
		at := *rungs[len(rungs)-1]
		at.drawn, at.features = true, 1024
		e := &entry{Candidate: Candidate{View: "none", Kernel: "gaussian", Width: 4, Pair: 0.25}, start: coarse}
		for _, train := range at.train {
			e.pairs = append(e.pairs, r.views["none"].newPair([2]int{2, 3}))
			odd = odd || maxLandmarks(at.features/2, len(train))%2 == 1
		}
		if err := r.tryAll(t.Context(), []*entry{e}, &at); err != nil {
			t.Fatal(err)
		}
		best, err := r.atLandmarks(t.Context(), e, &at)
		if err != nil || best == nil {
			t.Fatalf("%d rows: no landmarks next to a pair: %s, %v", n, r.trials[len(r.trials)-1].Failed, err)
		}
		t.Logf("%d rows: loss %.4f with random features, %.4f with landmarks", n, e.trial.Loss, best.trial.Loss)
		if !(best.mean() < 1.1*e.mean()) {
			t.Errorf("%d rows: %s has a loss of %.4f, %s %.4f", n, best.Candidate, best.trial.Loss, e.Candidate, e.trial.Loss)
		}
	}
	if !odd {
		t.Error("no fold has an odd number of landmarks: the test sees nothing")
	}
}

// mainOf returns the recipe of a candidate's kernel.
func mainOf(t *testing.T, r *runner, e *entry) features.Recipe {
	t.Helper()
	recipe, err := recipeOf(r.kernels[e.Kernel].options, r.pilot.D, 96, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	return recipe
}
