package ridge

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/models/linear"
)

// sums returns the sums of folds of random rows with targets that drift from fold to fold.
func sums(folds, rows int) ([]*Sum, Options) {
	const dim = 6
	r := rand.New(rand.NewPCG(1, uint64(folds)))
	shape := Shape{Dim: dim, Outputs: 1, Regression: true}
	grid := linear.Grids{{Low: -8, High: 8}}
	var all []*Sum
	for f := range folds {
		s := NewSum(shape)
		z := features.NewGrid(dim, 127)
		x, y := make([]float32, rows*dim), make([]float64, rows)
		for i := range rows {
			for j := range dim {
				x[i*dim+j] = 2*r.Float32() - 1
				y[i] += float64(x[i*dim+j]) * math.Cos(float64(f)+float64(j))
			}
			y[i] += 0.1 * r.NormFloat64()
		}
		z.Quantize(x, rows, 1, 1)
		s.Add(z, y, grid, nil, 1)
		all = append(all, s)
	}
	return all, Options{
		Search: LambdaSearch{Lambda: []float64{1e-4, 1e-2, 1}}, Return: Request{Trials: true},
		Plan: FoldPlan{Folds: folds}, From: adding(all...), Units: Units{Grid: grid, Step: 1.0 / 127}, Threads: 1,
	}
}

// mse is the mean squared error of a fit to some folds on another, by sums of two folds.
func mse(t *testing.T, all []*Sum, o Options, held int, learned []int, lambda float64) float64 {
	t.Helper()
	o.Plan, o.Gap = FoldPlan{Folds: 2, Validation: FirstFold}, false
	o.Search.TryAll, o.Search.Lambda = true, []float64{lambda, 1e6}
	rest := NewSum(o.From.Shape)
	for _, f := range learned {
		rest.Merge(all[f])
	}
	o.From = adding(all[held], rest)
	s, err := Solve(o)
	if err != nil {
		t.Fatal(err)
	}
	return s.Table[0].MSE
}

func TestFoldIsJudgedByEarlierRowsOnly(t *testing.T) {
	for _, c := range []struct {
		gap, first bool
		judged     map[int][]int // fold, and those that it is judged by
	}{
		{false, false, map[int][]int{0: {1, 2, 3, 4}, 1: {2, 3, 4}, 2: {3, 4}, 3: {4}}},
		{true, false, map[int][]int{0: {2, 3, 4}, 2: {4}}},
		{true, true, map[int][]int{0: {2, 3, 4}}},
	} {
		all, o := sums(5, 60)
		o.Gap, o.Plan.Validation, o.Plan.FitWithoutFirst = c.gap, judgeIf(c.first, FirstFold), true
		s, err := SolveChain(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range s.Table {
			want := 0.0
			for held, learned := range c.judged {
				want += mse(t, all, o, held, learned, row.Lambda) / float64(len(c.judged))
			}
			if math.Abs(row.MSE-want) > 1e-9*want || row.Folds != len(c.judged) {
				t.Errorf("gap %v: lambda %g: error %g of %d folds, want %g of %d", c.gap, row.Lambda, row.MSE, row.Folds, want,
					len(c.judged))
			}
		}
		if s.Rows != 300 || s.FirstRows != 60 {
			t.Errorf("gap %v: fitted to %d rows, %d held out", c.gap, s.Rows, s.FirstRows)
		}
		if want := int64(60 * len(c.judged[0])); s.WithoutFirst.Rows != want {
			t.Errorf("gap %v: the fit without fold 0 is to %d rows, want %d", c.gap, s.WithoutFirst.Rows, want)
		}
	}
}

// Sums of rows that came after the recipe have no rows in its earliest folds.
func TestFoldsThatCannotJudgeAreLeftOut(t *testing.T) {
	for empty, judged := range map[int]map[int][]int{
		4: {0: {1, 2, 3}, 1: {2, 3}, 2: {3}}, 2: {0: {1, 3, 4}, 1: {3, 4}, 3: {4}},
	} {
		all, o := sums(5, 60)
		all[empty] = NewSum(o.From.Shape)
		o.From = adding(all...)
		s, err := SolveChain(o)
		if err != nil {
			t.Errorf("fold %d: %v", empty, err)
			continue
		}
		for _, row := range s.Table {
			want := 0.0
			for held, learned := range judged {
				want += mse(t, all, o, held, learned, row.Lambda) / float64(len(judged))
			}
			if math.Abs(row.MSE-want) > 1e-9*want || row.Folds != len(judged) {
				t.Errorf("fold %d: lambda %g: error %g of %d folds, want %g of %d", empty, row.Lambda, row.MSE, row.Folds, want,
					len(judged))
			}
		}
	}
	for _, filled := range [][]int{{0}, {1, 2}} { // fold 0 must judge
		all, o := sums(3, 60)
		for f := range all {
			if !slices.Contains(filled, f) {
				all[f] = NewSum(o.From.Shape)
			}
		}
		o.From = adding(all...)
		if _, err := SolveChain(o); err == nil || !strings.Contains(err.Error(), "add rows of other times") {
			t.Errorf("rows in folds %v only: %v", filled, err)
		}
	}
	s := draw(Shape{Dim: 6, Outputs: 2}, 100, 5, 7)
	for i := range s.class {
		s.fold[i] = i / 20
		if s.class[i] = 0; i < 50 { // a class appears: folds 3 and 4, the earliest, lack it
			s.class[i] = int32(i % 2)
		}
	}
	fit, err := SolveChain(s.options(1e-2, 1))
	if err != nil || fit.Table[0].Folds != 2 {
		t.Errorf("a class that appears: %+v, %v", fit, err)
	}
}

// If folds lead to different smaller λ, each trial still belongs to its row of the table.
func TestTrialsOfAChainBelongToItsTable(t *testing.T) {
	all, o := sums(5, 20)
	o.Search.Lambda, o.Search.Smaller = []float64{1, 10}, []float64{0.5, 0.25, 0.125, 0.0625, 0.03125}
	o.From.Add = func(to *Sum, f int) error {
		to.Merge(all[[]int{1, 2, 4, 0, 3}[f]])
		if f == 4 {
			to.Merge(all[1]) // so that fold 0 is like others
		}
		return nil
	}
	s, err := SolveChain(o)
	if err != nil {
		t.Fatal(err)
	}
	first, err := Solve(judging(&o, 0))
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Table) == len(s.Table) {
		t.Fatal("all judgements have tried the same")
	}
	if len(s.Trials) != len(s.Table) {
		t.Fatalf("%d trials of %d values", len(s.Trials), len(s.Table))
	}
	for i, row := range s.Table {
		if s.Trials[i].Lambda != row.Lambda {
			t.Errorf("the trial of lambda %g is of %g", row.Lambda, s.Trials[i].Lambda)
		}
	}
}
