package preprocess

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/stream"
)

// skewed returns n rows of 4 columns: log-normal, ties, constant, and one that stays unchanged.
func skewed(n int) []float32 {
	s := stream.New(1, stream.PurposeOf("test/normal"), 0)
	var x []float32
	for range n {
		x = append(x, float32(math.Exp(3*s.Normal())), float32(math.Floor(3*s.Uniform())), 7, float32(s.Normal()))
	}
	return x
}

func TestNormalScoresAreNormal(t *testing.T) {
	const n = 5000
	x := skewed(n)
	y := applyScale(t, NewNormalScores(x, n, 4, MaxKnots, func(j int) bool { return j == 3 }), x, n)
	column := slices.Clone(y[:0])
	for i := range n {
		column = append(column, y[4*i])
		if y[4*i+2] != 0 {
			t.Fatalf("row %d of the constant column: %v", i, y[4*i+2])
		}
		if y[4*i+3] != x[4*i+3] {
			t.Fatalf("row %d of the column without knots: %v becomes %v", i, x[4*i+3], y[4*i+3])
		}
	}
	slices.Sort(column)
	for _, p := range []float64{0.001, 0.01, 0.1, 0.3, 0.5, 0.8, 0.99, 0.999} {
		have, want := float64(column[int(p*n)]), stream.Quantile(p)
		if math.Abs(have-want) > 0.05 {
			t.Errorf("quantile %v is %v, want %v", p, have, want)
		}
	}
	// Ties have the score of their middle: 0, 1, 2 with a third each.
	counts := map[float32]int{}
	for i := range n {
		counts[x[4*i+1]]++
	}
	below := 0
	for _, v := range []float32{0, 1, 2} {
		p := (float64(below) + float64(counts[v])/2) / n
		i := 0
		for x[4*i+1] != v {
			i++
		}
		if have, want := y[4*i+1], float32(stream.Quantile(p)); have != want {
			t.Errorf("value %v has the score %v, want %v", v, have, want)
		}
		below += counts[v]
	}
}

func TestNormalScoresRiseAndEndAtTheKnots(t *testing.T) {
	const n = 2000
	x := skewed(n)
	r := NewNormalScores(x, n, 4, 17, nil)
	for j, k := range r.Columns[:2] {
		if len(k.At) > 17 {
			t.Fatalf("column %d has %d knots", j, len(k.At))
		}
		row := func(v float32) float32 { return applyScale(t, r, []float32{v, v, 7, 0}, 1)[j] }
		last := len(k.At) - 1
		for _, v := range []float32{-math.MaxFloat32, float32(math.Inf(-1)), k.At[0] - 1} {
			if row(v) != k.Scores[0] {
				t.Errorf("column %d: %v becomes %v", j, v, row(v))
			}
		}
		for _, v := range []float32{math.MaxFloat32, inf, k.At[last] + 1} {
			if row(v) != k.Scores[last] {
				t.Errorf("column %d: %v becomes %v", j, v, row(v))
			}
		}
		before := row(k.At[0])
		for i := range last {
			if row(k.At[i]) != k.Scores[i] {
				t.Errorf("knot %d of column %d becomes %v, want %v", i, j, row(k.At[i]), k.Scores[i])
			}
			for q := 1; q <= 4; q++ {
				v := k.At[i] + (k.At[i+1]-k.At[i])*float32(q)/4
				if s := row(v); s < before {
					t.Errorf("column %d: the score of %v is %v, below %v", j, v, s, before)
				} else {
					before = s
				}
			}
		}
	}
	if v := applyScale(t, r, []float32{float32(math.NaN()), 0, 0, 0}, 1)[0]; v == v {
		t.Errorf("NaN becomes %v", v)
	}
}

// One row has the score 0, and a column of distinct values with as many knots as rows has the normal quantiles
// of its ranks.
func TestNormalScoresOfFewRowsAreQuantiles(t *testing.T) {
	if y := applyScale(t, NewNormalScores([]float32{5, -1}, 1, 2, 2, nil), []float32{5, 3}, 1); y[0] != 0 || y[1] != 0 {
		t.Errorf("one row: %v", y)
	}
	x := []float32{3, 1, 2}
	y := applyScale(t, NewNormalScores(x, 3, 1, 256, nil), x, 3)
	for i, p := range []float64{5. / 6, 1. / 6, 0.5} {
		if y[i] != float32(stream.Quantile(p)) {
			t.Errorf("row %d: %v, want the quantile of %v", i, y[i], p)
		}
	}
}

func TestClipDoesNotChangeUnmarkedColumns(t *testing.T) {
	nan := float32(math.NaN())
	r := Clip{At: []float32{3, 0, 2}}
	y := applyScale(t, r, []float32{5, 5, 5, -5, -5, -5, 1, nan, nan, -inf, inf, -2}, 4)
	want := []float32{3, 5, 2, -3, -5, -2, 1, nan, nan, -3, inf, -2}
	for i, v := range want {
		if y[i] != v && (v == v || y[i] == y[i]) {
			t.Errorf("value %d is %v, want %v", i, y[i], v)
		}
	}
}

// Parts of both scalings equal the same columns of the whole, so that rows keep their short form.
func TestColumnScalingsHaveParts(t *testing.T) {
	const n = 300
	x := skewed(n)
	for _, r := range []features.Recipe{NewNormalScores(x, n, 4, 9, nil), Clip{At: []float32{1, 0, 2, 3}}} {
		m, err := r.New()
		if err != nil {
			t.Fatal(err)
		}
		whole, part := make([]float32, 4), make([]float32, 2)
		for i := range n {
			row := x[4*i : 4*i+4]
			m.Apply(whole, row, 1)
			m.(features.Columnwise).Part(1, 2).Apply(part, row[1:3], 1)
			if !slices.Equal(part, whole[1:3]) {
				t.Fatalf("%T: row %d: %v, want %v", r, i, part, whole[1:3])
			}
		}
	}
}

func TestInvalidKnotsAndClipsAreRejected(t *testing.T) {
	column := func(at, scores features.Floats) NormalScores {
		return NormalScores{Columns: []Knots{{}, {at, scores}}}
	}
	for want, r := range map[string]features.Recipe{
		"row length must be 1":                NormalScores{},
		"a score for each (have 2 and 1)":     column(features.Floats{1, 2}, features.Floats{1}),
		"at most 256 knots":                   column(make(features.Floats, 257), make(features.Floats, 257)),
		"knot 2 of column 2 must be finite":   column(features.Floats{1, 1}, features.Floats{1, 2}),
		"its score not below (have 2 ↦ 0)":    column(features.Floats{1, 2}, features.Floats{1, 0}),
		"knot 1 of column 2":                  column(features.Floats{inf}, features.Floats{0}),
		"Clip: at: row length":                Clip{},
		"at of column 2 must be ≥ 0":          Clip{At: []float32{1, -1}},
		"at of column 1 must be ≥ 0 and fini": Clip{At: []float32{inf}},
	} {
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60v: %v, want %q", r, err, want)
		}
	}
}
