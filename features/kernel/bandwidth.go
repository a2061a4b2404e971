package kernel

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
)

// Distance is the distance between rows in a kernel. It sets the unit of the kernel's width.
type Distance uint8

const (
	// Euclidean is ‖x−z‖₂: the distance of the Gaussian, Matérn and product
	// (Cauchy) kernels. γ multiplies its square: exp(−γ‖x−z‖₂²).
	Euclidean Distance = iota
	// L1 is ‖x−z‖₁: the distance of the Laplace kernel. γ multiplies it: exp(−γ‖x−z‖₁).
	L1
)

// MaxSample is the largest sample for MedianWidth: 8.4 million distances, 67 MB.
const MaxSample = 4096

// MedianWidth returns the median of the pairwise distances of the n rows of sample
// (n×d, row-major), the usual width of a kernel (Bullins, Zhang & Zhang,
// "Not-so-random features", 2018, §A.1). Pairs of equal rows are ignored: they
// carry no information about scale, and would make the width 0 if half of the rows are
// duplicates. For an even number of distances the median is the mean of the middle two.
//
// The result has the same bits for any order of the rows. MedianWidth fails if the sample has fewer than
// two different rows, more than MaxSample rows, or a value that is not finite. It panics if sample is too
// short.
func MedianWidth(sample []float32, n, d int, distance Distance) (float64, error) {
	if n < 0 || d < 1 || len(sample) < n*d {
		panic("bandwidth: sample too short")
	}
	if n > MaxSample {
		return 0, fmt.Errorf("bandwidth: median of %d rows; take a sample of at most %d", n, MaxSample)
	}
	all := make([]float64, n*(n-1)/2)
	var bad atomic.Bool
	eachRow(n, func(i int) {
		to := all[i*(i-1)/2:][:i]
		// A width is part of a model, so the order of the sums is fixed.
		blas.Distances(to, sample[i*d:(i+1)*d], sample, distance == L1)
		for _, v := range to {
			if !(v <= math.MaxFloat64) {
				bad.Store(true)
			}
		}
	})
	if bad.Load() {
		return 0, fmt.Errorf("bandwidth: the sample contains NaN or an infinity; clean the data first")
	}
	low, high := middle(all)
	if high == 0 {
		return 0, errors.New("bandwidth: all rows of the sample are equal, so the median distance is undefined; " +
			"give the width as a number")
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
