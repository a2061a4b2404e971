package skeleton

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/bochner-ml/bochner/internal/option"
)

const cifar = `
image: {height: 32, width: 32, channels: 3, planar: true, crop: 24}
space: {circle: 2}
layers:
  - {conv: 5, stride: 2, activation: {exponential: 4}}
  - {conv: 4, stride: 2, activation: {relu: true}}
  - {full: true, activation: {relu: true}}
`

func TestParseReadsYAMLAndJSON(t *testing.T) {
	want := Image{Height: 32, Width: 32, Channels: 3, Planar: true, Crop: 24}.
		skeleton(Space{Circle: 2}, conv(5, 2, exp4), conv(4, 2, relu), full(relu))
	have, err := Parse([]byte(cifar))
	if err != nil || !reflect.DeepEqual(*have, want) {
		t.Fatalf("%+v, %v", have, err)
	}
	for _, s := range []Skeleton{
		want, mixed, goldenMixed, connected(9, Space{Sphere: Projection}, poly, step), connected(9,
			Space{Binary: true}, exp1),
	} {
		j, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		y, err := yaml.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, data := range [][]byte{j, y} {
			back, err := Parse(data)
			if err != nil || !reflect.DeepEqual(*back, s) {
				t.Errorf("%s\ncomes back as %+v, %v\nwant %+v", data, back, err, s)
			}
		}
	}
	// The form in files is a promise to other programs.
	const compact = `{"image":{"height":32,"width":32,"channels":3,"planar":true,"crop":24},"space":{"circle":2},` +
		`"layers":[{"conv":5,"stride":2,"activation":{"exponential":4}},{"conv":4,"stride":2,"activation":{"relu":true}},` +
		`{"full":true,"activation":{"relu":true}}]}`
	if data, err := json.Marshal(want); err != nil || string(data) != compact {
		t.Errorf("%s, %v", data, err)
	}
}

// Layers have the sizes of the paper's deep structure: 24×24 pixels, 10×10, 4×4 and 1 nodes. The windows end
// with pixel 22, so that the last row and column are in none.
func TestConvolutionsHaveTheSizesOfThePaper(t *testing.T) {
	s, err := Parse([]byte(cifar))
	if err != nil {
		t.Fatal(err)
	}
	g := mustCompile(t, *s)
	inputs, inner := g.size()
	if g.columns != 3072 || inputs != 23*23*3 || inner != 10*10+4*4+1 {
		t.Errorf("%d columns, %d inputs, %d inner nodes", g.columns, inputs, inner)
	}
	if c := g.complexity(); c != 0.25 {
		t.Errorf("complexity %v", c)
	}
	// Node by node: what a window holds, in columns of the planar row.
	e, err := s.expand()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range e.Nodes {
		if n.Name == "1.13" { // row 1, column 2 of the first layer: pixels from (4+2, 4+4) on
			var want []string
			for y := 6; y < 11; y++ {
				for x := 8; x < 13; x++ {
					for c := range 3 {
						want = append(want, fmt.Sprintf("x%d", c*1024+y*32+x))
					}
				}
			}
			if !reflect.DeepEqual(n.Inputs, want) {
				t.Errorf("window %v, want %v", n.Inputs, want)
			}
		}
	}
}

func TestExpandedSkeletonsAreTheSame(t *testing.T) {
	for _, s := range []Skeleton{
		deep(Space{Circle: 2}), deep(Space{Gaussian: 1}), connected(5, Space{Binary: true}, exp1, relu), connected(5,
			Space{Sphere: Pairs}, exp1),
	} {
		e, err := s.expand()
		if err != nil {
			t.Fatal(err)
		}
		a, b := mustCompile(t, s), mustCompile(t, e)
		x, z := numbers(a.columns, 1), numbers(a.columns, 2)
		if a.kernel(x, z) != b.kernel(x, z) || a.complexity() != b.complexity() {
			t.Errorf("%+v: another kernel or complexity", s)
		}
		m, n := mustNew(t, Compositional{Skeleton: s, Out: 30, Seed: 3}), mustNew(t,
			Compositional{Skeleton: e, Out: 30, Seed: 3})
		m.book, n.book = nil, nil
		if !reflect.DeepEqual(m, n) {
			t.Errorf("%+v: another map", s)
		}
		for v := range a.nodes {
			if have, want := a.name(int32(v)), e.Nodes[v].Name; have != want {
				t.Errorf("node %d is called %q, expanded %q", v, have, want)
			}
		}
	}
}

