package solver

import "testing"

// More features, folds, values and outputs are more work, for every solver.
func TestWorkGrowsWithEachSize(t *testing.T) {
	for _, rows := range []int64{100, 3000, 30000, 1e6} {
		for _, outputs := range []int{1, 26} {
			var last float64
			for dim := 256; dim <= 1<<14; dim *= 2 {
				s := Shape{Dim: dim, Outputs: outputs}
				w := Work(s, Plan{Folds: 5}, rows, 8)
				one, first := Work(s, Plan{}, rows, 1), Work(s, Plan{2, true}, rows, 8)
				if !(0 < one && one < first && first < w) {
					t.Errorf("%d features, %d rows, %d outputs: %g s, %g s where one fold judges, %g s for one value", dim, rows,
						outputs, w, first, one)
				}
				if !(w > last) && dim > 1024 { // which has another solver
					t.Errorf("%d features, %d rows, %d outputs: %g s after %g", dim, rows, outputs, w, last)
				}
				last = w
			}
			if least := Work(Shape{Dim: 512, Outputs: outputs}, Plan{Folds: 5}, rows, 8); last < 50*least {
				t.Errorf("%d rows, %d outputs: %g s for 16,384 features, %g for 512", rows, outputs, last, least)
			}
		}
	}
}

// Where the solver changes with the number of rows, the estimate for one more row is 0.4 to 1.8 times the
// estimate before.
func TestWorkEstimateIsContinuousBetweenSolvers(t *testing.T) {
	for _, dim := range []int{1024, 2048, 4096, 10_000} {
		for _, outputs := range []int{1, 4, 26} {
			for _, first := range []bool{false, true} {
				plan := Plan{Folds: 5}
				if first {
					plan = Plan{2, true}
				}
				s := Shape{Dim: dim, Outputs: outputs}
				for _, rows := range []int64{int64(dim) / 2, int64(dim), DescentRows*int64(dim) - 1} {
					before, after := Work(s, plan, rows, 8), Work(s, plan, rows+1, 8)
					if ratio := after / before; ratio < 0.4 || ratio > 1.8 {
						t.Errorf("%d features, %d outputs, first %v: %.3g s for %d rows, %.3g for one more", dim, outputs, first, before,
							rows, after)
					}
				}
			}
		}
	}
}

// Work is within a factor of two of the seconds that Solve took on one thread of a busy machine.
func TestWorkMatchesSolve(t *testing.T) {
	for _, c := range []struct {
		dim, outputs int
		rows         int64
		folds        int
		first        bool
		took         float64
	}{
		{4096, 1, 1000, 5, false, 1.3}, {4096, 1, 1000, 2, true, 0.85},
		{4096, 1, 3000, 5, false, 4.0}, {4096, 1, 3000, 2, true, 1.6}, {4096, 1, 4096, 5, false, 4.3}, {4096, 1, 4096, 2,
			true, 2.3},
		{4096, 26, 2000, 2, true, 1.3}, {4096, 26, 3000, 2, true, 1.8},
		{1100, 26, 3000, 5, false, 0.4}, {2080, 26, 15000, 5, false, 1.6}, {4096, 26, 15000, 5, false, 6.6},
		{2048, 1, 20640, 5, false, 1.4}, {4096, 1, 3000, 1, false, 0.7},
	} {
		values := 8
		if c.folds == 1 {
			values = 1
		}
		w := Work(Shape{Dim: c.dim, Outputs: c.outputs}, Plan{c.folds, c.first}, c.rows, values)
		t.Logf("%d features, %d outputs, %d rows, %d folds: %.2f s, took %.2f", c.dim, c.outputs, c.rows, c.folds, w, c.took)
		if w < c.took/2 || w > 2*c.took {
			t.Errorf("%d features, %d outputs, %d rows, %d folds: %.2f s, took %.2f", c.dim, c.outputs, c.rows, c.folds, w,
				c.took)
		}
	}
}

// A factor serves neighbouring values too if it takes long compared with a product with few outputs.
func TestFactorsAreSharedForManyFeaturesAndFewOutputs(t *testing.T) {
	for _, c := range []struct {
		shape Shape
		want  bool
	}{{Shape{Dim: 10_000, Outputs: 10}, true}, {Shape{Dim: 4096, Outputs: 1}, true}, {Shape{Dim: 4096, Outputs: 26},
		false}, {Shape{Dim: 2048, Outputs: 10}, false}} {
		if SharesFactors(c.shape) != c.want {
			t.Errorf("%+v: %v", c.shape, !c.want)
		}
	}
}
