package kernel

import (
	"errors"
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/io/rows"
)

// RangeSlack is the factor by which features may exceed the bound found on a sample, or columns their range
// in it, if nothing better is known. A row beyond that stops the job.
const RangeSlack = 16

// Data describes the preprocessed rows from which a recipe is chosen. Its functions are only called if
// their results are needed.
type Data struct {
	In   int    // row length
	Rows int64  // number of rows
	Seed uint64 // of the features
	// Sample returns some of the rows (n×In, row-major). The caller must not change them.
	Sample func() (x []float32, n int, err error)
	// Ranges returns the least and the largest value of each column, or bounds of them.
	Ranges func() (low, high []float32, err error)
	// Variance is the variance of all values of all rows together; NaN if it is unknown.
	Variance float64
	// Norm is an upper bound on the length of the rows; +Inf if it is unknown.
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

// headroom is the ratio of a bound to the largest feature of the sample. Features beyond the bound take
// more time but lose no accuracy.
const headroom = 1.25

// boundRows is the number of sample rows that determine a bound.
const boundRows = 256

// Bound returns a bound for the grid of the features of m, from the largest feature of the sample. counts
// says which features to consider; nil means all.
func (d *Data) Bound(m features.Map, counts func(j int) bool) (float64, error) {
	x, n, err := d.Sample()
	if err != nil {
		return 0, err
	}
	in, out := m.Dims()
	phi := make([]float32, out)
	var largest float32
	for i := range min(n, boundRows) {
		m.Apply(phi, x[i*in:(i+1)*in], 1)
		for j, v := range phi {
			if counts == nil || counts(j) {
				largest = max(largest, v, -v)
			}
		}
	}
	switch {
	case largest == 0:
		return 0, errors.New("all features of the sample are zero, so there is nothing to learn from")
	case !rows.Finite(largest):
		return 0, errors.New("features of the sample are beyond float32")
	}
	return headroom * float64(largest), nil
}

// Reach returns how far features that never exceed most may exceed the bound, as a multiple of it. If
// necessary it raises the bound, so that all features are on the grid and their sums exact.
func (d *Data) Reach(bound, most float64) (raised, reach float64) {
	reach = most / bound
	if limit := min(blas.MaxSteps, math.Sqrt((1<<53)/float64(d.Rows))) / blas.MostByte; reach > limit {
		bound *= reach / limit
		reach = limit
	}
	return bound, reach
}
