package align

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// needle returns n rows of d uniform columns. Two columns decide the class, and only together. If
// coin is true, the classes are random.
func needle(n, d, classes int, coin bool, seed uint64) (x []float32, class []int32) {
	rng := rand.New(rand.NewPCG(seed, 9))
	for i := range n {
		for range d {
			x = append(x, float32(rng.Float64()*2-1))
		}
		v := math.Sin(7*float64(x[i*d+3])) * float64(x[i*d+d-1])
		if coin {
			v = rng.Float64() - 0.5
		}
		c := int32(0)
		if v > 0 {
			c = 1
		}
		if classes == 3 && math.Abs(v) > 0.4 {
			c = 2
		}
		class = append(class, c)
	}
	return x, class
}

// Among many columns, chains find the two that matter only if they start from a needle.
func TestChainsStartFromNeedles(t *testing.T) {
	const n, d = 1500, 30
	for _, classes := range []int{2, 3} {
		x, class := needle(n, d, classes, false, 1)
		o := PaperOptions(0.05, math.Sqrt(2*d/3.0), 4, 1)
		o.Search.Chains, o.Search.Steps = 20, 10
		from := o
		from.Search.FindStarts(Rows{x, d, class, classes}, 1)
		if len(from.Search.Starts) == 0 {
			t.Fatalf("%d classes: no starts", classes)
		}
		for i, v := range from.Search.Starts {
			if j := i % d; v != 0 && j != 3 && j != d-1 {
				t.Fatalf("%d classes: a start has column %d", classes, j)
			}
		}
		again := o
		if again.Search.FindStarts(Rows{x, d, class, classes}, 3); !slices.Equal(again.Search.Starts, from.Search.Starts) {
			t.Errorf("%d classes: starts depend on threads", classes)
		}
		found, err := Learn(Rows{x, d, class, classes}, from, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		without, err := Learn(Rows{x, d, class, classes}, o, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := found.Reports[0].Best, without.Reports[0].Best; !(a > 4*b) {
			t.Errorf("%d classes: the largest potential is %.4f with needles, %.4f without", classes, a, b)
		}
	}
}

// There are no starts if there are no needles, or if chains from random frequencies do as well. The
// learned features are then the same as without FindStarts.
func TestNoStartsWithoutNeedles(t *testing.T) {
	for seed := range uint64(8) {
		x, class := needle(400, 12, 2, true, seed)
		s := small(4).Search
		if s.FindStarts(Rows{x, 12, class, 2}, 1); len(s.Starts) > 0 {
			t.Errorf("labels of a coin, seed %d: %d starts", seed, len(s.Starts)/12)
		}
	}
	x, class, _ := rings(800, 1)
	s := small(4).Search
	f := NewField(x, 800, 2)
	if w, _ := f.needles(x, newDual(class, 2, 1), 1, func(Weightings) float64 { return 0 }); len(w) == 0 {
		t.Fatal("rings have no needles: the test sees nothing")
	}
	if s.FindStarts(Rows{x, 2, class, 2}, 1); len(s.Starts) > 0 {
		t.Errorf("rings: %d starts", len(s.Starts)/2)
	}
}

// All partitions use the same starts, which the file of the sample contains.
func TestPartitionsHaveTheStarts(t *testing.T) {
	const n, d = 600, 8
	x, class := needle(n, d, 2, false, 2)
	o := small(4)
	o.Take, o.Apart = 2, 0
	random, err := Learn(Rows{x, d, class, 2}, o, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	o.Search.Starts = normals(3*d, 0.3, 5)
	want, err := Learn(Rows{x, d, class, 2}, o, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := &Learner{Options: o, Dim: d, Classes: 2, Partitions: 3, X: x, Class: class}
	options, err := json.Marshal(Sealed{Learner: *l})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := open(options, func(_ string, decode func([]byte) (any, error)) (any, error) {
		return decode(l.EncodeSample())
	})
	if err != nil {
		t.Fatal(err)
	}
	r, _, _ := play(t, opened.(*Learner), x, class, []int{0, 100, 101, n}, 64, 100)
	for i, v := range r.Frequencies().W {
		if math.Abs(float64(v-want.W[i])) > 1e-5 {
			t.Fatalf("number %d of the frequencies is %v in partitions, %v for all rows", i, v, want.W[i])
		}
	}
	if slices.Equal(random.W, want.W) {
		t.Error("starts make no difference: the test sees nothing")
	}
}

// Needles are added to the drawn frequencies if their potentials are far above.
func TestNeedlesAreProposed(t *testing.T) {
	const n, d, m = 1500, 30, 200
	x, class := needle(n, d, 2, false, 1)
	f, w := NewField(x, n, d), Propose(m, d, math.Sqrt(2*d/3.0), 1)
	v := Alignment(f, w, m, Rows{x, d, class, 2}, 1)
	more, of := AddNeedles(f, w, v, Rows{x, d, class, 2}, 1)
	if len(of) == m || len(more) != len(of)*d || !slices.Equal(more[:m*d], w) || !(slices.Min(of[m:]) > 2*slices.Max(v)) {
		t.Errorf("%d needles of alignments %v; drawn ones have up to %v", len(of)-m, of[m:], slices.Max(v))
	}
	x, class = needle(n, d, 2, true, 1)
	f = NewField(x, n, d)
	v = Alignment(f, w, m, Rows{x, d, class, 2}, 1)
	if _, of := AddNeedles(f, w, v, Rows{x, d, class, 2}, 1); len(of) != m {
		t.Errorf("labels of a coin have %d needles", len(of)-m)
	}
}

// Needles are proposed for each of five classes, although each class is rarer than the others together.
func TestNeedlesOfFiveClassesAreProposed(t *testing.T) {
	const n, d, m = 2000, 20, 200
	x, class := normals(n*d, 1, 3), make([]int32, n)
	for i := range class {
		class[i] = int32(min(4, 2.5*(1+math.Sin(6*float64(x[i*d])))))
	}
	f, w := NewField(x, n, d), Propose(m, d, math.Sqrt(2*d), 1)
	v := Alignment(f, w, m, Rows{x, d, class, 5}, 1)
	more, of := AddNeedles(f, w, v, Rows{x, d, class, 5}, 1)
	if len(of) == m || more[m*d] == 0 {
		t.Errorf("%d needles, want some on the first column", len(of)-m)
	}
}

// Every second chain has a start, and each round continues in the list of starts where the last
// round stopped.
func TestRoundsTakeStartsInTurn(t *testing.T) {
	x, class, _ := rings(50, 1)
	f, dual := NewField(x, 50, 2), newDual(class, 2, 1)
	a := dual.Weightings()
	s := small(1).Search
	s.Chains, s.Steps = 4, 1 // a chain of one step returns its start
	random := s.run(f, a, chains{1, 0, 4}, 1).W
	s.Starts = []float32{1, 2, 3, 4, 5, 6}
	want := slices.Concat(random[:2], s.Starts[4:], random[4:6], s.Starts[:2])
	if got := s.run(f, a, chains{1, 0, 4}, 1).W; !slices.Equal(got, want) {
		t.Errorf("chains of the second round start from %v, want %v", got, want)
	}
}
