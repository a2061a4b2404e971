package search

import (
	"cmp"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/parallel"
)

const (
	// differencesView is the name of the view of whole numbers with distances of two columns.
	differencesView = "whole numbers, levels and differences"
	// mostDifferences is the largest number of differences, of as many columns or more; of fewer columns
	// there are fewDifferences at most.
	mostDifferences = 32
	fewDifferences  = 16
	// leastSure is the least share of the standard errors of the surest difference.
	leastSure = 0.25
	// longest is the largest range of numbers that differences are taken of.
	longest = 255
	// differenceWork bounds the numbers that functions of single columns are fitted to, in that many sweeps, and
	// pairWork those that pairs are chosen by.
	differenceWork = 4_000_000
	sweeps         = 5
	pairWork       = 100_000_000
)

// differencesOf returns the differences of those columns of s, of whole numbers in the same units, on which labels
// depend: what functions of single columns leave of the labels has other means at other differences, by far more than
// by chance.
func (r *runner) differencesOf(s *scaled, columns []preprocess.BinColumn) preprocess.Differences {
	to := preprocess.Differences{In: s.d}
	n := min(len(s.x)/s.d, jumpRows, differenceWork/(len(columns)*r.outputs))
	var wholes []wholeColumn
	for _, c := range columns {
		if w, ok := r.wholeOf(s, c.Index); ok {
			wholes = append(wholes, w)
		}
	}
	if len(wholes) < 2 || n < fewest {
		return to
	}
	var all []difference
	for i, a := range wholes {
		for _, b := range wholes[:i] {
			// The same units: most of the longer range is in both.
			low, high := max(a.low, b.low), min(a.high, b.high)
			if 2*(high-low+1) >= max(a.high-a.low, b.high-b.low)+1 {
				all = append(all, difference{of: [2]wholeColumn{b, a}})
			}
		}
	}
	if len(all) == 0 || n*r.outputs*len(all) > pairWork {
		return to
	}
	left := r.interactions(n, wholes)
	parallel.Ranges(len(all), 1, r.options.Threads, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			d := &all[i]
			a, b := d.of[0].column, d.of[1].column
			d.sure = r.groupsDiffer(left, func(x []float32) float32 { return max(x[a]-x[b], x[b]-x[a]) })
		}
	})
	slices.SortStableFunc(all, func(a, b difference) int { return cmp.Compare(b.sure, a.sure) })
	least := max(sureJumps, all[0].sure*leastSure)
	all = slices.DeleteFunc(all, func(d difference) bool { return !(d.sure >= least) })
	for _, d := range all[:min(len(all), mostDifferencesOf(s.d))] {
		to.Pairs = append(to.Pairs, d.step())
	}
	return to
}

// mostDifferencesOf is the largest number of differences of d columns.
func mostDifferencesOf(d int) int { return min(mostDifferences, max(fewDifferences, d), d*(d-1)/2) }

// wholeColumn is a column of whole numbers: number·slope + shift in the rows.
type wholeColumn struct {
	column       int
	low, high    float64
	slope, shift float64
}

// wholeOf returns the column j of whole numbers, unless the rows of s hold something else than a multiple of them.
func (r *runner) wholeOf(s *scaled, j int) (w wholeColumn, ok bool) {
	d := r.pilot.D
	number := func(i int) (of, in float64) { return float64(r.pilot.X[i*d+j]), float64(s.x[i*s.d+j]) }
	least, most := 0, 0
	for i := range r.pilot.N {
		switch v := r.pilot.X[i*d+j]; {
		case v < r.pilot.X[least*d+j]:
			least = i
		case v > r.pilot.X[most*d+j]:
			most = i
		}
	}
	low, from := number(least)
	high, to := number(most)
	if !(high > low && high-low <= longest) {
		return w, false
	}
	w = wholeColumn{column: j, low: low, high: high, slope: (to - from) / (high - low)}
	w.shift = from - float64(w.slope*low)
	for i := range r.pilot.N {
		of, in := number(i)
		if !(math.Abs(float64(w.slope*of)+w.shift-in) < 0.01*w.slope) {
			return w, false
		}
	}
	return w, true
}

// difference is a pair of columns, and by how many standard errors labels depend on their difference.
type difference struct {
	of   [2]wholeColumn
	sure float64
}

// step returns the difference of rows in units of their mean deviation.
func (d difference) step() preprocess.Difference {
	a, b := d.of[0], d.of[1]
	unit := 2 / (1/a.slope + 1/b.slope)
	return preprocess.Difference{First: a.column, Second: b.column, A: float32(unit / a.slope), B: float32(unit / b.slope),
		C: float32(float64(unit*b.shift)/b.slope - float64(unit*a.shift)/a.slope)}
}

// interactions returns, for each output, what functions of single columns leave of the codes of the first n rows: means
// of their values are subtracted in turn (backfitting).
func (r *runner) interactions(n int, columns []wholeColumn) [][]float64 {
	left := make([][]float64, r.outputs)
	parallel.Ranges(len(left), 1, r.options.Threads, func(lo, hi int) {
		for c := lo; c < hi; c++ {
			for i := range n {
				left[c] = append(left[c], r.code(i, c))
			}
			for range sweeps {
				for _, w := range columns {
					group, means, _ := r.groups(left[c], func(x []float32) float32 { return x[w.column] - float32(w.low) })
					for i, g := range group {
						left[c][i] -= means[g]
					}
				}
			}
		}
	})
	return left
}

// groups returns what of makes of each row, a small whole number, and the mean of y and the rows of each.
func (r *runner) groups(y []float64, of func(x []float32) float32) (group []int, means, rows []float64) {
	d := r.pilot.D
	group = make([]int, len(y))
	for i, v := range y {
		g := int(of(r.pilot.X[i*d : (i+1)*d]))
		for len(rows) <= g {
			rows, means = append(rows, 0), append(means, 0)
		}
		group[i] = g
		rows[g]++
		means[g] += v
	}
	for g := range means {
		means[g] /= max(rows[g], 1)
	}
	return group, means, rows
}

// groupsDiffer returns by how many standard errors the means of residuals differ between rows of which of makes
// different numbers, above chance: χ² as a normal number (Wilson and Hilferty 1931).
func (r *runner) groupsDiffer(left [][]float64, of func(x []float32) float32) float64 {
	var chi, freedom float64
	for _, y := range left {
		variance := squares(y) / float64(len(y))
		if !(variance > 0) {
			continue
		}
		_, means, rows := r.groups(y, of)
		freedom--
		for g, mean := range means {
			if rows[g] > 0 {
				chi += float64(rows[g] * float64(mean*mean) / variance)
				freedom++
			}
		}
	}
	if freedom < 1 {
		return 0
	}
	spread := 2 / (9 * freedom)
	return (math.Cbrt(chi/freedom) - 1 + spread) / math.Sqrt(spread)
}
