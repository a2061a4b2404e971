package ridge

import (
	"math"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

// If weights are fitted to one sum, their errors on another sum match predictions for the rows of that sum, one
// by one.
func TestErrorsOnOtherSumsMatchTheirRows(t *testing.T) {
	campaign.Long(t)
	for _, shape := range shapes() {
		s := draw(shape, 250, 3, 1)
		lambda := []float64{1e-1, 1e-3}
		near := func(what string, got, want float64) {
			t.Helper()
			if !(math.Abs(got-want) <= 1e-12*want) {
				t.Errorf("%+v: %s %.15g, want %.15g", shape, what, got, want)
			}
		}
		total, u := s.sum(s.all()), s.options(1).Units
		var first []float64
		for _, threads := range []int{1, 3} {
			e, err := NewEvaluator(total, u, threads)
			if err != nil {
				t.Fatal(err)
			}
			var all []float64
			for f := range s.folds {
				in, out := s.split(f)
				judged := s.sum(in)
				fits := e.Fit(s.sum(out), lambda)
				for i, got := range fits.Squares(judged) {
					if all = append(all, got); threads == 1 {
						near("squared errors", got, s.refit(out, lambda[i]).squares(s, in))
					}
				}
				near("squares of the mean", e.SquaresOfMean(judged.Part(0)), twin{w: make([][]float64, shape.Outputs),
					b: s.means(in)}.squares0(s, in))
			}
			if first = slices.Concat(first, all); !slices.Equal(all, first[:len(all)]) {
				t.Errorf("%+v: other errors on %d threads", shape, threads)
			}
		}
	}
}

// means returns the means of the targets.
func (s *sample) means(rows []int) []float64 {
	mean := make([]float64, s.shape.Outputs)
	for _, i := range rows {
		for c, v := range s.target(i) {
			mean[c] += v / float64(len(rows))
		}
	}
	return mean
}

// squares0 is squares of weights 0.
func (m twin) squares0(s *sample, rows []int) float64 {
	for c := range m.w {
		m.w[c] = make([]float64, s.shape.Dim)
	}
	return m.squares(s, rows)
}

// A sum that is scaled by a whole number gives the weights of rows that occur so many times.
func TestScaledSumEqualsRepeatedRows(t *testing.T) {
	for _, shape := range shapes()[:3] {
		s := draw(shape, 120, 2, 3)
		in, out := s.split(0)
		e, err := NewEvaluator(s.sum(s.all()), s.options(1).Units, 1)
		if err != nil {
			t.Fatal(err)
		}
		scaled, added := s.sum(out), s.sum(slices.Concat(in, out, out, out))
		scaled.Scale(3)
		scaled.Merge(s.sum(in))
		got, want := e.Fit(scaled, []float64{1e-3}).Squares(s.sum(in)), e.Fit(added, []float64{1e-3}).Squares(s.sum(in))
		if !slices.Equal(got, want) || !scaled.Equal(added) {
			t.Errorf("%+v: %g, repeated %g", shape, got, want)
		}
	}
}

func TestSingularMatrixHasNoErrors(t *testing.T) {
	s := draw(Shape{Dim: 70, Outputs: 1, Regression: true}, 100, 2, 1)
	e, err := NewEvaluator(s.sum(s.all()), s.options(1).Units, 2)
	if err != nil {
		t.Fatal(err)
	}
	few := s.sum(s.all()[:20])
	if got := e.Fit(few, []float64{0, 1e-2}).Squares(few); !math.IsInf(got[0], 1) || !(got[1] < 1e9) {
		t.Errorf("errors %g", got)
	}
	if _, err := NewEvaluator(NewSum(s.shape), s.options(1).Units, 2); err == nil {
		t.Error("an evaluator of no rows")
	}
}
