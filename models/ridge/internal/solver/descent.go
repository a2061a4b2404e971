package solver

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// LambdaDescent searches for the best of Values. A value is given by its index in Values.
type LambdaDescent struct {
	Values  []float64 // first the Smaller ones, ascending; then the others, in any order
	Smaller int       // number of values that are tried only while each does better than the next larger one
	Judges  []int     // the folds that are held out
	Rows    int64     // number of rows of the first of them
	// Before returns the errors of a value on the Judges, in their order, in a similar problem, such as
	// with fewer features; nil if it was not tried there on all of them. The difference between two values
	// is assumed to vary between folds as much as there.
	Before func(value int) []float64
	// Together says that trying several values at once costs less.
	Together bool
	// Ends, unless nil, reports whether From ends at a value to which the first fold has led.
	Ends func(value int) bool

	// Try tries each of the values on each of the folds, unless it was tried before.
	Try func(values, folds []int) error
	// Errors returns the errors of a value on the folds that have tried it, in the order of Judges, and
	// their mean over rows; or why the value cannot be used.
	Errors func(value int) (folds []float64, mean float64, why string)
}

// All tries all values on all folds, but the Smaller ones only as long as each does better. It returns the best.
func (s *LambdaDescent) All() (best int, err error) {
	values := make([]int, len(s.Values)-s.Smaller)
	for i := range values {
		values[i] = s.Smaller + i
	}
	least := slices.MinFunc(values, func(a, b int) int { return cmp.Compare(s.Values[a], s.Values[b]) })
	for next := s.Smaller - 1; ; next-- {
		if err := s.Try(values, s.Judges); err != nil {
			return 0, err
		}
		best = s.best(len(s.Judges))
		if best < 0 {
			return 0, s.failure()
		}
		if next < 0 || s.Values[best] > s.Values[least] {
			return best, nil
		}
		values, least = []int{next}, next
	}
}

// From searches for the best value, starting at index start. The search may end early, see Ends; the value
// is then the best on the first fold.
func (s *LambdaDescent) From(start int) (best int, ended bool, err error) {
	for start >= 0 {
		at, err := s.descend(start)
		if err != nil {
			return 0, false, err
		}
		if s.Ends != nil && s.Ends(at) {
			return at, true, nil
		}
		if best, err = s.choose(); err != nil || best >= 0 {
			return best, false, err
		}
		start = s.untriedAbove(at)
	}
	return 0, false, s.failure()
}

// descend returns a value that is better than both neighbours on the first fold, starting at index at.
func (s *LambdaDescent) descend(at int) (int, error) {
	for {
		next, err := s.step(at)
		if err != nil || next == at {
			return next, err
		}
		at = next
	}
}

// step tries the value at index at and its neighbours on the first fold, and returns the best there.
func (s *LambdaDescent) step(at int) (next int, err error) {
	order := s.ascending()
	i := slices.Index(order, at)
	// If the smaller neighbour is better, the larger one is not needed.
	ends := []int{i + 1, i + 2}
	if s.Together {
		ends = ends[1:]
	}
	for _, end := range ends {
		if err := s.Try(order[max(0, i-1):min(len(order), end)], s.Judges[:1]); err != nil {
			return 0, err
		}
		next = s.best(1)
		if next >= 0 && next != at {
			return next, nil
		}
	}
	switch {
	case next == at:
		return at, nil
	case i+2 < len(order):
		return order[i+2], nil // all of them failed, as values that are too small do
	default:
		return 0, s.failure()
	}
}

// choose returns the best value on all folds. The other folds try the values that may be the best, and the
// neighbours of the best. choose returns -1 if all values that were tried have failed on some fold, as values
// that are too small do.
func (s *LambdaDescent) choose() (best int, err error) {
	for {
		for n := 1; n < len(s.Judges); n++ {
			if err := s.Try(s.hopeful(n), s.Judges[:n+1]); err != nil {
				return 0, err
			}
		}
		var next []int
		folds := s.Judges[:1]
		best = s.best(len(s.Judges))
		if best >= 0 {
			next = slices.DeleteFunc(s.Around(best), func(v int) bool { return !s.untried(v) })
		} else { // all values tried on all folds have failed: try those that were ruled out
			next, folds = s.hopeful(len(s.Judges)), s.Judges
		}
		if len(next) == 0 {
			return best, nil
		}
		if err := s.Try(next, folds); err != nil {
			return 0, err
		}
	}
}

// untried reports whether no fold has tried a value.
func (s *LambdaDescent) untried(value int) bool {
	folds, _, why := s.Errors(value)
	return why == "" && len(folds) == 0
}

