package pipelines

import (
	"math"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/maxout"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/evaluate"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

func TestBoundsAccompanyMeasurements(t *testing.T) {
	data := dataset.Options{Files: []string{jobtest.Write(t, t.TempDir(), "data.csv",
		strings.Join(jobtest.Made(t, "moons", 120, 1), ""))}, Label: "y"}
	compare := func(k kernel.Options, all bool) (*results.CompareKernel, error) {
		return evaluate.CompareKernel(jobtest.Ctx, options.CompareKernel{
			Prepare: options.Prepare{Data: data, Scale: []string{"none"}, Kernel: k}, Budgets: []int{64,
				1024}, Seeds: 10, Rows: 40, Epsilon: 0.25, All: all,
		})
	}
	for _, form := range []fourier.Form{fourier.Paired, fourier.Offset} {
		r, err := compare(&fourier.GaussianOptions{Width: 1, Form: form}, false)
		if err != nil {
			t.Fatal(err)
		}
		b := r.Bounds
		if b == nil || b.Dim != 2 || !(b.Diameter > 2 && b.Diameter < 5) || len(b.Points) != 2 || b.Why != "" {
			t.Fatalf("%s: %+v", form, b)
		}
		for _, p := range b.Points {
			if !(p.Max > 0 && p.Max < p.Pairs && p.Pairs < *p.Uniform) {
				t.Errorf("%s: %d features: %g measured, bounds %g and %g", form, p.Features, p.Max, p.Pairs, *p.Uniform)
			}
			if r.Curves[0].Points[0].Max.Mean != b.Points[0].Max {
				t.Errorf("%s: %g is not the largest error of the table", form, p.Max)
			}
		}
		// Hoeffding by hand: D = w ln(2P/δ)/ε², 780 pairs.
		width := map[fourier.Form]float64{fourier.Paired: 4, fourier.Offset: 8}[form]
		if want := int(math.Ceil(width / (0.25 * 0.25) * math.Log(2*780/0.05))); b.PairsFeatures != want ||
			!(b.UniformFeatures > want) {
			t.Errorf("%s: %d and %d features, want %d for the pairs", form, b.PairsFeatures, b.UniformFeatures, want)
		}
		for _, word := range []string{"with probability 0.95 no error is larger", "bound, whole region",
			"for 0.25 at most: "} {
			if !strings.Contains(jobtest.Text(t, r), word) {
				t.Errorf("%q is not in\n%s", word, jobtest.Text(t, r))
			}
		}
	}
	// Laplace has no uniform bound.
	r, err := compare(&fourier.LaplaceOptions{Width: 1}, false)
	if err != nil || r.Bounds.Points[0].Uniform != nil || !(r.Bounds.Points[0].Pairs > 0) ||
		!strings.Contains(r.Bounds.Why, "no second moment") {
		t.Errorf("laplace: %+v, %v", r.Bounds, err)
	}
	// Frequencies that depend on one another, and features that are no cosines, have none.
	for _, k := range []kernel.Options{&fourier.GaussianOptions{Width: 1, Draw: fourier.Orthogonal}, &maxout.Options{}} {
		if r, err := compare(k, false); err != nil || r.Bounds != nil || strings.Contains(jobtest.Text(t, r), "bound") {
			t.Errorf("%+v: %+v, %v", k, r.Bounds, err)
		}
	}
	if _, err := evaluate.CompareKernel(jobtest.Ctx,
		options.CompareKernel{Prepare: options.Prepare{Data: data}, Epsilon: -1}); exit.CodeOf(err) != exit.CodeUsage {
		t.Error(err)
	}
}
