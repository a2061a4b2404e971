package paired

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/io/wire"
)

// filled returns sums of rows: all in one, and cut at random and merged in another order.
func filled(r *rand.Rand, weighted bool, metrics ...Metric) (one, merged *Sum) {
	empty := func() *Sum { return NewSum(metrics...).Weighted(weighted) }
	one, parts := empty(), []*Sum{empty(), empty(), empty()}
	for range 300 {
		w := int64(1)
		if weighted {
			w = int64(r.IntN(5))
		}
		var a, b []float64
		for _, m := range metrics {
			x, y := r.ExpFloat64(), r.ExpFloat64()
			if m == Error {
				x, y = float64(r.IntN(2)), float64(r.IntN(2))
			}
			a, b = append(a, x), append(b, y)
		}
		if r.IntN(50) == 0 {
			a[len(a)-1] = math.NaN()
			if metrics[len(a)-1] == Error {
				a[len(a)-1] = 1
			}
		}
		one.Add(0, w, a, b)
		parts[r.IntN(3)].Add(0, w, a, b)
	}
	wire.Merge(parts[2], parts[0])
	wire.Merge(parts[2], parts[1])
	return one, parts[2]
}

var metricSets = [][]Metric{{Error}, {Error, LogLoss, Brier}, {MSE, MAE}}

func TestSumsDoNotDependOnTheCut(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, weighted := range []bool{false, true} {
		for _, metrics := range metricSets {
			one, merged := filled(r, weighted, metrics...)
			a := wire.Marshal(one)
			b := wire.Marshal(merged)
			if !bytes.Equal(a, b) {
				t.Errorf("%v: merged parts differ from the whole", metrics)
			}
			var c Sum
			if err := wire.Unmarshal(&c, b); err != nil {
				t.Fatal(err)
			}
			if again := wire.Marshal(&c); !bytes.Equal(again, b) {
				t.Errorf("%v: the encoding does not survive", metrics)
			}
			if one.rows != 300 || metrics[len(metrics)-1] != Error && one.NotFinite() == 0 {
				t.Errorf("%v: %d rows, %d not finite", metrics, one.rows, one.NotFinite())
			}
		}
	}
}

// A rounding error does not exclude 0 from the interval of a model's difference from itself.
func TestModelDoesNotDifferFromItself(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, weighted := range []bool{false, true} {
		for _, metrics := range metricSets {
			s := NewSum(metrics...).Weighted(weighted)
			for range 500 {
				x := make([]float64, len(metrics))
				for i, m := range metrics {
					x[i] = r.ExpFloat64()
					if m == Error {
						x[i] = float64(r.IntN(2))
					}
				}
				s.Add(0, 1+int64(r.IntN(3)), x, x)
			}
			for _, c := range s.Report(43_000) {
				if c.Difference != 0 || c.P != 1 || c.Low == nil || *c.Low > 0 || *c.High < 0 || c.Test == "t" &&
					(*c.Low != 0 || *c.High != 0) {
					t.Errorf("%s: %g, %g to %g, p %g", c.Metric, c.Difference, *c.Low, *c.High, c.P)
				}
			}
		}
	}
}

// With whole weights a Sum equals the Sum of repeated rows, except for the number of rows that a test uses.
func TestWeightsRepeatRows(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	weighted, repeated := NewSum(Error, LogLoss).Weighted(true), NewSum(Error, LogLoss).Weighted(true)
	for range 200 {
		w := int64(1 + r.IntN(4))
		a, b := []float64{float64(r.IntN(2)), r.Float64()}, []float64{float64(r.IntN(2)), r.Float64()}
		weighted.Add(0, w, a, b)
		for range w {
			repeated.Add(0, 1, a, b)
		}
	}
	for _, m := range []Metric{Error, LogLoss} {
		v, w := weighted.compare(m, 1), repeated.compare(m, 1)
		if math.Abs(v.Difference-w.Difference) > 1e-7 || math.Abs(v.Champion-w.Champion) > 1e-7 {
			t.Errorf("%s: %+v, repeated %+v", m, v, w)
		}
		if *v.High-*v.Low <= *w.High-*w.Low {
			t.Errorf("%s: weights make the interval no wider", m)
		}
	}
	if n := weighted.losses[0].effective(); n >= 200 || n < 100 {
		t.Errorf("%g effective rows of 200", n)
	}
}

