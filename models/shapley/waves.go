package shapley

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/models/agop"
	fitted "github.com/bochner-ml/bochner/models/linear"
)

// waves are Fourier features.
type waves struct {
	model   *fitted.Model
	first   int
	of      *agop.Waves
	before  features.Map // from rows to the inputs of the waves; nil if these are the rows
	numbers [][]int      // the indices of the inputs of each column
	b       []phasor     // b_g of each frequency, for each column
	nodes   []rule       // quadrature rules, of which the last is exact
}

// mostNumbers is the largest number of frequencies times inputs: 4 GiB.
const mostNumbers = 1 << 29

// tolerance is the relative error at which a rule of few points is good enough.
const tolerance = 1e-9

func newWaves(p part, of *agop.Waves, owners []int, base []float64) (*waves, error) {
	w := &waves{model: p.model, first: p.first, of: of, numbers: numbersOf(owners, len(p.columns))}
	columns := len(p.columns)
	if of.Count > mostNumbers/max(of.In, columns) {
		return nil, fmt.Errorf("shapley: %d frequencies of %d numbers are too many to explain; use fewer features", of.Count,
			max(of.In, columns))
	}
	for i := range of.W { // in units of 2π, so that angles need no division
		of.W[i] /= 2 * math.Pi
	}
	before := features.Map(identity(of.In))
	if len(of.Before) > 0 {
		var err error
		if w.before, err = (features.Chain{Steps: of.Before}).New(); err != nil {
			return nil, err
		}
		before = w.before
	}
	w.b = make([]phasor, of.Count*columns)
	turns := make([]float64, of.Count)
	eachValue(p, before, func(g int, chance float64, y []float32) {
		w.turns(turns, y, g)
		for j, u := range turns {
			b := &w.b[j*columns+g]
			*b = b.plus(turn(u).scaled(chance))
		}
	})
	for j := range of.Count {
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

// identity maps rows to themselves.
type identity int

func (d identity) Dims() (in, out int)           { return int(d), int(d) }
func (d identity) Apply(dst, x []float32, n int) { copy(dst[:n*int(d)], x) }

// turns stores ω_g·y_g of each frequency, in units of 2π.
func (w *waves) turns(dst []float64, y []float32, g int) {
	clear(dst)
	m := w.of.Count
	for _, i := range w.numbers[g] {
		if v := float64(y[i]); v != 0 {
			for j, f := range w.of.W[i*m : (i+1)*m] {
				dst[j] += float64(v * f)
			}
		}
	}
}

// coefficient returns c such that the features of frequency j add Re c·Π_g a_g to an output.
func (w *waves) coefficient(output, j int) phasor {
	of := w.model.W[output*w.model.D+w.first:]
	amplitude := float64(w.of.Amplitude[j])
	if w.of.Offsets == nil {
		return phasor{float64(of[j]), -float64(of[w.of.Count+j])}.scaled(amplitude)
	}
	return turn(float64(w.of.Offsets[j])).scaled(amplitude * float64(of[j]))
}

func (w *waves) effects(dst []float64, x []float32, scores []Score, s *scratch) {
	columns, m := len(w.numbers), w.of.Count
	y := x
	if w.before != nil {
		s.y = grow(s.y, w.of.In)
		w.before.Apply(s.y, x, 1)
		y = s.y
	}
	s.a = grow(s.a, m*columns)
	s.turns = grow(s.turns, m)
	for g := range columns {
		w.turns(s.turns, y, g)
		for j, u := range s.turns {
			s.a[j*columns+g] = turn(u)
		}
	}
	s.own = grow(s.own, len(scores)*columns)
	for i, r := range w.nodes {
		clear(s.own)
		if off, size := w.divide(s.own, scores, r, s); off <= tolerance*size || i == len(w.nodes)-1 {
			break
		}
	}
	for i, v := range s.own {
		dst[i] += v
	}
}

// divide adds the effects by rule r. It returns the sum over frequencies of the error of their sums, and of
// the size of these sums.
func (w *waves) divide(dst []float64, scores []Score, r rule, s *scratch) (off, size float64) {
	columns := len(w.numbers)
	s.parts = grow(s.parts, columns)
	for j := range w.of.Count {
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
			size += length
		}
	}
	return off, size
}
