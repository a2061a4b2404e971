package solver

import (
	"math"
	"slices"
	"testing"
)

// table holds the errors of each value on each fold, and which of them a search tried.
type table struct {
	errors [][]float64
	tried  map[[2]int]bool
}

func (t *table) search(values []float64, smaller int) *LambdaDescent {
	t.tried = map[[2]int]bool{}
	s := &LambdaDescent{Values: values, Smaller: smaller, Rows: 3000}
	for f := range t.errors[0] {
		s.Judges = append(s.Judges, f)
	}
	s.TryLambdas = func(values, folds []int) error {
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

// bowl has errors that rise with the distance from a value, by a factor for each step, and that are equal on all
// folds, except for noise.
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

// before has the errors of a table on all folds, in another unit.
func (t *table) before(unit float64) func(value int) []float64 {
	return func(value int) (errors []float64) {
		for _, e := range t.errors[value] {
			errors = append(errors, unit*e)
		}
		return errors
	}
}

// From every value the search finds the best. If the differences between folds are known, it tries distant
// values on fewer folds, for any unit of the errors.
func TestBestValueIsFoundFromAnyStart(t *testing.T) {
	for best := range decades {
		for start := range decades {
			var tries []int
			for _, unit := range []float64{0, 1, 1e9, 1e-9} {
				b := bowl(len(decades), best, 1.06, 0.002)
				s := b.search(decades, 1)
				if unit > 0 {
					s.Before = bowl(len(decades), best, 1.02, 0.003).before(unit)
				}
				if got, _, err := s.From(start); err != nil || got != best {
					t.Errorf("from %d: %d, %v, want %d", start, got, err, best)
				}
				tries = append(tries, len(b.tried))
				for f := range 5 {
					if !b.tried[[2]int{best, f}] {
						t.Errorf("from %d: the best was not tried on fold %d", start, f)
					}
				}
			}
			if !(tries[1] < tries[0]) || tries[2] != tries[1] || tries[3] != tries[1] {
				t.Errorf("from %d to %d: %d trials where nothing is known of folds, %v where it is, in three units", start, best,
					tries[0], tries[1:])
			}
		}
	}
}

// A fold on which another value is better does not decide if folds are known to differ so much.
func TestFoldThatDiffersDoesNotDecide(t *testing.T) {
	b := bowl(len(decades), 4, 1.01, 0)
	b.errors[3][0] = 0.97
	other := bowl(len(decades), 4, 1.01, 0)
	other.errors[3][2] = 0.97
	for _, start := range []int{2, 4, 5} {
		s := b.search(decades, 0)
		s.Before = other.before(1)
		if got, _, err := s.From(start); err != nil || got != 4 {
			t.Errorf("from %d: %d, %v, want 4", start, got, err)
		}
	}
}

// The margin after some folds is three standard deviations of the difference between their mean and the mean
// over all folds.
func TestMarginMatchesDrawsWithoutReplacement(t *testing.T) {
	b := bowl(2, 0, 1, 0)
	b.errors[1] = []float64{1.1, 1.6, 1.2, 1.1, 1.5} // the differences from b.errors[0] have a variance
	s := b.search([]float64{1, 2}, 0)
	var differences []float64
	for f, e := range b.errors[1] {
		differences = append(differences, e-b.errors[0][f])
	}
	s.Before = b.before(1)
	for n := 1; n <= 5; n++ {
		own := deviations(b.errors[1][:n], b.errors[0][:n], 1)
		level := mean(b.errors[0][:n]) / mean(b.errors[0])
		all := deviations(differences, make([]float64, 5), level)
		want := 3 * math.Sqrt((own+all)/float64(3+n)) * math.Sqrt(1/float64(n)-1.0/5)
		if got := s.margin(b.errors[1][:n], b.errors[0][:n], 1, 0); math.Abs(got-want) > 1e-12 || n == 5 && got != 0 {
			t.Errorf("after %d folds: %g, want %g", n, got, want)
		}
	}
}

// A value that fails on a later fold is replaced by the values that were given up for it, and by larger ones.
func TestValueThatFailsOnALaterFoldIsReplaced(t *testing.T) {
	for _, c := range []struct {
		fail []int
		want int
	}{{[]int{3}, 4}, {[]int{2, 3, 4}, 5}, {[]int{0, 1, 2, 3, 4, 5, 6}, 7}} {
		for last := 1; last < 5; last++ {
			b := bowl(len(decades), 3, 1.5, 0)
			s := b.search(decades, 0)
			s.Before = bowl(len(decades), 3, 1.5, 0).before(1)
			plain := s.Errors
			s.Errors = func(v int) ([]float64, float64, string) {
				if slices.Contains(c.fail, v) && b.tried[[2]int{v, last}] {
					return nil, 0, "not positive definite"
				}
				return plain(v)
			}
			if got, _, err := s.From(3); err != nil || got != c.want {
				t.Errorf("%v fail on fold %d: %d, %v, want %d", c.fail, last, got, err, c.want)
			}
		}
	}
}

// If a value fails on the last fold, values that were tried on the first fold only are tried, even if no larger
// value is left.
func TestSkippedCandidatesAreTriedLast(t *testing.T) {
	b := bowl(4, 1, 1.5, 0)
	s := b.search([]float64{1, 2, 3, 4}, 0)
	s.Before = bowl(4, 1, 1.5, 0).before(1)
	plain := s.Errors
	s.Errors = func(v int) ([]float64, float64, string) {
		if v < 3 && b.tried[[2]int{v, 4}] {
			return nil, 0, "not positive definite"
		}
		return plain(v)
	}
	for start := range 4 {
		clear(b.tried)
		if got, _, err := s.From(start); err != nil || got != 3 {
			t.Errorf("from %d: %d, %v, want 3", start, got, err)
		}
	}
}

// Values that fail are skipped, and all others that are smaller are tried only while they do better.
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
		if got, _, err := s.From(start); err != nil || got != 3 {
			t.Errorf("from %d: %d, %v, want 3", start, got, err)
		}
	}
	if got := s.Around(0); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("neighbours of the first: %v", got)
	}
}
