package ridge

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
)

// rows returns the rows of each fold, added in a few parts and in the given order.
func (s *sample) rows(order []int) *FoldRows {
	r := &FoldRows{Shape: s.shape, Steps: features.ByteSteps}
	for f := range s.folds {
		var in []int
		for _, i := range order {
			if s.fold[i] == f {
				in = append(in, i)
			}
		}
		var sets []*GridRows
		for part := range slices.Chunk(in, 70) {
			set := NewGridRows(s.shape)
			var labels []int32
			for _, i := range part {
				if s.shape.Regression {
					labels = append(labels, s.y[i]...)
				} else {
					labels = append(labels, s.class[i])
				}
			}
			set.Add(s.pack(part), labels, nil, 2)
			sets = append(sets, set)
		}
		r.Folds = append(r.Folds, JoinRows(append(sets, NewGridRows(s.shape))))
	}
	return r
}

// Rows lead to the λ of their sums, to the same weights bit for bit, and to the same errors up to
// rounding. Their order, the threads and the processor change no bit.
func TestRowsAndTheirSumsGiveTheSameWeights(t *testing.T) {
	for _, c := range []struct {
		rows              int
		regression, first bool
		ranged            bool
	}{{60, false, false, false}, {60, true, true, true}, {1060, true, false, false}} {
		s := draw(Shape{Dim: max(330, c.rows+30), Outputs: 2, Regression: c.regression}, c.rows, 4, 7)
		o := s.options(AutoLambda()...)
		o.Plan.FitWithoutFirst, o.Return.Trials, o.Plan.Validation = true, true, judgeIf(c.first, FirstFold)
		if c.ranged {
			for j := range s.shape.Dim {
				r := &o.Units.Ranges
				r.Centre, r.Half = append(r.Centre, float64(j%7)-3), append(r.Half, 1+float64(j%5))
			}
		}
		want, err := Solve(o)
		if err != nil {
			t.Fatal(err)
		}
		order := s.all()
		var was *Solution
		for _, threads := range []int{1, 3} {
			o.From.Rows, o.Threads = s.rows(order), threads
			got, err := Solve(o)
			if err != nil {
				t.Fatal(err)
			}
			slices.Reverse(order)
			if got.Lambda != want.Lambda || !slices.Equal(got.Weights, want.Weights) ||
				!slices.Equal(got.Intercept, want.Intercept) || !slices.Equal(got.WithoutFirst.Weights, want.WithoutFirst.Weights) {
				t.Errorf("%+v: lambda %g, want %g and its weights", c, got.Lambda, want.Lambda)
			}
			for _, row := range got.Table {
				i := slices.IndexFunc(want.Table, func(r CVResult) bool { return r.Lambda == row.Lambda })
				if i < 0 {
					continue // the descents began elsewhere
				}
				r := want.Table[i]
				if math.Abs(row.FoldMSE-r.FoldMSE) > 1e-5*r.FoldMSE || row.Folds == r.Folds &&
					(math.Abs(row.MSE-r.MSE) > 1e-5*r.MSE || math.Abs(row.Train-r.Train) > 1e-4*r.Train) {
					t.Errorf("%+v: %+v, want %+v", c, row, r)
				}
			}
			if was != nil && (!slices.Equal(got.Table, was.Table) ||
				!slices.Equal(got.Trials[0].Weights, was.Trials[0].Weights)) {
				t.Errorf("%+v: %+v in another order by %d threads, want %+v", c, got.Table, threads, was.Table)
			}
			was = got
		}
		level := blas.ISA()
		if err := blas.SetISA("go"); err != nil {
			t.Fatal(err)
		}
		if c.rows < 100 {
			if got, err := Solve(o); err != nil || !slices.Equal(got.Table, was.Table) {
				t.Errorf("%+v: in plain Go %v, %v, want %+v", c, fmt.Sprint(got), err, was.Table)
			}
		}
		if err := blas.SetISA(level); err != nil {
			t.Fatal(err)
		}
	}
}