// The kernel equals the recurrence of §5 by plain recursion, which evaluates a node as often as it is used.
func TestKernelEqualsTheRecurrence(t *testing.T) {
	nodes := map[string]Node{}
	for _, n := range mixed.Nodes {
		nodes[n.Name] = n
	}
	x, z := numbers(9, 1), numbers(9, 2)
	x[3], z[3] = 2, 2
	var k func(name string) float64
	k = func(name string) float64 {
		n := nodes[name]
		var sum float64
		for _, in := range n.Inputs {
			sum += k(in)
		}
		mean := sum / float64(len(n.Inputs))
		switch name {
		case "out":
			return (math.Sqrt(1-mean*mean) + mean*(math.Pi-math.Acos(mean))) / math.Pi
		case "b":
			return 0.1 + 0.3*mean + 0.6*mean*mean*mean
		case "a":
			return math.Exp(mean - 1)
		case "angle":
			return math.Cos(2 * math.Pi / 1.5 * float64(x[0]-z[0]))
		case "sign", "kind":
			return 1
		case "sphere":
			return dot(x[4:7], z[4:7])
		}
		a, b := float64(x[7]-z[7]), float64(x[8]-z[8])
		return math.Exp(-(a*a + b*b) / (2 * 0.7 * 0.7))
	}
	if have, want := mixed.kernel(x, z), k("out"); math.Abs(have-want) > 1e-7 {
		t.Errorf("kernel %v, want %v", have, want)
	}
}

// A chain of 100,000 nodes, and a chain that halves a range of inputs repeatedly, are evaluated without
// recursion and without repeated work.
func TestDeepGraphsAreEvaluatedOnce(t *testing.T) {
	chain := Skeleton{Columns: 1, Nodes: []Node{{Name: "0", Space: Space{Circle: 2}, Columns: []int{0}}}}
	linear := Activation{Polynomial: []float64{0, 1}}
	for i := 1; i < maxNodes; i++ {
		chain.Nodes = append(chain.Nodes, Node{Name: fmt.Sprint(i), Activation: linear, Inputs: []string{fmt.Sprint(i - 1)}})
	}
	x, z := []float32{0.25}, []float32{0.5}
	if k := chain.kernel(x, z); math.Abs(k-math.Cos(math.Pi/4)) > 1e-7 {
		t.Errorf("chain: kernel %v", k)
	}
	if _, err := (Compositional{Skeleton: chain, Out: 1}).New(); err != nil {
		t.Error(err)
	}
	lattice := Skeleton{Columns: 2, Nodes: []Node{
		{Name: "a0", Space: Space{Circle: 2}, Columns: []int{0}}, {Name: "b0", Space: Space{Circle: 2}, Columns: []int{1}},
	}}
	const depth = 200 // 2²⁰⁰ paths
	for i := 1; i <= depth; i++ {
		in := []string{fmt.Sprintf("a%d", i-1), fmt.Sprintf("b%d", i-1)}
		lattice.Nodes = append(lattice.Nodes, Node{Name: fmt.Sprintf("a%d", i), Activation: relu, Inputs: in})
		if i < depth {
			lattice.Nodes = append(lattice.Nodes, Node{Name: fmt.Sprintf("b%d", i), Activation: exp1, Inputs: in})
		}
	}
	if k := lattice.kernel([]float32{0.1, 0.7}, []float32{0.4, 0.5}); !(k > 0.9 && k <= 1) {
		t.Errorf("lattice: kernel %v", k)
	}
}

