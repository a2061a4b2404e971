package score

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/io/wire"
)

// ranked is a value of a kind.
type ranked struct {
	v    float32
	kind int
}

// someRanked returns values with many ties, of both signs and very different sizes.
func someRanked(r *rand.Rand, n int) []ranked {
	x := make([]ranked, n)
	for i := range x {
		kind := r.IntN(2)
		v := float32(r.NormFloat64()) + float32(kind)
		switch r.IntN(6) {
		case 0:
			v = float32(math.Round(float64(4*v))) / 4
		case 1:
			v *= float32(math.Ldexp(1, r.IntN(60)-30))
		case 2:
			v = float32(math.Copysign(0, float64(v)))
		}
		x[i] = ranked{v, kind}
	}
	return x
}

func ranksOf(limit int, x []ranked) *ranks {
	r := newRanks(limit)
	for _, v := range x {
		r.Add(v.v, v.kind, 1)
	}
	return r
}

func TestOrderMatchesValues(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		a, b := math.Float32frombits(r.Uint32()), math.Float32frombits(r.Uint32())
		if a-a != 0 || b-b != 0 {
			continue
		}
		if (a < b) != (order(a) < order(b)) || value(order(a)) != a {
			t.Fatalf("%g and %g: %x and %x", a, b, order(a), order(b))
		}
	}
	if negative := float32(math.Copysign(0, -1)); order(negative) != order(0) || value(0) != -math.MaxFloat32 ||
		value(math.MaxUint32) != math.MaxFloat32 {
		t.Error("ends")
	}
}

// Any cut, order and merging gives the same bytes, with and without cells for all values.
func TestRanksDoNotDependOnTheCut(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, limit := range []int{2, 7, 100, 1000, MaxCells} {
		for _, n := range []int{0, 1, 300, 20_000} {
			x := someRanked(r, n)
			whole := ranksOf(limit, x)
			want := wire.Marshal(whole)
			if n == 20_000 && whole.exact() != (limit == MaxCells) || len(whole.cells) > limit {
				t.Fatalf("limit %d: %d cells without %d bits", limit, len(whole.cells), whole.shift)
			}
			for range 3 {
				r.Shuffle(len(x), func(i, j int) { x[i], x[j] = x[j], x[i] })
				parts := make([]*ranks, 1+r.IntN(6))
				for i := range parts {
					parts[i] = newRanks(limit)
				}
				for _, v := range x {
					parts[r.IntN(len(parts))].Add(v.v, v.kind, 1)
				}
				for len(parts) > 1 {
					last := new(ranks)
					if err := wire.Unmarshal(last, wire.Marshal(parts[len(parts)-1])); err != nil {
						t.Fatal(err)
					}
					parts = parts[:len(parts)-1]
					parts[r.IntN(len(parts))].Merge(last)
				}
				if !bytes.Equal(wire.Marshal(parts[0]), want) {
					t.Fatalf("limit %d, %d values: another cut gives other bytes", limit, n)
				}
			}
		}
	}
}

// No more bits are dropped than the limit requires.
func TestCellsAreAsFineAsTheLimitAllows(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	x := someRanked(r, 5000)
	for _, limit := range []int{2, 50, 700} {
		got := ranksOf(limit, x)
		got.flush()
		count := func(shift uint) int {
			keys := map[uint32]bool{}
			for _, v := range x {
				keys[order(v.v)>>shift] = true
			}
			return len(keys)
		}
		if len(got.cells) != count(got.shift) || count(got.shift-1) <= limit {
			t.Errorf("limit %d: %d cells without %d bits; with one more there are %d", limit, len(got.cells), got.shift,
				count(got.shift-1))
		}
	}
}

