// Package pca finds the directions in which features vary most, from the sums that ridge regression uses. On random
// features this is kernel PCA (Schölkopf, Smola and Müller 1998; Lopez-Paz et al. 2014).
//
// Solve returns the eigenvectors of the covariance C = (1/n) Σ (φ_i − φ̄)(φ_i − φ̄)ᵀ with the largest
// eigenvalues. The sums are exact, so the result does not depend on how the rows were cut.
package pca

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/ridge"
)

// Options of Solve.
type Options struct {
	Components int          // k, from 1 to the number of features
	Step       float64      // of the feature grid: feature = Step·integer
	Ranges     ridge.Ranges // set if each feature has its own grid; see ridge.Units
	Seed       uint64       // of the starting vectors
	Threads    int          // does not affect the result
}

// maxComponents is the largest number of components.
const maxComponents = 1024

// Result is the result of Solve.
type Result struct {
	// Linear has the components as weights, each of norm 1, and −w·φ̄ as intercepts, so its scores are the
	// coordinates of centred features. The entry of largest magnitude of each component is positive.
	Linear *linear.Model
	// Variance has the eigenvalue of each component, the variance of its score, in descending order.
	Variance []float64
	// Ratio is Variance divided by the total variance of all features.
	Ratio []float64
}

// Memory returns the bytes that Solve needs besides the sum: the square matrix, and a basis with its images.
func Memory(dim, components int) int64 {
	d := int64(dim)
	return 8*d*d + 2*8*d*int64(most(dim, components))
}

// Solve finds the components of the rows of a sum. It fails if a component cannot be distinguished from the
// rounding of features to their grid.
func Solve(sum *ridge.Sum, o Options) (*Result, error) {
	d, n := sum.Shape().Dim, sum.Rows()
	switch {
	case o.Components < 1 || o.Components > min(d, maxComponents):
		return nil, fmt.Errorf("pca: components of %d features must be 1 to %d (have %d)", d, min(d, maxComponents),
			o.Components)
	case !(o.Step > 0) || math.IsInf(o.Step, 0):
		return nil, fmt.Errorf("pca: grid step %g, want a number above 0", o.Step)
	case n < 2:
		return nil, fmt.Errorf("pca: %d rows, want 2 or more", n)
	}
	c, mean := covariance(sum, o.Step, o.Ranges, o.Threads)
	var total float64
	for j := range d {
		total += c[j*d+j]
	}
	if !(total > 0) {
		return nil, fmt.Errorf("pca: no feature varies over the %d rows", n)
	}
	vectors, values, err := Top(c, d, o.Components, o.Seed, o.Threads)
	if err != nil {
		return nil, err
	}
	r := &Result{Linear: &linear.Model{K: o.Components, D: d}}
	for k, v := range values {
		if !(v > 1e-12*values[0]) {
			return nil, fmt.Errorf("pca: the rows vary in %d directions, fewer than %d components", k, o.Components)
		}
		w := vectors[k*d : (k+1)*d]
		if least := noise(w, n, o); v < least {
			return nil, fmt.Errorf("pca: component %d has variance %.3g; below %.3g it cannot be distinguished from the "+
				"rounding of features to their grid: use at most %d, or a finer grid", k+1, v, least, k)
		}
		orient(w)
		var at float64
		for j, x := range w {
			at += float64(x * mean[j])
			r.Linear.W = append(r.Linear.W, float32(x))
		}
		r.Linear.B = append(r.Linear.B, float32(-at))
		r.Variance = append(r.Variance, v)
		r.Ratio = append(r.Ratio, v/total)
	}
	return r, nil
}

// noise returns the least variance of a component. Rounding a feature to steps of size s adds an error of
// variance s²/12, so the variance along w is too large by Σ w_j²s_j²/12. It must be at least twice that, so
// that at least half of it comes from the rows. For n rows of pure rounding error the largest of d
// components would have (1 + √(d/n))² times as much (Marčenko & Pastur 1967).
func noise(w []float64, n int64, o Options) float64 {
	var v float64
	for j, x := range w {
		if h := o.Ranges.Half; h != nil {
			x *= h[j]
		}
		v += float64(x * x)
	}
	edge := 1 + math.Sqrt(float64(len(w))/float64(n))
	return v * ridge.LambdaFloor(o.Step) * max(2, edge*edge)
}

// covariance returns C, d×d, and the mean of the features.
func covariance(sum *ridge.Sum, step float64, ranges ridge.Ranges, threads int) (c, mean []float64) {
	d, n := sum.Shape().Dim, sum.Weight()
	mean, c = sum.Columns(), make([]float64, d*d)
	scale := step * step / n
	blas.EachTile(d, threads, func(_, t, i, j int) {
		tile := sum.Part(1 + t)
		cols := blas.TileRows(d, j)
		for a := range blas.TileRows(d, i) {
			row := i*blas.TileDim + a
			for b := range min(cols, row+1-j*blas.TileDim) {
				col := j*blas.TileDim + b
				v := scale * (tile[a*cols+b] - float64(mean[row]*mean[col])/n)
				if h := ranges.Half; h != nil {
					v *= float64(h[row] * h[col])
				}
				c[row*d+col], c[col*d+row] = v, v
			}
		}
	})
	for j := range mean {
		mean[j] = float64(step*mean[j]) / n
		if ranges.Half != nil {
			mean[j] = ranges.Centre[j] + float64(ranges.Half[j]*mean[j])
		}
	}
	return c, mean
}

// orient changes the sign of v so that its entry of largest magnitude (the first of several) is positive.
func orient(v []float64) {
	at := 0
	for j, x := range v {
		if math.Abs(x) > math.Abs(v[at]) {
			at = j
		}
	}
	if v[at] < 0 {
		for j := range v {
			v[j] = -v[j]
		}
	}
}