func TestErrorsNameTheNode(t *testing.T) {
	in := Node{Name: "x", Space: Space{Circle: 2}, Columns: []int{0}}
	node := func(name string, inputs ...string) Node { return Node{Name: name, Activation: relu, Inputs: inputs} }
	nodes := func(n ...Node) Skeleton { return Skeleton{Columns: 3, Nodes: n} }
	layers := func(l ...Layer) Skeleton {
		return Image{Height: 6, Width: 5, Channels: 1}.skeleton(Space{Circle: 2}, l...)
	}
	space := func(s Space) Skeleton { return connected(3, s, relu) }
	act := func(a Activation) Skeleton { return connected(3, Space{Circle: 2}, a) }
	for _, c := range []struct {
		s    Skeleton
		want string
	}{
		{nodes(in, node("conv2", "conv3", "x"), node("conv3", "conv2"), node("out", "conv2")),
			`skeleton: node "conv2": takes "conv3", which depends on it`},
		{nodes(in, node("a", "x", "b"), node("b", "a")), `node "a": takes "b", which depends on it`},
		{nodes(in, node("a", "a")), `node "a": takes itself`},
		{nodes(in, node("a", "x"), node("b", "x")), `nodes "a" and "b": no node takes them; a skeleton has one output`},
		{nodes(in, node("a", "y")), `node "a": takes "y", which is not a node`},
		{nodes(in, node("a", "x", "x")), `node "a": takes "x" twice`},
		{nodes(in, in), `node 2: the name "x" is taken by node 1`},
		{nodes(node("", "x")), `node 1: the name must have 1 to 100 bytes (have 0)`},
		{nodes(node(strings.Repeat("x", 101), "x")), `node 1: the name must have 1 to 100 bytes (have 101)`},
		{nodes(in, node("a")), `node "a": space: none; give one of circle`},
		{nodes(in, Node{Name: "a", Inputs: []string{}}), `node "a": an inner node without inputs`},
		{nodes(in, Node{Name: "a", Inputs: []string{"x"}}), `node "a": activation: none; give one of exponential`},
		{nodes(Node{Name: "a", Space: Space{Binary: true}, Columns: []int{0}, Activation: relu}),
			`node "a": has an activation but no inputs`},
		{nodes(in, Node{Name: "a", Inputs: []string{"x"}, Activation: relu, Columns: []int{0}}),
			`node "a": has inputs and a space or columns`},
		{nodes(Node{Name: "a", Space: Space{Binary: true}}), `node "a": has a space but no columns`},
		{nodes(Node{Name: "a", Space: Space{Binary: true}, Columns: []int{0, 1}}),
			`node "a": reads 2 columns; a circle, binary or categorical node reads one`},
		{nodes(Node{Name: "a", Space: Space{Sphere: Pairs}, Columns: []int{0}}),
			`node "a": a sphere of pairs takes 2 columns or more`},
		{nodes(Node{Name: "a", Space: Space{Gaussian: 1}, Columns: []int{0, 3}}), `node "a": reads column 3 of rows of 3`},
		{nodes(Node{Name: "a", Space: Space{Gaussian: 1}, Columns: []int{-1}}), `node "a": reads column -1 of rows of 3`},
		{nodes(Node{Name: "a", Space: Space{Gaussian: 1}, Columns: []int{2, 1, 2}}), `node "a": reads column 2 twice`},
		{Skeleton{Columns: 3, Nodes: []Node{}}, `skeleton: the number of nodes must be 1 to 100000 (have 0)`},
		{Skeleton{Columns: 3}, `skeleton: neither layers nor nodes`},
		{Skeleton{Columns: 3, Nodes: []Node{in}, Layers: []Layer{full(relu)}}, `nodes cannot be used with layers`},
		{Skeleton{Nodes: []Node{in}}, `skeleton: columns must be 1 to 1048576 (have 0)`},
		{Skeleton{Image: Image{Height: 2, Width: 2, Channels: 1}, Nodes: []Node{in}},
			`image: an image takes layers, not nodes`},

		{layers(), `skeleton: neither layers nor nodes`},
		{Skeleton{Columns: 3, Space: Space{Circle: 2}, Layers: []Layer{}}, `no layers`},
		{layers(conv(3, 1, relu)),
			`skeleton: layer 1: the last layer has 12 nodes and must have one, the output; add a layer with full: true`},
		{layers(conv(6, 1, relu)), `layer 1: conv must be 1 to 5, because the layer below is 6×5 (have 6)`},
		{layers(conv(3, 1, relu), conv(4, 1, relu)),
			`layer 2: conv must be 1 to 3, because the layer below is 4×3 (have 4)`},
		{layers(Layer{Activation: relu}),
			`layer 1: conv must be 1 to 5, because the layer below is 6×5 (have 0); or give full: true`},
		{layers(conv(3, -1, relu)), `layer 1: stride must be 1 to 6`},
		{layers(Layer{Full: true, Conv: 3, Activation: relu}), `layer 1: full, with conv or stride`},
		{layers(full(Activation{})), `layer 1: activation: none`},
		{Image{Height: 6, Width: 5, Channels: 0}.skeleton(Space{Circle: 2}, full(relu)),
			`image: channels must be 1 to 1048576 (have 0)`},
		{Image{Height: 1 << 20, Width: 2, Channels: 1}.skeleton(Space{Circle: 2}, full(relu)),
			`are more than 1048576 columns`},
		{Image{Height: 6, Width: 5, Channels: 1, Crop: 6}.skeleton(Space{Circle: 2}, full(relu)),
			`image: crop must be 0 (the whole image) to 5 (have 6)`},
		{Skeleton{Columns: 5, Image: Image{Height: 1, Width: 5, Channels: 1}, Space: Space{Circle: 2},
			Layers: []Layer{full(relu)}}, `columns and image: give one of them`},
		{Image{Height: 1024, Width: 1024, Channels: 1}.skeleton(Space{Circle: 2}, full(relu)), `1048576 input nodes`},
		{Image{Height: 300, Width: 300, Channels: 1}.skeleton(Space{Circle: 2}, conv(60, 2, relu), full(relu)),
			`layer 1: 104641 nodes`},
		{Image{Height: 200, Width: 200, Channels: 1}.skeleton(Space{Circle: 2}, conv(100, 1, relu), full(relu)),
			`have 100000 and 4000000 at most`},
		{Image{Height: 6, Width: 5, Channels: 1}.skeleton(Space{Sphere: Pairs}, full(relu)),
			`skeleton: input nodes: a sphere of pairs takes 2 columns`},

		{space(Space{}), `skeleton: space: none`},
		{space(Space{Circle: 2, Binary: true}), `space: more than one of`},
		{space(Space{Circle: -1}), `space: circle: the period must be > 0`},
		{space(Space{Circle: 1e-300}), `space: circle: the period must be > 0 and within float32 (have 1e-300)`},
		{space(Space{Circle: math.NaN()}), `space: circle`},
		{space(Space{Gaussian: math.Inf(1)}), `space: gaussian: the width must be > 0`},
		{space(Space{Categorical: 1}), `space: categorical: the categories must be 2 to 65536 (have 1)`},
		{space(Space{Categorical: 1<<16 + 1}), `(have 65537)`},
		{space(Space{Sphere: "pair"}), `space: sphere: unknown scheme "pair"; have pairs, coordinates, projection`},

		{act(Activation{ReLU: true, Step: 3}), `layer 1: activation: more than one of`},
		{act(Activation{Exponential: -1}), `activation: exponential: scale must be 0.002 or more, and finite (have -1)`},
		{act(Activation{Exponential: 0.001}), `(have 0.001)`},
		{act(Activation{Exponential: math.Inf(1)}), `(have +Inf)`},
		{act(Activation{Exponential: math.NaN()}), `(have NaN)`},
		{act(Activation{Step: -1}), `activation: step: the degree to cut at must be 1 to 65536 (have -1)`},
		{act(Activation{Step: 1 << 17}), `(have 131072)`},
		{act(Activation{Polynomial: []float64{}}), `coefficients must be 1 to 65537 (have 0)`},
		{act(Activation{Polynomial: []float64{0.5, 0.4}}),
			`polynomial: coefficients must sum to 1 (have 0.9); divide each by their sum`},
		{act(Activation{Polynomial: []float64{1.5, -0.5}}), `polynomial: coefficient of ρ^0 must be 0 to 1 (have 1.5)`},
		{act(Activation{Polynomial: []float64{1, math.NaN()}}), `coefficient of ρ^1`},
	} {
		err := c.s.Validate()
		if err == nil || !strings.HasPrefix(err.Error(), "skeleton: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("have %v, want %q", err, c.want)
		}
		if !math.IsNaN(c.s.kernel(nil, nil)) {
			t.Errorf("%q: a kernel without a skeleton", c.want)
		}
	}
}

