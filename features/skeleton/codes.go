package skeleton

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// kind is the kind of base feature of a leaf.
type kind uint8

const (
	angle      kind = iota // codes +θ, −θ
	sign                   // one code
	category               // a code for each ω
	pair                   // codes (j, +), (j, −) for each j
	coordinate             // a code for each j
	wave                   // a factor: phase ω·v, where v is the columns
	hybrid                 // a factor: phase ω·v, where v is the linear inputs of an inner node
	projection             // a factor: w·v
)

func (k kind) phase() bool     { return k <= category || k == wave || k == hybrid }
func (k kind) continuum() bool { return k >= wave }

// quarter is the code of the phase π/2, which turns a cosine into a sine.
const quarter = 0

// maxCodes limits the table of a row: 2²⁴ numbers, 64 MiB.
const maxCodes = 1 << 24

// leaf is a node at which drawing stops.
type leaf struct {
	kind    kind
	code    int32   // the first of its codes
	n       int32   // number of its codes, or length of the vector v of its factors
	at      int32   // index of v among the vectors of a row
	columns []int32 // columns that it depends on
	space   Space
	inputs  []leaf  // of a hybrid
	rate    float64 // factor from a standard normal number to turns of a phase ω·v; √d for a projection
}

// codebook holds the leaves of a graph and their codes.
//
// A feature is a product of base features. A base feature from a finite set has a number, its code. A
// feature is the sorted list of its codes, and equal features have equal lists. A base feature from a
// continuum is a factor with its own numbers (see factor), and no two features with such factors are equal.
//
// Codes of base features of modulus 1 (phases) come first, so that a sorted list begins with the codes that
// a sum of angles can handle.
type codebook struct {
	leaves  []leaf
	leafOf  []int32 // leaf of each node, −1 if drawing goes on there
	owner   []int32 // leaf of each code
	phases  int32   // smaller codes are phases
	codes   int32
	vectors int32 // total length of the vectors v of a row
	// projecting is true if some leaf is a projection, whose factors do not have modulus 1.
	projecting bool
	columns    int
}

// newCodebook numbers the base features of g. With the sampler Hybrid the lowest inner nodes are leaves.
func newCodebook(g *graph, sampler Sampler) (*codebook, error) {
	b := &codebook{leafOf: make([]int32, len(g.nodes)), columns: g.columns}
	for v := range g.nodes {
		b.leafOf[v] = -1
	}
	lowest := func(v int32) bool {
		return sampler == Hybrid && !g.isInput(v) &&
			!slices.ContainsFunc(g.edgesOf(v), func(u int32) bool { return !g.isInput(u) })
	}
	found := false
	var vectors int64
	for v := range int32(len(g.nodes)) {
		var l leaf
		switch {
		case g.isInput(v):
			l = newLeaf(g.spaces[g.nodes[v].space], g.edgesOf(v))
		case lowest(v):
			var err error
			if l, err = newHybrid(g, v); err != nil {
				return nil, err
			}
			found = true
		default:
			continue
		}
		if l.kind.continuum() {
			l.at = int32(vectors)
			vectors += int64(l.n)
			if vectors > maxCodes {
				return nil, fmt.Errorf("skeleton: node %q: vectors of %d numbers up to here, more than %d", g.name(v),
					vectors, maxCodes)
			}
		}
		b.projecting = b.projecting || l.kind == projection
		b.leafOf[v] = int32(len(b.leaves))
		b.leaves = append(b.leaves, l)
	}
	if sampler == Hybrid && !found {
		return nil, errors.New("skeleton: hybrid: no inner node takes input nodes alone")
	}
	b.vectors = int32(vectors)
	return b, b.number(g)
}

// number assigns the codes, phases first.
func (b *codebook) number(g *graph) error {
	var codes int64 = quarter + 1
	for _, phase := range []bool{true, false} {
		for i := range b.leaves {
			if l := &b.leaves[i]; !l.kind.continuum() && l.kind.phase() == phase {
				l.code = int32(codes)
				codes += int64(l.n)
				if codes > maxCodes {
					return fmt.Errorf("skeleton: more than %d categories, angles and coordinates together", maxCodes)
				}
			}
		}
		if phase {
			b.phases = int32(codes)
		}
	}
	b.codes = int32(codes)
	b.owner = make([]int32, codes)
	for i, l := range b.leaves {
		if !l.kind.continuum() {
			for c := l.code; c < l.code+l.n; c++ {
				b.owner[c] = int32(i)
			}
		}
	}
	return nil
}

// newLeaf returns the leaf of an input node, without its codes.
func newLeaf(s Space, columns []int32) leaf {
	d := int32(len(columns))
	l := leaf{space: s, columns: columns}
	switch {
	case s.Circle != 0:
		l.kind, l.n = angle, 2
	case s.Binary:
		l.kind, l.n = sign, 1
	case s.Categorical != 0:
		l.kind, l.n = category, int32(s.Categorical)
	case s.Gaussian != 0:
		l.kind, l.n, l.rate = wave, d, 1/float64(2*math.Pi*s.Gaussian)
	case s.Sphere == Pairs:
		l.kind, l.n = pair, 2*d
	case s.Sphere == Coordinates:
		l.kind, l.n = coordinate, d
	default:
		l.kind, l.n, l.rate = projection, d, math.Sqrt(float64(d))
	}
	return l
}

