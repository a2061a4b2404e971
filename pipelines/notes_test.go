package pipelines

import (
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/trained"
)

func TestRoundingIsNotedWhereItIsToBeSeen(t *testing.T) {
	for _, c := range []struct {
		row        ridge.Row
		regression bool
		want       []string // nil for no note
	}{
		{ridge.Row{MSE: 1, Rounding: 0.009}, false, nil},
		{ridge.Row{MSE: 1, Rounding: 0.02}, false, []string{"is about 0.02 smaller"}},
		{ridge.Row{MSE: 1, Rounding: 0.02, HeldOutRows: 1234, FoldMSE: 4.02, HeldOutMSE: 4}, false, nil},
		{ridge.Row{MSE: 1, HeldOutRows: 1234, FoldMSE: 9, HeldOutMSE: 4}, false, []string{"mse", "1,234 rows", "is 4,", "compared with 9 for"}},
		{ridge.Row{MSE: 1, HeldOutRows: 1234, FoldMSE: 9, HeldOutMSE: 4}, true, []string{"RMSE", "is 2,", "compared with 3 for"}},
	} {
		note := trained.RoundingNote(c.row, c.regression)
		if (note == nil) != (c.want == nil) {
			t.Errorf("%+v: %q", c.row, note)
		}
		for _, word := range c.want {
			if !strings.Contains(note[0], word) {
				t.Errorf("%+v: %q is not in %q", c.row, word, note)
			}
		}
	}
}