// twins returns the area by counting pairs, and the average precision and quantiles by
// sorting.
func twins(x []ranked, q float64) (area, precision float64, quantile float32) {
	var pairs, wins, positives float64
	for _, a := range x {
		positives += float64(a.kind)
		for _, b := range x {
			if a.kind == 1 && b.kind == 0 {
				pairs++
				switch {
				case a.v > b.v:
					wins++
				case a.v == b.v:
					wins += 0.5
				}
			}
		}
	}
	for _, a := range x {
		if a.kind == 0 {
			continue
		}
		var at, hits float64 // or above a
		for _, b := range x {
			if b.v >= a.v {
				at++
				hits += float64(b.kind)
			}
		}
		precision += hits / at
	}
	values := []float32{}
	for _, a := range x {
		values = append(values, a.v)
	}
	slices.Sort(values)
	for i, v := range values {
		if float64(i+1) >= q*float64(len(x)) {
			quantile = v
			break
		}
	}
	return wins / pairs, precision / positives, quantile
}

func TestRankScoresMatchTheReference(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 60 {
		x := append(someRanked(r, 2+r.IntN(200)), ranked{1, 1}, ranked{0.5, 0})
		q := 0.01 + 0.99*r.Float64()
		area, precision, quantile := twins(x, q)
		exact := ranksOf(MaxCells, x)
		a, slack := exact.auc()
		p, low, high := exact.averagePrecision()
		if math.Abs(a-area) > 1e-15 || slack != 0 || math.Abs(p-precision) > 1e-13 || low != p || high != p {
			t.Fatalf("area %g ± %g, want %g; precision %g, %g to %g, want %g", a, slack, area, p, low, high, precision)
		}
		if v, w := exact.quantile(q); v != quantile || w != quantile {
			t.Fatalf("quantile %g: %g to %g, want %g", q, v, w, quantile)
		}
		for _, limit := range []int{2, 5, 20, 60} {
			some := ranksOf(limit, x)
			a, slack := some.auc()
			if math.Abs(a-area) > slack+1e-15 || some.exact() && slack > 0 {
				t.Fatalf("limit %d: area %g ± %g, which is %g", limit, a, slack, area)
			}
			if _, low, high := some.averagePrecision(); low > precision+1e-13 || high < precision-1e-13 {
				t.Fatalf("limit %d: precision %g to %g, which is %g", limit, low, high, precision)
			}
			if low, high := some.quantile(q); low > quantile || high < quantile {
				t.Fatalf("limit %d: quantile %g to %g, which is %g", limit, low, high, quantile)
			}
		}
	}
}

// Scores equal the example of scikit-learn's roc_auc_score and average_precision_score, y_true = 0 0 1 1 and
// scores 0.1 0.4 0.35 0.8: 0.75 and 0.83.
func TestRanksOfAKnownExample(t *testing.T) {
	r := ranksOf(10, []ranked{{0.1, 0}, {0.4, 0}, {0.35, 1}, {0.8, 1}})
	if a, _ := r.auc(); a != 0.75 {
		t.Errorf("area %g", a)
	}
	if p, _, _ := r.averagePrecision(); math.Abs(p-5./6) > 1e-15 {
		t.Errorf("average precision %g", p)
	}
}

// The best threshold has the score that it states, and no other value scores better.
func TestBestThresholdsAreBest(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 60 {
		x := append(someRanked(r, 2+r.IntN(100)), ranked{1, 1}, ranked{0.5, 0})
		balanced := func(threshold float64) float64 {
			var n, hits [2]float64
			for _, v := range x {
				n[v.kind]++
				if (float64(v.v) >= threshold) == (v.kind == 1) {
					hits[v.kind]++
				}
			}
			return (hits[1]/n[1] + hits[0]/n[0]) / 2
		}
		threshold, best := ranksOf(MaxCells, x).bestThreshold(ByBalanced)
		if balanced(threshold) != best {
			t.Fatalf("%g: %g, is %g", threshold, best, balanced(threshold))
		}
		for _, v := range x {
			if b := balanced(float64(v.v)); b > best || b == best && float64(v.v) > threshold {
				t.Fatalf("%g at %g, but %g at %g", best, threshold, b, v.v)
			}
		}
		// Among values that share cells, only those that do not divide a cell are chosen from.
		if threshold, best := ranksOf(5, x).bestThreshold(ByBalanced); balanced(threshold) != best {
			t.Fatalf("few cells: %g: %g, is %g", threshold, best, balanced(threshold))
		}
	}
	if threshold, best := ranksOf(5, []ranked{{1, 1}}).bestThreshold(ByBalanced); threshold != 0 || best != 0 {
		t.Errorf("of one kind: %g and %g", threshold, best)
	}
}

