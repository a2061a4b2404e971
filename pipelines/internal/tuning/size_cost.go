package tuning

import "math"

// Cost is the time of a trial by stage, in seconds.
type Cost struct {
	Map   float64 `json:"map"`   // computing features from rows
	Sum   float64 `json:"sum"`   // adding products of features
	Solve float64 `json:"solve"` // solving, and choosing λ
	Rest  float64 `json:"rest"`  // everything else, which does not depend on the number of features
}

// SplitCost divides the seconds of a trial into stages. mapped, summed and solved are the seconds
// that workers report for each stage. If workers ran in parallel their total can exceed seconds; it
// is then scaled down.
func SplitCost(seconds, mapped, summed, solved float64) Cost {
	if all := mapped + summed + solved; all > seconds {
		by := seconds / all
		mapped, summed, solved = mapped*by, summed*by, solved*by
	}
	return Cost{Map: mapped, Sum: summed, Solve: solved, Rest: seconds - mapped - summed - solved}
}

// predict returns the expected seconds of a trial with the given number of features. It scales the
// last trial by the ratio of the costs that Expect returns. If the last trial took longer than
// predicted from the one before it, predict assumes the same delay for each further doubling.
func (s *SizeSearch) predict(trials []SizeTrial, features int, once bool) float64 {
	last := len(trials) - 1
	t := trials[last]
	seconds := s.scaled(t, features, once)
	if last > 0 {
		was := trials[last-1]
		late := math.Pow(t.Cost.sized()/s.scaled(was, t.Features, t.Once),
			1/math.Log2(float64(t.Features)/float64(was.Features)))
		if late > 1 { // false for NaN
			seconds *= math.Pow(min(late, mostLate), math.Log2(float64(features)/float64(t.Features)))
		}
	}
	return t.Cost.Rest + seconds
}

// mostLate bounds the factor of that delay for each doubling.
const mostLate = 1.6

// sized returns the part of the cost that depends on the number of features.
func (c Cost) sized() float64 { return c.Map + c.Sum + c.Solve }

// scaled returns the part of the cost that depends on the number of features, in seconds, scaled
// from the trial t to another number of features.
func (s *SizeSearch) scaled(t SizeTrial, features int, once bool) float64 {
	was, will := s.Expect(t), s.Expect(SizeTrial{Features: features, Once: once, Lambda: t.Lambda})
	by := func(took, was, will float64) float64 { return took * will / max(was, math.SmallestNonzeroFloat64) }
	return by(t.Cost.Map, was.Map, will.Map) + by(t.Cost.Sum, was.Sum, will.Sum) + by(t.Cost.Solve, was.Solve, will.Solve)
}

// affordable returns the largest number of features, at most Most, that the remaining time allows:
// a multiple of unit, or Most. It returns the last trial's number if the time is too short for
// more.
func (s *SizeSearch) affordable(trials []SizeTrial, once bool) int {
	left := (s.Time - s.Clock()).Seconds()
	low := trials[len(trials)-1].Features
	if s.predict(trials, s.Most, once) <= left {
		return s.Most
	}
	for high := s.Most; high-low > unit; {
		if at := (low + high) / 2 / unit * unit; at > low && s.predict(trials, at, once) <= left {
			low = at
		} else {
			high = max(at, low+unit)
		}
	}
	return low
}
