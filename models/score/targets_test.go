package score

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/io/wire"
)

type residual struct{ truth, predicted float64 }

func randomResiduals(r *rand.Rand, n int) []residual {
	x := make([]residual, n)
	for i := range x {
		y := float64(math.Ldexp(r.NormFloat64(), r.IntN(40)-20)) + 100
		x[i] = residual{y, y + float64(r.NormFloat64())}
	}
	return x
}

func sum(x []residual) *Targets {
	t := new(Targets)
	for _, r := range x {
		t.Add(r.truth, r.predicted, 1)
	}
	return t
}

func TestTargetSumsDoNotDependOnTheCut(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, 300} {
		x := randomResiduals(r, n)
		if n > 1 {
			x = append(x, residual{1, float64(math.NaN())}, residual{-3e38, 3e38})
		}
		whole := sum(x)
		for range 20 {
			r.Shuffle(len(x), func(i, j int) { x[i], x[j] = x[j], x[i] })
			parts := make([]Targets, 1+r.IntN(6)) // each is usable as it is
			for _, v := range x {
				parts[r.IntN(len(parts))].Add(v.truth, v.predicted, 1)
			}
			for len(parts) > 1 {
				var last Targets
				if err := wire.Unmarshal(&last, wire.Marshal(&parts[len(parts)-1])); err != nil {
					t.Fatal(err)
				}
				parts = parts[:len(parts)-1]
				wire.Merge(&parts[r.IntN(len(parts))], &last)
			}
			if !bytes.Equal(wire.Marshal(&parts[0]), wire.Marshal(whole)) {
				t.Fatal("another cut gives other bytes")
			}
		}
	}
}

func TestTargetReportMatchesTheReference(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 50 {
		x := randomResiduals(r, 1+r.IntN(50))
		var sy, sr2, sabs, syy big.Rat
		var ratios float64
		var errors []float64
		n := big.NewRat(int64(len(x)), 1)
		largest := 0.0
		for _, v := range x {
			d := float64(v.predicted - v.truth)
			largest = max(largest, math.Abs(d))
			errors = append(errors, float64(float32(math.Abs(d))))
			ratios += math.Abs(d) / math.Abs(v.truth)
			sy.Add(&sy, new(big.Rat).SetFloat64(float64(v.truth)))
			sabs.Add(&sabs, new(big.Rat).SetFloat64(math.Abs(d)))
			e := new(big.Rat).SetFloat64(d)
			sr2.Add(&sr2, e.Mul(e, e))
		}
		sy.Quo(&sy, n)
		for _, v := range x {
			e := new(big.Rat).SetFloat64(float64(v.truth))
			e.Sub(e, &sy)
			syy.Add(&syy, e.Mul(e, e))
		}
		f := func(x *big.Rat) float64 { v, _ := x.Float64(); return v }
		mse, variance := f(sr2.Quo(&sr2, n)), f(syy.Quo(&syy, n))
		want := TargetReport{
			Rows: int64(len(x)), RMSE: math.Sqrt(mse), MAE: f(sabs.Quo(&sabs, n)), MaxError: largest,
			TargetMean: f(&sy), TargetDev: math.Sqrt(variance),
		}
		if variance > 0 {
			want.R2 = new(1 - mse/variance)
		}
		slices.Sort(errors)
		at := func(percent int) float64 { return errors[(percent*len(errors)+99)/100-1] }
		want.P50, want.P90, want.P95, want.P99 = at(50), at(90), at(95), at(99)
		got := sum(x).Report()
		if mape := ratios / float64(len(x)); got.MAPE == nil || math.Abs(*got.MAPE-mape) > 1e-12*mape {
			t.Fatalf("MAPE %v, want %g", got.MAPE, mape)
		}
		got.MAPE = nil
		if !reflect.DeepEqual(got, want) {
			t.Fatalf(" got %+v\nwant %+v", got, want)
		}
	}
}

