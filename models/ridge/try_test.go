package ridge

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/models/ridge/internal/solver"
)

// table returns the errors of the values of λ on the folds of the sample with that solver.
func table(t *testing.T, s *sample, by solver.Method, threads int, lambda ...float64) (rows []CVResult) {
	t.Helper()
	p := openedBy(t, s, by, threads, lambda...)
	if _, err := p.descent().All(); err != nil {
		t.Fatal(err)
	}
	rows, _, _ = p.table()
	return rows
}

// openedBy returns a search with that solver that has tried nothing.
func openedBy(t *testing.T, s *sample, by solver.Method, threads int, lambda ...float64) *search {
	o := s.options(lambda...)
	o.Threads = threads
	p := opened(t, o)
	p.method = by
	return p
}

func TestDescentFindsTheErrorsOfFactoring(t *testing.T) {
	for _, shape := range shapes() {
		t.Run(fmt.Sprintf("%+v", shape), func(t *testing.T) {
			s := draw(shape, 7*shape.Dim+50, 5, 1)
			lambda := []float64{1e-1, 1e-6, 1e-2, 1e-5, 1e-3, 1e-4}
			want := table(t, s, solver.Exactly, 2, lambda...)
			for _, by := range []solver.Method{solver.SharedFactor, solver.OwnFactor} {
				got := table(t, s, by, 2, lambda...)
				for i, row := range got {
					for _, v := range [][2]float64{{row.MSE, want[i].MSE}, {row.StdErr, want[i].StdErr}, {row.Train, want[i].Train}} {
						if math.Abs(v[0]-v[1]) > 1e-4*want[i].MSE {
							t.Errorf("lambda %g: %.12g by descent, %.12g by factoring", row.Lambda, v[0], v[1])
						}
					}
					if row.Lambda != lambda[i] || row.Folds != 5 || row.Failed != "" {
						t.Errorf("row %d: %+v", i, row)
					}
				}
			}
		})
	}
}

func TestThreadsDoNotChangeADescent(t *testing.T) {
	s := draw(Shape{Dim: campaign.Pick(100, 200), Outputs: 3}, 1500, 3, 3)
	var want []CVResult
	for _, level := range blas.Levels() {
		was := blas.Level()
		if err := blas.SetLevel(level); err != nil {
			t.Fatal(err)
		}
		for _, threads := range []int{1, 3} {
			got := table(t, s, solver.SharedFactor, threads, 1e-5, 1e-3)
			more := table(t, s, solver.OwnFactor, threads, 1e-5, 1e-3)
			if got = append(got, more...); want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("level %s, %d threads: %+v, want %+v", level, threads, got, want)
			}
		}
		if err := blas.SetLevel(was); err != nil {
			t.Fatal(err)
		}
	}
}

// A system that cannot be factored in float32 is factored in float64, and one that cannot be factored there
// either is not tried.
func TestSystemsBeyondDescentAreFactored(t *testing.T) {
	s := draw(Shape{Dim: 120, Outputs: 2}, 90, 3, 4) // fewer rows than features
	want := table(t, s, solver.Exactly, 2, 0, 1e-12, 1e-3)
	for _, by := range []solver.Method{solver.SharedFactor, solver.OwnFactor} {
		got := table(t, s, by, 2, 0, 1e-12, 1e-3)
		if !strings.HasPrefix(got[0].Failed, "not positive definite (pivot ") || got[0].Failed != want[0].Failed {
			t.Errorf("lambda 0: %+v, by factoring %+v", got[0], want[0])
		}
		if got[1] != want[1] {
			t.Errorf("lambda 1e-12: %+v, by factoring %+v", got[1], want[1])
		}
		if math.Abs(got[2].MSE-want[2].MSE) > 1e-5*want[2].MSE {
			t.Errorf("lambda 1e-3: %+v, by factoring %+v", got[2], want[2])
		}
	}
}

// Values of λ that change no eigenvalue much have one factor, and no more than
// solver.MaxFactors are in memory.
func TestFactorsAreSharedAndFew(t *testing.T) {
	s := draw(Shape{Dim: 60, Outputs: 2}, 900, 3, 5)
	lambda := []float64{1e-9, 2e-9, 1e-3, 1e-2, 1e-1, 1, 10, 100}
	p := openedBy(t, s, solver.SharedFactor, 2, lambda...)
	trials := p.trials([]int{2, 3, 4, 5, 6, 7}, false)
	if len(trials) != solver.MaxFactors {
		t.Errorf("%d trials of decades, want %d", len(trials), solver.MaxFactors)
	}
	trials = p.trials([]int{0, 1}, false)
	if len(trials) != 2 || trials[0].factor != trials[1].factor {
		t.Errorf("two factors for nearly the same lambda: %+v", trials)
	}
	if again := p.trials([]int{1}, false); len(again) != 1 || again[0].factor != trials[1].factor {
		t.Errorf("another factor for the same lambda: %+v", again)
	}
	trials = p.trials([]int{3, 4, 5}, true)
	if len(trials) != 3 || trials[0].factor != trials[1].factor || trials[2].factor != trials[1].factor ||
		!trials[1].factor.Serves(p.muOf(4)) {
		t.Errorf("want one factor, the middle λ's, for three decades: %+v", trials)
	}
	middle := trials[1].factor
	if again := p.trials([]int{3, 4}, false); len(again) != 1 || again[0].index != 4 || again[0].factor != middle {
		t.Errorf("on other folds the factor of a neighbour serves: %+v", again)
	}
	if own := p.trials([]int{3}, false); len(own) != 1 || own[0].factor == middle {
		t.Errorf("a value has no factor of its own: %+v", own)
	}
	for _, row := range table(t, s, solver.SharedFactor, 2, lambda...) {
		if row.Folds != 3 {
			t.Errorf("%d folds tried %g, want 3", row.Folds, row.Lambda)
		}
	}
}

// If the factor of a neighbour is too far off for a descent, the system is factored itself.
func TestFactorTooFarOffIsReplaced(t *testing.T) {
	s := draw(Shape{Dim: 120, Outputs: 2}, 2000, 3, 6)
	p := openedBy(t, s, solver.SharedFactor, 2, 1e-6)
	fold, err := p.load(0)
	if err != nil {
		t.Fatal(err)
	}
	p.eq.centre(p.total, nil)
	far := p.eq.Factor(1e6*p.mu(p.eq, 1e3), blas.MakeTiles[float32](120), nil)
	p.eq.centre(p.total, fold)
	got := p.descend(p.heldOutErrors(), fold, []trial{{0, far}})
	want := table(t, s, solver.Exactly, 2, 1e-6)
	if got[0].x == nil || math.Abs(got[0].held/fold.head[0]*p.squareUnit()-want[0].FoldMSE) > 1e-4*want[0].FoldMSE {
		t.Errorf("held-out errors %+v, want %g a row", got[0].held, want[0].FoldMSE)
	}
}
