package score

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/io/wire"
)

// keptParts returns rows of fits of two classes, each of which is added to one of several parts.
func keptParts(n, parts, fits int, order func(int) int) []*HeldOutScores {
	all := make([]*HeldOutScores, parts)
	for i := range all {
		all[i] = NewHeldOutScores(2, fits)
	}
	for j := range n {
		i := order(j)
		s := stream.New(1, stream.PurposeOf("kept"), uint64(i))
		class := int(2 * s.Uniform())
		v := float32(s.Uniform() - 0.5)
		scores := []float32{v, -v, float32(class) + v, -float32(class) - v}
		all[j%parts].Add(uint64(i/3), class, slices.Repeat(scores, fits/2), int64(1+i%2))
	}
	return all
}

// The kept rows depend on the rows only, not on their order or cut, also if there are more rows than are kept.
func TestKeptRowsAreTheSameForEveryOrderAndCut(t *testing.T) {
	const fits = 100
	most := MaxHeldOutRows(2 * fits)
	for _, n := range []int{0, 1, 1000, most, 5*most/2 + 7} {
		one := keptParts(n, 1, fits, func(i int) int { return i })[0]
		want := wire.Marshal(one)
		if rows, all := one.Rows(); rows != int64(min(n, most)) || all != int64(n) {
			t.Fatalf("%d of %d rows are kept, want %d of %d", rows, all, min(n, most), n)
		}
		parts := keptParts(n, 3, fits, func(i int) int { return n - 1 - i })
		for _, p := range parts {
			var read HeldOutScores
			if err := wire.Unmarshal(&read, wire.Marshal(p)); err != nil {
				t.Fatal(err)
			}
			*p = read
		}
		sum := NewHeldOutScores(2, fits)
		for _, i := range []int{2, 0, 1} {
			sum.Merge(parts[i])
		}
		if !bytes.Equal(wire.Marshal(sum), want) {
			t.Errorf("%d rows: other rows are kept of three parts in another order", n)
		}
	}
}

// Each half of the rows is judged by the curves of the other: steps that follow noise gain nothing on
// uninformative scores, while curves are better than chance on the rows that they were fitted to.
func TestKeptRowsAreJudgedByCurvesOfOthers(t *testing.T) {
	k := keptParts(2000, 1, 2, func(i int) int { return i })[0]
	j := k.Evaluate(0, Isotonic, nil)
	if j.LogLoss < math.Ln2 || math.Abs(float64(j.Errors)/2000-0.5) > 0.04 {
		t.Errorf("scores that say nothing have a log loss of %.4f and %d errors of 2,000", j.LogLoss, j.Errors)
	}
	curves, err := fitted(k.Counts(0), Isotonic)
	if err != nil {
		t.Fatal(err)
	}
	var own float64
	p := make([]float32, 2)
	for i := range k.rows {
		curves.Apply(p, k.scoresOf(&k.rows[i], 0), 1)
		l, _ := ProbabilityLosses(p, int(k.rows[i].class))
		own += float64(l) / 2000
	}
	if own > math.Ln2 {
		t.Errorf("the log loss of the fitted rows is %.4f, of others %.4f: nothing was tested", own, j.LogLoss)
	}
	if j := k.Evaluate(1, Platt, nil); j.Errors > 20 || j.LogLoss > 0.1 {
		t.Errorf("scores that part the classes have a log loss of %.4f and %d errors of 2,000", j.LogLoss, j.Errors)
	}
	// With weights that count one class a thousand times, only that class is predicted.
	var others int64
	for i := range k.rows {
		others += int64(k.rows[i].class)
	}
	if j := k.Evaluate(0, Platt, []float64{1000, 1}); j.Errors != others {
		t.Errorf("%d errors, want %d", j.Errors, others)
	}
}

// A class that a half of the rows lacks, and scores that are not finite, are judged without an error.
func TestFewKeptRowsAreJudged(t *testing.T) {
	for n := range 12 {
		k := NewHeldOutScores(3, 1)
		for i := range n {
			k.Add(uint64(i), i%3, []float32{float32(i), 1, -1}, 1)
		}
		for _, method := range []Method{Platt, Isotonic} {
			if j := k.Evaluate(0, method, nil); j.LogLoss-j.LogLoss != 0 || j.LogLoss < 0 || j.Errors > int64(n) {
				t.Errorf("%d rows by %s: %+v", n, method, j)
			}
		}
		k.Add(99, 1, []float32{0, float32(math.Inf(1)), 0}, 1)
		if j := k.Evaluate(0, Platt, nil); !math.IsInf(j.LogLoss, 1) || j.Errors < 1 {
			t.Errorf("an infinite score: %+v", j)
		}
	}
}

