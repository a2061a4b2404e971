package drift

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/bochner-ml/bochner/internal/blas"
)

// MinP is the least p-value that TwoSample returns. Three moments cannot distinguish smaller ones.
const MinP = 1e-6

// TwoSampleBytes returns about the memory that TwoSample needs for dim features, including its sums.
func TwoSampleBytes(dim int) int64 {
	return 8 * int64(dim) * (2*int64(dim) + 4*blas.TileDim)
}

// TwoSample tests whether two sets of rows have the same distribution. The statistic is
// CompareFeatures's, the squared maximum mean discrepancy T = ‖μ_a − μ_b‖². It takes O(D³) more work for
// D features, but its p-value is also right for small sets and in the far tail.
//
// If the distributions are the same, every permutation of all rows into two sets of these sizes is equally
// likely. Mean and variance of T over all permutations follow from sums over the matrix K of inner products
// of the N centred features: its trace, ΣK_ij² and ΣK_ii² (Kazi-Aoual et al. 1995, Comput. Stat. Data Anal.
// 20:643). The Gram matrix gives the first two. It gives the third if the features of all rows have the
// same length, as in the paired form; otherwise the third is approximate. The third cumulant is its limit
// for many rows. P is from a shifted gamma distribution with these moments; below 0.001 it is an upper
// bound.
//
// Rows must be independent and have no weights. With fewer than MinRows rows in a set P is 1. AtLeast is
// 0 unless P ≤ 0.05; it takes the covariance of each set separately.
func TwoSample(a, b FeatureSum, threads int) Features {
	f := Features{Rows: [2]int64{a.Rows, b.Rows}, P: 1}
	if min(a.Rows, b.Rows) < MinRows {
		return f
	}
	d, n := len(a.Features), a.Weight+b.Weight
	s, delta, mean := make([]float64, d*d), make([]float64, d), make([]float64, d)
	addScatter(s, a, 1)
	addScatter(s, b, 1)
	var squared, length float64
	for j := range d {
		delta[j] = a.Features[j]/a.Weight - b.Features[j]/b.Weight
		mean[j] = (a.Features[j] + b.Features[j]) / n
		squared += float64(delta[j] * delta[j])
		length += float64(mean[j] * mean[j])
	}
	addOuter(s, delta, a.Weight*b.Weight/n)
	k := momentsOf(s, d, threads)
	unit := length + k.trace/n // the mean square of a row's features
	if k.trace <= 1e-12*unit*n {
		return f // all rows have the same features
	}
	var along float64 // n/4 times the variance of K_ii
	for j := range d {
		along += float64(mean[j] * blas.Dot64(s[j*d:(j+1)*d], mean))
	}
	null := k.permuted(a.Weight, b.Weight, k.trace*k.trace/n+4*along)
	f.P = max(MinP, null.survival(squared))
	f.Squared = squared / unit
	f.Distance = math.Sqrt(max(0, squared-null.mean) / (2 * unit))
	if f.P > level {
		return f
	}
	clear(s) // from here on the covariance of μ_a − μ_b
	addScatter(s, a, 1/(a.Weight*(a.Weight-1)))
	addScatter(s, b, 1/(b.Weight*(b.Weight-1)))
	k = momentsOf(s, d, threads)
	slack := cumulants{mean: k.trace, variance: 2*k.squares + 1e-300, third: 8 * k.cubes}.quantile(1 - level)
	f.AtLeast = max(0, math.Sqrt(squared)-math.Sqrt(slack)) / math.Sqrt(2*unit)
	return f
}

// addScatter adds scale·Σ(φ − μ)(φ − μ)ᵀ over the rows of f to s, D×D.
func addScatter(s []float64, f FeatureSum, scale float64) {
	d := len(f.Features)
	blas.EachTile(d, 1, func(_, t, i, j int) {
		tile, cols := f.Products.Part(1+t), blas.TileRows(d, j)
		for r := range blas.TileRows(d, i) {
			row := i*blas.TileDim + r
			for c := range cols {
				if col := j*blas.TileDim + c; col <= row {
					v := float64(scale * tile[r*cols+c])
					s[row*d+col] += v
					if col < row {
						s[col*d+row] += v
					}
				}
			}
		}
	})
	addOuter(s, f.Features, -scale/f.Weight)
}

