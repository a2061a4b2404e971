// Package pairs finds columns that matter only together, such as the two of sin(9a)·b or of a parity. A
// kernel of many columns does not see them, so no metric is learned from it.
//
// With standardised waves u = cos(ωt), sin(ωt) of the standardised columns t, the products of two columns
// are aligned with the labels y:
//
//	z = n·corr²(y, u_j·u_k)
//
// It is the kernel alignment of Bullins et al. ("Not-So-Random Features", ICLR 2018, section 4) with frequencies of two
// columns. Where y does not depend on the columns, z is about χ² with one degree of freedom, so the largest of
// m products exceeds 2 ln m + 4 by chance with a probability of 14% at most. All products of one y are
// one matrix product.
package pairs

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/blas"
)

const (
	// MaxRows is the largest number of rows that Weights takes.
	MaxRows = 4000
	// mostWaves and mostWork bound the waves of all columns, and the multiplications.
	mostWaves = 1024
	mostWork  = 4e9
	// clip bounds standardised waves and labels, whose squares would otherwise have heavy tails.
	clip = 3
)

// frequencies of standardised columns, for as many as there is time for.
var frequencies = [][]float32{{0.75, 1.5, 3, 6}, {1, 3}, {1.5}}

// Rows are some of the rows of X, row-major with D numbers each.
type Rows struct {
	X  []float32
	D  int
	Of []int
}

// Weights returns for each column the sum of z over the products with it that exceed chance; nil if there are none,
// or too many columns. Each of the labels has a number for each of the rows, and is changed. The result does not
// depend on threads.
func Weights(r Rows, labels [][]float32, threads int) []float64 {
	n, d := len(r.Of), r.D
	labels = slices.DeleteFunc(slices.Clone(labels), func(y []float32) bool { return !standardise(y) })
	of := frequenciesFor(n, d, len(labels))
	if of == nil || len(labels) == 0 {
		return nil
	}
	waves, per := r.waves(of), 2*len(of)
	m := per * d
	bound := float64(2*math.Log(float64(m)*float64(m)/2*float64(len(labels)))) + 4
	weights, some := make([]float64, d), false
	weighted, products := make([]float32, n*m), make([]float32, m*m)
	for _, y := range labels {
		for i := range n {
			for j, u := range waves[i*m : (i+1)*m] {
				weighted[i*m+j] = y[i] * u
			}
		}
		clear(products)
		blas.Gradient(products, weighted, waves, n, m, m, threads)
		for a := range m {
			for b := a + 1; b < m; b++ {
				sum := float64(products[a*m+b])
				z := float64(sum*sum) / float64(n)
				if j, k := a/per, b/per; j != k && z > bound {
					weights[j] += z
					weights[k] += z
					some = true
				}
			}
		}
	}
	if !some {
		return nil
	}
	return weights
}

// frequenciesFor returns the frequencies that there is time for; nil for none.
func frequenciesFor(n, d, labels int) []float32 {
	for _, of := range frequencies {
		m := 2 * len(of) * d
		if m <= mostWaves && float64(n)*float64(m)*float64(m)*float64(labels) <= mostWork {
			return of
		}
	}
	return nil
}

// Memory bounds the bytes that Weights takes for n rows of d numbers.
func Memory(n, d int) int64 {
	n = min(n, MaxRows)
	m := int64(2 * len(frequenciesFor(n, d, 1)) * d)
	return 4 * (2*int64(n)*m + m*m)
}

// waves returns the standardised cosines and sines of the columns, 2·len(of) for each.
func (r Rows) waves(of []float32) []float32 {
	n, per := len(r.Of), 2*len(of)
	m := r.D * per
	out := make([]float32, n*m)
	column, cos, sin := make([]float32, n), make([]float32, n), make([]float32, n)
	for j := range r.D {
		for i, row := range r.Of {
			column[i] = r.X[row*r.D+j]
		}
		if !standardise(column) {
			continue
		}
		for k, frequency := range of {
			for i, v := range column {
				sin[i] = v * (frequency / (2 * math.Pi)) // in turns
			}
			blas.CosSinTurns(cos, sin, sin, 1)
			for c, wave := range [][]float32{cos, sin} {
				if !standardise(wave) {
					continue
				}
				for i, v := range wave {
					out[i*m+j*per+2*k+c] = v
				}
			}
		}
	}
	return out
}

// standardise gives the numbers mean 0 and variance 1, bounds them, and makes their mean 0 again; false if
// they are all equal.
func standardise(x []float32) bool {
	n := float64(len(x))
	var sum, squares float64
	for _, v := range x {
		sum += float64(v)
	}
	mean := sum / n
	for _, v := range x {
		e := float64(v) - mean
		squares += float64(e * e)
	}
	deviation := math.Sqrt(squares / n)
	if !(deviation > 1e-6) {
		return false
	}
	sum = 0
	for i, v := range x {
		x[i] = float32(max(-clip, min(clip, (float64(v)-mean)/deviation)))
		sum += float64(x[i])
	}
	for i := range x {
		x[i] -= float32(sum / n)
	}
	return true
}
