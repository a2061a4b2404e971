package summing

import (
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// Sums that could be solved for a λ can be so for it and larger ones without some of their rows.
func TestSumsThatCannotBeSolvedAnyMoreAreRefused(t *testing.T) {
	failed := func(lambda float64) []ridge.Row {
		return []ridge.Row{{Lambda: 1e-3}, {Lambda: lambda, Failed: "not positive definite (pivot 2 of 48)"}}
	}
	for _, c := range []struct {
		solved float64
		table  []ridge.Row
		refuse bool
	}{
		{1e-6, failed(1e-6), true},
		{1e-6, failed(1e-5), true},
		{1e-6, failed(1e-8), false}, // it may have failed before
		{0, failed(1e-5), false},    // nothing was subtracted
		{1e-6, nil, false},
	} {
		err := FitOptions{solved: c.solved}.solvable(c.table)
		if refused := err != nil; refused != c.refuse || refused && (exit.Code(err) != exit.CodeData || !strings.Contains(err.Error(), "not all in the sums")) {
			t.Errorf("%g, %v: %v", c.solved, c.table, err)
		}
	}
}
