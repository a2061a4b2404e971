package search

import (
	"math"
	"testing"
)

// A width of 0.2 median distances makes a kernel of 40 columns so small that 512 features cannot follow it, although
// kernel ridge regression without features can. Of one column, 512 features follow a narrow kernel.
func TestUnusualWidthsAreConfirmedWithFeatures(t *testing.T) {
	for _, c := range []struct {
		name  string
		pilot *Pilot
		usual bool // is chosen in place of 0.2
	}{
		{name: "sum of 40 columns", usual: true, pilot: made(500, 40, 0, false, func(x []float32) (y float64) {
			for _, v := range x {
				y += float64(v)
			}
			return y
		})},
		{name: "waves of one", pilot: made(500, 1, 0, false, func(x []float32) float64 { return math.Sin(9 * float64(x[0])) })},
	} {
		o := options(c.pilot)
		o.Features = 512
		r, all, err := newRunner(c.pilot, o)
		if err != nil {
			t.Fatal(err)
		}
		var field []*entry
		for _, w := range []float64{0.2, 1} {
			field = append(field, &entry{Candidate: Candidate{View: "none", Kernel: "gaussian", Width: w}, start: coarse})
		}
		r.standard = field[1]
		if err := r.tryAll(t.Context(), field, all[0]); err != nil {
			t.Fatal(err)
		}
		chosen, standard, err := r.confirm(t.Context(), field, field[0], all[0])
		if err != nil {
			t.Fatal(err)
		}
		if (chosen.Width == 1) != c.usual || chosen.trial.Features != 512 || standard.Features != 512 {
			t.Errorf("%s: chosen %+v, default %+v", c.name, chosen.trial, standard)
		}
		if same, _, err := r.confirm(t.Context(), field, field[1], all[0]); err != nil || same != field[1] {
			t.Errorf("%s: a usual width: %+v, %v", c.name, same, err)
		}
	}
}
