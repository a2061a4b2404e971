package tuning

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// simulated stands for training runs. Its clock advances by their cost.
type simulated struct {
	now     time.Duration
	cost    func(features float64) results.SizeCost
	loss    func(features float64) float64
	noise   float64 // of folds, relative
	again   float64 // factor of the expected cost if rows may have to be summed again; 0 means 1
	trained []int
	once    []bool
}

func (m *simulated) search(o options.Size, most int) *SizeSearch {
	return &SizeSearch{Size: o, Min: 512, Max: most, Clock: func() time.Duration { return m.now },
		Train: m.train, Expect: func(t results.SizeTrial) results.SizeCost {
			d := float64(t.Features)
			c := results.SizeCost{Map: d, Sum: d * d, Solve: math.Pow(d, 2.6)}
			if measured := t.Cost != (results.SizeCost{}); m.again > 0 && !t.Once && !measured {
				c.Sum, c.Solve = m.again*c.Sum, m.again*c.Solve
			}
			return c
		}}
}

func (m *simulated) train(_ context.Context, planned results.SizeTrial) (t results.SizeTrial, err error) {
	features := planned.Features
	m.trained, m.once = append(m.trained, features), append(m.once, planned.Once)
	t.Once = planned.Once
	t.Cost = m.cost(float64(features))
	m.now += time.Duration((t.Cost.Map + t.Cost.Sum + t.Cost.Solve + t.Cost.Rest) * float64(time.Second))
	if m.loss == nil {
		return t, nil
	}
	t.Rows, t.Loss = 1000, m.loss(float64(features))
	for i := range 5 {
		t.Folds = append(t.Folds, t.Loss*(1+m.noise*math.Sin(float64(features*(i+1)))))
	}
	return t, nil
}

// cost returns the cost of a fit with d features to many rows.
func cost(d float64) results.SizeCost {
	return results.SizeCost{Map: 0.1 * d / 512, Sum: 0.3 * d / 512 * d / 512, Solve: 0.05 * math.Pow(d/512, 2.6), Rest: 0.4}
}

