package main

import (
	"math"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/features/identity"
	"github.com/bochner-ml/bochner/models/ridge"
)

// marked returns n rows of some numbers whose class is the place of their only 1.
func marked(n, dim int) (d digits) {
	for i := range n {
		row := make([]float32, dim)
		c := i * 7 % 13 % classes
		row[c] = 1
		d.x, d.class = append(d.x, row...), append(d.class, int32(c))
	}
	return d
}

func TestSplitHoldsOutEveryFifthRow(t *testing.T) {
	d := digits{x: make([]float32, 2*12), class: make([]int32, 12)}
	for i := range d.class {
		d.x[2*i], d.x[2*i+1], d.class[i] = float32(i), float32(-i), int32(i%10)
	}
	rest, held := d.split()
	if want := []int32{0, 5, 0}; !slices.Equal(held.class, want) ||
		!slices.Equal(held.x, []float32{0, 0, 5, -5, 10, -10}) {
		t.Errorf("held out %v of classes %v", held.x, held.class)
	}
	if want := []int32{1, 2, 3, 4, 6, 7, 8, 9, 1}; !slices.Equal(rest.class, want) || len(rest.x) != 18 ||
		rest.x[17] != -11 {
		t.Errorf("kept %v of classes %v", rest.x, rest.class)
	}
}

// Losses equal those of two known fits: one scores 1 for the class and −1 for others, one assigns all rows to
// class 3.
func TestLossesMatchEachFit(t *testing.T) {
	const n = 600 // more than two blocks, and a part of one
	right := &ridge.Solution{Weights: make([]float32, classes*classes), Intercept: make([]float32, classes)}
	third := &ridge.Solution{Weights: make([]float32, classes*classes), Intercept: make([]float32, classes)}
	for c := range classes {
		right.Weights[c*classes+c], right.Intercept[c] = 2, -1
	}
	third.Intercept[3] = 1
	d, wrong := marked(n, classes), 0
	for _, c := range d.class {
		if c != 3 {
			wrong++
		}
	}
	m, err := identity.Recipe{In: classes, Bound: 1}.New()
	if err != nil {
		t.Fatal(err)
	}
	have := d.losses(m, []*ridge.Solution{right, third})
	if have[0] != (loss{}) {
		t.Errorf("the right fit has %+v", have[0])
	}
	// Off by 1 at nine outputs, and 0 at class 3 or 2 where it is the wrong one.
	squares := (9*float64(n-wrong) + (8+1+4)*float64(wrong)) / n
	if have[1].wrong != wrong || math.Abs(have[1].squares-squares) > 1e-9 {
		t.Errorf("class 3 for all: %+v, want %d wrong, squares %v", have[1], wrong, squares)
	}
}

// Among three values of λ, one leaves no weights, so that all rows are in one class, and two make no error: the
// larger of these is chosen, and the smaller has the least squared error. The same holds with many features,
// for which Solve overwrites a sum that is its only one.
func TestHoldOutTakesTheFewestErrors(t *testing.T) {
	for _, dim := range []int{classes, 1100} {
		byErrors, bySquares, err := holdOut(identity.Recipe{In: dim, Bound: 1}, []float64{1e-6, 1e-4, 1e6}, marked(500, dim),
			marked(100, dim))
		if err != nil {
			t.Fatal(err)
		}
		if byErrors != (chosen{1e-4, 0}) || bySquares != (chosen{1e-6, 0}) {
			t.Errorf("%d features: by errors %+v, by squares %+v", dim, byErrors, bySquares)
		}
	}
	if _, _, err := holdOut(identity.Recipe{}, []float64{1}, marked(50, classes), marked(50, classes)); err == nil {
		t.Error("a recipe that is not valid")
	}
}
