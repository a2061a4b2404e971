package skeleton

import (
	"fmt"
	"math"
	"math/cmplx"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/stream"
)

// text writes feature j of a map: R if it is real, C for its cosine, S for b = π/2,
// then +c or −c for an angle of column c, sc for its sign, c^ω for a category, c±i for a pair.
func text(m *Map, j int) string {
	words := []string{"C"}
	codes := slices.Clone(m.codes[m.start[j]:][:m.size[j]])
	if m.productTo != nil {
		lo, hi := span(m.productTo, j)
		codes = append(codes, m.products[lo:hi]...)
	}
	for _, c := range codes {
		l := &m.book.leaves[m.book.owner[c]]
		column, n := l.columns[0], c-l.code
		switch {
		case c == quarter:
			words[0] = "S"
		case l.kind == angle:
			words = append(words, fmt.Sprintf("%c%d", "+-"[n], column))
		case l.kind == sign:
			words = append(words, fmt.Sprintf("s%d", column))
		case l.kind == category:
			words = append(words, fmt.Sprintf("%d^%d", column, n))
		default:
			words = append(words, fmt.Sprintf("%d%ci", n/2, "+-"[n%2]))
		}
	}
	if float64(m.weights[j]) < 1.2*math.Sqrt(float64(m.counts[j])/float64(m.draws)) {
		words[0] = "R"
	}
	return strings.Join(words, " ")
}

var goldenConv = Image{Height: 4, Width: 4, Channels: 1}.skeleton(Space{Circle: 2}, conv(2, 2, exp1), full(relu))

var goldenMixed = Skeleton{Columns: 6, Nodes: []Node{
	{Name: "angle", Space: Space{Circle: 2}, Columns: []int{0}},
	{Name: "sign", Space: Space{Binary: true}, Columns: []int{1}},
	{Name: "kind", Space: Space{Categorical: 5}, Columns: []int{2}},
	{Name: "sphere", Space: Space{Sphere: Pairs}, Columns: []int{3, 4, 5}},
	{Name: "inner", Activation: Activation{Exponential: 0.5}, Inputs: []string{"angle", "sign", "kind", "sphere"}},
	{Name: "out", Activation: Activation{Polynomial: []float64{0.1, 0.3, 0.6}}, Inputs: []string{"inner", "angle"}},
}}

// Features equal values that a program computed which shares no code with these packages, from the package
// comments of skeleton and stream. They never change.
func TestFeaturesAreGolden(t *testing.T) {
	const seed = 0xdecafbad12345678
	for _, c := range []struct {
		s     Skeleton
		first []string // the first features, with their counts at a budget of as many
		draws int64
		out   int // a larger budget, its draws, its last feature, and Σ j·count_j, j from 1
		more  int64
		last  string
		sum   int64
	}{
		{goldenConv, []string{
			"S +8 +9: 1", "R: 19", "C +7: 1", "S +15: 1", "C +5: 1", "S +13: 1", "C +1 +3 -4 +7 +9 +12: 1",
			"C +15: 1", "C +0 -1 +4: 1", "S +2 +6 +10 -14: 1", "C +10 -15: 1", "S +3: 1",
		}, 30, 2000, 26516, "S +7 -8 +12 -13", 3383715},
		{goldenMixed, []string{
			"S +0 s1 1+i: 1", "C +0: 3", "R: 2", "S 0+i: 1", "S 2^2 2-i: 1", "C +0 2+i: 1", "S +0 +0: 2",
			"C 0+i 0+i 1+i: 1", "R 0+i 0-i: 1", "S +0: 3", "S 2^2 0-i: 1", "S +0 2^4: 1", "C s1 0+i 1-i: 1", "C +0 +0: 1",
		}, 20, 1000, 13211, "S 0+i 0+i 2+i", 1264957},
	} {
		m := mustNew(t, Compositional{Skeleton: c.s, Out: len(c.first), Seed: seed})
		for j, want := range c.first {
			if have := fmt.Sprintf("%s: %d", text(m, j), m.counts[j]); have != want {
				t.Errorf("feature %d: have %q, want %q", j, have, want)
			}
		}
		if m.Draws() != c.draws {
			t.Errorf("%d draws, want %d", m.Draws(), c.draws)
		}
		m = mustNew(t, Compositional{Skeleton: c.s, Out: c.out, Seed: seed})
		var sum int64
		for j := range c.out {
			sum += int64(j+1) * m.counts[j]
		}
		if have := text(m, c.out-1); m.Draws() != c.more || have != c.last || sum != c.sum {
			t.Errorf("%d draws, last %q, sum %d; want %d, %q, %d", m.Draws(), have, sum, c.more, c.last, c.sum)
		}
	}
	waves := mustNew(t, Compositional{Skeleton: connected(3, Space{Gaussian: 2.5},
		Activation{Polynomial: []float64{0, 0.5, 0.5}}), Out: 3, Seed: seed})
	want := []float32{
		0x1.6f66aep-5, -0x1.a7c3cp-5, 0x1.588aa6p-6, 0x1.4f4698p-4, 0x1.3e19ecp-6, -0x1.1e670ep-6,
		0x1.240b94p-6, -0x1.341af8p-3, -0x1.caf2eep-6,
		-0x1.ae83ep-7, 0x1.40fc06p-3, 0x1.ec1adp-6,
	}
	if !slices.Equal(waves.values, want) || !slices.Equal(waves.factorTo, []int32{2, 3, 4}) ||
		!slices.Equal(waves.size, []int32{1, 0, 1}) {
		t.Errorf("frequencies %x (%v), want %x", waves.values, waves.factorTo, want)
	}
}