func TestRowsOfOneClassHaveNoArea(t *testing.T) {
	for _, x := range [][]ranked{nil, {{1, 0}}, {{1, 1}}} {
		r := ranksOf(2, x)
		if a, s := r.auc(); a != 0 || s != 0 {
			t.Errorf("%v: %g ± %g", x, a, s)
		}
	}
	if p, _, _ := ranksOf(2, []ranked{{1, 0}}).averagePrecision(); p != 0 {
		t.Errorf("average precision %g", p)
	}
	if low, high := new(ranks).quantile(0.5); low != 0 || high != 0 {
		t.Errorf("quantile of nothing: %g to %g", low, high)
	}
}

// A value with a number of rows equals repeated rows, also if there are more than an entry of the tail holds.
func TestRowsOfOneValueEqualRepetitions(t *testing.T) {
	r, want := newRanks(9), newRanks(9)
	for i, v := range []float32{1, -2, 1} {
		r.Add(v, i&1, int64(3*i))
		for range 3 * i {
			want.Add(v, i&1, 1)
		}
	}
	if !bytes.Equal(wire.Marshal(r), wire.Marshal(want)) {
		t.Error("not equal")
	}
	r.Add(5, 1, 3<<40)
	if n := r.rows; n != [2]int64{6, 3 + 3<<40} {
		t.Errorf("%d rows", n)
	}
	if a, _ := r.auc(); a < 0.99 {
		t.Errorf("area %g", a)
	}
}

// Areas of 10¹⁸ pairs and more equal the areas of small counts in the same shares.
func TestAUCOfManyPairsDoesNotOverflow(t *testing.T) {
	small, large := newRanks(100), newRanks(100)
	for i := range int64(50) {
		small.Add(float32(i), int(i&1), 1+i%7)
		large.Add(float32(i), int(i&1), (1+i%7)<<45)
	}
	a, _ := small.auc()
	b, _ := large.auc()
	p, _, _ := small.averagePrecision()
	q, _, _ := large.averagePrecision()
	if math.Abs(a-b) > 1e-15 || math.Abs(p-q) > 1e-14 {
		t.Errorf("areas %g and %g, precisions %g and %g", a, b, p, q)
	}
}

