package columns

import (
	"cmp"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/parallel"
)

const (
	// differenceLimit and fewDifferences bound the number of differences. The limit is the number of columns, but at
	// least fewDifferences and at most differenceLimit.
	differenceLimit = 32
	fewDifferences  = 16
	// A difference must be at least sureAbove standard errors above chance, and at least leastSure times as many as the
	// most significant one.
	sureAbove = 5
	leastSure = 0.25
	// The most significant difference must be surer times as many standard errors above chance as its columns' sum.
	surer = 1.2
	// longest is the largest range (largest minus smallest value) of a column. shortest is the smallest number of whole
	// numbers in the longer range of two columns: columns with only a few values are more likely to be codes.
	longest  = 127
	shortest = 6
	// At least fewestRows rows are needed, and at most maxRows are used; fewer of many columns (maxWork). sweeps is
	// the number of backfitting rounds.
	fewestRows = 200
	maxRows    = 4000
	maxWork    = 20_000_000
	sweeps     = 5
)

// Differences returns the differences that labels depend on, among these columns of whole numbers; no pairs if there are
// none. Two columns have the same units if their ranges overlap enough.
//
// It first subtracts functions of single columns from the labels. The residuals must have different means at
// different distances, far more than by chance. They must differ less at different sums of the two columns,
// because any interaction of two columns shows in their sum.
func (r *Pilot) Differences(columns []preprocess.BinColumn) preprocess.Differences {
	type difference struct {
		pair preprocess.Difference
		low  [2]float32 // of the columns
		sure float64
	}
	var all []difference
	var wholes []wholeColumn
	for _, c := range columns {
		a := r.wholeColumn(c.Index)
		if a.high-a.low > longest {
			continue
		}
		for _, b := range wholes {
			// Columns have the same units if at least half of the longer range is in both.
			low, high := max(a.low, b.low), min(a.high, b.high)
			if longer := max(a.high-a.low, b.high-b.low) + 1; longer >= shortest && 2*(high-low+1) >= longer {
				all = append(all, difference{pair: b.minus(a), low: [2]float32{float32(b.low), float32(a.low)}})
			}
		}
		wholes = append(wholes, a)
	}
	n := min(len(r.X)/r.D, maxRows, 2*maxWork/(len(columns)*len(columns)*r.Outputs))
	to := preprocess.Differences{In: r.In}
	if len(all) == 0 || n < fewestRows {
		return to
	}
	left := r.interactions(n, wholes)
	parallel.Ranges(len(all), 1, r.Threads, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			a, b := all[i].pair.First, all[i].pair.Second
			all[i].sure = r.groupsDiffer(left, func(x []float32) float32 { return max(x[a]-x[b], x[b]-x[a]) })
		}
	})
	slices.SortStableFunc(all, func(a, b difference) int { return cmp.Compare(b.sure, a.sure) })
	best := all[0]
	sum := r.groupsDiffer(left, func(x []float32) float32 {
		return (x[best.pair.First] - best.low[0]) + (x[best.pair.Second] - best.low[1]) // exact, however large numbers are
	})
	if best.sure < float64(surer*sum) {
		return to
	}
	for _, d := range all[:min(len(all), maxDifferences(r.In))] {
		if d.sure >= max(sureAbove, float64(best.sure*leastSure)) {
			to.Pairs = append(to.Pairs, d.pair)
		}
	}
	return to
}

// maxDifferences returns the largest number of differences of d columns.
func maxDifferences(d int) int { return min(differenceLimit, max(fewDifferences, d), d*(d-1)/2) }

// wholeColumn is a column of whole numbers between low and high. Its standardised value is number·slope + shift.
type wholeColumn struct {
	column                  int
	low, high, slope, shift float64
}

// wholeColumn returns the range and the standardisation of column j.
func (r *Pilot) wholeColumn(j int) wholeColumn {
	number := func(i int) float64 { return float64(r.X[i*r.D+j]) }
	least, most := 0, 0
	for i := range len(r.X) / r.D {
		if number(i) < number(least) {
			least = i
		}
		if number(i) > number(most) {
			most = i
		}
	}
	from, to := float64(r.Scaled[least*r.In+j]), float64(r.Scaled[most*r.In+j])
	w := wholeColumn{column: j, low: number(least), high: number(most)}
	w.slope = (to - from) / (w.high - w.low)
	w.shift = from - float64(w.slope*w.low)
	return w
}

// minus returns the difference of two columns as a step on standardised values, in units of the mean deviation of
// the two.
func (w wholeColumn) minus(v wholeColumn) preprocess.Difference {
	a, b := 2*v.slope/(w.slope+v.slope), 2*w.slope/(w.slope+v.slope)
	return preprocess.Difference{First: w.column, Second: v.column, A: float32(a), B: float32(b),
		C: float32(float64(b*v.shift) - float64(a*w.shift))}
}

// interactions returns, for each output, the labels' residuals for the first n rows after functions of single
// columns are subtracted: column by column, the mean for each of its values (backfitting).
func (r *Pilot) interactions(n int, columns []wholeColumn) [][]float64 {
	var groups [][]uint8
	for _, w := range columns {
		groups = append(groups, r.groups(n, func(x []float32) float32 { return x[w.column] - float32(w.low) }))
	}
	left := make([][]float64, r.Outputs)
	parallel.Ranges(len(left), 1, r.Threads, func(lo, hi int) {
		for c := lo; c < hi; c++ {
			for i := range n {
				left[c] = append(left[c], r.Code(i, c))
			}
			for k := range sweeps * len(columns) {
				group := groups[k%len(columns)]
				means, _ := meansOf(left[c], group)
				for i, g := range group {
					left[c][i] -= means[g]
				}
			}
		}
	})
	return left
}

// groups returns of(x) for each of the first n rows x: whole numbers up to 2·longest.
func (r *Pilot) groups(n int, value func(x []float32) float32) []uint8 {
	group := make([]uint8, n)
	for i := range group {
		group[i] = uint8(value(r.X[i*r.D:]))
	}
	return group
}

// meansOf returns the mean of y and the number of rows for each group.
func meansOf(y []float64, group []uint8) (means, rows [2*longest + 1]float64) {
	for i, g := range group {
		rows[g]++
		means[g] += y[i]
	}
	for g := range means {
		means[g] /= max(rows[g], 1)
	}
	return means, rows
}

// groupsDiffer groups the rows by of and returns by how many standard errors above chance the mean residuals of
// the groups differ. It is χ² transformed to a normal number (Wilson and Hilferty 1931); 0 if residuals or groups
// do not vary.
func (r *Pilot) groupsDiffer(left [][]float64, value func(x []float32) float32) float64 {
	group := r.groups(len(left[0]), value)
	var chi, freedom float64
	for _, y := range left {
		var variance float64 // around 0, which is the mean of residuals
		for _, v := range y {
			variance += float64(v*v) / float64(len(y))
		}
		if !(variance > 0) {
			continue
		}
		means, rows := meansOf(y, group)
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
