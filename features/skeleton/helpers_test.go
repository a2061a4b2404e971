package skeleton

import (
	"math"
	"testing"

	"github.com/bochner-ml/bochner/features/stream"
)

func mustNew(t testing.TB, r Compositional) *Map {
	t.Helper()
	m, err := r.New()
	if err != nil {
		t.Fatal(err)
	}
	return m.(*Map)
}

func mustCompile(t testing.TB, s Skeleton) *Graph {
	t.Helper()
	g, err := s.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func dot(x, z []float32) (sum float64) {
	for i := range x {
		sum += float64(x[i]) * float64(z[i])
	}
	return sum
}

// numbers returns n numbers uniform in (0, 1).
func numbers(n int, seed uint64) []float32 {
	s := stream.New(seed, stream.PurposeOf("test/rows"), 0)
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(s.Uniform())
	}
	return x
}

// rowsFor returns a row of each input node's space, for a skeleton node by node or in layers
// whose inputs are all of the space.
func rowsFor(s Space, d int, seed uint64) []float32 {
	x := numbers(d, seed)
	switch {
	case s.Binary:
		for i := range x {
			x[i] = float32(math.Copysign(1, float64(x[i])-0.4))
		}
	case s.Categorical != 0:
		for i := range x {
			x[i] = float32(math.Floor(float64(x[i]) * float64(s.Categorical)))
		}
	case s.Sphere != "":
		var squares float64
		for i := range x {
			x[i] -= 0.3
			squares += float64(x[i]) * float64(x[i])
		}
		for i := range x {
			x[i] /= float32(math.Sqrt(squares))
		}
	}
	return x
}

var (
	exp4 = Activation{Exponential: 4}
	exp1 = Activation{Exponential: 1}
	relu = Activation{ReLU: true}
	poly = Activation{Polynomial: []float64{0.1, 0.3, 0, 0.6}}
	step = Activation{Step: 9}
)

var activations = map[string]Activation{
	"exp 4": exp4, "exp 1": exp1, "exp 0.3": {Exponential: 0.3}, "relu": relu, "poly": poly, "step 9": step,
	"identity": {Polynomial: []float64{0, 1}}, "square": {Polynomial: []float64{0, 0, 1}},
}

var spaces = map[string]Space{
	"circle": {Circle: 2}, "binary": {Binary: true}, "categorical": {Categorical: 3}, "two categories": {Categorical: 2},
	"four categories": {Categorical: 4}, "gaussian": {Gaussian: 0.8}, "pairs": {Sphere: Pairs},
	"coordinates": {Sphere: Coordinates}, "projection": {Sphere: Projection},
}
