package score

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"

	"github.com/bochner-ml/bochner/io/wire"
)

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

// The scores of all possible rows are in their intervals 95 times in 100. BOCHNER_HONEST makes more trials.
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
				var p TargetMoments
				var sums Targets
				for range n {
					y, e := shape.draw(r)
					sums.Add(100+10*y, 100+10*(y-e), 1)
					p.Add(100+10*y, 100+10*(y-e), 100, 20, 1)
				}
				report := sums.Report()
				p.SetIntervals(&report, 100, 20, float64(n))
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
	var whole, first, second, other TargetMoments
	var sums, others Targets
	for i := range 200 {
		y, e := errorShapes[2].draw(r)
		rows := int64(1 + r.IntN(3))
		sums.Add(y, y+e, rows)
		whole.Add(y, y+e, 0, 1, rows)
		other.Add(1000*y, 1000*(y+e), 500, 4096, rows)
		others.Add(1000*y, 1000*(y+e), rows)
		[]*TargetMoments{&first, &second}[i%2].Add(y, y+e, 0, 1, rows)
	}
	second.Merge(&first)
	if back := new(TargetMoments); wire.Unmarshal(back, wire.Marshal(&second)) != nil || !reflect.DeepEqual(*back, whole) {
		t.Error("the sums depend on the cut")
	}
	a, b := sums.Report(), others.Report()
	whole.SetIntervals(&a, 0, 1, 150)
	other.SetIntervals(&b, 500, 4096, 150)
	for i := range 2 {
		if x, y := 1000*a.RMSEInterval[i], b.RMSEInterval[i]; math.Abs(x-y) > 1e-3*x {
			t.Errorf("RMSE: %g and %g", x, y)
		}
		if x, y := a.R2Interval[i], b.R2Interval[i]; math.Abs(x-y) > 1e-3 {
			t.Errorf("R2: %g and %g", x, y)
		}
	}
}

func TestTargetIntervalsOfSpecialRows(t *testing.T) {
	bound := func(n int, unit float64, row func(i int) (y, predicted float64)) TargetReport {
		var p TargetMoments
		var sums Targets
		for i := range n {
			y, predicted := row(i)
			sums.Add(y, predicted, 1)
			p.Add(y, predicted, 0, unit, 1)
		}
		report := sums.Report()
		p.SetIntervals(&report, 0, unit, float64(n))
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
