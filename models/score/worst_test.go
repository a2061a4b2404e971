package score

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/bochner-ml/bochner/io/wire"
)

// The worst rows equal those of a reference that keeps and sorts all rows: losses are the numbers 0 to 99, some
// of them twice.
func TestWorstRowsDoNotDependOnOrderOrCuts(t *testing.T) {
	var want [10]float64
	for i := range want {
		want[i] = float64(99 - i/2)
	}
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 1))
		parts := []*Worst{NewWorst(10), NewWorst(10), NewWorst(10)}
		for _, i := range r.Perm(200) {
			parts[r.IntN(3)].Add(float64(i/2), float64(i%2), 0, []float32{float32(i), float32(math.NaN())})
		}
		parts[0].Add(math.NaN(), 0, 0, nil)
		all := NewWorst(10)
		for _, i := range r.Perm(3) {
			all.Merge(parts[i])
		}
		for i, row := range all.Rows() {
			if row.Loss != want[i] || row.Truth != float64(i%2) || row.Values[0] != float32(198-2*(i/2)+i%2) {
				t.Fatalf("seed %d: row %d is %+v, want loss %g", seed, i, row, want[i])
			}
		}
		var back Worst
		if err := wire.Unmarshal(&back, wire.Marshal(all)); err != nil || len(back.rows) != 10 ||
			!reflect.DeepEqual(back.rows[3].Values[0], all.rows[3].Values[0]) || back.rows[0].Values[1] == back.rows[0].Values[1] {
			t.Fatalf("%v, %+v", err, back.rows)
		}
	}
}

// The trapezoidal rule on the points of a curve gives its area.
func TestCurvesHaveTheAreaOfTheirRanks(t *testing.T) {
	r := NewRanking(2, 1, 1<<12, false)
	g := rand.New(rand.NewPCG(3, 1))
	for i := range 5000 {
		y := i % 3 / 2
		s := float32(g.NormFloat64() + float64(y))
		r.Add(y, []float32{-s, s}, []float32{-s, s}, 1)
	}
	curves := r.Curves(400)
	if len(curves) != 1 || curves[0].Class != 1 {
		t.Fatalf("%+v", curves)
	}
	points, area := curves[0].Points, 0.0
	first, last := points[0], points[len(points)-1]
	if first.FalsePositive != 0 || first.TruePositive != 0 || last.FalsePositive != 1 || last.TruePositive != 1 || len(points) > 402 {
		t.Errorf("%d points from %+v to %+v", len(points), first, last)
	}
	for i := 1; i < len(points); i++ {
		p, q := points[i-1], points[i]
		area += (q.FalsePositive - p.FalsePositive) * (p.TruePositive + q.TruePositive) / 2
	}
	if want := *rankingReport(r).AUC; math.Abs(area-want) > 0.002 {
		t.Errorf("area %g, want %g", area, want)
	}
}
