package ridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/ridge/internal/solver"
)

func shapes() []Shape {
	return []Shape{
		{Dim: 5, Outputs: 2},
		{Dim: 70, Outputs: 3},
		{Dim: 65, Outputs: 1, Regression: true},
		{Dim: blas.TileDim + 9, Outputs: 3},
		{Dim: blas.TileDim + 1, Outputs: 2, Regression: true},
	}
}

func TestSolveAgreesWithRefittingEveryFold(t *testing.T) {
	for _, shape := range shapes() {
		t.Run(fmt.Sprintf("%+v", shape), func(t *testing.T) {
			s := draw(shape, 250, 3, 1)
			lambda := []float64{1e-2, 1e-5, 1e-3}
			fit, err := Solve(s.options(lambda...))
			if err != nil {
				t.Fatal(err)
			}
			best := 0
			for i, l := range lambda {
				var held, train, rows float64
				var means []float64
				for f := range s.folds {
					in, out := s.split(f)
					m := s.refit(out, l)
					e := m.squares(s, in)
					held += e
					means = append(means, e/float64(len(in)))
					train += m.squares(s, out)
					rows += float64(len(out))
				}
				row := fit.Table[i]
				close := func(what string, got, want float64) {
					t.Helper()
					if math.Abs(got-want) > 1e-8*want {
						t.Errorf("lambda %g: %s %.12g, refitting gives %.12g", l, what, got, want)
					}
				}
				close("held-out error", row.MSE, held/250)
				close("training error", row.Train, train/rows)
				mean := (means[0] + means[1] + means[2]) / 3
				var ss float64
				for _, m := range means {
					ss += (m - mean) * (m - mean)
				}
				close("standard error", row.StdErr, math.Sqrt(ss/2*(1.0/3+1.0/2)))
				if row.Lambda != l || row.Failed != "" || row.Folds != 3 {
					t.Errorf("row %d is of lambda %g, failed %q", i, row.Lambda, row.Failed)
				}
				if fit.Table[i].MSE < fit.Table[best].MSE {
					best = i
				}
			}
			if fit.Lambda != lambda[best] || fit.Rows != 250 {
				t.Errorf("chose lambda %g of table %+v, rows %d", fit.Lambda, fit.Table, fit.Rows)
			}
			m := s.refit(s.all(), fit.Lambda)
			if shape.Regression {
				m.normalise(s.grid)
			}
			for c := range shape.Outputs {
				if e := apart(fit.Weights[c*shape.Dim:][:shape.Dim], m.w[c]); e > 1e-6 {
					t.Errorf("output %d: weights differ by %.2g of the largest", c, e)
				}
			}
			if e := apart(fit.Intercept, m.b); e > 1e-6 {
				t.Errorf("intercepts differ by %.2g of the largest: %v, want %v", e, fit.Intercept, m.b)
			}
		})
	}
}

func TestFoldsAndThreadsDoNotChangeTheWeights(t *testing.T) {
	for _, shape := range []Shape{{Dim: blas.TileDim + 40, Outputs: 3}, {Dim: 90, Outputs: 2, Regression: true}} {
		s := draw(shape, 300, 4, 2)
		opts := s.options(1e-6, 1e-4)
		want, err := Solve(opts)
		if err != nil {
			t.Fatal(err)
		}
		for _, threads := range []int{0, 1, 3, 8} {
			opts.Threads = threads
			got, err := Solve(opts)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Weights, want.Weights) || !slices.Equal(got.Intercept, want.Intercept) ||
				!slices.Equal(got.Table, want.Table) {
				t.Errorf("%+v: %d threads give another fit", shape, threads)
			}
		}
		whole := s.sum(s.all())
		opts.Plan.Folds, opts.Search.Lambda = 1, []float64{want.Lambda}
		opts.From = adding(whole)
		got, err := Solve(opts)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Weights, want.Weights) || !slices.Equal(got.Intercept, want.Intercept) {
			t.Errorf("%+v: weights differ without folds", shape)
		}
		if got.Table != nil {
			t.Errorf("%+v: a table without folds: %v", shape, got.Table)
		}
	}
}

func TestSolveDoesNotModifyItsSums(t *testing.T) {
	s := draw(Shape{Dim: 40, Outputs: 3}, 90, 2, 3)
	o, sums := s.options(1e-3), s.sums()
	o.From = Source{Sums: sums}
	if _, err := Solve(o); err != nil {
		t.Fatal(err)
	}
	for f := range s.folds {
		in, _ := s.split(f)
		if !sums[f].Equal(s.sum(in)) {
			t.Errorf("fold %d has changed", f)
		}
	}
}

