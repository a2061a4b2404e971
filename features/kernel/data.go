package kernel

import (
	"math"

	"github.com/bochner-ml/bochner/features/bandwidth"
)

// Beyond is how far features may lie beyond the bound found on a sample, or columns beyond
// their range there, where nothing better is known. A row that goes further ends the job.
const Beyond = 16

// Data is what is known of the rows that features are for, as they come out of the
// scaling. Functions are called when what they return is needed.
type Data struct {
	In   int    // row length
	Rows int64  // how many there are
	Seed uint64 // of the features
	// Sample returns some of the rows (n×In, row-major), which the caller does not change.
	Sample func() (x []float32, n int, err error)
	// Ranges returns bounds of the numbers of each column.
	Ranges func() (low, high []float32, err error)
	// Variance is that of all numbers of all rows together; NaN if it is not known.
	Variance float64
	// Norm is what no row is longer than; +Inf if it is not known.
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

// Slice returns the data that consist of these n rows (n×in, row-major), at least one. It
// keeps x.
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
