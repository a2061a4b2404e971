package ridge

import (
	"math"
	"testing"
)

// variance returns the variance of target c over some rows.
func (s *sample) variance(rows []int, c int) (v float64) {
	var mean float64
	for _, i := range rows {
		mean += s.target(i)[c] / float64(len(rows))
	}
	for _, i := range rows {
		v += math.Pow(s.target(i)[c]-mean, 2) / float64(len(rows))
	}
	return v
}

// R² compares the errors of rows with the variance of the same rows. If it took the variance of all rows, nearly all
// of which comes from one row of another fold, the mean would explain 99% on the first fold.
func TestR2UsesTheVarianceOfThePredictedRows(t *testing.T) {
	for _, first := range []bool{true, false} {
		for _, k := range []int{1, 2} {
			s := draw(Shape{Dim: 40, Outputs: k, Regression: true}, 200, 4, 11)
			for i, f := range s.fold {
				if f != 0 {
					for c := range k {
						s.y[i][c] = maxTarget
					}
					break
				}
			}
			o := s.options(1e-3, 1e-1)
			o.Plan.Validation = judgeIf(first, FirstFold)
			got, err := Solve(o)
			if err != nil {
				t.Fatal(err)
			}
			in, _ := s.split(0)
			for _, row := range got.Table {
				rows := s.all()
				if first {
					rows = in
				}
				want := 1 - row.MSE/s.variance(rows, 0)
				if k > 1 {
					want = 1 - row.MSE // of shares of the variances of all rows
				}
				if math.Abs(row.R2-want) > 1e-9 {
					t.Errorf("first %v, %d targets, lambda %g: R² %g, want %g", first, k, row.Lambda, row.R2, want)
				}
			}
			for c, v := range got.FoldVariance {
				if want := s.variance(in, c); math.Abs(v-want) > 1e-9*want {
					t.Errorf("target %d: variance %g of the first fold, want %g", c, v, want)
				}
			}
			for c, v := range got.Variance {
				if want := s.variance(s.all(), c); math.Abs(v-want) > 1e-9*want {
					t.Errorf("target %d: variance %g, want %g", c, v, want)
				}
			}
			if len(got.FoldVariance) != k || k > 1 && len(got.Variance) != k {
				t.Errorf("%d targets: %d variances, %d of the first fold", k, len(got.Variance), len(got.FoldVariance))
			}
		}
	}
}