func TestTargetReportOfNoRowsAndOfConstantTargets(t *testing.T) {
	inf, nan := float64(math.Inf(1)), float64(math.NaN())
	for _, c := range []struct {
		name string
		x    []residual
		want TargetReport
	}{
		{"nothing", nil, TargetReport{}},
		{"exact", []residual{{1, 1}, {3, 3}}, TargetReport{Rows: 2, TargetMean: 2, TargetDev: 1, R2: new(1.0)}},
		{"the mean", []residual{{1, 2}, {3, 2}},
			TargetReport{Rows: 2, RMSE: 1, MAE: 1, MaxError: 1, TargetMean: 2, TargetDev: 1, R2: new(0.0)}},
		{"worse than the mean", []residual{{1, 3}, {3, 1}},
			TargetReport{Rows: 2, RMSE: 2, MAE: 2, MaxError: 2, TargetMean: 2, TargetDev: 1, R2: new(-3.0)}},
		{"constant, met", []residual{{0.1, 0.1}, {0.1, 0.1}, {0.1, 0.1}},
			TargetReport{Rows: 3, TargetMean: float64(float64(0.1))}},
		{"constant, missed", []residual{{5, 6}, {5, 5}},
			TargetReport{Rows: 2, RMSE: math.Sqrt(0.5), MAE: 0.5, MaxError: 1, TargetMean: 5}},
		{"not finite", []residual{{1, nan}, {1, inf}, {-3e38, 3e38}, {2, 3}},
			TargetReport{Rows: 1, NotFinite: 3, RMSE: 1, MAE: 1, MaxError: 1, TargetMean: 2}},
	} {
		got := sum(c.x).Report()
		if got.Rows > 0 {
			last := got.MaxError // of up to three rows
			c.want.P90, c.want.P95, c.want.P99 = last, last, last
			c.want.P50, c.want.MAPE = got.P50, got.MAPE // see the twin
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, c.want)
		}
		b, err := json.Marshal(got)
		var back TargetReport
		if err != nil || json.Unmarshal(b, &back) != nil || !reflect.DeepEqual(back, got) {
			t.Errorf("%s: JSON %s, error %v", c.name, b, err)
		}
	}
}

