// Package stattest supports tests of random quantities: a mean that knows its
// standard error, and the Kolmogorov–Smirnov distance.
package stattest

import (
	"math"
	"slices"
	"testing"
)

// Mean is the mean of N independent values, and its standard error.
type Mean struct {
	Value, SE float64
	N         int
}

// Over returns the mean of f(seed) for seed = 1 … n. It panics if n < 2.
func Over(n int, f func(seed uint64) float64) Mean {
	v := make([]float64, n)
	for i := range v {
		v[i] = f(uint64(i + 1))
	}
	return MeanOf(v)
}

// MeanOf returns the mean of v. It panics if v holds fewer than two values.
func MeanOf(v []float64) Mean {
	if len(v) < 2 {
		panic("stattest: a standard error takes two values")
	}
	n := float64(len(v))
	var sum, squares float64
	for _, x := range v {
		sum += x
	}
	mean := sum / n
	for _, x := range v {
		squares += (x - mean) * (x - mean)
	}
	return Mean{Value: mean, SE: math.Sqrt(squares / (n - 1) / n), N: len(v)}
}

// Variance returns the sample variance of the values that m is the mean of.
func (m Mean) Variance() float64 { return m.SE * m.SE * float64(m.N) }

// Near fails the test unless m is within 4 standard errors plus bias of want:
// a true claim fails once in 16,000 times, and with fixed seeds never or always. bias bounds a
// known systematic error, and is 0 for an unbiased estimate.
func (m Mean) Near(t testing.TB, what string, want, bias float64) {
	t.Helper()
	off := math.Abs(m.Value - want)
	if !(off <= 4*m.SE+bias) { // NaN fails too
		t.Errorf("%s: mean %.6g ± %.2g over %d is %.1f standard errors from %.6g (allowed: 4, and a bias of %.2g)",
			what, m.Value, m.SE, m.N, off/m.SE, want, bias)
	}
}

// KS returns √n times the largest distance between the distribution of the
// sample and the distribution function cdf. For a sample that has that
// distribution it exceeds 1.95 once in 1,000 times, and 2.36 once in 34,000 (Kolmogorov's limit
// 2·exp(−2·KS²)). It sorts the sample.
func KS(sample []float64, cdf func(float64) float64) float64 {
	slices.Sort(sample)
	n := float64(len(sample))
	var most float64
	for i, x := range sample {
		p := cdf(x)
		if math.IsNaN(p) {
			return math.NaN()
		}
		most = max(most, p-float64(i)/n, float64(i+1)/n-p)
	}
	return most * math.Sqrt(n)
}
