package kernel

import (
	"math"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/io/rows"
)

// RangeSlack is how far features may exceed the bound found on a sample, or columns their range
// in it, where nothing better is known. A row beyond that stops the job.
const RangeSlack = 16

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
	// Image is the shape of the rows; its height is 0 if they are not images.
	Image rows.Image

	medians map[Distance]float64
}

// median returns the median distance of the rows of the sample.
func (d *Data) median(distance Distance) (float64, error) {
	if m, known := d.medians[distance]; known {
		return m, nil
	}
	x, n, err := d.Sample()
	if err != nil {
		return 0, err
	}
	m, err := MedianWidth(x, n, d.In, distance)
	if err != nil {
		return 0, err
	}
	if d.medians == nil {
		d.medians = map[Distance]float64{}
	}
	d.medians[distance] = m
	return m, nil
}

// Reach returns how far features that are never beyond most may exceed a bound, as a multiple of it.
// It raises the bound if necessary, so that all features are on the grid and their sums over that
// many rows exact.
func Reach(bound, most float64, rows int64) (raised, reach float64) {
	reach = most / bound
	if limit := min(blas.MaxSteps, math.Sqrt((1<<53)/float64(rows))) / blas.MostByte; reach > limit {
		bound *= reach / limit
		reach = limit
	}
	return bound, reach
}
