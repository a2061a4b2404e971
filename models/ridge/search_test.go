package ridge

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/models/ridge/internal/solver"
)

// opened returns a search that has tried nothing.
func opened(t *testing.T, o Options) *search {
	t.Helper()
	p := &problem{Options: o}
	folds, err := p.loadFolds()
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.newSearch(newSystem(o.From.Shape, o.Units, errorFactors(folds.total), o.Threads), folds)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// searched searches with a subset of the features, as if there were many.
func searched(t *testing.T, s *sample, lambda, smaller []float64, first bool) (*search, float64) {
	t.Helper()
	o := s.options(lambda...)
	o.Search.Smaller, o.Plan.Validation, o.subsetFrom = smaller, judgeIf(first, FirstFold), 40
	p := opened(t, o)
	if p.subsetSums == nil {
		t.Fatal("no subset")
	}
	best, _, err := p.run()
	if err != nil {
		t.Fatal(err)
	}
	return p, p.values[best]
}

// Trying all values on all folds chooses the same, and the errors of the chosen are the same
// bytes.
func TestSearchMatchesTryingAll(t *testing.T) {
	fewer := 0
	for _, shape := range []Shape{{Dim: 70, Outputs: 3}, {Dim: 130, Outputs: 1, Regression: true},
		{Dim: 200, Outputs: 2}} {
		for _, rows := range []int{60, 250, 900} {
			for _, first := range []bool{false, true} {
				for seed := range uint64(2) {
					name := fmt.Sprintf("%+v, %d rows, first %v, seed %d", shape, rows, first, seed)
					s := draw(shape, rows, 4, seed)
					lambda, smaller := []float64{1e-4, 1e-6, 1e-3, 1e-5, 1e-2, 1e-1}, []float64{1e-7, 1e-8, 1e-9}
					p, got := searched(t, s, lambda, smaller, first)
					o := s.options(lambda...)
					o.Search.Smaller, o.Plan.Validation, o.Search.TryAll = smaller, judgeIf(first, FirstFold), true
					want, err := Solve(o)
					if err != nil {
						t.Fatal(err)
					}
					if got != want.Lambda {
						t.Errorf("%s: lambda %g, want %g of %.6v", name, got, want.Lambda, want.Table)
						continue
					}
					rows, _, _ := p.table()
					at := func(r CVResult) bool { return r.Lambda == got }
					if i, j := slices.IndexFunc(rows, at), slices.IndexFunc(want.Table, at); rows[i] != want.Table[j] {
						t.Errorf("%s: row %+v, want %+v", name, rows[i], want.Table[j])
					}
					if !slices.IsSortedFunc(rows, func(a,
						b CVResult) int {
						return slices.Index(p.values, a.Lambda) - slices.Index(p.values, b.Lambda)
					}) {
						t.Errorf("%s: table %+v", name, rows)
					}
					fewer += len(want.Table) - len(rows)
				}
			}
		}
	}
	if fewer < 50 {
		t.Errorf("%d values fewer in all", fewer)
	}
}

// The folds that try each λ do not depend on the unit of the targets.
func TestUnitOfTargetsDoesNotMatter(t *testing.T) {
	for seed := range uint64(8) {
		var want []CVResult
		for _, scale := range []float64{1, 1e-6, 1e6} {
			s := draw(Shape{Dim: 130, Outputs: 1, Regression: true}, 1600, 5, seed)
			s.grid[0].Low *= scale
			s.grid[0].High *= scale
			p, _ := searched(t, s, []float64{1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1}, nil, false)
			got, _, _ := p.table()
			if want == nil {
				want = got
			}
			same := func(a, b CVResult) bool { return a.Lambda == b.Lambda && a.Folds == b.Folds }
			if !slices.EqualFunc(got, want, same) {
				t.Errorf("seed %d: %.4v of targets %g times as large, %.4v of others", seed, got, scale, want)
			}
		}
	}
}

// No neighbour of the chosen λ, on either side, is better.
func TestChosenLambdaIsBetterThanItsNeighbours(t *testing.T) {
	s := draw(Shape{Dim: 90, Outputs: 2}, 300, 3, 5)
	grid := []float64{1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1}
	p, chosen := searched(t, s, grid, nil, false)
	rows, _, _ := p.table()
	at := slices.IndexFunc(rows, func(r CVResult) bool { return r.Lambda == chosen })
	i := slices.Index(grid, chosen)
	for _, side := range []int{-1, 1} {
		if i+side < 0 || i+side >= len(grid) {
			continue
		}
		if at+side < 0 || at+side >= len(rows) || rows[at+side].Lambda != grid[i+side] {
			t.Fatalf("%g is not in the table: %+v", grid[i+side], rows)
		}
		if r := rows[at+side]; r.Folds == rows[at].Folds && r.MSE < rows[at].MSE {
			t.Errorf("%+v is better than %+v", r, rows[at])
		}
	}
}

// Values that cannot be solved lead to larger ones.
func TestSearchLeavesValuesThatFail(t *testing.T) {
	s := draw(Shape{Dim: 120, Outputs: 2}, 50, 3, 4)
	_, chosen := searched(t, s, []float64{0, 1e-17, 1e-16, 1e-4}, nil, false)
	if chosen != 1e-4 {
		t.Errorf("chose %g", chosen)
	}
	o := s.options(0, 1e-18, 1e-17, 1e-16)
	o.subsetFrom = 40
	if _, err := Solve(o); err == nil ||
		!strings.HasPrefix(err.Error(), "ridge: no lambda can be used: not positive definite") {
		t.Errorf("%v", err)
	}
}

// The sum of a subset of the features equals the sum of rows with only these features.
func TestSubsetEqualsASumOfFewerFeatures(t *testing.T) {
	for _, shape := range shapes() {
		s := draw(shape, 60, 1, 3)
		subset := solver.FeatureSubset(shape.Dim)
		if share := float64(len(subset)) / float64(shape.Dim); math.Abs(share-1.0/solver.SubsetShare) > 0.2 {
			t.Errorf("%+v: %d features in the subset", shape, len(subset))
		}
		got := s.sum(s.all()).pick(subset)
		few := *s
		few.shape.Dim, few.z = len(subset), nil
		for _, row := range s.z {
			var z []int8
			for _, j := range subset {
				z = append(z, row[j])
			}
			few.z = append(few.z, z)
		}
		if !got.Equal(few.sum(few.all())) {
			t.Errorf("%+v: another sum", shape)
		}
	}
}

// If the first fold leads to a λ for which the grid is too coarse, no other fold tries it; otherwise the search
// is the same.
func TestSearchStopsWhereTheGridIsTooCoarse(t *testing.T) {
	s := draw(Shape{Dim: 130, Outputs: 1, Regression: true}, 900, 4, 1)
	below := []float64{1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1}
	_, want := searched(t, s, below, nil, false)
	at := slices.Index(below, want)
	if at == 0 {
		t.Fatalf("%g is the least value", want)
	}
	least := []float64{want, 10 * want, 100 * want, 1000 * want}
	for _, c := range []struct {
		lambda []float64
		finer  float64
		coarse bool
	}{{least, 0, false}, {least, want / 2, false}, {least, want, true}, {least, 1000, true}, {below, want, false}} {
		o := s.options(c.lambda...)
		o.Return.CoarseBelow, o.subsetFrom = c.finer, 40
		p := opened(t, o)
		best, coarse, err := p.run()
		if err != nil {
			t.Fatal(err)
		}
		folds := 0
		for _, v := range p.tallies {
			folds = max(folds, len(v.done))
		}
		if p.values[best] != want || coarse != c.coarse || (folds > 1) == c.coarse {
			t.Errorf("up to %g: lambda %g, want %g; too coarse: %v, %d folds", c.finer, p.values[best], want, coarse, folds)
		}
	}
}

// judgeIf is the judge if it is wanted, otherwise AllFolds.
func judgeIf(wanted bool, j Validation) Validation {
	if wanted {
		return j
	}
	return AllFolds
}
