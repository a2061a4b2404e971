// Package descent finds the best of a list of values of λ, of which it tries few.
//
// Held-out errors fall and rise once as λ grows, but for the noise of a few rows. So one fold leads from a value to
// a least one between its neighbours, and the others try only what is close to the best.
package descent

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Search is a search among Values. Values are known by their positions.
type Search struct {
	Values  []float64 // those of Smaller first, ascending
	Smaller int       // how many are tried only while each does better than the one above
	Judges  []int     // the folds
	Rows    int64     // of the first of them
	// Noise is the standard deviation of the difference between the errors of neighbouring values on a fold, as a part of the
	// error, near the value from which the search begins; 0 if it is not known.
	Noise float64
	// Together says that values which are tried at once cost less.
	Together bool
	// Ends tells whether the search ends at a value to which the first fold has led; nil for never. Ended is set then.
	Ends  func(value int) bool
	Ended bool

	// Try tries values on folds, as far as that has not been done.
	Try func(values, folds []int) error
	// Errors returns the errors of the folds that have tried a value, in the order of Judges, and their mean over rows; or why
	// the value cannot be used.
	Errors func(value int) (folds []float64, mean float64, why string)
}

// All tries all values on all folds, but those of Smaller only as long as each does better, and returns the best.
func (s *Search) All() (best int, err error) {
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

// From finds the best value from the one at that position.
func (s *Search) From(start int) (best int, err error) {
	order, at := s.ascending(), start
	for {
		// The first fold leads to a least value between its neighbours.
		for {
			i := slices.Index(order, at)
			next, err := at, error(nil)
			// The larger neighbour is not needed where the smaller is better.
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
				next, err = order[i+2], nil // all of them failed, as too small ones do
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
		// All folds choose among those that are as good but for noise, which shrinks with
		// each fold.
		// What is known of it counts where the fold has confirmed the value from which the search began: a fold that leads
		// elsewhere differs from the others by more.
		noise := 0.0
		if at == start {
			noise = s.Noise
		}
		for n := range s.Judges {
			if err := s.Try(s.close(n, noise), s.Judges[:n+1]); err != nil {
				return 0, err
			}
		}
		if best, err = s.Best(len(s.Judges)); err != nil {
			return 0, err
		}
		i := slices.Index(order, best)
		missing := slices.DeleteFunc(slices.Clone(order[max(0, i-1):min(len(order), i+2)]), func(v int) bool {
			folds, _, why := s.Errors(v)
			return why != "" || len(folds) > 0
		})
		if len(missing) == 0 {
			return best, nil
		}
		if err := s.Try(missing, s.Judges); err != nil {
			return 0, err
		}
		if next, err := s.Best(len(s.Judges)); err != nil || next == best {
			return best, err
		}
	}
}

// ascending returns the positions of the values in ascending order.
func (s *Search) ascending() []int {
	order := make([]int, len(s.Values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.Values[a], s.Values[b]) })
	return order
}

// Around returns the value at that position and its neighbours.
func (s *Search) Around(at int) []int {
	order := s.ascending()
	i := slices.Index(order, at)
	return order[max(0, i-1):min(len(order), i+2)]
}

// margin is how much larger the error on so many folds may be, relative to the least, for the other folds to try a
// value. Errors of neighbouring λ on the same rows differ with a standard deviation of 0.3/√rows of themselves, and
// several times that if few rows have most of the error. Where noise is known from a few folds, ten of it are enough.
func (s *Search) margin(folds int, noise float64) float64 {
	m := 5 / math.Sqrt(float64(s.Rows*int64(folds)))
	if noise > 0 {
		m = min(m, 10*noise/math.Sqrt(float64(folds)))
	}
	return m
}

// close returns the positions of the values that may be the best, after so many folds.
func (s *Search) close(folds int, noise float64) (values []int) {
	least := math.Inf(1)
	tried := func(v int) (mean float64, ok bool) {
		done, mean, why := s.Errors(v)
		return mean, why == "" && len(done) > 0 && len(done) >= folds
	}
	for v := range s.Values {
		if mean, ok := tried(v); ok {
			least = min(least, mean)
		}
	}
	limit := least * (1 + s.margin(max(folds, 1), noise))
	for v := range s.Values {
		if mean, ok := tried(v); ok && mean <= limit {
			values = append(values, v)
		}
	}
	return values
}

// Best returns the position of the value with the least error of those that so many
// folds have tried, the larger of two equal ones; of one fold, the first that was tried.
func (s *Search) Best(folds int) (int, error) {
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

// Differences tries the value at that position and its neighbours on all folds, and returns the largest standard deviation
// of the differences between its errors and those of a neighbour, as a part of its error; 0 for fewer than three
// folds.
func (s *Search) Differences(at int) (noise float64, err error) {
	near := s.Around(at)
	if err := s.Try(near, s.Judges); err != nil {
		return 0, err
	}
	own, mean, why := s.Errors(at)
	if why != "" || len(own) < 3 || !(mean > 0) {
		return 0, nil
	}
	for _, v := range near {
		other, _, why := s.Errors(v)
		if v == at || why != "" {
			continue
		}
		var average, squares float64
		n := float64(len(own))
		for f, e := range own {
			average += (other[f] - e) / n
		}
		for f, e := range own {
			d := other[f] - e - average
			squares += float64(d * d)
		}
		noise = max(noise, math.Sqrt(squares/(n-1))/mean)
	}
	return noise, nil
}
