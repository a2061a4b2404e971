package models

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/ridge"
)

// Errors of 0 are written to JSON, since no error is a result.
func TestZeroErrorsAreKeptInJSON(t *testing.T) {
	for _, c := range []struct {
		of   any
		want string
	}{
		{ridge.CVResult{HeldOutResult: ridge.HeldOutResult{HeldOutRows: 5}}, `"held_rows":5,"held_errors":0,"held_mse":0`},
		{ridge.CVResult{}, `"rounding":0,"fold_mse":0`},
		{iterative.Report{HeldOut: iterative.HeldOut{HeldOutRows: 5}}, `"held_rows":5,"held_loss":0,"held_errors":0`},
		{iterative.Report{}, `"errors":0`},
		{TrainingLog{HeldOut: iterative.HeldOut{HeldOutRows: 5}}, `"held_rows":5,"held_loss":0,"held_errors":0`},
		{SearchTrial{}, `"error":0`},
	} {
		if b, err := json.Marshal(c.of); err != nil || !strings.Contains(string(b), c.want) {
			t.Errorf("%T: %s lacks %s, error %v", c.of, b, c.want, err)
		}
	}
}
