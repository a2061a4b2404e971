package score

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models/loss"
)

// trialRow is a row of scores of three fits of three classes.
type trialRow struct {
	class  int
	scores []float32
}

func trialRows(n int) []trialRow {
	r := rand.New(rand.NewPCG(1, 1))
	rows := make([]trialRow, n)
	for i := range rows {
		rows[i].class = r.IntN(3)
		for range 9 {
			rows[i].scores = append(rows[i].scores, float32(r.IntN(4))/2-1) // with ties
		}
	}
	return rows
}

func trialsOf(rows []trialRow) *Trials {
	t := NewTrials(3)
	for _, r := range rows {
		t.AddClass(r.class, r.scores, 1, 0)
	}
	return t
}

func TestTrialsCountEachFit(t *testing.T) {
	rows := trialRows(200)
	got := trialsOf(rows)
	for fit := range 3 {
		var wrong int64
		var squares float64
		for _, r := range rows {
			s := r.scores[3*fit:][:3]
			if slices.Index(s, slices.Max(s)) != r.class {
				wrong++
			}
			for c, v := range s {
				code := map[bool]float64{true: 1, false: -1}[c == r.class]
				squares += (float64(v) - code) * (float64(v) - code)
			}
		}
		if e, mse := got.Result(fit); e != wrong || mse != squares/200 || got.Rows() != 200 {
			t.Errorf("fit %d: %d errors, mse %g; want %d, %g", fit, e, mse, wrong, squares/200)
		}
	}
	targets := NewTrials(2)
	targets.AddTargets([]float64{0.5}, []float32{0.5, 1}, 1, 0)
	targets.AddTargets([]float64{-0.5}, []float32{0.5, float32(math.NaN())}, 1, 0)
	for fit, want := range []float64{0.5, 0.25} {
		if e, mse := targets.Result(fit); e != 0 || mse != want {
			t.Errorf("targets, fit %d: %d errors, mse %g, want %g", fit, e, mse, want)
		}
	}
}

// A row without scores has no class, so it counts as an error.
func TestRowsWithoutScoresAreErrors(t *testing.T) {
	nan := float32(math.NaN())
	got := NewTrials(1)
	got.AddClass(0, []float32{nan, 1}, 1, 0)
	got.AddClass(1, []float32{-1, 1}, 1, 0)
	if e, mse := got.Result(0); e != 1 || mse != 0 {
		t.Errorf("%d errors, mse %g", e, mse)
	}
}

func TestTrialsMergeInAnyOrder(t *testing.T) {
	rows := trialRows(90)
	want := trialsOf(rows)
	got := trialsOf(rows[60:])
	wire.Merge(got, trialsOf(rows[:20]))
	wire.Merge(got, trialsOf(nil))
	wire.Merge(got, trialsOf(rows[20:60]))
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestDamagedTrialsAreRejected(t *testing.T) {
	good := wire.Marshal(trialsOf(trialRows(20)))
	var back Trials
	if err := wire.Unmarshal(&back, good); err != nil {
		t.Fatal(err)
	}
	if again := wire.Marshal(&back); !bytes.Equal(again, good) {
		t.Error("decoded and encoded again they differ")
	}
	for name, change := range map[string]func(b []byte) []byte{
		"longer":        func(b []byte) []byte { return append(b, 0) },
		"shorter":       func(b []byte) []byte { return b[:len(b)-1] },
		"no rows":       func(b []byte) []byte { clear(b[:8]); return b },
		"negative":      func(b []byte) []byte { b[7] = 0x80; return b },
		"no weight":     func(b []byte) []byte { b[15] = 0x80; return b },
		"many errors":   func(b []byte) []byte { b[16] = 21; return b },
		"heavy errors":  func(b []byte) []byte { b[24] = 21; return b },
		"many of range": func(b []byte) []byte { b[32] = 21; return b },
		"nothing":       func(b []byte) []byte { return nil },
	} {
		if wire.Unmarshal(new(Trials), change(slices.Clone(good))) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// lossRow is a row of scores of three fits of three classes.
type lossRow struct {
	class  int
	scores []float32
}

func lossRows(n int) []lossRow {
	r := rand.New(rand.NewPCG(1, 1))
	rows := make([]lossRow, n)
	for i := range rows {
		rows[i].class = r.IntN(3)
		for range 9 {
			rows[i].scores = append(rows[i].scores, float32(r.IntN(4))/2-1) // with ties
		}
	}
	return rows
}

func lossesOf(rows []lossRow) *LogLosses {
	l := NewLogLosses(3)
	for _, r := range rows {
		l.Add(r.class, r.scores, 1)
	}
	return l
}

func TestLogLossesMatchTheReference(t *testing.T) {
	rows := lossRows(150)
	got := lossesOf(rows)
	for fit := range 3 {
		best, at := math.Inf(1), 0.0
		for _, beta := range loss.SoftmaxFactors {
			var sum float64
			for _, r := range rows {
				var z float64
				s := r.scores[3*fit:][:3]
				for _, v := range s {
					z += math.Exp(beta * float64(v))
				}
				sum -= math.Log(math.Exp(beta*float64(s[r.class])) / z)
			}
			if sum/150 < best {
				best, at = sum/150, beta
			}
		}
		if v, beta := got.Best(fit); math.Abs(v-best) > 1e-6*best || beta != at || got.rows != 150 {
			t.Errorf("fit %d: %g at %g, want %g at %g", fit, v, beta, best, at)
		}
	}
	// A fit without scores for a row has no log loss; the others have theirs.
	nan := float32(math.NaN())
	got.Add(0, []float32{0, 0, 0, nan, 0, 0, 1e38, -1e38, 0}, 1)
	for fit, finite := range []bool{true, false, true} {
		if v, _ := got.Best(fit); math.IsInf(v, 1) == finite {
			t.Errorf("fit %d: %g", fit, v)
		}
	}
	if v, _ := NewLogLosses(1).Best(0); !math.IsInf(v, 1) {
		t.Errorf("without rows: %g", v)
	}
}

func TestLogLossesMergeInAnyOrder(t *testing.T) {
	rows := lossRows(90)
	want, got := lossesOf(rows), lossesOf(rows[60:])
	wire.Merge(got, lossesOf(rows[:20]))
	wire.Merge(got, lossesOf(nil))
	wire.Merge(got, lossesOf(rows[20:60]))
	if !reflect.DeepEqual(got, want) || !bytes.Equal(wire.Marshal(got), wire.Marshal(want)) {
		t.Error("another cut gives other sums")
	}
	back := new(LogLosses)
	if err := wire.Unmarshal(back, wire.Marshal(got)); err != nil || !reflect.DeepEqual(back, want) {
		t.Errorf("decoded: %v", err)
	}
}

func TestDamagedLogLossesAreRejected(t *testing.T) {
	good := wire.Marshal(lossesOf(lossRows(20)))
	for name, change := range map[string]func(b []byte) []byte{
		"longer":   func(b []byte) []byte { return append(b, 0) },
		"shorter":  func(b []byte) []byte { return b[:len(b)-1] },
		"no rows":  func(b []byte) []byte { clear(b[:8]); return b },
		"negative": func(b []byte) []byte { b[7] = 0x80; return b },
		"many":     func(b []byte) []byte { b[8] = 21; return b },
		"none":     func(b []byte) []byte { b[8] = 0; return b },
		"nothing":  func(b []byte) []byte { return nil },
	} {
		if wire.Unmarshal(new(LogLosses), change(slices.Clone(good))) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