// Simulated areas are in the interval about their mean in 95% of the cases, also with few positive rows,
// different spreads and ties. BOCHNER_HONEST makes more trials.
func TestAreaIntervalsCover(t *testing.T) {
	trials, slack := 250, 0.045
	if os.Getenv("BOCHNER_HONEST") != "" {
		trials, slack = 3000, 0.02
	}
	for _, c := range []struct {
		shift, spread, step float64
		ones, zeros         int
	}{
		{0.5, 1, 0, 40, 40}, {1.5, 1, 0, 40, 40}, {1.5, 1, 0, 10, 300}, {1.5, 2, 0, 150, 4850}, {0.5, 2, 0, 30, 970}, {2.5, 2,
			0, 150, 4850},
		{1.5, 1, 1, 150, 1500}, {1, 0.5, 0, 500, 500}, {1.5, 1, 0.5, 50, 50},
	} {
		r := rand.New(rand.NewPCG(9, uint64(c.ones)))
		draw := func(shift, spread float64) float32 {
			v := shift + spread*r.NormFloat64()
			if c.step > 0 {
				v = math.Floor(v/c.step) * c.step
			}
			return float32(v)
		}
		of := func(ones, zeros int) *ranks {
			k := newRanks(5000)
			for range ones {
				k.Add(draw(c.shift, c.spread), 1, 1)
			}
			for range zeros {
				k.Add(draw(0, 1), 0, 1)
			}
			return k
		}
		truth := 0.0
		for range 10 {
			a, _ := of(20_000, 20_000).auc()
			truth += a / 10
		}
		inside := 0
		for range trials {
			k := of(c.ones, c.zeros)
			a, _ := k.auc()
			low, high := k.areaInterval(1)
			if low > a || high < a || low < 0 || high > 1 || low >= high {
				t.Fatalf("%g: %g to %g", a, low, high)
			}
			if low <= truth && truth <= high {
				inside++
			}
		}
		most := 0.97 + slack // few rows have wider intervals
		if share := float64(inside) / float64(trials); share < 0.95-slack || share > most {
			t.Errorf("%+v: %g%% inside", c, 100*share)
		}
	}
	for _, n := range [][2]int{{10, 10}, {500, 500}} {
		k := newRanks(1000)
		for i := range n[0] {
			k.Add(float32(i), 0, 1)
		}
		for i := range n[1] {
			k.Add(float32(5000+i), 1, 1)
		}
		if low, high := k.areaInterval(1); n[0] == 10 && low > 0.95 || high != 1 {
			t.Errorf("area 1 of %v rows: %g to %g", n, low, high)
		}
	}
	if low, high := newRanks(10).areaInterval(1); low != 0 || high != 1 {
		t.Errorf("%g to %g", low, high)
	}
}

// Balanced accuracies of few rows in each of many classes are in their interval in 95% of the cases.
func TestBalancedAccuracyIntervalsCover(t *testing.T) {
	trials, slack := 1000, 0.03
	if os.Getenv("BOCHNER_HONEST") != "" {
		trials, slack = 10_000, 0.02
	}
	for _, c := range []struct {
		classes, rows int
		recall        float64
	}{{2, 50, 0.8}, {2, 500, 0.95}, {10, 100, 0.8}, {26, 300, 0.95}, {26, 300, 0.6}, {20, 100, 0.8}, {100, 2000,
		0.8}, {100, 300, 0.95}} {
		r := rand.New(rand.NewPCG(uint64(c.classes), uint64(c.rows)))
		inside := 0
		for range trials {
			each := make([]totals, c.classes)
			for range c.rows {
				k := r.IntN(c.classes)
				each[k].truth++
				if r.Float64() < c.recall {
					each[k].hits++
				}
			}
			if _, low, high := balancedAccuracy(each); low <= c.recall && c.recall <= high {
				inside++
			}
		}
		if share := float64(inside) / float64(trials); math.Abs(share-0.95) > slack {
			t.Errorf("%+v: %g%% inside", c, 100*share)
		}
	}
}

func TestDamagedRanksAreRejected(t *testing.T) {
	good := wire.Marshal(ranksOf(50, someRanked(rand.New(rand.NewPCG(1, 1)), 200)))
	for n := range good {
		if wire.Unmarshal(new(ranks), good[:n]) == nil {
			t.Errorf("%d of %d bytes accepted", n, len(good))
		}
	}
	for name, bad := range map[string][]byte{
		"longer":     append(slices.Clone(good), 0),
		"limit 1":    {1, 0, 0},
		"no bits":    {50, 32, 0},
		"long cells": {50, 0, 0xff, 0xff, 0xff, 0x0f, 1, 1, 1},
		"no rows":    {50, 0, 1, 1, 0, 0},
		"one count":  {50, 0, 1, 1, 1},
		"twice":      {50, 0, 2, 1, 1, 0, 0, 1, 0},
		"long form":  {50, 0, 1, 0x84, 0, 1, 0},
		"beyond":     {50, 31, 1, 2, 1, 0},
		"overflow": append([]byte{50, 0, 1, 1},
			bytes.Repeat([]byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f}, 2)...),
	} {
		if wire.Unmarshal(new(ranks), bad) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzRanksUnmarshalBinary(f *testing.F) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, n := range []int{0, 1, 50} {
		f.Add(wire.Marshal(ranksOf(20, someRanked(r, n))))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var s ranks
		if wire.Unmarshal(&s, b) != nil {
			return
		}
		if !bytes.Equal(wire.Marshal(&s), b) {
			t.Fatal("decoded and encoded again it differs")
		}
		a, slack := s.auc()
		p, low, high := s.averagePrecision()
		if !(a >= 0 && a <= 1 && slack >= 0 && low <= p && p <= high && high <= 1) {
			t.Fatalf("area %g ± %g, precision %g, %g to %g", a, slack, p, low, high)
		}
		s.quantile(0.5)
	})
}

