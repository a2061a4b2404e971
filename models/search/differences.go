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
	// surer is the least multiple of the standard errors of the sum.
	surer = 1.2
	// longest is the largest range of numbers that differences are taken of, and shortest the least one of the longer of
	// two columns: numbers of a few values are rather codes.
	longest  = 127
	shortest = 6
	// differenceWork bounds the numbers that are looked at, and sweeps fit functions of single columns.
	differenceWork = 20_000_000
	sweeps         = 5
)

// differencesOf returns the differences of those columns of s, of whole numbers in the same units, on which labels
// depend: what functions of single columns leave of the labels has other means at other differences, by far more than
// by chance. Sums of the columns of the surest one must tell less: they show any interaction.
func (r *runner) differencesOf(s *scaled, columns []preprocess.BinColumn) preprocess.Differences {
	type difference struct {
		of   preprocess.Difference
		low  float32 // the least sum of the columns
		sure float64
	}
	var all []difference
	var wholes []wholeColumn
	for _, c := range columns {
		a := r.wholeOf(s, c.Index)
		if a.high-a.low > longest {
			continue
		}
		for _, b := range wholes {
			// The same units: most of the longer range is in both.
			low, high := max(a.low, b.low), min(a.high, b.high)
			if longer := max(a.high-a.low, b.high-b.low) + 1; longer >= shortest && 2*(high-low+1) >= longer {
				all = append(all, difference{of: b.minus(a), low: float32(a.low + b.low)})
			}
		}
		wholes = append(wholes, a)
	}
	n := min(r.pilot.N, jumpRows, 2*differenceWork/(len(columns)*len(columns)*r.outputs))
	to := preprocess.Differences{In: s.d}
	if len(all) == 0 || n < fewest {
		return to
	}
	left := r.interactions(n, wholes)
	parallel.Ranges(len(all), 1, r.options.Threads, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			a, b := all[i].of.First, all[i].of.Second
			all[i].sure = r.groupsDiffer(left, func(x []float32) float32 { return max(x[a]-x[b], x[b]-x[a]) })
		}
	})
	slices.SortStableFunc(all, func(a, b difference) int { return cmp.Compare(b.sure, a.sure) })
	best := all[0]
	sum := r.groupsDiffer(left, func(x []float32) float32 { return x[best.of.First] + x[best.of.Second] - best.low })
	if best.sure < float64(surer*sum) {
		return to
	}
	for _, d := range all[:min(len(all), mostDifferencesOf(s.d))] {
		if d.sure >= max(sureJumps, float64(best.sure*leastSure)) {
			to.Pairs = append(to.Pairs, d.of)
		}
	}
	return to
}

// mostDifferencesOf is the largest number of differences of d columns.
func mostDifferencesOf(d int) int { return min(mostDifferences, max(fewDifferences, d), d*(d-1)/2) }

// wholeColumn is a column of whole numbers: number·slope + shift in the rows of the standardised view.
type wholeColumn struct {
	column                  int
	low, high, slope, shift float64
}

// wholeOf returns column j of s.
func (r *runner) wholeOf(s *scaled, j int) wholeColumn {
	number := func(i int) float64 { return float64(r.pilot.X[i*r.pilot.D+j]) }
	least, most := 0, 0
	for i := range r.pilot.N {
		if number(i) < number(least) {
			least = i
		}
		if number(i) > number(most) {
			most = i
		}
	}
	from, to := float64(s.x[least*s.d+j]), float64(s.x[most*s.d+j])
	w := wholeColumn{column: j, low: number(least), high: number(most)}
	w.slope = (to - from) / (w.high - w.low)
	w.shift = from - float64(w.slope*w.low)
	return w
}

// minus returns the difference of two columns, in units of their mean deviation.
func (w wholeColumn) minus(v wholeColumn) preprocess.Difference {
	a, b := 2*v.slope/(w.slope+v.slope), 2*w.slope/(w.slope+v.slope)
	return preprocess.Difference{First: w.column, Second: v.column, A: float32(a), B: float32(b),
		C: float32(float64(b*v.shift) - float64(a*w.shift))}
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
			for k := range sweeps * len(columns) {
				w := columns[k%len(columns)]
				group, means, _ := r.groups(left[c], func(x []float32) float32 { return x[w.column] - float32(w.low) })
				for i, g := range group {
					left[c][i] -= means[g]
				}
			}
		}
	})
	return left
}

// groups returns what of makes of each row, a small whole number, and the mean of y and the number of rows of each.
func (r *runner) groups(y []float64, of func(x []float32) float32) (group []int, means, rows []float64) {
	group = make([]int, len(y))
	means, rows = make([]float64, 2*longest+1), make([]float64, 2*longest+1)
	for i, v := range y {
		g := int(of(r.pilot.X[i*r.pilot.D:]))
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
			chi += float64(rows[g] * float64(mean*mean) / variance)
			freedom += min(rows[g], 1)
		}
	}
	if freedom < 1 {
		return 0
	}
	spread := 2 / (9 * freedom)
	return (math.Cbrt(chi/freedom) - 1 + spread) / math.Sqrt(spread)
}
