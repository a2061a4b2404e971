package descent

import (
	"math"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/internal/stattest"
)

// errors are those of each value on each fold, from which a search takes what it tries.
type table struct {
	errors [][]float64
	tried  map[[2]int]bool
}

func (t *table) search(values []float64, smaller int) *Search {
	t.tried = map[[2]int]bool{}
	s := &Search{Values: values, Smaller: smaller, Rows: 3000}
	for f := range t.errors[0] {
		s.Judges = append(s.Judges, f)
	}
	s.Try = func(values, folds []int) error {
		for _, v := range values {
			for _, f := range folds {
				t.tried[[2]int{v, f}] = true
			}
		}
		return nil
	}
	s.Errors = func(v int) (folds []float64, mean float64, why string) {
		for f, e := range t.errors[v] {
			if t.tried[[2]int{v, f}] {
				folds, mean = append(folds, e), mean+e
			}
		}
		if len(folds) > 0 && folds[0] < 0 {
			return nil, 0, "not positive definite"
		}
		return folds, mean / float64(len(folds)), ""
	}
	return s
}

// bowl has errors that rise with the distance from a value, by a factor for each step, and that are alike on all
// folds but for a noise of differences.
func bowl(values, best int, factor, noise float64) *table {
	t := &table{}
	for v := range values {
		var folds []float64
		for f := range 5 {
			level := 1 + 0.3*math.Sin(float64(f))
			folds = append(folds, level*(math.Pow(factor, math.Abs(float64(v-best)))+noise*math.Sin(float64(7*v+3*f))))
		}
		t.errors = append(t.errors, folds)
	}
	return t
}

var decades = []float64{1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2}

// From every value the search finds the best. With a known noise there it tries what is not near it on one fold only.
func TestTheBestIsFoundFromAnywhere(t *testing.T) {
	for best := range decades {
		for start := range decades {
			tries := map[float64]int{}
			for _, noise := range []float64{0, 0.004} {
				b := bowl(len(decades), best, 1.06, 0.002)
				s := b.search(decades, 1)
				s.Noise = noise
				if got, err := s.From(start); err != nil || got != best {
					t.Errorf("from %d: %d, %v, want %d", start, got, err, best)
				}
				tries[noise] = len(b.tried)
				for f := range 5 {
					if !b.tried[[2]int{best, f}] {
						t.Errorf("from %d: the best was not tried on fold %d", start, f)
					}
				}
			}
			if (tries[0.004] < tries[0]) != (start == best) {
				t.Errorf("from %d to %d: %d trials, %d without a known noise", start, best, tries[0.004], tries[0])
			}
		}
	}
}

// A fold on which another value is better than where the search began does not decide.
func TestAFoldThatDiffersDoesNotDecide(t *testing.T) {
	b := bowl(len(decades), 4, 1.01, 0)
	b.errors[3][0] = 0.97
	s := b.search(decades, 0)
	s.Noise = 0.0001
	for _, start := range []int{2, 4, 5} {
		if got, err := s.From(start); err != nil || got != 4 {
			t.Errorf("from %d: %d, %v, want 4", start, got, err)
		}
	}
}

func TestDifferencesAreThoseOfFolds(t *testing.T) {
	for _, noise := range []float64{0, 0.01, 0.1} {
		b := bowl(len(decades), 3, 1.1, noise)
		got, err := b.search(decades, 0).Differences(3)
		if level := 0.03; err != nil || got < noise/2 || got > 2*noise+level { // folds of other levels have other differences
			t.Errorf("noise %g: %g, %v", noise, got, err)
		}
	}
}

// Values that fail are left, and all others that are smaller are tried only while they do better.
func TestAllTriesSmallerValuesWhileTheyDoBetter(t *testing.T) {
	b := bowl(len(decades), 2, 1.1, 0)
	s := b.search(decades, 4)
	if got, err := s.All(); err != nil || got != 2 || b.tried[[2]int{0, 0}] || !b.tried[[2]int{1, 4}] {
		t.Errorf("%d, %v, tried %v", got, err, b.tried)
	}
	for v := range 3 {
		b.errors[v] = []float64{-1, -1, -1, -1, -1}
	}
	for _, start := range []int{0, 1, 5} {
		s = b.search(decades, 4)
		if got, err := s.From(start); err != nil || got != 3 {
			t.Errorf("from %d: %d, %v, want 3", start, got, err)
		}
	}
	if got := s.Around(0); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("neighbours of the first: %v", got)
	}
}

func TestNothingIsFused(t *testing.T) { stattest.NoFusedMultiplyAdd(t) }
