package columns

import (
	"maps"
	"math"
	"slices"
)

// Thresholds for a column that names entities.
const (
	fewestValues = 20  // smallest number of values that several rows have
	repeating    = 0.5 // smallest share of rows with such a value
	alike        = 0.5 // intraclass correlation above which another column is similar within values
	sameLabel    = 0.9 // the same for the label; higher, because other columns may explain the label
	maxColumns   = 64  // largest number of other columns to look at
	// If values are joined with their neighbours and the correlation stays above this share, the order
	// of the values matters, so they are quantities.
	ordered = 0.75
)

// Entities returns the indices of the columns that seem to name the entity a row belongs to, such as a patient or a
// machine. Held-out rows are too easy to predict unless whole entities are held out. x (n×d, row-major) are the rows and
// label their labels; for classes, label is the number of the class. NaN is a missing value. number reports
// whether a column has numbers, not categories. A column with a value that is not whole names nothing. Nor does a
// column of numbers if rows with neighbouring values are similar, too, as with counts.
func Entities(x []float32, n, d int, label []float64, number func(column int) bool) (columns []int) {
	t := &table{x, n, d, label}
	for j := range d {
		if g := t.groupsOf(j); g.n >= fewestValues && t.names(j, g, number(j)) {
			columns = append(columns, j)
		}
	}
	return columns
}

// table has n labelled rows of d numbers.
type table struct {
	x     []float32
	n, d  int
	label []float64
}

// groups are rows with equal values of a column.
type groups struct {
	numbers []int // number of the group of each row; −1 for none
	n       int
}

// groupsOf groups the rows by the values of a column that several rows have, in ascending order. There are no
// groups if too few rows have such a value, or if a value is not whole.
func (t *table) groupsOf(column int) (g groups) {
	rows := map[float32]int{}
	for i := range t.n {
		v := t.x[i*t.d+column]
		if math.IsNaN(float64(v)) {
			continue
		}
		if v != float32(math.Trunc(float64(v))) {
			return groups{}
		}
		rows[v]++
	}
	maps.DeleteFunc(rows, func(_ float32, n int) bool { return n < 2 })
	values, repeated := slices.Sorted(maps.Keys(rows)), 0
	for i := range t.n {
		k, found := slices.BinarySearch(values, t.x[i*t.d+column])
		if found {
			repeated++
		} else {
			k = -1
		}
		g.numbers = append(g.numbers, k)
	}
	if float64(repeated) < repeating*float64(t.n) {
		return groups{}
	}
	g.n = len(values)
	return g
}

// names reports whether the rows of a group are similar, in their label or in most of the other columns. If
// number is true, rows of neighbouring groups must not be similar, too.
func (t *table) names(column int, g groups, number bool) bool {
	pairs := groups{slices.Clone(g.numbers), (g.n + 1) / 2}
	for i, k := range g.numbers {
		pairs.numbers[i] = k >> 1 // −1 stays
	}
	alone := func(value func(row int) float64, c float64) bool {
		return !number || correlation(value, pairs) < ordered*c
	}
	labelOf := func(i int) float64 { return t.label[i] }
	if c := correlation(labelOf, g); c > sameLabel && alone(labelOf, c) {
		return true
	}
	similar, looked := 0, 0
	for k := range t.d {
		if k == column || looked == maxColumns {
			continue
		}
		value := func(i int) float64 { return float64(t.x[i*t.d+k]) }
		c := correlation(value, g)
		if math.IsNaN(c) {
			continue // constant, or without values
		}
		looked++
		if c > alike && alone(value, c) {
			similar++
		}
	}
	return looked >= 2 && 2*similar > looked
}

// correlation returns the intraclass correlation of values (Fisher 1925): 1 minus the variance within groups
// divided by the total variance. It is NaN if all values are equal or no group has two of them.
func correlation(value func(row int) float64, g groups) float64 {
	rows, sums := make([]float64, g.n), make([]float64, g.n)
	var n, sum float64
	for i, k := range g.numbers {
		if v := value(i); k >= 0 && !math.IsNaN(v) {
			rows[k]++
			sums[k] += v
			n++
			sum += v
		}
	}
	mean := sum / max(1, n)
	var within, all, used float64
	for i, k := range g.numbers {
		if v := value(i); k >= 0 && !math.IsNaN(v) {
			e, f := v-sums[k]/rows[k], v-mean
			within += float64(e * e)
			all += float64(f * f)
		}
	}
	for _, k := range rows {
		if k > 0 {
			used++
		}
	}
	if !(all > 0) || n <= used {
		return math.NaN()
	}
	return 1 - within/(n-used)/(all/(n-1))
}