func TestRankDeficientLambdaIsNotChosen(t *testing.T) {
	// 60 rows cannot determine 80 weights: without λ the matrix is singular.
	s := draw(Shape{Dim: 80, Outputs: 2}, 60, 3, 4)
	fit, err := Solve(s.options(0, 1e-4))
	if err != nil {
		t.Fatal(err)
	}
	if fit.Lambda != 1e-4 {
		t.Errorf("chose lambda %g", fit.Lambda)
	}
	row := fit.Table[0]
	if !strings.HasPrefix(row.Failed, "not positive definite (pivot ") || row.MSE != 0 {
		t.Errorf("row of lambda 0: %+v", row)
	}
	if _, err := json.Marshal(fit.Table); err != nil {
		t.Error(err)
	}

	opts := s.options(0)
	_, err = Solve(opts)
	if err == nil || !strings.Contains(err.Error(), "not positive definite (pivot ") ||
		!strings.HasSuffix(err.Error(), "at lambda 0; raise lambda") {
		t.Errorf("folds, lambda 0 alone: %v", err)
	}
	whole := s.sum(s.all())
	opts.Plan.Folds, opts.From = 1, adding(whole)
	_, err = Solve(opts)
	if err == nil || !strings.HasPrefix(err.Error(), "ridge: not positive definite (pivot ") ||
		!strings.HasSuffix(err.Error(), " of 80) at lambda 0; raise lambda") {
		t.Errorf("no folds, lambda 0: %v", err)
	}
}

// A singular matrix is found, although rounding leaves a positive pivot in about half of such matrices where
// exact arithmetic has 0.
func TestRoundingDoesNotHideASingularMatrix(t *testing.T) {
	for seed := range uint64(40) {
		s := draw(Shape{Dim: 3, Outputs: 2}, 50, 1, seed)
		for _, row := range s.z {
			row[0], row[1] = row[0]/2, row[1]/2
			row[2] = row[0] + row[1]
		}
		if fit, err := Solve(s.options(0)); err == nil || !strings.Contains(err.Error(), "(pivot 3 of 3)") {
			t.Errorf("seed %d: %v, fit %v", seed, err, fit)
		}
	}
}

func TestLambdaZeroGivesLeastSquaresAtFullRank(t *testing.T) {
	s := draw(Shape{Dim: 12, Outputs: 2}, 400, 2, 5)
	fit, err := Solve(s.options(0))
	if err != nil {
		t.Fatal(err)
	}
	m := s.refit(s.all(), 0)
	for c := range m.w {
		if e := apart(fit.Weights[c*12:][:12], m.w[c]); e > 1e-5 {
			t.Errorf("output %d: weights differ by %.2g of the largest", c, e)
		}
	}
}

func TestLargerLambdaWinsAtEqualErrors(t *testing.T) {
	s := draw(Shape{Dim: 10, Outputs: 1, Regression: true}, 50, 2, 6)
	for i := range s.y {
		s.y[i][0] = -7 // nothing to explain: weights are 0, errors are 0
	}
	fit, err := Solve(s.options(1e-3, 1e-1, 1e-2))
	if err != nil {
		t.Fatal(err)
	}
	if fit.Lambda != 1e-1 || fit.Table[0].MSE != 0 {
		t.Errorf("chose %g of %+v", fit.Lambda, fit.Table)
	}
	if got, want := s.grid[0].Mid()+s.grid[0].Half()*float64(fit.Intercept[0]),
		s.grid[0].Value(-7); math.Abs(got-want) > 1e-6 {
		t.Errorf("intercept %g, want %g", got, want)
	}
}

func TestConstantTargetsGiveNoWeights(t *testing.T) {
	s := draw(Shape{Dim: 10, Outputs: 1, Regression: true}, 50, 2, 6)
	s.grid = linear.Grids{{Low: 4.5, High: 4.5}}
	for i := range s.y {
		s.y[i][0] = s.grid[0].Quantize(4.5)
	}
	fit, err := Solve(s.options(1e-3))
	if err != nil {
		t.Fatal(err)
	}
	if fit.Intercept[0] != 0 || slices.Max(fit.Weights) != 0 || slices.Min(fit.Weights) != 0 {
		t.Errorf("intercept %g, weights %v", fit.Intercept[0], fit.Weights)
	}
}