func TestRanksPanicOnInvalidArguments(t *testing.T) {
	for name, f := range map[string]func(){
		"one cell":      func() { newRanks(1) },
		"many cells":    func() { newRanks(MaxCells + 1) },
		"NaN":           func() { new(ranks).Add(float32(math.NaN()), 0, 1) },
		"infinite":      func() { new(ranks).Add(float32(math.Inf(1)), 0, 1) },
		"negative rows": func() { new(ranks).Add(1, 0, -1) },
		"merge":         func() { new(ranks).Merge(newRanks(5)) },
		"quantile":      func() { new(ranks).quantile(0) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// rankedRow is a row of a ranking.
type rankedRow struct {
	truth         int
	scores, order []float32
}

func someRows(r *rand.Rand, n, k int) []rankedRow {
	rows := make([]rankedRow, n)
	for i := range rows {
		rows[i].truth = r.IntN(k+1) - 1
		for c := range k {
			s := float32(r.IntN(9)) / 4
			if c == rows[i].truth {
				s++
			}
			rows[i].scores = append(rows[i].scores, s)
			rows[i].order = append(rows[i].order, float32(int(s))) // with more ties
		}
	}
	return rows
}

func rankingOf(k, cells int, rows []rankedRow) *Ranking {
	r := NewRanking(k, 1, cells, true)
	for _, x := range rows {
		r.Add(x.truth, x.scores, x.order, 1)
	}
	return r
}

func TestRankingsDoNotDependOnTheCut(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, k := range []int{2, 3, 12, MaxRanked + 1} {
		rows := someRows(r, 100, k)
		want := rankingOf(k, 5*k, rows)
		got := rankingOf(k, 5*k, rows[60:])
		for _, part := range [][]rankedRow{rows[:20], nil, rows[20:60]} {
			other := new(Ranking)
			if err := wire.Unmarshal(other, wire.Marshal(rankingOf(k, 5*k, part))); err != nil {
				t.Fatal(err)
			}
			wire.Merge(got, other)
		}
		if !bytes.Equal(wire.Marshal(got), wire.Marshal(want)) || !reflect.DeepEqual(rankingReport(got), rankingReport(want)) {
			t.Errorf("%d classes: another cut gives other bytes", k)
		}
	}
}

func TestRankingReportMatchesTheReference(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	nan := float32(math.NaN())
	for _, k := range []int{2, 3, 12, MaxRanked + 1} {
		rows := someRows(r, 150, k)
		bad := make([]float32, k)
		bad[k-1] = nan
		got := rankingReport(rankingOf(k, 100*k, append(rows, rankedRow{0, bad, bad})))
		var area, precision, classes float64
		for c := range k {
			var x []ranked
			var of int
			for _, row := range rows {
				if row.truth == Unseen {
					continue
				}
				v := ranked{v: row.order[c]} // not scores, which softmax leaves free up to a constant per row
				if k == 2 {
					v.v = row.scores[1]/2 - row.scores[0]/2
				}
				if row.truth == c {
					v.kind = 1
					of++
				}
				x = append(x, v)
			}
			if k == 2 && c == 0 || of == 0 || k > MaxRanked {
				continue
			}
			a, p, _ := twins(x, 0.5)
			area, precision, classes = area+a, precision+p, classes+1
			if k > 2 {
				own := got.Classes[int(classes)-1]
				if math.Abs(own.AUC-a) > 1e-14 || math.Abs(own.AveragePrecision-p) > 1e-13 || own.Rows != int64(of) {
					t.Errorf("%d classes: %+v, want %g and %g of %d rows", k, own, a, p, of)
				}
			}
		}
		if k <= MaxRanked {
			if math.Abs(*got.AUC-area/classes) > 1e-14 || math.Abs(*got.AveragePrecision-precision/classes) > 1e-13 ||
				got.Slack != 0 {
				t.Errorf("%d classes: %g ± %g and %g, want %g and %g", k, *got.AUC, got.Slack, *got.AveragePrecision, area/classes,
					precision/classes)
			}
		} else if got.AUC != nil {
			t.Errorf("%d classes have an area", k)
		}
		if k == 2 {
			var x []ranked
			for _, row := range rows {
				if row.truth != Unseen {
					x = append(x, ranked{row.order[1], row.truth})
				}
			}
			if threshold, best := ranksOf(1000, x).bestThreshold(ByBalanced); *got.Threshold != threshold ||
				*got.BestBalanced != best {
				t.Errorf("threshold %g with %g, want %g and %g", *got.Threshold, *got.BestBalanced, threshold, best)
			}
		}
		if (got.AUCLow != nil) != (k == 2) || (got.Threshold != nil) != (k == 2) || (got.Positive == "1") != (k == 2) ||
			got.NotFinite != 1 {
			t.Errorf("%d classes: %+v", k, got)
		}
		if (len(got.Top) == 2) != (k >= 10) {
			t.Fatalf("%d classes: %d shares of the first few", k, len(got.Top))
		}
		for _, top := range got.Top {
			hits := 0
			for _, row := range rows {
				at := make([]int, k)
				for i := range at {
					at[i] = i
				}
				slices.SortStableFunc(at, func(a, b int) int {
					if row.order[a] != row.order[b] {
						return int(row.order[b] - row.order[a])
					}
					return int(4*row.scores[b] - 4*row.scores[a])
				})
				if slices.Contains(at[:top.K], row.truth) {
					hits++
				}
			}
			if want := float64(hits) / 151; math.Abs(top.Accuracy-want) > 1e-15 || top.Low > want || top.High < want {
				t.Errorf("%d classes, first %d: %+v, want %g", k, top.K, top, want)
			}
		}
	}
}

func TestRankingOfOneClassHasNoArea(t *testing.T) {
	r := NewRanking(2, 1, 100, false)
	r.Add(1, []float32{-1, 1}, []float32{-1, 1}, 1)
	if got := r.Report([]string{"a", "b"}, 1); got.AUC != nil || got.AveragePrecision != nil || got.Positive != "b" {
		t.Errorf("%+v", got)
	}
}

func TestDamagedRankingsAreRejected(t *testing.T) {
	good := wire.Marshal(rankingOf(3, 60, someRows(rand.New(rand.NewPCG(1, 1)), 40, 3)))
	for n := range good {
		if wire.Unmarshal(new(Ranking), good[:n]) == nil {
			t.Errorf("%d of %d bytes accepted", n, len(good))
		}
	}
	for name, change := range map[string]func(b []byte) []byte{
		"longer":        func(b []byte) []byte { return append(b, 0) },
		"one class":     func(b []byte) []byte { b[0] = 1; return b },
		"many classes":  func(b []byte) []byte { b[3] = 1; return b },
		"class 2 of 2":  func(b []byte) []byte { b[4] = 2; return b },
		"two ranks":     func(b []byte) []byte { b[8] = 2; return b },
		"few rows":      func(b []byte) []byte { b[12] = 3; return b },
		"negative rows": func(b []byte) []byte { b[19] = 0x80; return b },
		"not finite":    func(b []byte) []byte { b[27] = 0x80; return b },
		"top":           func(b []byte) []byte { b[28] = 41; return b },
	} {
		if wire.Unmarshal(new(Ranking), change(slices.Clone(good))) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzRankingUnmarshalBinary(f *testing.F) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, k := range []int{2, 3, 12} {
		f.Add(wire.Marshal(rankingOf(k, 20*k, someRows(r, 20, k))))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var s Ranking
		if wire.Unmarshal(&s, b) != nil {
			return
		}
		if !bytes.Equal(wire.Marshal(&s), b) {
			t.Fatal("decoded and encoded again it differs")
		}
		rankingReport(&s)
	})
}

// BenchmarkRanksAdd measures the time by row, from few rows to more than there are cells.
func BenchmarkRanksAdd(b *testing.B) {
	for _, n := range []int{1000, 16_000, 250_000, 4_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 1))
			r, at := new(ranks), 0
			for b.Loop() {
				if at++; at == n {
					r.flush()
					r, at = new(ranks), 0
				}
				r.Add(rng.Float32(), at&1, 1)
			}
		})
	}
}