// twin draws as the paper and the package comment say, and nothing more: closures
// over complex numbers, by the names of the nodes.
type twin struct {
	nodes map[string]Node
	s     *stream.Stream
}

func (w *twin) rfss(name string) func(x []float32) complex128 {
	n := w.nodes[name]
	if n.Inputs != nil {
		c := n.Activation.coefficients(2000)
		u, degree := w.s.Uniform(), 0
		for sum := c[0]; u >= sum; sum += c[degree] {
			degree++
		}
		product := func([]float32) complex128 { return 1 }
		for range degree {
			so, next := product, w.rfss(n.Inputs[w.s.Below(uint64(len(n.Inputs)))])
			product = func(x []float32) complex128 { return so(x) * next(x) }
		}
		return product
	}
	d := len(n.Columns)
	at := func(x []float32, j int) float64 { return float64(x[n.Columns[j%d]]) }
	phase := func(turns float64) complex128 { return cmplx.Rect(1, 2*math.Pi*turns) }
	switch s := n.Space; {
	case s.Circle != 0:
		sign := 1 - 2*float64(w.s.Below(2))
		return func(x []float32) complex128 { return phase(sign * at(x, 0) / s.Circle) }
	case s.Binary:
		return func(x []float32) complex128 { return complex(at(x, 0), 0) }
	case s.Categorical != 0:
		omega := float64(w.s.Below(uint64(s.Categorical)))
		return func(x []float32) complex128 { return phase(omega * at(x, 0) / float64(s.Categorical)) }
	case s.Sphere == Pairs:
		c := int(w.s.Below(uint64(2 * d)))
		return func(x []float32) complex128 {
			return complex(math.Sqrt(float64(d)/2), 0) * complex(at(x, c/2), float64(1-2*(c%2))*at(x, c/2+1))
		}
	case s.Sphere == Coordinates:
		j := int(w.s.Below(uint64(d)))
		return func(x []float32) complex128 { return complex(math.Sqrt(float64(d))*at(x, j), 0) }
	}
	z, squares := make([]float64, d), 0.0
	for j := range z {
		z[j] = w.s.Normal()
		squares += z[j] * z[j]
	}
	return func(x []float32) complex128 {
		var dot float64
		for j := range z {
			dot += z[j] * at(x, j)
		}
		if n.Space.Gaussian != 0 {
			return phase(dot / n.Space.Gaussian / (2 * math.Pi))
		}
		return complex(dot*math.Sqrt(float64(d)/squares), 0)
	}
}

