package paired

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/io/wire"
)

// groupedRows calls add with the losses of two models of equal quality on rows of groups: what a model says of a group
// is right or wrong for most of its rows at once.
func groupedRows(r *rand.Rand, groups, rows int, add func(group uint64, champion, challenger []float64)) {
	for range groups {
		group, p, q := r.Uint64(), math.Pow(r.Float64(), 2), math.Pow(r.Float64(), 2)
		n := rows
		if r.IntN(3) == 0 { // groups differ in size
			n *= 2
		}
		for range n {
			loss := func(p float64) []float64 {
				wrong := 0.0
				if r.Float64() < p {
					wrong = 1
				}
				return []float64{wrong, p + 0.1*r.Float64()}
			}
			add(group, loss(p), loss(q))
		}
	}
}

// The test at 5% rejects the equality of equal models in 5% of the cases, also if rows of groups depend on each
// other. A test by rows would reject it in half of them. BOCHNER_HONEST has many more cases.
func TestGroupsKeepTheLevelOfATest(t *testing.T) {
	trials, slack := 200, 0.045
	if os.Getenv("BOCHNER_HONEST") != "" {
		trials, slack = 3000, 0.012
	}
	for _, c := range []struct{ groups, rows int }{{40, 10}, {200, 10}, {100, 25}, {300, 1}} {
		r := rand.New(rand.NewPCG(uint64(c.groups), uint64(c.rows)))
		var grouped, alone [2]float64
		for range trials {
			s, plain := NewSum(Error, LogLoss).Grouped(), NewSum(Error, LogLoss)
			groupedRows(r, c.groups, c.rows, func(group uint64, x, y []float64) {
				s.Add(group, 1, x, y)
				plain.Add(0, 1, x, y)
			})
			for i, m := range []Metric{Error, LogLoss} {
				if s.compare(m, 1).P < 0.05 {
					grouped[i] += 1 / float64(trials)
				}
				if plain.compare(m, 1).P < 0.05 {
					alone[i] += 1 / float64(trials)
				}
			}
		}
		for i, rate := range grouped {
			if math.Abs(rate-0.05) > slack {
				t.Errorf("%d groups of %d rows, metric %d: p < 0.05 in %.1f%% of equal models (%.1f%% by rows)", c.groups, c.rows,
					i, 100*rate, 100*alone[i])
			}
		}
		if c.rows >= 10 && alone[1] < 0.3 {
			t.Errorf("%d groups of %d rows: the rows depend too little on each other to show anything: %.3f", c.groups,
				c.rows, alone)
		}
		t.Logf("%d groups of %d rows: p < 0.05 by groups %.3f, by rows %.3f", c.groups, c.rows, grouped, alone)
	}
}

func TestGroupedSumsDoNotDependOnTheCut(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	whole := NewSum(Error, LogLoss).Weighted(true).Grouped()
	parts := []*Sum{NewSum(Error, LogLoss).Weighted(true).Grouped(), NewSum(Error, LogLoss).Weighted(true).Grouped()}
	groupedRows(r, 90, 7, func(group uint64, x, y []float64) {
		w := 1 + int64(r.IntN(3))
		whole.Add(group, w, x, y)
		parts[r.IntN(2)].Add(group, w, x, y)
	})
	back := new(Sum)
	if err := wire.Unmarshal(back, wire.Marshal(parts[1])); err != nil {
		t.Fatal(err)
	}
	wire.Merge(parts[0], back)
	if !bytes.Equal(wire.Marshal(whole), wire.Marshal(parts[0])) {
		t.Error("merged sums differ")
	}
	if a, b := whole.Report(1), parts[0].Report(1); fmt.Sprintf("%+v", a[0].P) != fmt.Sprintf("%+v", b[0].P) ||
		a[0].Test != "groups" {
		t.Errorf("%+v and %+v", a[0], b[0])
	}
}

