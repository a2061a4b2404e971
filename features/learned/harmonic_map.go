package learned

import (
	"math"
	"sync"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
)

// harmonicMap is the feature map of Harmonics. It is immutable and safe for concurrent use.
type harmonicMap struct {
	in       int
	terms    []term
	families []family
	powers   int       // largest degree m in the first two coordinates
	values   int       // number of polynomials of all families
	bound    float32   // largest magnitude that a feature can have
	scratch  sync.Pool // of *scratch
}

var _ features.Gridded = (*harmonicMap)(nil)

// term is one feature as a product: scale times an element of scratch.base times elements of
// scratch.values.
type term struct {
	scale   float64
	base    int     // index of Re z^m or Im z^m in scratch.base
	factors []int32 // indices in scratch.values
}

// family holds the polynomials P_0 … P_n of coordinate k over one degree ℓ_{k−1}. Harmonics share
// them.
type family struct {
	k    int
	p0   float64
	beta []float64 // β_1 … β_n of the recurrence
	at   int       // index of P_0 in scratch.values; P_1 … P_n follow
}

// scratch is the memory for the features of one row.
type scratch struct {
	unit    []float64 // the row divided by its length
	squares []float64 // r_k² for k = 1 … d
	base    []float64 // Re z^m and Im z^m for m = 0, 1, …
	values  []float64 // the polynomials of all families
}

// newMap returns the map of the harmonics with amplitude 1, without its bound.
func newMap(d int, terms []Harmonic) *harmonicMap {
	m := &harmonicMap{in: d, terms: make([]term, len(terms))}
	paths := make([]path, len(terms))
	largest := map[[2]int]int{} // largest n of each family (k, ℓ_{k−1})
	for j, t := range terms {
		paths[j] = pathOf(d, t.Degree, t.Index)
		m.powers = max(m.powers, paths[j].m)
		for _, f := range paths[j].factors {
			key := [2]int{f.k, f.below}
			largest[key] = max(largest[key], f.n)
		}
	}
	place := map[[2]int]int{}
	for j, p := range paths {
		t := term{scale: p.scale, base: 2 * p.m}
		if p.sine {
			t.base++
		}
		for _, f := range p.factors {
			key := [2]int{f.k, f.below}
			at, known := place[key]
			if !known {
				at = m.values
				place[key] = at
				m.families = append(m.families, newFamily(f.k, f.below, largest[key], at))
				m.values += largest[key] + 1
			}
			t.factors = append(t.factors, int32(at+f.n))
		}
		m.terms[j] = t
	}
	m.scratch.New = func() any { return m.newScratch() }
	return m
}

// newFamily returns the family of coordinate k and ℓ_{k−1} = below, up to degree n.
func newFamily(k, below, n, at int) family {
	f := family{k: k, p0: p0(k, below), at: at}
	twice := 2*below + k - 2 // 2ν
	for i := 1; i <= n; i++ {
		square := float64(i) * float64(i+twice-1) / (float64(2*i+twice) * float64(2*i+twice-2))
		f.beta = append(f.beta, math.Sqrt(square))
	}
	return f
}

func (m *harmonicMap) newScratch() *scratch {
	return &scratch{
		unit: make([]float64, m.in), squares: make([]float64, m.in),
		base: make([]float64, 2*(m.powers+1)), values: make([]float64, m.values),
	}
}

// row stores the features of the row x in dst, in float64.
func (m *harmonicMap) row(dst []float64, x []float32, s *scratch) {
	var square float64
	for _, v := range x {
		square += float64(float64(v) * float64(v))
	}
	norm := math.Sqrt(square)
	if norm == 0 {
		norm = 1
	}
	sum := 0.0
	for i, v := range x {
		u := float64(v) / norm
		sum += float64(u * u)
		s.unit[i], s.squares[i] = u, sum
	}
	re, im := 1.0, 0.0
	for i := 0; i < len(s.base); i += 2 {
		s.base[i], s.base[i+1] = re, im
		re, im = float64(re*s.unit[0])-float64(im*s.unit[1]), float64(re*s.unit[1])+float64(im*s.unit[0])
	}
	for i := range m.families {
		f := &m.families[i]
		t, r2 := s.unit[f.k-1], s.squares[f.k-1]
		v := s.values[f.at : f.at+len(f.beta)+1]
		v[0] = f.p0
		before, beta := 0.0, 0.0
		for n, b := range f.beta {
			v[n+1] = (float64(t*v[n]) - float64(r2*beta*before)) / b
			before, beta = v[n], b
		}
	}
	for j := range m.terms {
		t := &m.terms[j]
		y := t.scale * s.base[t.base]
		for _, f := range t.factors {
			y *= s.values[f]
		}
		dst[j] = y
	}
}

// Dims returns the row length and the number of harmonics.
func (m *harmonicMap) Dims() (in, out int) { return m.in, len(m.terms) }

// Apply stores the features of the n rows of x (n×in, row-major) in dst (n×out), computed in
// float64 and then rounded. It runs on one thread. The features of a row with NaN are NaN, except
// that the harmonic of degree 0 is constant. It panics if a slice is too short.
func (m *harmonicMap) Apply(dst, x []float32, n int) {
	if n < 0 || len(x) < n*m.in || len(dst) < n*len(m.terms) {
		panic("learned: harmonic: Apply: slice too short")
	}
	m.apply(dst, x, 0, n)
}

// apply stores the features of rows lo … hi−1 of x in dst.
func (m *harmonicMap) apply(dst, x []float32, lo, hi int) {
	out := len(m.terms)
	s := m.scratch.Get().(*scratch)
	defer m.scratch.Put(s)
	y := make([]float64, out)
	for i := lo; i < hi; i++ {
		m.row(y, x[i*m.in:(i+1)*m.in], s)
		for j, v := range y {
			dst[i*out+j] = float32(v)
		}
	}
}

// Quantize stores the features of n ≤ features.MaxRows rows of x on the grid. It returns the number
// of features that are NaN. By the addition theorem no other feature exceeds the bound. It panics
// if x is too short or n is too large.
func (m *harmonicMap) Quantize(dst *features.Grid, x []float32, n, threads int) (saturated int64) {
	if n < 0 || n > blas.MaxRows || len(x) < n*m.in {
		panic("learned: harmonic: Quantize: slice too short, or too many rows")
	}
	z := make([]float32, n*len(m.terms))
	parallel.Ranges(n, 16, threads, func(lo, hi int) { m.apply(z, x, lo, hi) })
	return dst.Quantize(z, n, m.bound, threads)
}

// Step returns the step of the 8-bit grid, the largest possible feature divided by 127.
func (m *harmonicMap) Step() float64 { return float64(m.bound) / 127 }
