package search

import (
	"math"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/landmarks"
)

// Of clusters, 512 landmarks are much better than as many random features. Of a wave of one column, which a few
// features follow, they are not, and random features stay.
func TestLandmarksAreChosenWhereRandomFeaturesAreTooFew(t *testing.T) {
	wave := made(1000, 1, 0, false, func(x []float32) float64 { return math.Sin(3 * float64(x[0])) })
	for name, p := range map[string]*Pilot{"clusters": clusters(1000), "a wave": wave} {
		o := options(p)
		o.Features, o.Landmarks = 512, true
		r, all, err := newRunner(p, o)
		if err != nil {
			t.Fatal(err)
		}
		last := all[len(all)-1]
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
		result.Beside.Features = 100
		recipe := result.Beside.join(mainOf(t, r, chosen), result.Beside.main(), 1)
		if _, out, err := features.Dims(recipe); err != nil || out != 96 {
			t.Errorf("%d features: %v; want the first 96 landmarks", out, err)
		}
		rows, err := landmarks.Decode(result.Landmarks)
		if err != nil || rows.Count != 512 {
			t.Errorf("%+v: %v; want 512 landmarks", rows, err)
		}
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