func run(t *testing.T, s *SizeSearch) *results.Size {
	t.Helper()
	r, err := s.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDoublingStopsWhereTheErrorDoes(t *testing.T) {
	for _, c := range []struct {
		floor, noise float64
		want, tried  int // the chosen size, and the last one that was tried
	}{
		{math.Inf(1), 0, 8192, 8192}, // the error falls without end
		{2048, 0, 2048, 4096},
		{512, 0, 512, 1024},
		{math.Inf(1), 2, 512, 1024}, // noise hides any gain
	} {
		m := &simulated{cost: cost, noise: c.noise, loss: func(d float64) float64 { return 1 / min(d, c.floor) }}
		r := run(t, m.search(options.Size{MinGain: 0.001}, 8192))
		if r.Features != c.want || m.trained[len(m.trained)-1] != c.tried {
			t.Errorf("%+v: %d features of %v", c, r.Features, m.trained)
		}
		var text strings.Builder
		(&results.Train{TrainFeatures: results.TrainFeatures{Size: r}}).WriteTo(&text)
		if strings.Count(text.String(), "<- chosen") != 1 || !strings.Contains(text.String(), "hence optimistic") {
			t.Errorf("%s", text.String())
		}
	}
	// The gain is significant, but too small to be worth it.
	m := &simulated{cost: cost, loss: func(d float64) float64 { return 1 + 1e-4*math.Exp2(-d/512) }}
	if r := run(t, m.search(options.Size{MinGain: 0.001}, 8192)); r.Features != 512 || r.Trials[1].Gain <= 0 {
		t.Errorf("%+v", r)
	}
}

// With a single fold, its number of rows decides which gain is significant.
func TestOneFoldNeedsAGainBeyondItsRows(t *testing.T) {
	for rows, want := range map[int64]bool{100: false, 100000: true} {
		a, b := results.SizeTrial{Loss: 1, Folds: []float64{1}, Rows: rows}, results.SizeTrial{Loss: 0.98, Folds: []float64{0.98}, Rows: rows}
		if b.Gain, b.StdErr = gain(&a, &b); pays(&b, 0.001) != want {
			t.Errorf("%d rows: a gain of %g ± %g pays: %v", rows, b.Gain, b.StdErr, !want)
		}
	}
}

// By the simulated clock, between 55% and 115% of the time is used, even if solves cost another power of the
// number of features than expected.
func TestSearchKeepsTheTime(t *testing.T) {
	for _, power := range []float64{1, 2, 2.5, 2.9} {
		for _, rest := range []float64{0.1, 3} {
			for _, seconds := range []float64{20, 60, 300} {
				m := &simulated{cost: func(d float64) results.SizeCost {
					return results.SizeCost{Rest: rest, Sum: 0.02 * d / 512 * d / 512, Map: 0.2 * d / 512, Solve: 0.01 * math.Pow(d/512, power)}
				}}
				limit := time.Duration(seconds * float64(time.Second))
				r := run(t, m.search(options.Size{Time: limit}, 1<<20))
				if used := m.now.Seconds() / seconds; used > 1.15 || used < 0.55 {
					t.Errorf("power %g, rest %g: %.0f%% of %s: %+v", power, rest, 100*used, limit, r.Trials)
				}
				if r.Features != m.trained[len(m.trained)-1] || !slices.IsSorted(m.trained) {
					t.Errorf("%d features of %v", r.Features, m.trained)
				}
			}
		}
	}
}

// If the time is too short to sum rows again, more features are tried without a second sum.
func TestRowsAreSummedOnceWhereTheTimeIsShort(t *testing.T) {
	for _, seconds := range []float64{5, 20, 60, 300} {
		m := &simulated{again: 5, cost: cost, loss: func(d float64) float64 { return 1 / d }}
		limit := time.Duration(seconds * float64(time.Second))
		r := run(t, m.search(options.Size{Time: limit}, 1<<20))
		if used := m.now.Seconds() / seconds; used > 1.15 || used < 0.7 {
			t.Errorf("%.0f%% of %s: %+v", 100*used, limit, r.Trials)
		}
		if m.once[0] || !m.once[len(m.once)-1] || !r.Once {
			t.Errorf("%s: summed once: %v, chosen %v", limit, m.once, r.Once)
		}
		var text strings.Builder
		(&results.Train{TrainFeatures: results.TrainFeatures{Size: r}}).WriteTo(&text)
		if !strings.Contains(text.String(), fmt.Sprintf("--features %d --grid 8", r.Features)) {
			t.Errorf("%s", text.String())
		}
	}
	m := &simulated{again: 5, cost: cost}
	if r := run(t, m.search(options.Size{Time: time.Hour}, 2048)); r.Once {
		t.Errorf("summed once with time for more: %+v", r)
	}
}

func TestTimeEndsAtTheLargestSizeOrAfterTheFirst(t *testing.T) {
	m := &simulated{cost: cost}
	if r := run(t, m.search(options.Size{Time: time.Hour}, 3000)); r.Features != 3000 ||
		!strings.Contains(r.Why, "3000 is the most") {
		t.Errorf("%+v", r)
	}
	m = &simulated{cost: cost}
	if r := run(t, m.search(options.Size{Time: time.Second / 2}, 3000)); r.Features != 512 || len(r.Trials) != 1 {
		t.Errorf("%+v", r)
	}
}

// With both MinGain and Time, whichever is reached first ends the search.
func TestWorthEndsBeforeTheTime(t *testing.T) {
	m := &simulated{cost: cost, loss: func(d float64) float64 { return 1 / min(d, 1024) }}
	r := run(t, m.search(options.Size{Time: time.Hour, MinGain: 0.01}, 1<<14))
	if r.Features != 1024 || m.now > time.Minute {
		t.Errorf("%+v", r)
	}
}

// A larger number of features with a larger error is not chosen.
func TestTimeChoosesTheLeastError(t *testing.T) {
	m := &simulated{cost: cost, loss: func(d float64) float64 { return math.Abs(d-1024) + 1 }}
	r := run(t, m.search(options.Size{Time: time.Hour}, 4096))
	if r.Features != 1024 || !strings.Contains(r.Why, "1024 features have the least held-out error") {
		t.Errorf("%+v", r)
	}
}

func TestTrainingErrorsAreReturned(t *testing.T) {
	broken := errors.New("broken")
	m := &simulated{cost: cost}
	s := m.search(options.Size{MinGain: 0.001}, 4096)
	s.Train = func(context.Context, results.SizeTrial) (results.SizeTrial, error) {
		return results.SizeTrial{}, broken
	}
	if _, err := s.Run(context.Background()); !errors.Is(err, broken) {
		t.Error(err)
	}
}
