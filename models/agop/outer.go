package agop

import (
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/models/ridge"
)

// strip is the number of frequencies whose rows of P are computed together.
const strip = 16

// Outer returns M (d×d, row-major) of a model with weights w (k×D, row-major, D the features of the sum) on the
// rows of the sum, weighted if they have weights. u has the step and the ranges of the sum's grid. All outputs have
// the same influence: targets in units of half their range, classes from −1 to 1. It panics if lengths do not fit,
// and returns zeros if there are no rows.
func (v *Waves) Outer(sum *ridge.Sum, w []float32, u ridge.Units, threads int) []float64 {
	d, m := v.In, v.Count
	t := v.times(sum, w, u, threads)
	outer := make([]float64, d*d)
	parallel.Ranges(d, 1, threads, func(lo, hi int) {
		for a := lo; a < hi; a++ {
			blas.Dots(outer[a*d:a*d+a+1], v.W[a*m:(a+1)*m], t, m)
		}
	})
	for a := range d {
		for b := range a {
			outer[b*d+a] = outer[a*d+b]
		}
	}
	return outer
}

// Diagonal returns the diagonal of M.
func (v *Waves) Diagonal(sum *ridge.Sum, w []float32, u ridge.Units, threads int) []float64 {
	d, m := v.In, v.Count
	t := v.times(sum, w, u, threads)
	diagonal := make([]float64, d)
	for a := range d {
		blas.Dots(diagonal[a:a+1], v.W[a*m:(a+1)*m], t[a*m:(a+1)*m], m)
	}
	return diagonal
}

// times returns (PΩ/n)ᵀ, d×m.
func (v *Waves) times(sum *ridge.Sum, w []float32, u ridge.Units, threads int) []float64 {
	d, m, dim := v.In, v.Count, sum.Shape().Dim
	if len(w) == 0 || len(w)%dim != 0 || v.First < 0 || v.First+2*m > dim {
		panic("agop: weights, sum and features do not fit")
	}
	step := u.Step
	if u.Ranges.Half != nil {
		step *= u.Ranges.Half[v.First]
	}
	k := len(w) / dim
	cosines, sines := make([]float64, m*k), make([]float64, m*k) // weights by frequency
	for c := range k {
		wave := w[c*dim+v.First:][:2*m]
		for j := range m {
			cosines[j*k+c], sines[j*k+c] = float64(wave[j]), float64(wave[m+j])
		}
	}
	factor := 0.0
	if n := sum.Weight(); n > 0 {
		factor = step * step / n
	}
	t := make([]float64, d*m)
	parallel.Ranges((m+strip-1)/strip, 1, threads, func(lo, hi int) {
		gram, dots := make([]float64, 2*strip*dim), make([]float64, 4*m)
		aa, bb, ab, ba := dots[:m], dots[m:2*m], dots[2*m:3*m], dots[3*m:]
		row, out := make([]float64, m), make([]float64, d)
		for first := lo * strip; first < min(hi*strip, m); first += strip {
			n := min(strip, m-first)
			gramRows(gram[:n*dim], sum, v.First+first, n)
			gramRows(gram[n*dim:], sum, v.First+m+first, n)
			for i := range n {
				ofCos, ofSin := gram[i*dim+v.First:][:2*m], gram[(n+i)*dim+v.First:][:2*m]
				j := first + i
				a, b := cosines[j*k:(j+1)*k], sines[j*k:(j+1)*k]
				blas.Dots(aa, a, cosines, k)
				blas.Dots(bb, b, sines, k)
				blas.Dots(ab, a, sines, k)
				blas.Dots(ba, b, cosines, k)
				for l := range row {
					like := float64(aa[l]*ofSin[m+l]) + float64(bb[l]*ofCos[l])
					cross := float64(ab[l]*ofSin[l]) + float64(ba[l]*ofCos[m+l])
					row[l] = (like - cross) * factor
				}
				blas.Dots(out, row, v.W, m)
				for a, x := range out {
					t[a*m+j] = x
				}
			}
		}
	})
	return t
}

// gramRows stores in dst (n×D, row-major) rows first … first+n−1 of the full Gram matrix Σ zzᵀ.
func gramRows(dst []float64, s *ridge.Sum, first, n int) {
	d := s.Shape().Dim
	for i, t := 0, 0; i*blas.TileDim < d; i++ {
		top, rows := i*blas.TileDim, blas.TileRows(d, i)
		for j := range i + 1 {
			left, cols, tile := j*blas.TileDim, blas.TileRows(d, j), s.Part(1+t)
			t++
			for r := max(first, top); r < min(first+n, top+rows); r++ {
				to := dst[(r-first)*d+left:][:cols]
				if i == j {
					to = to[:r-top+1] // a tile has nothing above the diagonal
				}
				copy(to, tile[(r-top)*cols:])
			}
			// Columns of the tile are, by symmetry, rows above the diagonal.
			from, to := max(first, left), min(first+n, left+cols)
			for a := 0; a < rows && from < to; a++ {
				for c := from; c < to && c < top+a; c++ {
					dst[(c-first)*d+top+a] = tile[a*cols+c-left]
				}
			}
		}
	}
}
