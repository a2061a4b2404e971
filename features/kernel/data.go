package kernel

import (
	"math"

	"github.com/bochner-ml/bochner/features/bandwidth"
)

// Beyond is how far features may exceed the bound found on a sample, or columns their range
// in it, where nothing better is known. A row beyond that stops the job.
const Beyond = 16

// Data describes the scaled rows that the features are for. Its functions are called
// only when their results are needed.
type Data struct {
	In   int    // row length
	Rows int64  // number of rows
	Seed uint64 // of the features
	// Sample returns some of the rows (n×In, row-major), which the caller does not change.
	Sample func() (x []float32, n int, err error)
	// Ranges returns bounds of the numbers of each column.
	Ranges func() (low, high []float32, err error)
	// Variance is the variance of all values of all rows together; NaN if it is not known.
	Variance float64
	// Norm is an upper bound on the length of the rows; +Inf if it is not known.
	Norm float64

	medians map[bandwidth.Distance]float64
}

// median returns the median distance of the rows of the sample.
func (d *Data) median(distance bandwidth.Distance) (float64, error) {
	if m, known := d.medians[distance]; known {
		return m, nil
	}
	x, n, err := d.Sample()
	if err != nil {
		return 0, err
	}
	m, err := bandwidth.Median(x, n, d.In, distance)
	if err != nil {
		return 0, err
	}
	if d.medians == nil {
		d.medians = map[bandwidth.Distance]float64{}
	}
	d.medians[distance] = m
	return m, nil
}

// Slice returns the Data of the n rows of x (n×in, row-major); n is at least 1. It retains
// x.
func Slice(x []float32, n, in int, seed uint64) *Data {
	d := &Data{In: in, Rows: int64(n), Seed: seed, Sample: func() ([]float32, int, error) { return x, min(n, bandwidth.MaxSample), nil }}
	var sum, squares float64
	low, high := append([]float32(nil), x[:in]...), append([]float32(nil), x[:in]...)
	for i := range n {
		var norm float64
		for j, v := range x[i*in : (i+1)*in] {
			low[j], high[j] = min(low[j], v), max(high[j], v)
			sum += float64(v)
			norm += float64(v) * float64(v)
		}
		d.Norm = max(d.Norm, math.Sqrt(norm))
		squares += norm
	}
	d.Ranges = func() ([]float32, []float32, error) { return low, high, nil }
	mean := sum / float64(n*in)
	d.Variance = squares/float64(n*in) - float64(mean*mean)
	return d
}
