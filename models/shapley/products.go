package shapley

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models/linear"
)

// product has features that are products of functions of one column each.
type product interface {
	// size returns the length of the rows that it takes, and the number of products.
	size() (in, count int)
	// factors stores in dst[j·stride] the factor of product j for the numbers of the row y with the given
	// indices. at is memory for a number for each product.
	factors(dst []phasor, stride int, y []float32, numbers []int, at []float64)
	// coefficient returns c such that product j adds Re c·Π_g a_g to an output with these weights of the
	// features.
	coefficient(weights []float32, j int) phasor
}

// products computes the effects of features that are products.
type products struct {
	model   *linear.Model
	first   int // index of the first feature
	terms   product
	before  features.Map // from rows to the argument of the product; nil if they are the same
	numbers [][]int      // the indices of the numbers of each column
	b       []phasor     // b_g of each product, for each column
	nodes   []rule       // quadrature rules, of which the last is exact
}

// maxNumbers is the largest number of products times the row length: 4 GiB of float64, 8 GiB of phasors.
const maxNumbers = 1 << 29

// tolerance is the relative error at which a rule of few points is good enough.
const tolerance = 1e-9

// newProducts computes the mean of each factor over the background, adds the mean score to base, and prepares rules
// of integration with more and more points. The last one is exact.
func newProducts(p part, terms product, steps []features.Recipe, owners []int, base []float64) (*products, error) {
	w := &products{model: p.model, first: p.first, terms: terms, numbers: numbersOf(owners, len(p.columns))}
	columns := len(p.columns)
	in, count := terms.size()
	if count > maxNumbers/max(in, columns) {
		return nil, fmt.Errorf("shapley: %d products of %d numbers are too many to explain; use fewer features", count,
			max(in, columns))
	}
	before := features.Map(sameRow(in))
	if len(steps) > 0 {
		var err error
		if w.before, err = (features.Chain{Steps: steps}).New(); err != nil {
			return nil, err
		}
		before = w.before
	}
	w.b = make([]phasor, count*columns)
	a, at := make([]phasor, count), make([]float64, count)
	eachValue(p, before, func(g int, chance float64, y []float32) {
		terms.factors(a, 1, y, w.numbers[g], at)
		for j, f := range a {
			b := &w.b[j*columns+g]
			*b = b.plus(f.scaled(chance))
		}
	})
	for j := range count {
		product := phasor{1, 0}
		for _, b := range w.b[j*columns : (j+1)*columns] {
			product = product.times(b)
		}
		for k := range base {
			base[k] += w.coefficient(k, j).times(product).re
		}
	}
	for n := fewPoints; n < (columns+1)/2; n *= 4 {
		w.nodes = append(w.nodes, newRule(n))
	}
	w.nodes = append(w.nodes, newRule((columns+1)/2))
	return w, nil
}

// sameRow maps rows to themselves.
type sameRow int

func (d sameRow) Dims() (in, out int)           { return int(d), int(d) }
func (d sameRow) Apply(dst, x []float32, n int) { copy(dst[:n*int(d)], x) }

func (w *products) coefficient(output, j int) phasor {
	return w.terms.coefficient(w.model.W[output*w.model.D+w.first:], j)
}

// effects adds the effects of the columns of x to dst. It integrates with more points until the effects add up to the
// score.
func (w *products) effects(dst []float64, x []float32, scores []Score, s *scratch) {
	columns := len(w.numbers)
	in, count := w.terms.size()
	y := x
	if w.before != nil {
		blas.Grow(&s.y, in)
		w.before.Apply(s.y, x, 1)
		y = s.y
	}
	blas.Grow(&s.a, count*columns)
	blas.Grow(&s.at, count)
	for g, numbers := range w.numbers {
		w.terms.factors(s.a[g:], columns, y, numbers, s.at)
	}
	blas.Grow(&s.effects, len(scores)*columns)
	for i, r := range w.nodes {
		clear(s.effects)
		if off, size := w.divide(s.effects, scores, r, s); off <= tolerance*size || i == len(w.nodes)-1 {
			break
		}
	}
	for i, v := range s.effects {
		dst[i] += v
	}
}

// divide adds the effects by rule r. It returns the sum over products of the error of their sums, and of
// the size of these sums.
func (w *products) divide(dst []float64, scores []Score, r rule, s *scratch) (off, size float64) {
	columns := len(w.numbers)
	_, count := w.terms.size()
	blas.Grow(&s.parts, columns)
	for j := range count {
		a, b := s.a[j*columns:(j+1)*columns], w.b[j*columns:(j+1)*columns]
		clear(s.parts)
		r.integrate(s, a, b)
		total, want, base := phasor{}, phasor{1, 0}, phasor{1, 0}
		for g := range s.parts {
			s.parts[g] = s.parts[g].times(a[g].minus(b[g]))
			total, want, base = total.plus(s.parts[g]), want.times(a[g]), base.times(b[g])
		}
		wrong := total.minus(want.minus(base))
		for i, score := range scores {
			var c phasor
			for _, t := range score {
				c = c.plus(w.coefficient(t.Output, j).scaled(t.Factor))
			}
			for g, p := range s.parts {
				dst[i*columns+g] += float64(c.re*p.re) - float64(c.im*p.im)
			}
			length := math.Sqrt(float64(c.re*c.re) + float64(c.im*c.im))
			off += float64(length * (math.Abs(wrong.re) + math.Abs(wrong.im)))
			size += float64(length * max(math.Hypot(want.re, want.im), math.Hypot(base.re, base.im)))
		}
	}
	return off, size
}
