package ridge

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models/ridge/internal/solver"
)

// solveAdding checks that sums in memory and Source.Add have the same solution. It returns how often Add was
// called for each sum.
func solveAdding(t *testing.T, o Options, s *sample) (calls map[*Sum]int) {
	t.Helper()
	add := o.From.Add
	o.From.Sums = s.sums()
	want, err := Solve(o)
	if err != nil {
		t.Fatal(err)
	}
	o.From.Sums = nil
	calls = map[*Sum]int{}
	o.From.Add = func(to *Sum, fold int) error {
		calls[to]++
		return add(to, fold)
	}
	if got, err := Solve(o); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %+v: another solution (%v)", s.shape, o.Plan, err)
	}
	return calls
}

// Sums that are added up from storage give the solution of those in memory, bit for bit.
func TestSumsThatAreAddedGiveTheSameSolution(t *testing.T) {
	for _, shape := range append(shapes(), Shape{Dim: blas.TileDim + 70, Outputs: 2}) {
		for _, folds := range []int{1, 2, 4} {
			for _, given := range []bool{false, true} {
				if folds == 1 && given {
					continue
				}
				s := draw(shape, 300, folds, 1)
				o := s.options(1e-3)
				o.Plan.Validation, o.Plan.FitWithoutFirst, o.Threads = judgeIf(given, NoFold), folds > 1, 2
				calls := solveAdding(t, o, s)
				if (folds == 1 || given) && len(calls) != 1 {
					t.Errorf("%d folds, given %v: %d sums", folds, given, len(calls))
				}
			}
		}
	}
}

// A choice of λ with one sum in memory at a time leads to the same λ, weights and errors as with all sums in
// memory, bit for bit.
func TestRereadingHasTheSameSolution(t *testing.T) {
	for _, shape := range append(shapes(), Shape{Dim: blas.TileDim + 70, Outputs: 2},
		Shape{Dim: solver.SubsetFrom + 8, Outputs: 13}) { // so many outputs that all systems are solved exactly
		for _, first := range []bool{false, true} {
			s := draw(shape, 300, 3, 1)
			o := s.options(1e-8, 1e-6, 1e-4, 1e-3, 1e-2)
			o.Plan.FitWithoutFirst, o.Plan.Validation, o.Return.Trials = true, judgeIf(first, FirstFold), true
			o.Threads, o.rereadAbove = 2, 1
			calls := solveAdding(t, o, s)
			if len(calls) != 2 { // one, given back, and another when the search for λ begins
				t.Errorf("%+v: %d sums", shape, len(calls))
			}
			for sum := range calls {
				for i, tile := range sum.tiles {
					if tile == nil {
						t.Fatalf("%+v: tile %d is not there", shape, i)
					}
				}
			}
		}
	}
}

// A choice of λ with 32,768 features fits into 8 GB.
func TestManyFeaturesFitIntoEightGigabytes(t *testing.T) {
	const most = int64(6_900_000_000) // 8 GB without an eighth, and what is read
	for _, rows := range []int64{0, 100, 3000, 40_000, 1e6, 1e9} {
		for _, outputs := range []int{1, 10} {
			shape := Shape{Dim: 1 << 15, Outputs: outputs}
			for _, judge := range []Validation{AllFolds, FirstFold} {
				if bytes := Memory(shape, FoldPlan{Folds: 5, Validation: judge}, rows, 8); bytes > most || bytes < shape.Bytes() {
					t.Errorf("%d rows, %d outputs, judges %q: %.2f GB", rows, outputs, judge, float64(bytes)/1e9)
				}
			}
			if bytes := Memory(shape, FoldPlan{}, rows, 8); float64(bytes) > 1.02*float64(shape.Bytes()) {
				t.Errorf("one lambda: %.2f GB", float64(bytes)/1e9)
			}
		}
	}
	for _, d := range []int{1 << 14, 1<<14 + 1} {
		if bytes := Memory(Shape{Dim: d, Outputs: 10}, FoldPlan{Folds: 5}, 0, 8); bytes > most {
			t.Errorf("%d features: %.2f GB", d, float64(bytes)/1e9)
		}
	}
}

// An outline has the diagonal of its sum, in no more numbers than the tiles of the diagonal have.
func TestOutlineHasTheDiagonal(t *testing.T) {
	shape := Shape{Dim: 2*blas.TileDim + 5, Outputs: 2}
	s := draw(shape, 50, 1, 1)
	whole, some := s.sum(s.all()), outline(shape)
	some.Merge(whole)
	for j := range shape.Dim {
		if some.at(j, j) != whole.at(j, j) {
			t.Fatalf("element %d of the diagonal differs", j)
		}
	}
	held := 0
	for _, tile := range some.tiles {
		held += len(tile)
	}
	if !slices.Equal(some.cross, whole.cross) || held > shape.Dim*blas.TileDim || math.Abs(some.head[0]-50) > 0 {
		t.Errorf("%d numbers in tiles", held)
	}
}