// addOuter adds scale·vvᵀ to s.
func addOuter(s, v []float64, scale float64) {
	d := len(v)
	for i, x := range v {
		for j, y := range v {
			s[i*d+j] += float64(scale * float64(x*y))
		}
	}
}

// moments are the traces of the first four powers of a symmetric matrix S ≥ 0. K has the same moments as S
// = Σ(φ − μ)(φ − μ)ᵀ.
type moments struct{ trace, squares, cubes, fourths float64 }

// momentsOf returns the traces of the powers of S (d×d, symmetric) up to the fourth, a band of rows at a time, so
// that S² is never in memory.
func momentsOf(s []float64, d, threads int) (m moments) {
	product := make([]float64, min(d, blas.TileDim)*d)
	for i := 0; i < d; i += blas.TileDim {
		rows := s[i*d : min(i+blas.TileDim, d)*d]
		clear(product)
		blas.SubProduct(product, rows, s, len(rows)/d, d, d, threads)
		m.cubes -= blas.Dot64(product[:len(rows)], rows)
		m.squares += blas.Dot64(rows, rows)
		m.fourths += blas.Dot64(product, product)
	}
	for i := range d {
		m.trace += s[i*d+i]
	}
	return m
}

// permuted returns the cumulants of T over all permutations of the n rows into sets of a and b rows, where T
// = (1/a + 1/b)²·zᵀKz and z is 1 in one set and 0 in the other. diagonal is ΣK_ii².
func (m moments) permuted(a, b, diagonal float64) cumulants {
	n, t, s := a+b, m.trace*m.trace, m.squares
	// p_k is the probability that k given rows are all in the first set. The sum over i, j, k, l of
	// K_ij·K_kl·E[z_i z_j z_k z_l] is grouped by how many indices differ. Rows of K sum to 0.
	p1 := a / n
	p2 := p1 * (a - 1) / (n - 1)
	p3 := p2 * (a - 2) / (n - 2)
	p4 := p3 * (a - 3) / (n - 3)
	mean := float64((p1 - p2) * m.trace)
	square := float64(p1*diagonal) + float64(p2*(t+2*s-7*diagonal)) + float64(p3*(12*diagonal-2*t-4*s)) +
		float64(p4*(t+2*s-6*diagonal))
	rows := 1/a + 1/b
	cubes := m.cubes - 3*m.trace*s/n + 2*m.trace*t/(n*n)
	return cumulants{rows * rows * mean, math.Pow(rows, 4) * max(0, square-float64(mean*mean)),
		8 * math.Pow(rows/(n-1), 3) * cubes, 2 * rows / (n - 1) * math.Pow(m.fourths, 0.25)}
}

// cumulants are the first three cumulants of a weighted sum of χ² variables. tail bounds twice the largest
// weight, which determines how fast the tail falls.
type cumulants struct{ mean, variance, third, tail float64 }

// scale returns the scale of the gamma distribution with the three moments. A skewness below 0.001 is taken
// as 0.001.
func (c cumulants) scale() float64 { return max(c.third/c.variance, 1e-3*math.Sqrt(c.variance)) / 2 }

// gamma returns the gamma distribution of that scale that, after the shift, has the mean and the variance.
func (c cumulants) gamma(scale float64) (g distuv.Gamma, shift float64) {
	alpha := c.variance / (scale * scale)
	return distuv.Gamma{Alpha: alpha, Beta: 1 / scale}, c.mean - alpha*scale
}

// survival returns the probability of a value of x or more. Below 0.001 it is an upper bound: for the
// heaviest tail that weights with this mean and variance can have.
func (c cumulants) survival(x float64) float64 {
	if !(c.variance > 1e-18*c.mean*c.mean) { // T is the same for all permutations
		return 1
	}
	above := func(scale float64) float64 {
		g, shift := c.gamma(scale)
		return g.Survival(max(0, x-shift))
	}
	const near = 1e-3
	if p := above(c.scale()); p >= near {
		return p
	}
	return min(near, above(max(c.tail, c.scale())))
}

// quantile returns the p-quantile. The variance must not be 0.
func (c cumulants) quantile(p float64) float64 {
	g, shift := c.gamma(c.scale())
	return shift + g.Quantile(p)
}