// The mean loss of all possible groups is within 1.96 standard errors, of as many independent rows as
// Independent returns, 95 times in 100; by the number of rows it would be half as often.
func TestRowsOfGroupsAreAsCertainAsFewerIndependentOnes(t *testing.T) {
	trials := 400
	if os.Getenv("BOCHNER_HONEST") != "" {
		trials = 10_000
	}
	for _, c := range []struct{ groups, rows int }{{20, 10}, {60, 10}, {300, 5}, {60, 1}} {
		r := rand.New(rand.NewPCG(uint64(c.groups), uint64(c.rows)))
		inside := [2]int{}
		for range trials {
			s, n, sum := NewSum(Error).Grouped(), 0.0, 0.0
			groupedRows(r, c.groups, c.rows, func(group uint64, loss, _ []float64) {
				s.Add(group, 1, []float64{0}, loss[:1])
				n, sum = n+1, sum+loss[0]
			})
			rate := sum / n
			variance := rate * (1 - rate)
			for i, rows := range []float64{s.EffectiveRows(Error, variance), n} {
				if math.Abs(rate-1.0/3) < 1.96*math.Sqrt(variance/rows) {
					inside[i]++
				}
			}
		}
		share, plain := float64(inside[0])/float64(trials), float64(inside[1])/float64(trials)
		t.Logf("%d groups of %d rows: %.3f inside, by rows %.3f", c.groups, c.rows, share, plain)
		if share < 0.9 || share > 0.98 || c.rows > 1 && plain > 0.85 {
			t.Errorf("%d groups of %d rows: %.3f inside, by rows %.3f", c.groups, c.rows, share, plain)
		}
	}
	s := NewSum(Error).Grouped()
	for g := range uint64(50) {
		s.Add(g%10, 1, []float64{0}, []float64{0})
	}
	if n := s.EffectiveRows(Error, 0); n != 10 {
		t.Errorf("10 groups without errors are %g rows", n)
	}
}

func TestTooFewRowsAndTooFewGroupsAreNamed(t *testing.T) {
	for _, c := range []struct {
		sizes   []int
		weights []int64 // of the rows; nil is 1
		want    string
	}{
		{[]int{50}, nil, "only 1 group, want 30"},
		{slices.Repeat([]int{5}, 12), nil, "only 12 groups, want 30"},
		{append(slices.Repeat([]int{1}, 39), 39), nil, "these 40 groups are only as certain as 3 of equal size, want 30"},
		{[]int{1000, 1}, nil, "these 2 groups are only as certain as 1 of equal size, want 30"},
		{slices.Repeat([]int{2}, 30), nil, ""},
		{nil, []int64{7}, "only 1 row, want 30"},
		{nil, slices.Repeat([]int64{7}, 29), "only 29 rows, want 30"},
		{nil, append(slices.Repeat([]int64{1}, 39), 39), "these 40 rows are only as certain as 3 of equal weights, want 30"},
		{nil, slices.Repeat([]int64{7}, 30), ""},
	} {
		s := NewSum(Error).Weighted(true)
		for _, w := range c.weights {
			s.Add(0, w, []float64{1}, []float64{0})
		}
		if c.sizes != nil {
			s = NewSum(Error).Grouped()
		}
		for g, n := range c.sizes {
			for range n {
				s.Add(uint64(g), 1, []float64{1}, []float64{0})
			}
		}
		condition, err := ParseCondition("better at 95%")
		if err != nil {
			t.Fatal(err)
		}
		if condition, err = s.Complete(condition); err != nil {
			t.Fatal(err)
		}
		verdict := s.Decide(condition, 1)
		if got := s.compare(Error, 1).TooFew; got != c.want || verdict.Why != c.want || verdict.Holds != (c.want == "") {
			t.Errorf("%v, %v: %q and %+v, want %q", c.sizes, c.weights, got, verdict, c.want)
		}
	}
}
