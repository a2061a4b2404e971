package modelreport

import (
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/models/ridge"
)

func TestFirstFoldFiguresReplaceFiguresOfAllFolds(t *testing.T) {
	path := []ridge.CVResult{{MSE: 2, FoldMSE: 3, StdErr: 1, Folds: 5, R2: 0.5}, {Failed: "singular"}}
	for _, c := range []struct {
		variance []float64
		r2       float64
	}{{[]float64{12}, 0.75}, {[]float64{0}, 0}, {[]float64{7, 8}, -2}} {
		rows := slices.Clone(path)
		OnFirst(rows, c.variance)
		if want := (ridge.CVResult{MSE: 3, FoldMSE: 3, Folds: 1, R2: c.r2}); rows[0] != want || rows[1] != path[1] {
			t.Errorf("%v: %+v", c.variance, rows)
		}
	}
}
