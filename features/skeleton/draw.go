package skeleton

import (
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features/stream"
)

// Sampler is the way features are drawn.
type Sampler string

const (
	// RFS draws by Algorithm 1 of the paper, down to the input nodes.
	RFS Sampler = ""
	// Hybrid is the paper's baseline: Algorithm 1 down to the lowest inner nodes, which must be Gaussian
	// kernels, and a random Fourier feature there. For a skeleton with one inner node these are plain
	// random Fourier features.
	Hybrid Sampler = "hybrid"
)

var feature = stream.PurposeOf("skeleton/feature")

// Limits on one feature: skeletons with longer features are rejected.
const (
	maxSteps  = 1 << 24 // nodes visited
	maxValues = 1 << 24 // numbers of its factors
)

// factor is a base feature from a continuum: the frequency ω of a phase, in turns, or the vector w of a
// projection.
type factor struct{ leaf, at int32 } // its numbers are values[at : at+n]

// list is a list of features.
type list struct {
	ends      []int32 // end of the codes of each feature
	codes     []int32
	isComplex []bool
	factorLists
}

// factorLists has the factors of features, feature by feature.
type factorLists struct {
	factorTo []int32 // end of the factors of each feature; nil in a Map without factors
	factors  []factor
	values   []float32
}

func (l *list) len() int { return len(l.ends) }

// reset empties the list and keeps its memory.
func (l *list) reset() {
	*l = list{l.ends[:0], l.codes[:0], l.isComplex[:0], factorLists{l.factorTo[:0], l.factors[:0], l.values[:0]}}
}

// span returns the range of item i in a list, where ends has the end of each item.
func span(ends []int32, i int) (lo, hi int32) {
	if i > 0 {
		lo = ends[i-1]
	}
	return lo, ends[i]
}

// drawer draws features.
type drawer struct {
	g     *graph
	book  *codebook
	s     stream.Stream
	steps int
	// The feature being drawn: codes, factors, and their numbers before rounding.
	codes   []int32
	factors []factor
	values  []float64
}

// draw appends feature j of the seed to the list. It fails if the feature exceeds the limits.
func (d *drawer) draw(to *list, seed, j uint64) error {
	d.s = *stream.New(seed, feature, j)
	d.steps, d.codes, d.factors, d.values = 0, d.codes[:0], d.factors[:0], d.values[:0]
	sine := d.s.Below(2) == 1
	if !d.node(d.g.output) {
		return fmt.Errorf("skeleton: draw %d visits more than %d nodes or takes more than %d numbers; the activations "+
			"branch too much", j, maxSteps, maxValues)
	}
	waves := slices.ContainsFunc(d.factors, func(f factor) bool { return d.book.leaves[f.leaf].kind.phase() })
	form, isComplex := d.book.canonical(d.codes, waves)
	isComplex = isComplex || waves
	if isComplex && sine {
		to.codes = append(to.codes, quarter)
	}
	to.codes = append(to.codes, form...)
	to.ends = append(to.ends, int32(len(to.codes)))
	to.isComplex = append(to.isComplex, isComplex)
	for _, f := range d.factors {
		l := &d.book.leaves[f.leaf]
		at := int32(len(to.values))
		for _, v := range d.values[f.at : f.at+l.n] {
			to.values = append(to.values, float32(v))
		}
		to.factors = append(to.factors, factor{f.leaf, at})
	}
	to.factorTo = append(to.factorTo, int32(len(to.factors)))
	return nil
}

// node is RFSS of the paper. It returns false if a limit is exceeded.
func (d *drawer) node(v int32) bool {
	d.steps++
	if d.steps > maxSteps {
		return false
	}
	if l := d.book.leafOf[v]; l >= 0 {
		return d.leaf(l)
	}
	in := d.g.edgesOf(v)
	for range d.g.duals[d.g.nodes[v].dual].degree(d.s.Uniform()) {
		if !d.node(in[d.s.Below(uint64(len(in)))]) {
			return false
		}
	}
	return true
}

// leaf draws a base feature.
func (d *drawer) leaf(i int32) bool {
	switch l := &d.book.leaves[i]; l.kind {
	case sign:
		d.codes = append(d.codes, l.code)
	case angle, category, pair, coordinate:
		d.codes = append(d.codes, l.code+int32(d.s.Below(uint64(l.n))))
	default:
		at := len(d.values)
		if at+int(l.n) > maxValues {
			return false
		}
		for range l.n {
			d.values = append(d.values, d.s.Normal())
		}
		d.scale(l, d.values[at:])
		d.factors = append(d.factors, factor{i, int32(at)})
	}
	return true
}

// scale converts the standard normal numbers z of a factor to its frequency in turns, or to √d times a unit
// vector.
func (d *drawer) scale(l *leaf, z []float64) {
	by := l.rate
	if l.kind == projection {
		var squares float64
		for _, v := range z {
			squares += float64(v * v)
		}
		by = l.rate / math.Sqrt(squares) // positive: no normal number of a stream is 0
	}
	for i, v := range z {
		z[i] = float64(v * by)
	}
}