func TestConditionsAreJudgedByTheirMetric(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	classes, numbers := NewSum(Error, LogLoss, Brier), NewSum(MSE, MAE)
	for range 2000 {
		wrong := r.IntN(10) == 0
		better := wrong && r.IntN(3) > 0
		e := func(b bool) float64 {
			if b {
				return 1
			}
			return 0
		}
		p := r.Float64()
		classes.Add(0, 1, []float64{e(wrong), p, p * p}, []float64{e(better), p * 0.97, p * p * 1.05})
		z := r.NormFloat64()
		numbers.Add(0, 1, []float64{z * z, math.Abs(z)},
			[]float64{z * z * 1.02 * 1.02 * (1 + 0.01*r.NormFloat64()), math.Abs(z)})
	}
	for words, want := range map[string]bool{
		"better at 99%": true, "error better by 2% at 95%": true, "better by 10% at 95%": false,
		"not worse by 0.01% at 99%": true,
		"not worse by 0.001 at 95%": true,
		"log_loss better at 99%":    true, "log_loss better by 2% at 95%": true, "log_loss better by 4% at 95%": false,
		"brier not worse by 6% at 95%": true, "brier not worse by 4% at 95%": false, "brier better at 50%": false,
	} {
		c, err := ParseCondition(words)
		if err != nil {
			t.Fatal(err)
		}
		if c, err = classes.Complete(c); err != nil {
			t.Fatal(err)
		}
		if v := classes.Decide(c, 1); v.Holds != want || v.Holds == (v.Why != "") {
			t.Errorf("%s: %+v, want %v", words, v, want)
		}
	}
	for words, want := range map[string]bool{
		"not worse by 3% at 95%": true, "not worse by 1% at 95%": false, "mse not worse by 6% at 95%": true,
		"mse not worse by 3% at 95%": false,
		"rmse better at 95%":         false, "mae not worse by 0.000001 at 95%": true, "mse not worse by 0.9 at 95%": true,
		"mse not worse by 0.1 at 95%": false,
	} {
		c, err := ParseCondition(words)
		if err != nil {
			t.Fatal(err)
		}
		if c, err = numbers.Complete(c); err != nil {
			t.Fatal(err)
		}
		// The unit of errors is 3: mse is in its square.
		if v := numbers.Decide(c, 3); v.Holds != want {
			t.Errorf("%s: %+v, want %v", words, v, want)
		}
	}
	rmse := numbers.compare(RMSE, 3)
	if math.Abs(rmse.Difference/rmse.Champion-0.02) > 0.001 || *rmse.Low > rmse.Difference ||
		*rmse.High < rmse.Difference || *rmse.High > rmse.Champion*0.03 {
		t.Errorf("rmse: %+v (%g to %g)", rmse, *rmse.Low, *rmse.High)
	}
	if c, _ := ParseCondition("mse better at 95%"); true {
		if _, err := classes.Complete(c); err == nil || !strings.Contains(err.Error(), "have error, log_loss, brier") {
			t.Errorf("mse of classes: %v", err)
		}
	}
	// A condition that cannot be judged does not hold.
	few := NewSum(MSE)
	for range 20 {
		few.Add(0, 1, []float64{1}, []float64{0.1})
	}
	c, _ := ParseCondition("mse better at 95%")
	if v := few.Decide(c, 1); v.Holds || !strings.Contains(v.Why, "only 20 rows, want 500") {
		t.Errorf("20 rows: %+v", v)
	}
	for range 480 {
		few.Add(0, 1, []float64{1}, []float64{0.1})
	}
	if v := few.Decide(c, 1); !v.Holds {
		t.Errorf("500 rows: %+v", v)
	}
	few.Add(0, 1, []float64{1}, []float64{math.Inf(1)})
	if v := few.Decide(c, 1); v.Holds || !strings.Contains(v.Why, "infinite or extreme") {
		t.Errorf("a prediction that is not finite: %+v", v)
	}
}

func TestSlicesKeepEachValue(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	a, b := NewSlices(NewSum(Error)), NewSlices(NewSum(Error))
	whole := NewSlices(NewSum(Error))
	for i := range 3000 {
		value := string(rune('a' + r.IntN(5)))
		x, y := []float64{float64(r.IntN(2))}, []float64{float64(r.IntN(2))}
		if value == "b" {
			x, y = []float64{0}, []float64{float64(min(1, r.IntN(4)))}
		}
		whole.Add(value, 0, 1, x, y)
		if i%3 == 0 {
			a.Add(value, 0, 1, x, y)
		} else {
			b.Add(value, 0, 1, x, y)
		}
	}
	wire.Merge(a, b)
	one, two := wire.Marshal(whole), wire.Marshal(a)
	if !bytes.Equal(one, two) {
		t.Error("merged slices differ")
	}
	var c Slices
	if err := wire.Unmarshal(&c, two); err != nil {
		t.Fatal(err)
	}
	report := c.Report("letter", 1)
	if report.Values != 5 || len(report.Slices) != 5 {
		t.Fatalf("%+v", report)
	}
	for _, s := range report.Slices {
		if (s.Adjusted < 0.05) != (s.Value == "b") || s.Adjusted < s.P {
			t.Errorf("%+v", s)
		}
	}
	for i := range 600 {
		c.Add(fmt.Sprint(i), 0, 1, []float64{1}, []float64{0})
	}
	if r := c.Report("many", 1); !r.Many || r.Values != 0 {
		t.Errorf("%d values", r.Values)
	}
	wire.Merge(whole, &c)
	if r := whole.Report("many", 1); !r.Many || len(r.Slices) > 0 {
		t.Errorf("merged with too many: %d values", r.Values)
	}
}

func FuzzDecode(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, metrics := range metricSets {
		s, _ := filled(r, true, metrics...)
		b := wire.Marshal(s)
		f.Add(b)
		sl := NewSlices(NewSum(metrics...).Weighted(true))
		losses := make([]float64, len(metrics))
		sl.Add("value", 0, 2, losses, losses)
		f.Add(wire.Marshal(sl))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var s Sum
		if wire.Unmarshal(&s, b) == nil {
			again := wire.Marshal(&s)
			if !bytes.Equal(again, b) {
				t.Errorf("%x became %x", b, again)
			}
			s.Report(1)
		}
		var p Slices
		if wire.Unmarshal(&p, b) == nil {
			if again := wire.Marshal(&p); !bytes.Equal(again, b) {
				t.Errorf("slices: %x became %x", b, again)
			}
		}
	})
}
