package sgd

import (
	"fmt"
	"testing"
)

// Momentum ends by itself, near the least objective, and its reported distance is true: the gradient at the end
// bounds it.
func TestMomentumReportsItsDistanceFromTheOptimum(t *testing.T) {
	for name, p := range problems() {
		l, err := p.Validate()
		if err != nil {
			t.Fatal(err)
		}
		if s := l.Smooth(); s-s != 0 {
			continue // no gradient at kinks
		}
		t.Run(name, func(t *testing.T) {
			b := sample(int(p.Rows), p.Dim, p.Outputs, p.Regression)
			o := options{Problem: p, Method: Momentum, Partitions: 1}
			rate, err := searchRate(o, b, 1)
			if err != nil {
				t.Fatal(err)
			}
			o.Rate = rate
			learner, state := begin(t, o)
			for i := range 300 {
				r, err := learner.Open(state)
				if err != nil {
					t.Fatal(err)
				}
				done := r.Done()
				next, report := epoch(t, learner, state, b, 1, 32)
				if !done {
					if report.Above != nil {
						t.Fatalf("round %d tells a distance before it is measured", i)
					}
					state = next
					continue
				}
				if report.Above == nil {
					t.Fatal("the last round tells no distance")
				}
				off := report.Objective - best(p, b)
				if off > *report.Above+1e-6 {
					t.Errorf("%.3g above the least objective, said to be at most %.3g", off, *report.Above)
				}
				if off > 0.02*report.Objective {
					t.Errorf("ends %.3g above the least objective, of %.6g, after %d epochs", off, report.Objective, i)
				}
				if same := fmt.Sprint(modelOf(t, learner, state)) == fmt.Sprint(modelOf(t, learner, next)); !same {
					t.Error("the round that measures changes the weights")
				}
				return
			}
			t.Error("300 epochs, and no end")
		})
	}
}