func TestDamagedKeptRowsAreRejected(t *testing.T) {
	good := wire.Marshal(keptParts(10, 1, 2, func(i int) int { return i })[0])
	for i := range good {
		if err := wire.Unmarshal(new(HeldOutScores), good[:i]); err == nil {
			t.Fatalf("%d of %d bytes were accepted", i, len(good))
		}
	}
	huge := slices.Clone(good)
	copy(huge[4:], []byte{0xff, 0xff, 0xff, 0x7f}) // fits
	if err := wire.Unmarshal(new(HeldOutScores), huge); err == nil {
		t.Error("two billion fits were accepted")
	}
}

// The slopes of the likelihood of the sigmoid that classes share match differences and are 0 at the fit. The
// most probable class is the one with the largest score.
func TestSharedSigmoidMaximisesTheLikelihood(t *testing.T) {
	k := NewHeldOutScores(4, 1)
	for i := range 500 {
		s := stream.New(2, stream.PurposeOf("shared"), uint64(i))
		class := int(4 * s.Uniform())
		scores := make([]float32, 4)
		for c := range scores {
			scores[c] = float32(s.Uniform() - 1)
		}
		scores[class] += float32(s.Uniform())
		k.Add(uint64(i), class, scores, int64(1+i%2))
	}
	c := k.Fit(0, SharedPlatt, nil)
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	var rows []*keptRow
	for i := range k.rows {
		rows = append(rows, &k.rows[i])
	}
	value := func(a, b float64) float64 {
		v, _, _ := k.sharedLoss(rows, 0, a, b, make([]float64, 4))
		return v
	}
	a, b := c.Curves[3].Slope, c.Curves[3].Offset
	for _, at := range [][2]float64{{1, 0.5}, {a, b}} {
		v, g, _ := k.sharedLoss(rows, 0, at[0], at[1], make([]float64, 4))
		const e = 1e-5
		da := (value(at[0]-e, at[1]) - value(at[0]+e, at[1])) / (2 * e)
		db := (value(at[0], at[1]-e) - value(at[0], at[1]+e)) / (2 * e)
		if math.Abs(da-g[0]) > 1e-4*v || math.Abs(db-g[1]) > 1e-4*v {
			t.Errorf("at %v the slopes are %v, by differences %g and %g", at, g, da, db)
		}
		if at[0] == a && math.Abs(g[0])+math.Abs(g[1]) > 1e-3*v {
			t.Errorf("at the end (%g, %g) the slopes are %v of %g", a, b, g, v)
		}
	}
	p, class, largest := make([]float32, 4), []int32{0}, []int32{0}
	for _, r := range rows {
		c.Apply(p, r.scores, 1)
		Likeliest(class, nil, p, r.scores, 1, 4)
		if Likeliest(largest, nil, r.scores, r.scores, 1, 4); class[0] != largest[0] && r.scores[largest[0]] > 0 {
			t.Fatalf("scores %v have probabilities %v", r.scores, p)
		}
	}
}

// Sets from the scores of kept rows contain the class of new rows as often as stated, also if curves are fitted
// to hardly more rows than they have steps.
func TestPredictionSetsOfKeptRowsCover(t *testing.T) {
	const level, seeds = 0.9, 40
	var inside, all float64
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 8))
		k := NewHeldOutScores(2, 1)
		row := func() (scores []float32, class int) {
			x := rng.NormFloat64()
			if rng.Float64() < 1/(1+math.Exp(-2*x)) {
				class = 1
			}
			return []float32{float32(-x), float32(x)}, class
		}
		for range 300 {
			scores, class := row()
			k.Add(rng.Uint64(), class, scores, 1)
		}
		c, curves := k.Conformal(0, Isotonic), k.Fit(0, Isotonic, nil)
		kept := c.Kept()
		least := -kept[0] // the probability that a class in the set has at least
		for i, rank := 0, int64(1); i < len(kept); i, rank = i+1, NextRank(rank) {
			if float64(rank) <= (1-level)*float64(c.Rows()+1) {
				least = -kept[i]
			}
		}
		p := make([]float32, 2)
		for range 2000 {
			scores, class := row()
			curves.Apply(p, scores, 1)
			if all++; p[class] >= least {
				inside++
			}
		}
	}
	if share := inside / all; share < level-0.01 || share > level+0.03 {
		t.Errorf("%.4f of the classes are in their sets, want %g", share, level)
	}
}

// The shared sigmoid is the same for every order of the rows, although it is fitted to some of them.
func TestSharedSigmoidIsTheSameForEveryOrder(t *testing.T) {
	const n, fit = 2 * sharedRows, 1
	forward := keptParts(n, 1, 2, func(i int) int { return i })[0].Fit(fit, SharedPlatt, nil).Curves[0]
	backward := keptParts(n, 1, 2, func(i int) int { return n - 1 - i })[0].Fit(fit, SharedPlatt, nil).Curves[0]
	if forward.Slope != backward.Slope || forward.Offset != backward.Offset {
		t.Errorf("%g·s + %g, and %g·s + %g for the rows in reverse order", forward.Slope, forward.Offset, backward.Slope,
			backward.Offset)
	}
}