// BenchmarkRanking measures a small evaluation: 10,000 rows of 10 classes, added, encoded, decoded and
// reported.
func BenchmarkRanking(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	const k = 10
	scores := make([]float32, 10_000*k)
	for i := range scores {
		scores[i] = float32(rng.NormFloat64())
	}
	for b.Loop() {
		r := NewRanking(k, 1, MaxCells, false)
		for i := 0; i < len(scores); i += k {
			r.Add(i/k%k, scores[i:i+k], scores[i:i+k], 1)
		}
		back := new(Ranking)
		if err := wire.Unmarshal(back, wire.Marshal(r)); err != nil {
			b.Fatal(err)
		}
		rankingReport(back)
	}
}

// Weights change rates but not counts of rows.
func TestRankingsAndTargetsCountRowsNotWeights(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for _, k := range []int{2, 3, 12} {
		rows := someRows(r, 200, k)
		rows[7].scores[0], rows[9].scores[1] = float32(math.NaN()), float32(math.Inf(1))
		weighted := NewRanking(k, 1, 20*k, true)
		for _, x := range rows {
			weighted.Add(x.truth, x.scores, x.order, int64(r.IntN(4000)))
		}
		var back Ranking
		if err := wire.Unmarshal(&back, wire.Marshal(weighted)); err != nil {
			t.Fatal(err)
		}
		want := rankingOf(k, 20*k, rows)
		wire.Merge(&back, weighted)
		wire.Merge(want, want)
		got, plain := back.Report(numbers(k), 70), rankingReport(want)
		if got.Rows != plain.Rows || got.NotFinite != 4 || plain.NotFinite != 4 || len(got.Classes) != len(plain.Classes) {
			t.Errorf("%d classes: %+v, want the counts of %+v", k, got, plain)
		}
		for i, c := range got.Classes {
			if c.Rows != plain.Classes[i].Rows {
				t.Errorf("class %s: %d rows, want %d", c.Class, c.Rows, plain.Classes[i].Rows)
			}
		}
	}
	var targets Targets
	for i, w := range []int64{1000, 1, 7, 0, 30} {
		targets.Add([]float64{1, 0, 1, 1, 2}[i], []float64{1, 2, math.Inf(1), 1, 2}[i], w)
	}
	if got := targets.Report(); got.Rows != 4 || got.NotFinite != 1 || got.NoMAPE != 1 {
		t.Errorf("%+v", got)
	}
}

func rankingReport(r *Ranking) *RankingReport { return r.Report(numbers(r.k), float64(r.weight)) }