// newHybrid returns the leaf of a lowest inner node. It is a Gaussian kernel if its activation is
// exponential and its inputs are linear: with Z the concatenated unit vectors of the p inputs, divided by
// √p,
//
//	exp((mean of ⟨z_u, z'_u⟩ − 1)/s) = exp(−‖Z − Z'‖²/2s).
func newHybrid(g *graph, v int32) (leaf, error) {
	s := g.duals[g.nodes[v].dual].Exponential
	if s == 0 {
		return leaf{}, fmt.Errorf("skeleton: hybrid: node %q: is not a Gaussian kernel, because its activation is "+
			"not exponential", g.name(v))
	}
	l := leaf{kind: hybrid, rate: 1 / float64(2*math.Pi*math.Sqrt(float64(s*float64(len(g.edgesOf(v))))))}
	for _, u := range g.edgesOf(v) {
		in := newLeaf(g.spaces[g.nodes[u].space], g.edgesOf(u))
		if !in.space.linear() {
			return leaf{}, fmt.Errorf("skeleton: hybrid: node %q: takes %q, which is not a circle, binary or sphere node",
				g.name(v), g.name(u))
		}
		if in.kind == angle {
			l.n += 2
		} else {
			l.n += int32(len(in.columns))
		}
		l.inputs = append(l.inputs, in)
		l.columns = append(l.columns, in.columns...)
	}
	return l, nil
}

// bound returns the largest modulus of a base feature of the leaf.
func (l *leaf) bound() float64 {
	d := float64(len(l.columns))
	switch l.kind {
	case pair:
		return math.Sqrt(d / 2)
	case coordinate, projection:
		return math.Sqrt(d)
	}
	return 1
}

// columnsOf returns the columns that a code depends on.
func (b *codebook) columnsOf(code int32) []int32 {
	if code == quarter {
		return nil
	}
	l := &b.leaves[b.owner[code]]
	switch d := int32(len(l.columns)); l.kind {
	case pair:
		j := (code - l.code) / 2
		return []int32{l.columns[j], l.columns[(j+1)%d]}
	case coordinate:
		return l.columns[code-l.code:][:1]
	}
	return l.columns
}

// canonical brings the codes of a product into a form that is the same for equal features, in the same
// memory. z·z̄ = 1 on the circle, signs cancel in pairs, and frequencies of a category are added modulo n.
// The real parts of a feature and its conjugate differ at most by a sign, so it takes the one whose first
// difference is positive, unless the feature also has waves, which are drawn for one of both. If the
// product is its own conjugate, it is real, and isComplex is false.
func (b *codebook) canonical(codes []int32, waves bool) (form []int32, isComplex bool) {
	slices.Sort(codes)
	form = codes[:0]
	flip := false
	for i := 0; i < len(codes); {
		l := &b.leaves[b.owner[codes[i]]]
		j := i + 1
		for j < len(codes) && codes[j] < l.code+l.n {
			j++
		}
		first := len(form)
		form = l.reduce(form, codes[i:j]) // never longer than the codes that it reads
		if !isComplex {
			if s := l.orientation(form[first:]); s != 0 {
				isComplex, flip = true, s < 0
			}
		}
		i = j
	}
	if flip && !waves {
		b.conjugate(form)
	}
	return form, isComplex
}

// reduce appends the canonical product of the sorted codes of one leaf to form. Both may share memory if
// form ends before codes or where codes begin.
func (l *leaf) reduce(form, codes []int32) []int32 {
	switch l.kind {
	case sign:
		return append(form, codes[:len(codes)%2]...)
	case angle:
		minus := 0
		for _, c := range codes {
			minus += int(c - l.code)
		}
		code, net := l.code, len(codes)-2*minus
		if net < 0 {
			code, net = l.code+1, -net
		}
		for range net {
			form = append(form, code)
		}
		return form
	case category:
		var omega int64
		for _, c := range codes {
			omega += int64(c - l.code)
		}
		omega %= int64(l.n)
		if omega != 0 {
			form = append(form, l.code+int32(omega))
		}
		return form
	}
	return append(form, codes...)
}

// orientation returns the sign by which a reduced product differs from its conjugate; 0 if they are equal.
func (l *leaf) orientation(codes []int32) int {
	if len(codes) == 0 {
		return 0
	}
	switch l.kind {
	case angle:
		return 1 - 2*int(codes[0]-l.code)
	case category:
		omega := codes[0] - l.code
		return int(l.n-omega) - int(omega)
	case pair:
		for i := 0; i < len(codes); {
			plus, j := 0, (codes[i]-l.code)/2
			for ; i < len(codes) && (codes[i]-l.code)/2 == j; i++ {
				plus += 1 - 2*int((codes[i]-l.code)%2)
			}
			if plus != 0 {
				return plus
			}
		}
	}
	return 0
}

// conjugate replaces a canonical product by its conjugate.
func (b *codebook) conjugate(codes []int32) {
	for i, c := range codes {
		switch l := &b.leaves[b.owner[c]]; l.kind {
		case angle, pair:
			codes[i] = l.code + ((c - l.code) ^ 1)
		case category:
			codes[i] = l.code + l.n - (c - l.code)
		}
	}
	slices.Sort(codes) // the signs of a pair have changed places
}
