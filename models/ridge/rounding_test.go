package ridge

import "testing"

// A grid is too coarse for a small λ if no smaller one was tried, if a smaller one may be better, or if
// rounding makes up a part of the error that matters.
func TestGridIsTooCoarseWhereAFinerOneMayBeBetter(t *testing.T) {
	row := func(lambda, mse, rounding float64) CVResult {
		return CVResult{Lambda: lambda, MSE: mse, FoldMSE: mse, Rounding: rounding, Folds: 1}
	}
	own, failed := row(1e-8, 1, 0.02), row(1e-9, 0, 0)
	failed.Failed = "not positive definite"
	for _, c := range []struct {
		name   string
		table  []CVResult
		finer  float64
		coarse bool
	}{
		{"given", nil, 1e-8, true},
		{"given, but not small", nil, 0.9e-8, false},
		{"the least", []CVResult{own, row(1e-7, 2, 0)}, 1e-8, true},
		{"the least, but not small", []CVResult{own, row(1e-7, 2, 0)}, 0.9e-8, false},
		{"the least that can be used", []CVResult{failed, own, row(1e-7, 2, 0)}, 1e-8, true},
		{"between worse ones", []CVResult{row(1e-9, 1.2, 0.1), own, row(1e-7, 2, 0)}, 1e-8, false},
		{"above one that only rounding makes worse", []CVResult{row(1e-9, 1.2, 0.3), own, row(1e-7, 2, 0)}, 1e-8, true},
		{"above several", []CVResult{row(1e-10, 0, 0), row(1e-9, 1.2, 0.1), own}, 1e-8, false},
		{"rounded much", []CVResult{row(1e-9, 1.2, 0), row(1e-8, 1, 0.03), row(1e-7, 2, 0)}, 1e-8, true},
	} {
		if got := TooCoarse(c.table, 1e-8, c.finer); got != c.coarse {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	// Errors of the first fold are compared, on which all values have been tried.
	other := row(1e-9, 0.9, 0)
	other.FoldMSE = 1.5
	if TooCoarse([]CVResult{other, own}, 1e-8, 1e-8) {
		t.Error("a smaller value is better on other folds")
	}
}
