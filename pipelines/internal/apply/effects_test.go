package apply

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/linear"
)

// product is the map (x₀, x₁x₂, x₃).
type product struct{ features.Map }

func (product) Dims() (in, out int) { return 5, 3 }

func (product) Apply(dst, x []float32, n int) {
	for i := range n {
		r := x[5*i:]
		dst[3*i], dst[3*i+1], dst[3*i+2] = r[0], r[1]*r[2], r[3]
	}
}

func modelOf(names ...string) *models.Model {
	return &models.Model{
		Map: product{}, Linear: &linear.Model{K: 2, D: 3, W: []float32{2, 0, 0, 0, 3, 1}, B: []float32{5, -7}},
		Manifest: &models.Manifest{Input: models.Input{Dim: 5, Columns: names}},
	}
}

// normal returns n rows of five standard normal numbers.
func normal(n int) []float32 {
	r := rand.New(rand.NewPCG(3, 8))
	x := make([]float32, 5*n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// Effects equal those of the scores 2x₀ + 5 and 3x₁x₂ + x₃ − 7, whose variance is 4 + 9 + 1; x₁x₂ counts for
// both x₁ and x₂.
func TestEffectsMatchTheDefinition(t *testing.T) {
	x := normal(maxEffectRows + 100)
	r, err := effectsOf(context.Background(), modelOf("a", "b", "c", "d"), x, maxEffectRows+100, 1)
	if err != nil {
		t.Fatal(err)
	}
	if r.Rows != maxEffectRows || r.Draws != maxDraws || len(r.Columns) != 5 {
		t.Fatalf("%d rows, %d draws, %d columns", r.Rows, r.Draws, len(r.Columns))
	}
	scores := (&models.Applier{Model: modelOf()}).Scores(x, maxEffectRows)
	variance := spread(scores, maxEffectRows, 2)
	if math.Abs(variance/14-1) > 0.2 {
		t.Errorf("variance %v of these rows, 14 of all", variance)
	}
	want := map[string]float64{"a": 4 / variance, "b": 9 / variance, "c": 9 / variance, "d": 1 / variance, "column 5": 0}
	for _, e := range r.Columns {
		if off := math.Abs(e.Share - want[e.Column]); off > 5*e.StdErr || e.StdErr > 0.1*want[e.Column] {
			t.Errorf("%s: %.3f ± %.3f, want %.3f", e.Column, e.Share, e.StdErr, want[e.Column])
		}
	}
	if r.Columns[4].Column != "column 5" || r.Columns[4].StdErr != 0 {
		t.Errorf("the last is %+v", r.Columns[4])
	}
	for _, threads := range []int{0, 2, 7} {
		if again, err := effectsOf(context.Background(), modelOf("a", "b", "c", "d"), x, maxEffectRows,
			threads); err != nil || !reflect.DeepEqual(again, r) {
			t.Errorf("%d threads give something else: %v", threads, err)
		}
	}
}

// For few rows all pairs are drawn, and the mean over them is exact. Neighbouring features with one name, such
// as the numbers of a time, are one column, which changes as a whole.
func TestEffectsOfFewRowsUseAllPairs(t *testing.T) {
	const n = 9
	x := normal(n)
	columns := map[string][]int{"p": {0}, "q": {1}, "r": {2, 3}, "s": {4}}
	r, err := effectsOf(context.Background(), modelOf("p", "q", "r", "r", "s"), x, n, 2)
	if err != nil {
		t.Fatal(err)
	}
	if r.Draws != n-1 || len(r.Columns) != len(columns) {
		t.Fatalf("%d draws, %d columns", r.Draws, len(r.Columns))
	}
	f := func(row [5]float64) (y [2]float64) { return [2]float64{2 * row[0], 3*row[1]*row[2] + row[3]} }
	row := func(i int) (r [5]float64) {
		for j := range r {
			r[j] = float64(x[5*i+j])
		}
		return r
	}
	var mean, square float64
	for i := range n {
		for _, y := range f(row(i)) {
			square += y * y / n
		}
	}
	for c := range 2 {
		var m float64
		for i := range n {
			m += f(row(i))[c] / n
		}
		mean += m * m
	}
	for _, e := range r.Columns {
		var sum float64
		for i := range n {
			for o := range n {
				other := row(i)
				for _, j := range columns[e.Column] {
					other[j] = row(o)[j]
				}
				for c, y := range f(other) {
					change := y - f(row(i))[c]
					sum += change * change / (2 * n * (n - 1))
				}
			}
		}
		if want := sum / (square - mean); math.Abs(e.Share-want) > 1e-5*want {
			t.Errorf("%s: %v, want %v", e.Column, e.Share, want)
		}
	}
}

func TestUndefinedEffectsAreErrors(t *testing.T) {
	x := normal(10)
	for i := range 10 {
		x[5*i], x[5*i+1], x[5*i+3] = 1, 0, 2
	}
	if _, err := effectsOf(context.Background(), modelOf(), x, 10, 1); err == nil ||
		!strings.Contains(err.Error(), "the same for all of 10 rows") {
		t.Errorf("equal predictions: %v", err)
	}
	if _, err := effectsOf(context.Background(), modelOf(), x, 1, 1); err == nil ||
		!strings.Contains(err.Error(), "two rows") {
		t.Errorf("one row: %v", err)
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	if _, err := effectsOf(stopped, modelOf(), normal(10), 10, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	x[4*5] = float32(math.Inf(1))
	if _, err := effectsOf(context.Background(), modelOf(), x, 10, 1); err == nil ||
		!strings.Contains(err.Error(), "not finite") {
		t.Errorf("an infinite score: %v", err)
	}
}