// M draws without merging give the same inner products as the map, and the draws end where the budget does;
// values on random rows distinguish the features.
func TestMapEqualsTheDefinition(t *testing.T) {
	const n, out = 40, 60
	for name, s := range map[string]Skeleton{
		"conv":        deep(Space{Circle: 2}),
		"mixed":       mixed,
		"golden":      goldenMixed,
		"categories":  connected(4, Space{Categorical: 4}, exp1, poly),
		"signs":       connected(8, Space{Binary: true}, relu, exp1),
		"gaussian":    connected(4, Space{Gaussian: 0.3}, exp1, relu),
		"pairs":       connected(4, Space{Sphere: Pairs}, poly, exp1),
		"coordinates": connected(9, Space{Sphere: Coordinates}, poly, exp1),
		"projection":  connected(4, Space{Sphere: Projection}, poly, exp1),
	} {
		r := Compositional{Skeleton: s, Out: out, Seed: 5}
		m := mustNew(t, r)
		e, err := s.expand()
		if err != nil {
			t.Fatal(err)
		}
		w := &twin{nodes: map[string]Node{}}
		taken := map[string]bool{}
		for _, node := range e.Nodes {
			w.nodes[node.Name] = node
			for _, in := range node.Inputs {
				taken[in] = true
			}
		}
		output := ""
		for name := range w.nodes {
			if !taken[name] {
				output = name
			}
		}
		in := e.Columns
		x := make([]float32, 0, n*in)
		for i := range n {
			row := make([]float32, in)
			for _, node := range e.Nodes {
				for k, v := range rowsFor(node.Space, len(node.Columns), uint64(1000*i+len(node.Name)+node.first())) {
					row[node.Columns[k]] = v
				}
			}
			x = append(x, row...)
		}
		dst := make([]float32, n*out)
		m.Apply(dst, x, n)

		products := make([]float64, n*n)
		features := map[string]int{} // by their values up to a sign
		for j := range uint64(m.Draws()) + 1 {
			w.s = stream.New(5, stream.PurposeOf("skeleton/feature"), j)
			b := float64(w.s.Below(2)) * math.Pi / 2
			psi := w.rfss(output)
			v, complex := make([]float64, n), false
			for i := range n {
				z := psi(x[i*in : (i+1)*in])
				complex = complex || math.Abs(imag(z)) > 1e-6
				v[i] = real(z)
			}
			if complex {
				for i := range n {
					r, theta := cmplx.Polar(psi(x[i*in : (i+1)*in]))
					v[i] = math.Sqrt2 * r * math.Cos(theta+b)
				}
			}
			var key strings.Builder
			first := slices.IndexFunc(v, func(f float64) bool { return math.Abs(f) > 1e-4 })
			for i := range n {
				fmt.Fprintf(&key, "%.5f ", math.Copysign(1, v[max(0, first)])*v[i]+1e-9)
			}
			features[key.String()]++
			if j < uint64(m.Draws()) {
				if len(features) > out {
					t.Fatalf("%s: draw %d is feature %d already", name, j, len(features))
				}
				for i := range n {
					for k := range n {
						products[i*n+k] += v[i] * v[k] / float64(m.Draws())
					}
				}
			}
		}
		// x_j is in two pairs, the real part of one and the imaginary part of the other.
		pairs := strings.Contains("mixed golden pairs", name)
		if len(features) != out+1 && !(pairs && len(features) > out-5) {
			t.Errorf("%s: %d features in %d draws and one, want %d", name, len(features), m.Draws(), out+1)
		}
		for i := range n {
			for k := range n {
				have, want := dot(dst[i*out:(i+1)*out], dst[k*out:(k+1)*out]), products[i*n+k]
				if !(math.Abs(have-want) < 3e-6*max(1, math.Abs(want))) {
					t.Fatalf("%s: φ(x_%d)·φ(x_%d) = %v, the mean over draws %v", name, i, k, have, want)
				}
			}
		}
	}
}

