package score

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/io/wire"
)

// sliceRow is a row of a slice.
type sliceRow struct {
	value            string
	truth, predicted int
	scores, shares   []float32
	y, said          float64
}

func someSliceRows(r *rand.Rand, n, values int) []sliceRow {
	rows := make([]sliceRow, n)
	for i := range rows {
		p := float32(r.IntN(9)+1) / 10
		x := sliceRow{value: fmt.Sprint(r.IntN(values) * r.IntN(2)), truth: r.IntN(2), scores: []float32{-p, p},
			shares: []float32{1 - p, p}, y: r.NormFloat64(), said: r.NormFloat64()}
		switch r.IntN(20) {
		case 0:
			x.truth = Unseen
		case 1:
			x.scores[0] = float32(math.NaN())
		}
		if p > 0.5 {
			x.predicted = 1
		}
		rows[i] = x
	}
	return rows
}

func slicesOf(classes int, rows []sliceRow) *Slices {
	s := NewSlices(classes)
	for _, x := range rows {
		if classes > 0 {
			s.AddClass(x.value, x.truth, x.predicted, x.scores, x.shares, 1)
		} else {
			s.AddTarget(x.value, x.y, x.said, 1)
		}
	}
	return s
}

// Each slice has the scores of its rows only, for every cut.
func TestSlicesAreScoresOfTheirRows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, classes := range []int{0, 2} {
		rows := someSliceRows(r, 500, 8)
		whole := slicesOf(classes, rows)
		parts := slicesOf(classes, rows[300:])
		for _, part := range [][]sliceRow{nil, rows[:100], rows[100:300]} {
			other := new(Slices)
			if err := wire.Unmarshal(other, wire.Marshal(slicesOf(classes, part))); err != nil {
				t.Fatal(err)
			}
			wire.Merge(parts, other)
		}
		if !bytes.Equal(wire.Marshal(parts), wire.Marshal(whole)) {
			t.Fatalf("%d classes: another cut gives other bytes", classes)
		}
		report := whole.Report("c")
		if report.Values != 8 || len(report.Slices) != 8 || report.Others != nil || report.Slices[0].Value != "0" {
			t.Fatalf("%+v", report)
		}
		for _, s := range report.Slices {
			var own []sliceRow
			hits, targets, ranking := NewClasses(2), new(Targets), NewRanking(2, 1, 1000, false)
			var loss, scored float64
			for _, x := range rows {
				if x.value != s.Value {
					continue
				}
				own = append(own, x)
				hits.Add(x.truth, x.predicted, 1)
				ranking.Add(x.truth, x.scores, x.scores, 1)
				targets.Add(x.y, x.said, 1)
				if x.scores[0]-x.scores[0] == 0 {
					p := 1e-7
					if x.truth >= 0 {
						p = float64(x.shares[x.truth])
					}
					loss, scored = loss-math.Log(p), scored+1
				}
			}
			if s.Rows != int64(len(own)) {
				t.Errorf("%s: %d rows, want %d", s.Value, s.Rows, len(own))
			}
			if classes == 0 {
				want := targets.Report()
				if *s.MAE != want.MAE || *s.RMSE != want.RMSE || *s.P90 != want.P90 || *s.R2 != *want.R2 ||
					!(*s.MAELow < want.MAE && want.MAE < *s.MAEHigh) || s.Error != nil {
					t.Errorf("%s: %+v, want %+v", s.Value, s, want)
				}
				continue
			}
			c, k := classReport(hits), rankingReport(ranking)
			if *s.Error != c.Error || *s.ErrorLow != c.ErrorLow || *s.BalancedAccuracy != c.BalancedAccuracy ||
				*s.BalancedHigh != c.BalancedHigh ||
				*s.AUC != *k.AUC || *s.AUCLow != *k.AUCLow || math.Abs(*s.LogLoss-loss/scored) > 1e-6 || s.MAE != nil {
				t.Errorf("%s: %+v, want %+v, %+v, log loss %g", s.Value, s, c, k, loss/scored)
			}
		}
		if _, err := json.Marshal(report); err != nil {
			t.Error(err)
		}
	}
}