// untriedAbove returns the index of the least value above the value at that has not been tried; -1 if there is none.
func (s *LambdaDescent) untriedAbove(at int) int {
	for _, v := range s.ascending() {
		if s.Values[v] > s.Values[at] && s.untried(v) {
			return v
		}
	}
	return -1
}

// ascending returns the indices of the values in ascending order.
func (s *LambdaDescent) ascending() []int {
	order := make([]int, len(s.Values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.Values[a], s.Values[b]) })
	return order
}

// Around returns the value at index at and its neighbours.
func (s *LambdaDescent) Around(at int) []int {
	order := s.ascending()
	i := slices.Index(order, at)
	return order[max(0, i-1):min(len(order), i+2)]
}

// hopeful returns the values that may be the best after the first folds. If all values that were tried on
// them have failed, it returns those that were ruled out before.
func (s *LambdaDescent) hopeful(folds int) []int {
	tried := map[int][]float64{}
	var values, usable []int
	best, least := -1, 0.0
	for v := range s.Values {
		e, _, why := s.Errors(v)
		if why != "" || len(e) == 0 {
			continue
		}
		usable = append(usable, v)
		if len(e) < folds {
			continue
		}
		tried[v] = e[:folds]
		if m := mean(tried[v]); best < 0 || m < least {
			best, least = v, m
		}
	}
	if best < 0 {
		return usable
	}
	for v := range s.Values {
		if e := tried[v]; e != nil && mean(e) <= least+s.margin(e, tried[best], v, best) {
			values = append(values, v)
		}
	}
	return values
}

const (
	// The other folds do not try a value if its mean on the folds so far is further than maxDeviations
	// standard deviations above the mean of the best: see margin.
	maxDeviations = 3
	// On the same rows the errors of neighbouring λ differ by a standard deviation of about usualDeviation/√rows,
	// relative to the errors; several times that if few rows have most of the error, up to cautiousDeviation/√rows.
	usualDeviation    = 0.3
	cautiousDeviation = 5
)

// margin returns how far the mean of the errors e of a value on some folds may be above the mean of the errors
// least of the best so far, if the value may still be the best over all folds. The variance σ² of the
// differences between folds is estimated from the similar problem of Before and from the folds that were
// tried. The mean of n of J draws without replacement has the variance σ²(1/n − 1/J).
func (s *LambdaDescent) margin(e, least []float64, value, best int) float64 {
	n, folds, level := float64(len(e)), float64(len(s.Judges)), mean(least)
	var valueErrors, bestErrors []float64
	if s.Before != nil {
		valueErrors, bestErrors = s.Before(value), s.Before(best)
	}
	if len(valueErrors) < 3 || len(bestErrors) < 3 ||
		!(mean(bestErrors) > 0 && mean(bestErrors)+mean(valueErrors) < math.MaxFloat64) {
		return level * cautiousDeviation / math.Sqrt(float64(s.Rows)*n)
	}
	squares := deviations(valueErrors, bestErrors, level/mean(bestErrors)) + deviations(e, least, 1)
	variance := squares / (float64(len(bestErrors)) + n - 2)
	floor := level * usualDeviation / math.Sqrt(float64(s.Rows))
	return maxDeviations * max(math.Sqrt(variance), floor) * math.Sqrt(1/n-1/folds)
}

// deviations returns the sum of squared deviations of the differences (a−b)/unit from their mean.
func deviations(a, b []float64, unit float64) (squares float64) {
	average := mean(a) - mean(b)
	for i := range a {
		d := unit * (a[i] - b[i] - average)
		squares += float64(d * d)
	}
	return squares
}

func mean(v []float64) (m float64) {
	for _, x := range v {
		m += x
	}
	return m / float64(len(v))
}

// best returns the index of the value with the least error among those tried on this number of folds, the larger
// of two equal ones; -1 if none of them can be used. With one fold it is the first that was tried.
func (s *LambdaDescent) best(folds int) int {
	best, least := -1, 0.0
	for v := range s.Values {
		done, average, why := s.Errors(v)
		if why != "" || len(done) < folds {
			continue
		}
		if folds == 1 {
			average = done[0]
		}
		if best < 0 || average < least || average == least && s.Values[v] > s.Values[best] {
			best, least = v, average
		}
	}
	return best
}

// failure returns the error that no value can be used, with the reason of the first.
func (s *LambdaDescent) failure() error {
	for v, lambda := range s.Values {
		if _, _, why := s.Errors(v); why != "" {
			return fmt.Errorf("ridge: no lambda can be used: %s at lambda %g; raise lambda", why, lambda)
		}
	}
	panic("ridge: no value has failed")
}