func (n Node) first() int {
	if len(n.Columns) == 0 {
		return 0
	}
	return 17 * n.Columns[0]
}

func TestMapDoesNotDependOnProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, s := range []Skeleton{deep(Space{Circle: 2}), mixed} {
		var want *Map
		for _, procs := range []int{1, 2, 3, 8} {
			runtime.GOMAXPROCS(procs)
			m := mustNew(t, Compositional{Skeleton: s, Out: 3000, Seed: 9})
			m.book = nil
			if want == nil {
				want = m
			} else if !reflect.DeepEqual(m, want) {
				t.Errorf("another map with %d processors", procs)
			}
		}
	}
}

// A map with more features begins with the same ones.
func TestFeaturesDoNotDependOnTheBudget(t *testing.T) {
	small := mustNew(t, Compositional{Skeleton: goldenMixed, Out: 50, Seed: 2})
	large := mustNew(t, Compositional{Skeleton: goldenMixed, Out: 2000, Seed: 2})
	for j := range 50 {
		if a, b := text(small, j), text(large, j); a != b {
			t.Errorf("feature %d of 50 is %q, of 2000 %q", j, a, b)
		}
		if small.counts[j] > large.counts[j] {
			t.Errorf("feature %d: drawn %d times, then %d", j, small.counts[j], large.counts[j])
		}
	}
}

// A small skeleton gives all of its features, and one more is an error.
func TestBudgetBeyondTheFeaturesIsAnError(t *testing.T) {
	s := connected(4, Space{Binary: true}, Activation{Polynomial: []float64{0, 0, 1}})
	m := mustNew(t, Compositional{Skeleton: s, Out: 7}) // 1 and 6 pairs of signs
	if m.Draws() != leastDraws {
		t.Errorf("%d draws, want the limit", m.Draws())
	}
	_, err := Compositional{Skeleton: s, Out: 8}.New()
	if err == nil || err.Error() != "skeleton: 100000 draws gave 7 different features, not 8; ask for fewer features" {
		t.Error(err)
	}
}

func TestCanonicalFormsJoinEqualNodes(t *testing.T) {
	book, err := newCodebook(mustCompile(t, goldenMixed), RFS)
	if err != nil {
		t.Fatal(err)
	}
	const plus, minus, sign, kind, pairs = 1, 2, 3, 4, 9 // the first codes of the leaves
	for _, c := range []struct {
		a, b    []int32
		complex bool
	}{
		{[]int32{plus, minus}, nil, false},                                                 // z·z̄ = 1
		{[]int32{plus, minus, minus}, []int32{plus}, true},                                 // z̄, the conjugate of z
		{[]int32{sign, sign, sign}, []int32{sign}, false},                                  // x³ = x
		{[]int32{kind + 2, kind + 3}, nil, false},                                          // 2 + 3 = 5
		{[]int32{kind + 4}, []int32{kind + 1}, true},                                       // −1, the conjugate of 1
		{[]int32{kind + 4, plus}, []int32{plus, kind + 4}, true},                           // order
		{[]int32{kind + 4, minus}, []int32{plus, kind + 1}, true},                          // both conjugate
		{[]int32{pairs, pairs + 1}, []int32{pairs, pairs + 1}, false},                      // |z|²
		{[]int32{pairs + 1, pairs + 2, pairs + 1}, []int32{pairs, pairs, pairs + 3}, true}, // conjugate
		{[]int32{pairs + 1, pairs, pairs + 3}, []int32{pairs, pairs + 1, pairs + 2}, true},
	} {
		a, complex := book.canonical(slices.Clone(c.a), false)
		b, _ := book.canonical(slices.Clone(c.b), false)
		if !slices.Equal(a, b) || complex != c.complex {
			t.Errorf("%v: %v, complex %v; %v: %v", c.a, a, complex, c.b, b)
		}
	}
}
