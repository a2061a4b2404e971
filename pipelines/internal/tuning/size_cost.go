package tuning

import "math"

// Cost is what a training took, in seconds.
type Cost struct {
	Map   float64 `json:"map"`   // rows to features
	Sum   float64 `json:"sum"`   // products of features
	Solve float64 `json:"solve"` // and choosing lambda
	Rest  float64 `json:"rest"`  // does not depend on the size
}

// SplitCost splits the seconds of a training by what its workers report, which may be more in total
// where several of them ran at the same time.
func SplitCost(seconds, mapped, summed, solved float64) Cost {
	if all := mapped + summed + solved; all > seconds {
		by := seconds / all
		mapped, summed, solved = mapped*by, summed*by, solved*by
	}
	return Cost{Map: mapped, Sum: summed, Solve: solved, Rest: seconds - mapped - summed - solved}
}

// predict returns the seconds of a training of a size, once or not, by the last trial and what the stages of
// both are expected to cost. If that trial took longer than the one before had let expect, so will
// the next.
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

// mostLate is how much more each doubling of the size is at most assumed to cost.
const mostLate = 1.6

// sized is the part of the cost that depends on the size.
func (c Cost) sized() float64 { return c.Map + c.Sum + c.Solve }

// scaled returns what a trial took, as far as that depends on the size, for another size.
func (s *SizeSearch) scaled(t SizeTrial, features int, once bool) float64 {
	was, will := s.Expect(t), s.Expect(SizeTrial{Features: features, Once: once, Lambda: t.Lambda})
	by := func(took, was, will float64) float64 { return took * will / max(was, math.SmallestNonzeroFloat64) }
	return by(t.Cost.Map, was.Map, will.Map) + by(t.Cost.Sum, was.Sum, will.Sum) + by(t.Cost.Solve, was.Solve, will.Solve)
}

// affordable returns the largest size, up to Most, for which the time that is left is enough, in
// whole units; the last trial's size if there is none.
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
