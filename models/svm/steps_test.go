package svm

import (
	"runtime"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/loss"
)

// counted counts the steps that are taken with a loss.
type counted struct {
	loss.Scalar
	steps *float64
}

func (c counted) Step(y, s, a, q float64) float64 {
	if at, _, _, ok := runtime.Caller(1); ok &&
		strings.HasSuffix(runtime.FuncForPC(at).Name(), ").visit") { // else it is asked whether there is one
		*c.steps++
	}
	return c.Scalar.Step(y, s, a, q)
}

// The number of steps is between a twentieth and five times the number that plans assume.
func TestStepsAreNearThePlannedNumber(t *testing.T) {
	const n, d, outputs = 200, 32, 3
	rows := sample(n, d, outputs, false)
	for _, name := range []string{"hinge", "squared_hinge"} {
		for _, lambda := range []float64{1e-4, 1e-2} {
			for _, partitions := range []int{2, 8} {
				o := options{Problem: loss.Problem{Loss: name, Outputs: outputs, Dim: d, Rows: n, Lambda: lambda}, Bias: 1,
					Partitions: partitions, Seed: 1}
				r, steps := start(t, o, rows.blocks(partitions, 1024)), 0.0
				of := *r.learner.loss
				of.Scalar = counted{of.Scalar, &steps}
				r.learner.loss = &of
				plan := NewLearnerOptions()
				plan.Partitions = partitions
				for gap := 1.0; gap > 1e-3 && plan.Rounds < 20; plan.Rounds++ {
					report := r.round(t)
					gap, _ = report.Gap()
					gap /= report.Objective
				}
				got, want := steps/(n*outputs), plan.Needs(iterative.Size{Features: 1}).Steps
				t.Logf("%s, lambda %g, %d partitions, %d rounds: %.3g steps at a row, plans assume %.3g", name, lambda, partitions,
					plan.Rounds, got, want)
				if got < want/20 || got > 5*want {
					t.Errorf("which is not near")
				}
			}
		}
	}
}
