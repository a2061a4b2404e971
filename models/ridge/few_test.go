package ridge

import (
	"math"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/dual"
	"github.com/bochner-ml/bochner/models/ridge/internal/solver"
)

// wide is a sample of few rows of features, with ranges of their own if ranged.
func wide(rows int, regression, ranged bool, seed uint64) (*sample, Ranges) {
	s := draw(Shape{Dim: 200, Outputs: 2, Regression: regression}, rows, 4, seed)
	var r Ranges
	if ranged {
		for j := range s.shape.Dim {
			r.Centre, r.Half = append(r.Centre, float64(j%7)-3), append(r.Half, 1+float64(j%5))
		}
	}
	return s, r
}

// Stand-ins for rows give what their sums give: each row of the table, and each trial.
func TestFewRowsHaveTheErrorsOfTheirSums(t *testing.T) {
	for _, regression := range []bool{false, true} {
		for _, ranged := range []bool{false, true} {
			s, r := wide(45, regression, ranged, 1)
			p, y, total := opened(t, s, solver.Exactly, 1e-5, 1e-3, 1e-2)
			p.Trials, p.Ranges = true, r
			y.measure(r)
			y.share(total)
			if _, err := p.choice(y, total, p.filled).All(); err != nil {
				t.Fatal(err)
			}
			want, _, fits := p.table()

			q, y, total := opened(t, s, solver.Exactly, 1e-5, 1e-3, 1e-2)
			q.Trials, q.Ranges = true, r
			y.measure(r)
			y.share(total)
			q.few = fewOf(t, q, y, total)
			best, err := q.choice(y, total, q.filled).All()
			if err != nil {
				t.Fatal(err)
			}
			got, _, trials := q.table()
			if at, _ := p.choice(nil, nil, nil).Best(4); at != best {
				t.Errorf("lambda %g, want %g", q.values[best], p.values[at])
			}
			for i, row := range got {
				for _, v := range [][2]float64{{row.MSE, want[i].MSE}, {row.Train, want[i].Train}, {row.FoldMSE, want[i].FoldMSE}, {row.Rounding, want[i].Rounding}, {row.StdErr, want[i].StdErr}} {
					if math.Abs(v[0]-v[1]) > 1e-6*v[1] {
						t.Errorf("regression %v, ranged %v: %+v, want %+v", regression, ranged, row, want[i])
						break
					}
				}
				for c := range s.shape.Outputs {
					w := make([]float64, s.shape.Dim)
					for j := range w {
						w[j] = float64(fits[i].Weights[c*len(w)+j])
					}
					if e := apart(trials[i].Weights[c*len(w):][:len(w)], w); e > 1e-5 {
						t.Errorf("regression %v, ranged %v, lambda %g: weights differ by %.2g of the largest", regression, ranged, row.Lambda, e)
					}
					if math.Abs(float64(trials[i].Intercept[c]-fits[i].Intercept[c])) > 1e-5*(1+math.Abs(float64(fits[i].Intercept[c]))) {
						t.Errorf("intercept %g, want %g", trials[i].Intercept[c], fits[i].Intercept[c])
					}
				}
			}
		}
	}
}

// fewOf gives a path stand-ins for all rows and their dual problem, whatever the number of rows.
func fewOf(t *testing.T, p *path, y *system, total *Sum) *dual.Problem {
	t.Helper()
	for f := range p.Folds {
		fold, err := p.load(f)
		if err != nil {
			t.Fatal(err)
		}
		p.stands = append(p.stands, standInFor(fold, p.Threads))
	}
	few := p.newFewRows(p.stands, y, total)
	if few == nil {
		t.Fatal("not few rows")
	}
	return few
}

func TestTheDualProblemIsForFewRowsAndPositiveLambda(t *testing.T) {
	for _, c := range []struct {
		dim, rows int
		least     float64
		want      bool
	}{{1100, 40, 1e-8, true}, {1100, 1090, 1e-8, true}, {1100, 1110, 1e-8, false}, {1000, 40, 1e-8, false}, {1100, 40, 0, false}, {1100, 40, 1e-20, false}} {
		s := draw(Shape{Dim: c.dim, Outputs: 1}, c.rows, 2, 3)
		p, y, total := opened(t, s, solver.Exactly, c.least, 1e-3)
		if got := p.stands != nil && p.newFewRows(p.stands, y, total) != nil; got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestThreadsDoNotChangeTheDualProblem(t *testing.T) {
	s, _ := wide(90, true, false, 4)
	var want []Row
	for _, level := range blas.Levels() {
		was := blas.Level()
		if err := blas.SetLevel(level); err != nil {
			t.Fatal(err)
		}
		for _, threads := range []int{1, 3} {
			p, y, total := opened(t, s, solver.Exactly, 1e-5, 1e-3)
			p.Threads, y.Threads = threads, threads
			p.few = fewOf(t, p, y, total)
			if _, err := p.choice(y, total, p.filled).All(); err != nil {
				t.Fatal(err)
			}
			got, _, _ := p.table()
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("level %s, %d threads: %+v, want %+v", level, threads, got, want)
			}
		}
		if err := blas.SetLevel(was); err != nil {
			t.Fatal(err)
		}
	}
}

// Where one fold judges, half as many rows as features are few; the sums alone say how many the other folds have.
func TestFewerRowsAreFewWhereOneFoldJudges(t *testing.T) {
	for _, c := range []struct {
		rows        int
		first, want bool
	}{{500, true, true}, {600, true, false}, {600, false, true}, {1000, true, false}} {
		s := draw(Shape{Dim: 1100, Outputs: 1}, c.rows, 5, 3)
		for i, fold := range s.fold {
			s.fold[i] = min(fold, 1)
		}
		s.folds = 2
		p := &path{Options: s.options(1e-6, 1e-5, 1e-4, 1e-3), least: solver.PartFrom}
		p.First = c.first
		if _, err := p.loadTotal(); err != nil {
			t.Fatal(err)
		}
		if got := p.stands != nil; got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
