package shapley

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/identity"
	"github.com/bochner-ml/bochner/features/landmarks"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models/agop"
	"github.com/bochner-ml/bochner/models/linear"
)

// Score is a score to explain: a weighted sum of outputs of the model.
type Score []Term

// Term is an output with its factor.
type Term struct {
	Output int
	Factor float64
}

// Explainer divides scores among columns. It is safe for concurrent use.
type Explainer interface {
	// Base returns the base of a score.
	Base(s Score) float64
	// Effects stores in dst, score by score, the effects of all columns on the scores of a row x with the
	// given outputs. It returns the largest standard error, 0 if effects are exact. It panics if dst is too
	// short.
	Effects(dst []float64, x, outputs []float32, scores []Score) (stdErr float64)
}

// Exact computes Shapley values exactly.
type Exact struct {
	columns  []Column
	base     []float64 // v(∅) of each output
	products []*products
	sums     []*additive
	scratch  sync.Pool // of *scratch
}

// ErrMixed is returned for features that are neither products nor sums of functions of the columns.
var ErrMixed = errors.New("shapley: features that mix columns in another way than Fourier features do")

// NewExact returns the explainer of a model l on the features of recipe r, whose map takes rows with these
// columns. The error is ErrMixed if the features mix columns in another way.
func NewExact(r features.Recipe, l *linear.Model, columns []Column, background []Distribution) (*Exact, error) {
	e := &Exact{columns: columns, base: make([]float64, l.K)}
	for k, b := range l.B {
		e.base[k] = float64(b)
	}
	var columnOf []int // column of each number of a row
	for g, c := range columns {
		for range c.To - c.From {
			columnOf = append(columnOf, g)
		}
	}
	steps := []features.Recipe{r}
	if c, ok := r.(features.Chain); ok {
		steps = c.Steps
	}
	parts := [][]features.Recipe{steps}
	if j, ok := steps[len(steps)-1].(preprocess.Join); ok {
		parts = nil
		for _, p := range j.Parts {
			recipes := []features.Recipe{p}
			if c, ok := p.(features.Chain); ok {
				recipes = c.Steps
			}
			parts = append(parts, append(steps[:len(steps)-1:len(steps)-1], recipes...))
		}
	}
	first := 0
	for _, steps := range parts {
		p := part{model: l, first: first, columns: columns, background: background}
		if err := e.add(p, steps, columnOf); err != nil {
			return nil, err
		}
		_, out, err := features.Dims(steps[len(steps)-1])
		if err != nil {
			return nil, err
		}
		first += out
	}
	return e, nil
}

// part is a range of features, from index first on.
type part struct {
	model      *linear.Model
	first      int
	columns    []Column
	background []Distribution
}

// add adds a part of the model: a sum of products over columns if its features are waves or landmarks, otherwise a
// sum of functions of single columns.
func (e *Exact) add(p part, steps []features.Recipe, columnOf []int) error {
	w, err := agop.WavesAfter(steps)
	switch {
	case err == nil:
		return e.addProducts(p, newWaves(w), w.Before, columnOf)
	case !errors.Is(err, agop.ErrNoWaves):
		return err
	}
	end := len(steps) - 1
	if at, ok := steps[end].(landmarks.Recipe); ok {
		k, err := newKernelValues(at)
		if err != nil {
			return err
		}
		return e.addProducts(p, k, steps[:end], columnOf)
	}
	if columnOf, err = owners(steps, columnOf); err != nil {
		return err
	}
	s, err := newAdditive(p, steps, columnOf, e.base)
	e.sums = append(e.sums, s)
	return err
}

// addProducts adds products of the rows after the steps.
func (e *Exact) addProducts(p part, w product, steps []features.Recipe, columnOf []int) error {
	columnOf, err := owners(steps, columnOf)
	if err != nil {
		return err
	}
	products, err := newProducts(p, w, steps, columnOf, e.base)
	e.products = append(e.products, products)
	return err
}

// owners returns the column of each number after the steps, given the columns before them. It returns
// ErrMixed if a number depends on several columns.
func owners(steps []features.Recipe, columnOf []int) ([]int, error) {
	for _, s := range steps {
		switch r := s.(type) {
		case preprocess.Columns:
			var to []int
			for _, from := range r.Sources() {
				to = append(to, columnOf[from.Slot])
			}
			columnOf = to
		case preprocess.BinLevels:
			columnOf = after(r, columnOf)
		case preprocess.Bins:
			columnOf = after(r, columnOf)
		case identity.Identity:
		default:
			m, err := s.New()
			if err != nil {
				return nil, err
			}
			if by, ok := m.(features.Columnwise); !ok || by.Part(0, 1) == nil {
				return nil, fmt.Errorf("%w: %T", ErrMixed, s)
			}
		}
	}
	return columnOf, nil
}

func after(r interface {
	Origin(j int) (column, size int)
	Dims() (in, out int)
}, columnOf []int) []int {
	_, out := r.Dims()
	to := make([]int, out)
	for j := range to {
		c, _ := r.Origin(j)
		to[j] = columnOf[c]
	}
	return to
}

// Base returns the base of a score.
func (e *Exact) Base(s Score) float64 { return sum(s, e.base) }

func sum(s Score, outputs []float64) (total float64) {
	for _, t := range s {
		total += float64(t.Factor * outputs[t.Output])
	}
	return total
}

