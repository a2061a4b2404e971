package solver

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// LambdaDescent searches for the best of Values. A value is given by its index in Values.
type LambdaDescent struct {
	Values  []float64 // first those of Smaller, ascending; then the others, in any order
	Smaller int       // number of values that are tried only while each does better than the next larger one
	Judges  []int     // the folds that are held out
	Rows    int64     // number of rows of the first of them
	// Before returns the errors of a value on the Judges, in their order, in a similar problem, such as
	// with fewer features; nil if it was not tried there on all of them. The difference between two values
	// is assumed to vary between folds as much as there.
	Before func(value int) []float64
	// Together says that trying several values at once costs less.
	Together bool
	// Ends, unless nil, reports whether the search ends at a value to which the first fold has led. The
	// search then sets Ended.
	Ends  func(value int) bool
	Ended bool

	// Try tries each of the values on each of the folds, unless it was tried before.
	Try func(values, folds []int) error
	// Errors returns the errors of a value on the folds that have tried it, in the order of Judges, and
	// their mean over rows; or why the value cannot be used.
	Errors func(value int) (folds []float64, mean float64, why string)
}

// All tries all values on all folds, but those of Smaller only as long as each does better. It returns the
// best.
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
		if best, err = s.Best(len(s.Judges)); err != nil || next < 0 || s.Values[best] > s.Values[least] {
			return best, err
		}
		values, least = []int{next}, next
	}
}

// From searches for the best value, starting at index start.
func (s *LambdaDescent) From(start int) (best int, err error) {
	order, at := s.ascending(), start
	for {
		// The first fold descends to a value that is better than both neighbours.
		for {
			i := slices.Index(order, at)
			next, err := at, error(nil)
			// If the smaller neighbour is better, the larger one is not needed.
			ends := []int{i + 1, i + 2}
			if s.Together {
				ends = ends[1:]
			}
			for _, upTo := range ends {
				if err := s.Try(order[max(0, i-1):min(len(order), upTo)], s.Judges[:1]); err != nil {
					return 0, err
				}
				if next, err = s.Best(1); err == nil && next != at {
					break
				}
			}
			if err != nil && i+2 < len(order) {
				next, err = order[i+2], nil // all of them failed, as values that are too small do
			}
			if err != nil {
				return 0, err
			}
			if next == at {
				break
			}
			at = next
		}
		if s.Ended = s.Ends != nil && s.Ends(at); s.Ended {
			return at, nil
		}
		// The other folds choose among the values that may be the best and the neighbours of the best.
		for {
			for n := 1; n < len(s.Judges); n++ {
				if err := s.Try(s.hopeful(n), s.Judges[:n+1]); err != nil {
					return 0, err
				}
			}
			if best, err = s.Best(len(s.Judges)); err != nil {
				given := s.hopeful(len(s.Judges)) // up before
				if len(given) == 0 {
					break
				}
				if err := s.Try(given, s.Judges); err != nil {
					return 0, err
				}
				continue
			}
			missing := slices.DeleteFunc(s.Around(best), func(v int) bool {
				folds, _, why := s.Errors(v)
				return why != "" || len(folds) > 0
			})
			if len(missing) == 0 {
				return best, nil
			}
			if err := s.Try(missing, s.Judges[:1]); err != nil {
				return 0, err
			}
		}
		// All of them failed on some fold, as values that are too small do.
		i := slices.IndexFunc(order, func(v int) bool {
			folds, _, why := s.Errors(v)
			return s.Values[v] > s.Values[at] && why == "" && len(folds) == 0
		})
		if i < 0 {
			return 0, err
		}
		at = order[i]
	}
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

// hopeful returns the values that may be the best after that many folds. If all values that were tried on
// them have failed, it returns those that were ruled out before.
func (s *LambdaDescent) hopeful(folds int) []int {
	errors := map[int][]float64{}
	var values, left []int
	best, least := -1, 0.0
	for v := range s.Values {
		e, _, why := s.Errors(v)
		if why != "" || len(e) == 0 {
			continue
		}
		left = append(left, v)
		if len(e) < folds {
			continue
		}
		errors[v] = e[:folds]
		if m := mean(errors[v]); best < 0 || m < least {
			best, least = v, m
		}
	}
	for v := range s.Values {
		if e := errors[v]; e != nil && mean(e) <= least+s.margin(e, errors[best], v, best) {
			values = append(values, v)
		}
	}
	if best < 0 {
		return left
	}
	return values
}

const (
	// likely is a number of standard deviations. The other folds do not try a value if its mean on the folds
	// so far is further than this above that of the best: see margin.
	likely = 3
	// On the same rows the errors of neighbouring λ differ by a standard deviation of about ordinary/√rows,
	// relative to the errors; several times that if few rows have most of the error, up to unknown/√rows.
	ordinary = 0.3
	unknown  = 5
)

// margin returns how far the mean error of a value on some folds may be above that of the best so far if
// the value may still be the best over all folds. The variance σ² of the differences between folds is
// estimated from the similar problem of Before and from the folds that were tried. The mean of n of J draws
// without replacement has the variance σ²(1/n − 1/J).
func (s *LambdaDescent) margin(errors, least []float64, value, best int) float64 {
	n, all, level := float64(len(errors)), float64(len(s.Judges)), mean(least)
	var other, own []float64
	if s.Before != nil {
		other, own = s.Before(value), s.Before(best)
	}
	if len(other) < 3 || len(own) < 3 || !(mean(own) > 0 && mean(own)+mean(other) < math.MaxFloat64) {
		return level * unknown / math.Sqrt(float64(s.Rows)*n)
	}
	squares := deviations(other, own, level/mean(own)) + deviations(errors, least, 1)
	variance := squares / (float64(len(own)) + n - 2)
	floor := level * ordinary / math.Sqrt(float64(s.Rows))
	return likely * max(math.Sqrt(variance), floor) * math.Sqrt(1/n-1/all)
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

// Best returns the index of the value with the least error among those tried on that many folds, the larger
// of two equal ones. With one fold it is the first that was tried.
func (s *LambdaDescent) Best(folds int) (int, error) {
	best, reason, least := -1, -1, 0.0
	for v := range s.Values {
		done, mean, why := s.Errors(v)
		if why != "" {
			if reason < 0 {
				reason = v
			}
			continue
		}
		if len(done) < folds {
			continue
		}
		if folds == 1 {
			mean = done[0]
		}
		if best < 0 || mean < least || mean == least && s.Values[v] > s.Values[best] {
			best, least = v, mean
		}
	}
	if best < 0 {
		_, _, why := s.Errors(reason)
		return 0, fmt.Errorf("ridge: no lambda can be used: %s at lambda %g; raise lambda", why, s.Values[reason])
	}
	return best, nil
}
