package agop

import (
	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/preprocess"
)

// Metric is the metric ‖A(x−z)‖ in which the features of a recipe measure distances.
type Metric struct {
	Dim int       // d: length of the rows
	A   []float64 // d×d, row-major, of a full metric; nil if it is diagonal
	D   []float64 // the diagonal of a diagonal metric; nil if it is full
	// Before is the chain of steps from the rows of the recipe to the rows of the metric.
	Before []features.Recipe
}

// MetricOf returns the composition of the metrics directly before the features of a recipe; nil if there
// are none. In a join it uses the part with the most features, the first of several. Other parts may be
// features of only some columns, whose weights say nothing about the others.
func MetricOf(r features.Recipe) (*Metric, error) {
	steps := []features.Recipe{r}
	if c, ok := r.(features.Chain); ok {
		steps = c.Steps
	}
	if len(steps) == 0 {
		return nil, nil
	}
	if j, ok := steps[len(steps)-1].(preprocess.Join); ok {
		var main features.Recipe
		most := 0
		for _, p := range j.Parts {
			_, out, err := features.Dims(p)
			if err != nil {
				return nil, err
			}
			if out > most {
				main, most = p, out
			}
		}
		if c, ok := main.(features.Chain); ok {
			steps = append(steps[:len(steps)-1:len(steps)-1], c.Steps...)
		}
	}
	return metricOf(steps)
}

func metricOf(steps []features.Recipe) (*Metric, error) {
	end := len(steps) - 1
	first := end
	for ; first > 0; first-- {
		switch steps[first-1].(type) {
		case preprocess.DiagonalMetric, preprocess.FullMetric:
			continue
		}
		break
	}
	if first == end {
		return nil, nil
	}
	m := &Metric{Before: steps[:first]}
	for _, s := range steps[first:end] {
		switch s := s.(type) {
		case preprocess.DiagonalMetric:
			m.scale(s.A)
		case preprocess.FullMetric:
			a, err := s.Matrix()
			if err != nil {
				return nil, err
			}
			m.multiply(a)
		}
	}
	return m, nil
}

// scale applies a diagonal metric after m.
func (m *Metric) scale(a []float32) {
	d := len(a)
	switch {
	case m.Dim == 0:
		m.Dim, m.D = d, make([]float64, d)
		for j, v := range a {
			m.D[j] = float64(v)
		}
	case m.D != nil:
		for j, v := range a {
			m.D[j] *= float64(v)
		}
	default:
		for i, v := range a {
			for j := range d {
				m.A[i*d+j] *= float64(v)
			}
		}
	}
}

// multiply applies a full metric after m.
func (m *Metric) multiply(by *preprocess.MetricMatrix) {
	d := by.Dim
	a := make([]float64, d*d)
	for i, v := range by.A {
		a[i] = float64(v)
	}
	switch {
	case m.D != nil:
		for i := range a {
			a[i] *= m.D[i%d]
		}
	case m.A != nil:
		product := make([]float64, d*d)
		for i := range d {
			for k := range d {
				by := a[i*d+k]
				for j, v := range m.A[k*d : (k+1)*d] {
					product[i*d+j] += float64(by * v)
				}
			}
		}
		a = product
	}
	m.Dim, m.A, m.D = d, a, nil
}

// Diagonal returns the diagonal of M = AᵀA: the squared lengths of the unit vectors in the metric.
func (m *Metric) Diagonal() []float64 {
	diagonal := make([]float64, m.Dim)
	for j, v := range m.D {
		diagonal[j] = v * v
	}
	for i, v := range m.A {
		diagonal[i%m.Dim] += float64(v * v)
	}
	return diagonal
}

// Outer returns M = AᵀA, d×d. The metric must be full.
func (m *Metric) Outer() []float64 {
	d := m.Dim
	outer := make([]float64, d*d)
	for i := range len(m.A) / max(d, 1) {
		row := m.A[i*d : (i+1)*d]
		for a, x := range row {
			if x == 0 {
				continue
			}
			to := outer[a*d : (a+1)*d]
			for b, y := range row {
				to[b] += float64(x * y)
			}
		}
	}
	return outer
}