func TestSolveErrorsNameTheFault(t *testing.T) {
	classes := Shape{Dim: 6, Outputs: 3}
	good := draw(classes, 40, 2, 7)
	huge := good.sum(good.all())
	for huge.tiles[0][0] < 1<<53 {
		huge.Merge(huge)
	}
	tests := []struct {
		name string
		opts func() Options
		want string
	}{
		{"no rows", func() Options {
			o := good.options(1)
			o.From = adding(NewSum(classes), NewSum(classes))
			return o
		}, "ridge: no rows to fit to"},
		{"one class", func() Options {
			s := draw(classes, 40, 2, 7)
			for i := range s.class {
				s.class[i] = 2
			}
			o := s.options(1)
			o.Units.Classes = []string{"ant", "bee", "cow"}
			return o
		}, `ridge: all 40 rows are of class "cow"; two classes are needed`},
		{"one fold with rows", func() Options {
			s := draw(classes, 40, 5, 7)
			for i := range s.fold {
				s.fold[i] = 3
			}
			return s.options(1)
		}, "ridge: all 40 rows are in fold 3 of 5; cross-validation needs two folds with rows: use more rows, or no folds"},
		{"no lambda", func() Options { return good.options() }, "ridge: no lambda given"},
		{"negative lambda", func() Options { return good.options(1, -1) }, "ridge: lambda -1: want a finite number ≥ 0"},
		{"path without folds", func() Options {
			o := good.options(1, 2)
			o.Plan.Folds = 1
			return o
		}, "ridge: choosing among 2 values of lambda needs folds; use 2 or more folds, or one lambda"},
		{"no step", func() Options {
			o := good.options(1)
			o.Units.Step = 0
			return o
		}, "ridge: feature step 0: want a finite number > 0"},
		{"grid for classes", func() Options {
			o := good.options(1)
			o.Units.Grid = linear.Grids{{High: 1}}
			return o
		}, "ridge: sums of targets need a target grid, and sums of classes must not have one"},
		{"reading a sum fails", func() Options {
			o := good.options(1)
			o.From.Add = func(*Sum, int) error { return errors.New("gone") }
			return o
		}, "ridge: fold 0: gone"},
		{"weights too large", func() Options {
			o := good.options(0)
			o.Units.Step = 1e-60
			return o
		}, "ridge: weights do not fit in float32 at lambda 0; raise lambda"},
		{"errors too large", func() Options {
			o := draw(Shape{Dim: 6, Outputs: 1, Regression: true}, 40, 2, 7).options(1e-3)
			o.Units.Grid = linear.Grids{{Low: 0, High: 1e200}}
			return o
		}, "ridge: no lambda can be used: errors beyond float64 at lambda 0.001; raise lambda"},
		{"too many rows", func() Options {
			o := good.options(1)
			o.Plan.Folds, o.From = 1, adding(huge)
			return o
		},
			fmt.Sprintf("ridge: sums of %d rows passed 2⁵³, beyond which they are not exact; use fewer rows, or a grid of 8 bits", huge.Rows())},
	}
	for _, test := range tests {
		_, err := Solve(test.opts())
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
}

func TestFoldWithoutRowsIsSkipped(t *testing.T) {
	s := draw(Shape{Dim: 6, Outputs: 2}, 40, 2, 8)
	want, err := Solve(s.options(1e-3, 1e-4))
	if err != nil {
		t.Fatal(err)
	}
	s.folds = 4
	got, err := Solve(s.options(1e-3, 1e-4))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Table, want.Table) {
		t.Errorf("with two empty folds the table is %+v, without %+v", got.Table, want.Table)
	}
}

// Solve takes at most the memory that Memory states for planning, and not much less. Memory is measured
// whenever Solve reads the sum of a fold; descents need more in between.
func TestMemoryMatchesSolve(t *testing.T) {
	const threads = 2
	for _, c := range []struct {
		dim, rows int
		by        solver.Method
		least     int64 // percent
	}{{2*blas.TileDim + 11, 50, solver.Exactly, 90}, {solver.DescentDim + 7, 50, solver.OwnFactor, 60}, {solver.DescentDim + 7,
		300, solver.OwnFactor, 65}, {solver.DescentDim + 7, 6300, solver.SharedFactor, 65}} {
		s := draw(Shape{Dim: c.dim, Outputs: 4}, c.rows, 2, 9)
		if by := (solver.Plan{}).MethodFor(solverShape(s.shape), int64(c.rows)); by != c.by {
			t.Errorf("%d features of %d rows: solver %v", c.dim, c.rows, by)
		}
		opts := s.options(1e-3, 1e-2, 1e-1, 1)
		opts.Threads = threads
		live := func() int64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		var most int64
		add := opts.From.Add
		opts.From.Add = func(to *Sum, fold int) error { most = max(most, live()); return add(to, fold) }
		live() // Two collections empty the pools of what earlier tests left in them.
		before := live()
		if _, err := Solve(opts); err != nil {
			t.Fatal(err)
		}
		got := most - before
		plan := Memory(s.shape, FoldPlan{Folds: 2}, int64(c.rows), threads)
		// Kernels keep a few megabytes of scratch for each thread.
		if got > plan+threads*4<<20 || got < plan*c.least/100 {
			t.Errorf("%d features, %d rows: %d bytes held, %d planned", c.dim, c.rows, got, plan)
		}
		if alone := Memory(s.shape, FoldPlan{}, int64(c.rows), threads); alone > plan-s.shape.Bytes() {
			t.Errorf("%d bytes planned without folds, %d with", alone, plan)
		}
	}
}

func TestMemoryOfTenThousandFeaturesIsUnderTwoAndAHalfGigabytes(t *testing.T) {
	if m := Memory(Shape{Dim: 10_000, Outputs: 10}, FoldPlan{Folds: 5}, 0, 2); m > 2_200_000_000 || m < 2_100_000_000 {
		t.Errorf("%d bytes", m)
	}
}

func BenchmarkSolve(b *testing.B) {
	for _, dim := range []int{512, 2048} {
		b.Run(fmt.Sprint(dim), func(b *testing.B) {
			s := draw(Shape{Dim: dim, Outputs: 10}, 2*dim, 5, 10)
			opts := s.options(AutoLambda()...)
			opts.From = Source{Sums: s.sums()}
			for b.Loop() {
				if _, err := Solve(opts); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