// Values with fewer rows than the most frequent ones are summed up; beyond the limit there are none, in any
// order.
func TestSlicesAreBounded(t *testing.T) {
	some := NewSlices(0)
	for i := range 60 {
		for range 100 - i {
			some.AddTarget(fmt.Sprint(i), 1, float64(i), 1)
		}
	}
	r := some.Report("c")
	if r.Values != 60 || len(r.Slices) != 50 || r.Slices[49].Value != "49" || r.Others.Rows != 455 || *r.Others.RMSE < 49 {
		t.Errorf("%d values, others %+v", r.Values, r.Others)
	}
	var halves [2]*Slices
	for h := range halves {
		halves[h] = NewSlices(0)
		for i := range MaxSlices/2 + h {
			halves[h].AddTarget(fmt.Sprint(h, i), 1, 1, 1)
		}
	}
	whole := NewSlices(0)
	wire.Merge(whole, halves[1])
	wire.Merge(whole, halves[0])
	if r := whole.Report("c"); !r.Many || r.Values != 0 || r.Slices != nil {
		t.Errorf("%+v", r)
	}
	whole.AddTarget("more", 1, 1, 1)
	other := new(Slices)
	if err := wire.Unmarshal(other, wire.Marshal(whole)); err != nil ||
		!bytes.Equal(wire.Marshal(other), wire.Marshal(whole)) {
		t.Errorf("%v", err)
	}
	one := NewSlices(0)
	one.AddTarget("x", 1, 1, 1)
	wire.Merge(one, other)
	if !one.Report("c").Many {
		t.Error("too many and one are not too many")
	}
	long := NewSlices(0)
	long.AddTarget(string(make([]byte, 1000)), 1, 1, 1)
	if n := len(long.Report("c").Slices[0].Value); n != maxSliceText {
		t.Errorf("a text of %d bytes", n)
	}
}

// Weighted rows have the scores of repeated rows, with wider intervals, since there are fewer rows.
func TestSlicesByWeight(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, classes := range []int{0, 2} {
		weighted, repeated := NewSlices(classes), NewSlices(classes)
		for _, x := range someSliceRows(r, 300, 4) {
			rows := int64(1 + r.IntN(9))
			if classes > 0 {
				weighted.AddClass(x.value, x.truth, x.predicted, x.scores, x.shares, rows)
			} else {
				weighted.AddTarget(x.value, x.y, x.said, rows)
			}
			for range rows {
				if classes > 0 {
					repeated.AddClass(x.value, x.truth, x.predicted, x.scores, x.shares, 1)
				} else {
					repeated.AddTarget(x.value, x.y, x.said, 1)
				}
			}
		}
		for _, a := range weighted.Report("c").Slices {
			for _, b := range repeated.Report("c").Slices {
				if a.Value != b.Value {
					continue
				}
				if a.Rows >= b.Rows {
					t.Errorf("%s: %d rows of weights, %d repeated", a.Value, a.Rows, b.Rows)
				}
				if classes == 0 {
					if *a.MAE != *b.MAE || *a.RMSE != *b.RMSE || *a.P90 != *b.P90 || !(*a.MAEHigh > *b.MAEHigh) {
						t.Errorf("%+v, repeated %+v", a, b)
					}
				} else if *a.Error != *b.Error || *a.BalancedAccuracy != *b.BalancedAccuracy || *a.AUC != *b.AUC ||
					*a.LogLoss != *b.LogLoss ||
					!(*a.ErrorHigh > *b.ErrorHigh && *a.BalancedLow < *b.BalancedLow && *a.AUCLow < *b.AUCLow) {
					t.Errorf("%+v, repeated %+v", a, b)
				}
			}
		}
	}
}

func TestDamagedSlicesAreRejected(t *testing.T) {
	good := wire.Marshal(slicesOf(2, someSliceRows(rand.New(rand.NewPCG(1, 1)), 30, 3)))
	for n := range good {
		if wire.Unmarshal(new(Slices), good[:n]) == nil {
			t.Errorf("%d of %d bytes accepted", n, len(good))
		}
	}
	for name, change := range map[string]func(b []byte) []byte{
		"longer":       func(b []byte) []byte { return append(b, 0) },
		"many classes": func(b []byte) []byte { b[3] = 1; return b },
		"flag":         func(b []byte) []byte { b[4] = 2; return b },
		"many":         func(b []byte) []byte { b[7] = 1; return b },
		"one value":    func(b []byte) []byte { b[5] = 1; return b },
		"long text":    func(b []byte) []byte { b[11] = 1; return b },
		"no rows":      func(b []byte) []byte { clear(b[14:22]); return b },
		"no weight":    func(b []byte) []byte { clear(b[22:30]); return b },
	} {
		if wire.Unmarshal(new(Slices), change(slices.Clone(good))) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzSlicesUnmarshalBinary(f *testing.F) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, classes := range []int{0, 2} {
		f.Add(wire.Marshal(slicesOf(classes, someSliceRows(r, 20, 3))))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var s Slices
		if wire.Unmarshal(&s, b) != nil {
			return
		}
		if !bytes.Equal(wire.Marshal(&s), b) {
			t.Fatal("decoded and encoded again it differs")
		}
		if _, err := json.Marshal(s.Report("c")); err != nil {
			t.Fatal(err)
		}
	})
}