func TestDamagedTargetSumsAreRejected(t *testing.T) {
	good := wire.Marshal(sum(randomResiduals(rand.New(rand.NewPCG(3, 3)), 20)))
	for n := range good {
		if wire.Unmarshal(new(Targets), good[:n]) == nil {
			t.Errorf("%d of %d bytes accepted", n, len(good))
		}
	}
	for name, change := range map[string]func(b []byte) []byte{
		"longer":         func(b []byte) []byte { return append(b, 0) },
		"negative rows":  func(b []byte) []byte { b[7] = 0x80; return b },
		"negative max":   func(b []byte) []byte { b[31] |= 0x80; return b },
		"max of -0":      func(b []byte) []byte { copy(b[24:], []byte{0, 0, 0, 0, 0, 0, 0, 0x80}); return b },
		"infinite max":   func(b []byte) []byte { copy(b[24:], []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x7f}); return b },
		"sums of no row": func(b []byte) []byte { clear(b[:8]); return b },
		"one row more":   func(b []byte) []byte { b[0]++; return b },
		"no ratio":       func(b []byte) []byte { b[16] = b[0]; return b },
		"other kind":     func(b []byte) []byte { b[len(b)-1], b[len(b)-2] = 1, 0; return b },
	} {
		if wire.Unmarshal(new(Targets), change(slices.Clone(good))) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzTargetsUnmarshalBinary(f *testing.F) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, n := range []int{0, 1, 20} {
		f.Add(wire.Marshal(sum(randomResiduals(r, n))))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var s Targets
		if wire.Unmarshal(&s, b) != nil {
			return
		}
		if !bytes.Equal(wire.Marshal(&s), b) {
			t.Fatal("decoded and encoded again it differs")
		}
		if _, err := json.Marshal(s.Report()); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkTargetsAdd(b *testing.B) {
	var s Targets
	for b.Loop() {
		s.Add(3.5, 3.25, 1)
	}
}

func TestPredictionsFarOutsideOfTheTargetsAreCounted(t *testing.T) {
	var all, first, second OutOfRange
	for i, s := range []float64{0, -1, 1.9, -2, 2.5, -4, 4, math.Inf(1), math.NaN()} {
		all.Add(s)
		[]*OutOfRange{&first, &second}[i%2].Add(s)
	}
	first.Merge(&second)
	if all != first || all.Rows != 3 || all.Furthest != 4 {
		t.Errorf("%+v and %+v", all, first)
	}
	back := new(OutOfRange)
	if err := wire.Unmarshal(back, wire.Marshal(&all)); err != nil || *back != all {
		t.Errorf("%+v, %v", back, err)
	}
	on := all.Unscaled(100, 300)
	if on.Furthest != 600 || on.Rows != 3 || new(OutOfRange).Unscaled(1, 2) != nil {
		t.Errorf("%+v", on)
	}
	report := TargetReport{Rows: 9, OutOfRange: on}
	if want := "3 of 9 predictions are far outside the range of the training targets, 100 to 300; the furthest is 600\n"; !strings.HasSuffix(report.String(), want) {
		t.Errorf("%s", report)
	}
}

// errorsOf draws a target and the residual of its prediction. Their scores in all possible rows are known.
type errorsOf struct {
	name          string
	draw          func(r *rand.Rand) (y, residual float64)
	rmse, mae, r2 float64
	least         float64 // coverage of 60 rows; 0 means as the other shapes
}

var errorShapes = []errorsOf{
	{"normal", func(r *rand.Rand) (y, e float64) { return r.NormFloat64(), 0.3 * r.NormFloat64() }, 0.3,
		0.3 * math.Sqrt(2/math.Pi), 1 - 0.09, 0},
	{"Laplace", func(r *rand.Rand) (y, e float64) {
		e = 0.5 * r.ExpFloat64()
		if r.IntN(2) == 0 {
			e = -e
		}
		return 3 * r.Float64(), e
	}, math.Sqrt(0.5), 0.5, 1 - 0.5/0.75, 0},
	{"errors that grow with the target", func(r *rand.Rand) (y, e float64) {
		y = r.NormFloat64()
		return y, 0.2 * (1 + y*y) * r.NormFloat64()
	}, 0.2 * math.Sqrt(6), 0.2 * 2 * math.Sqrt(2/math.Pi), 1 - 0.04*6, 0.8}, // few rows have nearly all of Σr²
	{"nothing learned", func(r *rand.Rand) (y, e float64) { y = r.Float64(); return y, y - 0.5 }, math.Sqrt(1 / 12.),
		0.25, 0, 0},
	{"a few targets", func(r *rand.Rand) (y, e float64) { return float64(r.IntN(5)), r.NormFloat64() / 2 }, 0.5,
		math.Sqrt(2/math.Pi) / 2, 1 - 0.25/2, 0},
}

// The scores of all possible rows are in their intervals in 95% of the cases. BOCHNER_HONEST makes more trials.
func TestTargetIntervalsCover(t *testing.T) {
	trials, slack := 400, 0.045
	if os.Getenv("BOCHNER_HONEST") != "" {
		trials, slack = 4000, 0.035
	}
	for _, shape := range errorShapes {
		for _, n := range []int{60, 1000} {
			r := rand.New(rand.NewPCG(7, uint64(n)))
			inside := map[string]int{}
			for range trials {
				sums := NewTargets(100, 20)
				for range n {
					y, e := shape.draw(r)
					sums.Add(100+10*y, 100+10*(y-e), 1)
				}
				report := sums.Report()
				sums.SetIntervals(&report, float64(n))
				for name, c := range map[string]struct {
					ends  *[2]float64
					value float64
				}{
					"RMSE": {report.RMSEInterval, 10 * shape.rmse}, "MAE": {report.MAEInterval,
						10 * shape.mae}, "R2": {report.R2Interval, shape.r2},
				} {
					if c.ends[0] <= c.value && c.value <= c.ends[1] {
						inside[name]++
					}
				}
			}
			for _, name := range []string{"RMSE", "MAE", "R2"} {
				share := float64(inside[name]) / float64(trials)
				t.Logf("%s, %d rows: %s %.1f%%", shape.name, n, name, 100*share)
				least, most := 0.95-slack, 0.95+slack
				if shape.least > 0 {
					least = shape.least
				}
				if shape.r2 == 0 && name == "R2" {
					most = 1 // no better constant than the mean: R² is never above 0
				}
				if share < least || share > most {
					t.Errorf("%s, %d rows: %s is inside in %.1f%%", shape.name, n, name, 100*share)
				}
			}
		}
	}
}

func TestTargetIntervalsDoNotDependOnTheCutOrTheUnit(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	whole, first, second, other := NewTargets(0, 1), NewTargets(0, 1), NewTargets(0, 1), NewTargets(500, 4096)
	for i := range 200 {
		y, e := errorShapes[2].draw(r)
		rows := int64(1 + r.IntN(3))
		whole.Add(y, y+e, rows)
		other.Add(1000*y, 1000*(y+e), rows)
		[]*Targets{first, second}[i%2].Add(y, y+e, rows)
	}
	wire.Merge(second, first)
	if !bytes.Equal(wire.Marshal(second), wire.Marshal(whole)) {
		t.Error("the sums depend on the cut")
	}
	a, b := whole.Report(), other.Report()
	whole.SetIntervals(&a, 150)
	other.SetIntervals(&b, 150)
	for i := range 2 {
		if x, y := 1000*a.RMSEInterval[i], b.RMSEInterval[i]; math.Abs(x-y) > 1e-3*x {
			t.Errorf("RMSE: %g and %g", x, y)
		}
		if x, y := a.R2Interval[i], b.R2Interval[i]; math.Abs(x-y) > 1e-3 {
			t.Errorf("R2: %g and %g", x, y)
		}
	}
}

func TestTargetIntervalsHandleFewAndExtremeRows(t *testing.T) {
	bound := func(n int, unit float64, row func(i int) (y, predicted float64)) TargetReport {
		sums := NewTargets(0, unit)
		for i := range n {
			y, predicted := row(i)
			sums.Add(y, predicted, 1)
		}
		report := sums.Report()
		sums.SetIntervals(&report, float64(n))
		return report
	}
	text := func(r TargetReport) string {
		all := ""
		for _, ends := range []*[2]float64{r.RMSEInterval, r.MAEInterval, r.R2Interval} {
			all += "; "
			if ends != nil {
				all += fmt.Sprintf("%.3g to %.3g", ends[0], ends[1])
			}
		}
		return all
	}
	for name, c := range map[string]struct {
		report TargetReport
		want   string
	}{
		"few rows": {bound(29, 1, func(i int) (y, p float64) { return float64(i), 0 }), "; ; ; "},
		"perfect": {bound(40, 1, func(i int) (y, p float64) { return float64(i), float64(i) }),
			"; 0 to 0; 0 to 0; "},
		"targets of one kind": {bound(40, 1, func(i int) (y, p float64) { return 2, 1 }), "; 1 to 1; 1 to 1; "},
		"no unit":             {bound(40, 0, func(i int) (y, p float64) { return 2, 1 }), "; ; ; "},
		"not finite":          {bound(40, 1, func(i int) (y, p float64) { return 2, math.Inf(1) }), "; ; ; "},
		"far away":            {bound(40, 1e-30, func(i int) (y, p float64) { return float64(i % 2), 1e30 }), "; ; ; "},
	} {
		if got := text(c.report); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