func TestParseRejectsInvalidSkeletons(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{`{"columns":3,"space":{"circle":2},"layers":[{"full":true,"activation":{"relu":true}}],"seed":1}`,
			`skeleton: unknown field "seed"`},
		{`{"columns":3,"space":{"circle":2},"layers":[{"full":true,"activation":{"relu":true}}]} {}`,
			`unexpected data after the JSON object`},
		{`{"columns":"3"}`, `field "columns": have a string, want int`},
		{`{"columns":3,"space":{"circle":2},"layers":[{"full":true,"activation":{"step":true}}]}`,
			`field "layers.activation.step": have a bool, want int`},
		{`{"columns":`, `unexpected EOF`},
		{``, `columns must be 1`},
		{`[1]`, `skeleton: `},
		{`columns: 3`, `neither layers nor nodes`},
		{"columns: 3\nspaces: {circle: 2}", `unknown field "spaces"`},
		{"columns: 3\ncolumns: 4", `already defined`},
		{"columns: three", `cannot unmarshal`},
		{"columns: 3\nspace: {circle: 2}\nlayers:\n- {full: true, activation: {relu: true}}\n---\ncolumns: 4",
			`line 5: a second document`},
		{"columns: &a 3\n", `line 1: "&": anchors, aliases and tags cannot be used here`},
		{"columns: *a\n", `line 1: "*"`},
		{"columns: !!int 3\n", `"!!int": anchors`},
		{"x: " + strings.Repeat("y", option.MaxYAMLBytes), `65539 bytes of YAML, more than 65536`},
	} {
		if _, err := Parse([]byte(c.data)); err == nil || !strings.HasPrefix(err.Error(), "skeleton: ") ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s: have %v, want %q", c.data, err, c.want)
		}
	}
	if _, err := Parse([]byte(strings.Repeat("[", 1000))); err == nil ||
		!strings.Contains(err.Error(), "skeleton: line 1: nested too deep") {
		t.Error(err)
	}
	if _, err := Parse([]byte("---\n" + cifar)); err != nil {
		t.Errorf("a document mark at the top: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(cifar))
	for _, s := range []Skeleton{mixed, goldenMixed, connected(9, Space{Sphere: Projection}, poly, step)} {
		j, _ := json.Marshal(s)
		y, _ := yaml.Marshal(s)
		f.Add(j)
		f.Add(y)
	}
	f.Add([]byte("[[[[[[{{{{"))
	f.Add([]byte("- - - - - - a: &b *b"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "skeleton: ") {
				t.Errorf("error without the package: %v", err)
			}
			return
		}
		// A skeleton that parses is valid, and is the same after a round trip.
		j, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Parse(j)
		if err != nil {
			t.Fatalf("%s: %v", j, err)
		}
		if k, _ := json.Marshal(back); string(k) != string(j) {
			t.Errorf("%s comes back as %s", j, k)
		}
		if c, err := s.complexity(); err != nil || c < 0 {
			t.Errorf("complexity %v, %v", c, err)
		}
		if in := mustCompile(t, *s).columns; in < 1000 {
			x := numbers(in, 1)
			if k := s.kernel(x, x); k > 1+1e-5 && s.Space.Sphere == "" && s.Nodes == nil {
				t.Errorf("%s: k(x, x) = %v", j, k)
			}
			if m, err := (Compositional{Skeleton: *s, Out: 1, Seed: 1}).New(); err == nil {
				m.Apply(make([]float32, 1), x, 1)
			}
		}
	})
}
