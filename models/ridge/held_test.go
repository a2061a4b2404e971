package ridge

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// The weights fitted without fold 0 equal, bit for bit, the weights of a Solve that never saw fold 0. The
// weights of all rows are the same with and without FitWithoutFirst.
func TestFitWithoutFirstUsesTheOtherFoldsOnly(t *testing.T) {
	for _, shape := range shapes() {
		s := draw(shape, 250, 3, 1)
		for name, o := range map[string]Options{"path": s.options(1e-2, 1e-5, 1e-3), "given": s.options(1e-3)} {
			plain, err := Solve(o)
			if err != nil {
				t.Fatal(err)
			}
			o.Plan.FitWithoutFirst, o.Plan.Validation = true, judgeIf(name == "given", NoFold)
			fit, err := Solve(o)
			if err != nil {
				t.Fatal(err)
			}
			if fit.Lambda != plain.Lambda || !slices.Equal(fit.Weights, plain.Weights) ||
				!slices.Equal(fit.Intercept, plain.Intercept) {
				t.Errorf("%+v, %s: other weights of all rows", shape, name)
			}
			if (fit.Table == nil) != (o.Plan.Validation == NoFold) {
				t.Errorf("%+v, %s: table %v", shape, name, fit.Table)
			}
			_, out := s.split(0)
			alone := s.options(fit.Lambda)
			alone.Plan.Folds, alone.From = 1, adding(s.sum(out))
			want, err := Solve(alone)
			if err != nil {
				t.Fatal(err)
			}
			h := fit.WithoutFirst
			if h.Rows != want.Rows || h.Lambda != fit.Lambda || !slices.Equal(h.Weights, want.Weights) ||
				!slices.Equal(h.Intercept, want.Intercept) {
				t.Errorf("%+v, %s: not the weights of the other folds alone", shape, name)
			}
			if slices.Equal(h.Weights, fit.Weights) {
				t.Errorf("%+v, %s: the weights of all rows", shape, name)
			}
			if o.Plan.Validation == NoFold {
				continue
			}
			o.Return.Trials = true
			if fit, err = Solve(o); err != nil || len(fit.Trials) != len(fit.Table) {
				t.Fatalf("%d trials, %v", len(fit.Trials), err)
			}
			for i, got := range fit.Trials {
				alone.Search.Lambda = o.Search.Lambda[i : i+1]
				want, err := Solve(alone)
				if err != nil {
					t.Fatal(err)
				}
				if got.Rows != want.Rows || got.Lambda != want.Lambda || !slices.Equal(got.Weights, want.Weights) ||
					!slices.Equal(got.Intercept, want.Intercept) {
					t.Errorf("%+v: the trial of lambda %g is not the fit to the other folds", shape, want.Lambda)
				}
			}
		}
	}
}

func TestUnjudgeableFoldsAreAnError(t *testing.T) {
	s := draw(Shape{Dim: 5, Outputs: 2}, 60, 2, 1)
	all := s.sum(s.all())
	for _, c := range []struct {
		want string
		o    Options
		adds int // that succeed
	}{
		{"FitWithoutFirst needs two or more folds (have 1)", Options{Search: LambdaSearch{Lambda: []float64{1}},
			Plan: FoldPlan{Folds: 1, FitWithoutFirst: true}}, 9},
		{"2 values of lambda", Options{Search: LambdaSearch{Lambda: []float64{1, 2}},
			Plan: FoldPlan{Folds: 2, FitWithoutFirst: true, Validation: NoFold}}, 9},
		{"all 60 rows are in fold 0, which", Options{Search: LambdaSearch{Lambda: []float64{1}},
			Plan: FoldPlan{Folds: 2, FitWithoutFirst: true, Validation: NoFold}}, 9},
		{"fold 1: gone", Options{Search: LambdaSearch{Lambda: []float64{1}},
			Plan: FoldPlan{Folds: 3, FitWithoutFirst: true, Validation: NoFold}}, 3},
	} {
		c.o.Units.Step, c.o.From.Shape = s.step, s.shape
		c.o.From.Add = func(to *Sum, fold int) error {
			if c.adds--; c.adds < 0 {
				return errors.New("gone")
			}
			if fold == 0 {
				to.Merge(all)
			}
			return nil
		}
		if _, err := Solve(c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
