package solver

import "testing"

func TestMethodForSuitsTheProblem(t *testing.T) {
	for _, c := range []struct {
		dim, outputs int
		rows         int64
		first        bool
		want         Method
	}{
		{10_000, 10, 60_000, false, SharedFactor}, {4096, 10, 60_000, false, SharedFactor}, {4096, 10, 60_000, true, OwnFactor},
		{4096, 10, 5000, false, OwnFactor}, {4096, 26, 15_000, false, OwnFactor}, {4096, 100, 15_000, false, Exactly},
		{1000, 1, 15_000, false, Exactly}, {DescentDim, 1, 15_000, false, SharedFactor},
	} {
		if got := (Plan{5, c.first}).MethodFor(Shape{Dim: c.dim, Outputs: c.outputs}, c.rows); got != c.want {
			t.Errorf("%d features, %d outputs: %v", c.dim, c.outputs, got)
		}
	}
}
