package agop

import (
	"errors"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models/pca"
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
// features of only some columns, and their weights are no guide to the others.
func MetricOf(r features.Recipe) (*Metric, error) {
	steps := features.StepsOf(r)
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

// metricOf returns the composition of the metrics directly before the last step; nil if there are none.
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

// Root has the parameters by which a metric is made from M. M is scaled to a mean eigenvalue of 1; each eigenvalue w
// becomes ((max(w, 0) + Floor)/(1 + Floor))^Power; and A is a root of the result, AᵀA = M. All roots give the same
// distances.
type Root struct {
	Floor float64 // ε > 0, so that no direction is lost; 0.001 works well
	Power float64 // p: ½, 1 or 2; 1 works well
}

// Diagonal returns the diagonal metric of the diagonal of M, d numbers ≥ 0. The error is ErrNoMetric
// if they are not finite, or all 0: then the prediction does not depend on the rows.
func (r Root) Diagonal(diagonal []float64) (preprocess.DiagonalMetric, error) {
	scale, err := r.scale(diagonal)
	if err != nil {
		return preprocess.DiagonalMetric{}, err
	}
	a := make(features.Floats, len(diagonal))
	for j, v := range diagonal {
		a[j] = float32(math.Sqrt(r.value(v * scale)))
	}
	return preprocess.DiagonalMetric{A: a}, nil
}

// Full returns the metric of M (d×d), with the same errors as Diagonal. With Power 1, A is the transpose of
// the Cholesky factor. Otherwise it is the symmetric root, which takes much longer if d is in the hundreds.
func (r Root) Full(outer []float64, threads int) (*preprocess.MetricMatrix, error) {
	d := int(math.Round(math.Sqrt(float64(len(outer)))))
	if d*d != len(outer) {
		panic("agop: matrix is not square")
	}
	if d > preprocess.MaxMetricDim {
		return nil, fmt.Errorf("agop: a full metric has at most %d columns (have %d)", preprocess.MaxMetricDim, d)
	}
	diagonal := make([]float64, d)
	for j := range d {
		diagonal[j] = outer[j*d+j]
	}
	scale, err := r.scale(diagonal)
	if err != nil {
		return nil, err
	}
	m := make([]float64, d*d)
	for i, v := range outer {
		m[i] = v * scale
	}
	root := &preprocess.MetricMatrix{Dim: d, A: make([]float32, d*d)}
	if r.Power != 1 {
		values, vectors := pca.Symmetric(m, d)
		for e, w := range values {
			w = math.Sqrt(r.value(w))
			vector := vectors[e*d : (e+1)*d]
			for i := range d {
				row := m[i*d : (i+1)*d]
				if e == 0 {
					clear(row)
				}
				for j, x := range vector {
					row[j] += float64(float64(w*vector[i]) * x)
				}
			}
		}
		for i, v := range m {
			root.A[i] = float32(v)
		}
		return root, nil
	}
	// Apart from rounding, which is far below Floor, M is positive semidefinite.
	for i := range m {
		m[i] /= 1 + r.Floor
	}
	for j := range d {
		m[j*d+j] += r.Floor / (1 + r.Floor)
	}
	if pivot, ok := blas.Cholesky(m, d, threads); !ok {
		return nil, fmt.Errorf("agop: %w at column %d; raise the floor above %g", ErrNotDefinite, pivot+1, r.Floor)
	}
	for i := range d {
		for j := range i + 1 {
			root.A[j*d+i] = float32(m[i*d+j])
		}
	}
	return root, nil
}

// value returns the new value of an eigenvalue.
func (r Root) value(w float64) float64 {
	w = (max(w, 0) + r.Floor) / (1 + r.Floor)
	switch r.Power {
	case 0.5:
		return math.Sqrt(w)
	case 2:
		return w * w
	}
	return w
}

// ErrNoMetric is the error of gradients that are not finite, or all 0.
var ErrNoMetric = errors.New("no metric follows from them")

// ErrNotDefinite is the error of a floor that is too low for the rounding errors of a metric.
var ErrNotDefinite = errors.New("the metric is not positive definite")

// scale returns d/tr M. The error is ErrNoMetric if that is not a number.
func (r Root) scale(diagonal []float64) (float64, error) {
	if !(r.Floor > 0 && r.Floor <= 1e6) || r.Power != 0.5 && r.Power != 1 && r.Power != 2 {
		return 0, fmt.Errorf("agop: floor must be above 0, and power ½, 1 or 2 (have %v, %v)", r.Floor, r.Power)
	}
	var trace float64
	for _, v := range diagonal {
		trace += v
	}
	scale := float64(len(diagonal)) / trace
	if !(trace > 0) || math.IsInf(trace, 0) || math.IsInf(scale, 0) {
		return 0, fmt.Errorf("agop: the gradients of the model are 0 or not finite (mean square %v), so %w", trace,
			ErrNoMetric)
	}
	return scale, nil
}