// Effects implements Explainer. It uses only the row.
func (e *Exact) Effects(dst []float64, x, _ []float32, scores []Score) (stdErr float64) {
	clear(dst[:len(scores)*len(e.columns)])
	s, _ := e.scratch.Get().(*scratch)
	if s == nil {
		s = new(scratch)
	}
	defer e.scratch.Put(s)
	for _, a := range e.sums {
		a.effects(dst, x, scores, s)
	}
	for _, w := range e.products {
		w.effects(dst, x, scores, s)
	}
	return 0
}

// AdjustSum makes effects sum to total. It distributes the difference, which comes from float32 rounding of
// scores, in proportion to the sizes of the effects.
func AdjustSum(effects []float64, total float64) {
	var sum, size float64
	for _, v := range effects {
		sum += v
		size += math.Abs(v)
	}
	for g, v := range effects {
		share := 1 / float64(len(effects))
		if size > 0 {
			share = math.Abs(v) / size
		}
		effects[g] += float64((total - sum) * share)
	}
}

// scratch is the memory of one call.
type scratch struct {
	y       []float32
	at      []float64 // a number for each product
	effects []float64 // of the present rule
	a       []phasor
	factors []phasor
	partial []phasor
	parts   []phasor
}

// phasor is a complex number. Its products are rounded before they are added; with complex128 that depends
// on the processor.
type phasor struct{ re, im float64 }

func (a phasor) times(b phasor) phasor {
	return phasor{float64(a.re*b.re) - float64(a.im*b.im), float64(a.re*b.im) + float64(a.im*b.re)}
}

func (a phasor) plus(b phasor) phasor { return phasor{a.re + b.re, a.im + b.im} }

func (a phasor) minus(b phasor) phasor { return phasor{a.re - b.re, a.im - b.im} }

func (a phasor) scaled(f float64) phasor { return phasor{float64(f * a.re), float64(f * a.im)} }

// taylor has the Taylor coefficients of cosine and sine in the square of a small angle. The first omitted
// terms are below 2⁻⁵⁶.
var taylor = func() (list [9][2]float64) {
	c := 1.0 // (−1)ⁿ/(2n)!
	for n := range 9 {
		list[8-n] = [2]float64{c, c / float64(2*n+1)}
		c /= -float64((2*n + 1) * (2*n + 2))
	}
	return list
}()

// turn returns e^{2πiu}.
func turn(u float64) phasor {
	u -= math.Round(u)
	quarter := math.Round(4 * u)
	x := float64((u - quarter/4) * (2 * math.Pi)) // |x| ≤ π/4
	square := float64(x * x)
	cos, sin := 0.0, 0.0
	for _, c := range taylor {
		cos, sin = c[0]+float64(cos*square), c[1]+float64(sin*square)
	}
	sin = float64(sin * x)
	switch int(quarter) & 3 {
	case 1:
		return phasor{-sin, cos}
	case 2:
		return phasor{-cos, -sin}
	case 3:
		return phasor{sin, -cos}
	}
	return phasor{cos, sin}
}

// additive are features that each depend on one column.
type additive struct {
	model    *linear.Model
	first    int
	m        features.Map
	columnOf []int     // of each feature
	mean     []float64 // of each feature, over the background
}

// newAdditive computes the mean features of a part over the background, and adds their effect to base.
func newAdditive(p part, steps []features.Recipe, columnOf []int, base []float64) (*additive, error) {
	m, err := (features.Chain{Steps: steps}).New()
	if err != nil {
		return nil, err
	}
	a := &additive{model: p.model, first: p.first, m: m, columnOf: columnOf, mean: make([]float64, len(columnOf))}
	numbers := numbersOf(columnOf, len(p.columns))
	eachValue(p, m, func(g int, chance float64, phi []float32) {
		for _, j := range numbers[g] {
			a.mean[j] += float64(chance * float64(phi[j]))
		}
	})
	for k := range base {
		for j, v := range a.mean {
			base[k] += float64(v * a.weight(k, j))
		}
	}
	return a, nil
}

// numbersOf returns the indices of the numbers of each column, given the column of each number.
func numbersOf(columnOf []int, columns int) [][]int {
	numbers := make([][]int, columns)
	for j, g := range columnOf {
		numbers[g] = append(numbers[g], j)
	}
	return numbers
}

// eachValue calls f for each value of each column in the background, with its probability and the features
// that m gives a row whose other columns are 0.
func eachValue(p part, m features.Map, f func(g int, chance float64, y []float32)) {
	in, out := m.Dims()
	x, y := make([]float32, in), make([]float32, out)
	for g, c := range p.columns {
		n := c.To - c.From
		for i, chance := range p.background[g].P {
			copy(x[c.From:c.To], p.background[g].X[i*n:])
			m.Apply(y, x, 1)
			f(g, chance, y)
		}
		clear(x[c.From:c.To])
	}
}

func (a *additive) weight(output, feature int) float64 {
	return float64(a.model.W[output*a.model.D+a.first+feature])
}

// effects adds the effects of the columns of x to dst: weight times the difference of a feature from its mean.
func (a *additive) effects(dst []float64, x []float32, scores []Score, s *scratch) {
	blas.Grow(&s.y, len(a.columnOf))
	a.m.Apply(s.y, x, 1)
	columns := len(dst) / len(scores)
	for i, score := range scores {
		to := dst[i*columns : (i+1)*columns]
		for _, t := range score {
			for j, g := range a.columnOf {
				if d := float64(s.y[j]) - a.mean[j]; d != 0 {
					to[g] += float64(float64(t.Factor*a.weight(t.Output, j)) * d)
				}
			}
		}
	}
}
