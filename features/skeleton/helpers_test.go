package skeleton

import (
	"fmt"
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

func mustCompile(t testing.TB, s Skeleton) *graph {
	t.Helper()
	g, err := s.compile()
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

// coefficients returns a_0 … a_n of a valid activation; 0 for degrees that are not drawn.
func (a Activation) coefficients(n int) []float64 {
	all := make([]float64, max(0, n+1))
	s := a.series()
	copy(all, s)
	if a.Step != 0 || a.Polynomial != nil {
		total := sum(s)
		for i := range all {
			all[i] /= total
		}
	}
	return all
}

func sum(c []float64) float64 {
	var s float64
	for _, v := range c {
		s += v
	}
	return s
}

// size returns the number of input nodes and of inner nodes.
func (g *graph) size() (inputs, inner int) {
	for v := range g.nodes {
		if g.isInput(int32(v)) {
			inputs++
		} else {
			inner++
		}
	}
	return inputs, inner
}

// expand returns the skeleton node by node, in the order of the layers. It returns a skeleton that already
// is node by node unchanged. Errors are as from compile.
func (s Skeleton) expand() (Skeleton, error) {
	g, err := s.compile()
	if err != nil || s.Nodes != nil {
		return s, err
	}
	names := make([]string, len(g.nodes))
	count := make([]int, len(s.Layers))
	e := Skeleton{Columns: g.columns, Nodes: make([]Node, len(g.nodes))}
	for v, n := range g.nodes {
		of := g.edgesOf(int32(v))
		if n.dual < 0 {
			names[v] = g.name(int32(v))
			e.Nodes[v] = Node{Name: names[v], Space: g.spaces[n.space]}
			for _, c := range of {
				e.Nodes[v].Columns = append(e.Nodes[v].Columns, int(c))
			}
			continue
		}
		count[n.tag]++
		names[v] = fmt.Sprintf("%d.%d", n.tag+1, count[n.tag])
		e.Nodes[v] = Node{Name: names[v], Activation: g.duals[n.dual].Activation, Inputs: make([]string, len(of))}
		for i, u := range of {
			e.Nodes[v].Inputs[i] = names[u]
		}
	}
	return e, nil
}

// full returns a layer of one node that takes all nodes of the layer below.
func full(a Activation) Layer { return Layer{Full: true, Activation: a} }

// conv returns a layer with a node for each window of size×size nodes, windows stride apart, without
// padding.
func conv(size, stride int, a Activation) Layer {
	return Layer{Conv: size, Stride: stride, Activation: a}
}

// connected returns a fully connected skeleton over all columns: a layer of one node for each activation.
// With one activation it is the paper's shallow structure.
func connected(columns int, space Space, activations ...Activation) Skeleton {
	s := Skeleton{Columns: columns, Space: space}
	for _, a := range activations {
		s.Layers = append(s.Layers, full(a))
	}
	return s
}

// skeleton returns the skeleton of these layers over the image.
func (m Image) skeleton(space Space, layers ...Layer) Skeleton {
	return Skeleton{Image: m, Space: space, Layers: layers}
}
