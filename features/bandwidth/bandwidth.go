// Package bandwidth chooses the width σ of a kernel from a sample of rows,
// and converts between widths and the γ of other programs.
package bandwidth

import (
	"fmt"
	"math"
	"runtime"
	"sync/atomic"

	"github.com/bochner-ml/bochner/internal/parallel"
)

// Distance is the distance between rows that a kernel uses. It sets the unit of
// the kernel's width.
type Distance uint8

const (
	// Euclidean is ‖x−z‖₂: the distance of the Gaussian, Matérn and product
	// (Cauchy) kernels. γ multiplies its square: exp(−γ‖x−z‖₂²).
	Euclidean Distance = iota
	// L1 is ‖x−z‖₁: the distance of the Laplace kernel. γ multiplies it: exp(−γ‖x−z‖₁).
	L1
)

// MaxSample is the largest sample that Median takes: 8.4 million distances, 67 MB.
const MaxSample = 4096

// Median returns the median of the pairwise distances of the n rows of sample
// (n×d, row-major), the usual width of a kernel (Bullins, Zhang & Zhang,
// "Not-so-random features", 2018, §A.1). Pairs of equal rows are ignored: they
// carry no information about scale, and would make the width 0 if half of the rows are
// duplicates. For an even number of distances the median is the mean of the middle two.
//
// The result has the same bits for any order of the rows. It is an error if the sample
// has fewer than two different rows, more than MaxSample rows, or a value that is not finite. Median panics if sample is too short.
func Median(sample []float32, n, d int, distance Distance) (float64, error) {
	if n < 0 || d < 1 || len(sample) < n*d {
		panic("bandwidth: sample too short")
	}
	if n > MaxSample {
		return 0, fmt.Errorf("bandwidth: median of %d rows; take a sample of at most %d", n, MaxSample)
	}
	metric := squared
	if distance == L1 {
		metric = absolute
	}
	all := make([]float64, n*(n-1)/2)
	var bad atomic.Bool
	eachRow(n, func(i int) {
		to := all[i*(i-1)/2:][:i]
		x := sample[i*d : (i+1)*d]
		for j := range to {
			to[j] = metric(x, sample[j*d:(j+1)*d])
			if !(to[j] <= math.MaxFloat64) {
				bad.Store(true)
			}
		}
	})
	if bad.Load() {
		return 0, fmt.Errorf("bandwidth: the sample contains NaN or an infinity; clean the data first")
	}
	low, high := middle(all)
	if high == 0 {
		return 0, fmt.Errorf("bandwidth: all %d rows of the sample are equal, so the median distance is undefined; give the width as a number", n)
	}
	if distance == Euclidean {
		low, high = math.Sqrt(low), math.Sqrt(high)
	}
	return low/2 + high/2, nil
}

// eachRow calls f with 1 … n−1 on all processors.
func eachRow(n int, f func(i int)) {
	var next atomic.Int64
	var wg parallel.Group
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			for i := int(next.Add(1)); i < n; i = int(next.Add(1)) {
				f(i)
			}
		})
	}
	wg.Wait()
}

// squared returns ‖x−z‖₂², in four sums over every fourth column. A width is
// part of a model, so the order is fixed, and the conversion keeps the compiler from fusing.
func squared(x, z []float32) float64 {
	var s0, s1, s2, s3 float64
	z = z[:len(x)]
	for ; len(x) >= 4; x, z = x[4:], z[4:] {
		d0, d1 := float64(x[0])-float64(z[0]), float64(x[1])-float64(z[1])
		d2, d3 := float64(x[2])-float64(z[2]), float64(x[3])-float64(z[3])
		s0, s1, s2, s3 = s0+float64(d0*d0), s1+float64(d1*d1), s2+float64(d2*d2), s3+float64(d3*d3)
	}
	rest := [3]float64{}
	for k := range x {
		d := float64(x[k]) - float64(z[k])
		rest[k] = float64(d * d)
	}
	return ((s0 + rest[0]) + (s1 + rest[1])) + ((s2 + rest[2]) + s3)
}

// absolute returns ‖x−z‖₁, summed as in squared.
func absolute(x, z []float32) float64 {
	var s0, s1, s2, s3 float64
	z = z[:len(x)]
	for ; len(x) >= 4; x, z = x[4:], z[4:] {
		s0, s1 = s0+math.Abs(float64(x[0])-float64(z[0])), s1+math.Abs(float64(x[1])-float64(z[1]))
		s2, s3 = s2+math.Abs(float64(x[2])-float64(z[2])), s3+math.Abs(float64(x[3])-float64(z[3]))
	}
	rest := [3]float64{}
	for k := range x {
		rest[k] = math.Abs(float64(x[k]) - float64(z[k]))
	}
	return ((s0 + rest[0]) + (s1 + rest[1])) + ((s2 + rest[2]) + s3)
}
