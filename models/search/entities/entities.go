// Package entities finds columns that seem to name the entity a row belongs to, such as a patient or a machine:
// rows with the same value are similar (Columns). Held-out rows are then too easy to predict unless whole
// entities are held out.
package entities

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
	mostColumns  = 64  // largest number of other columns to look at
	// If values are joined with their neighbours and the correlation stays above this share, the order
	// of the values matters, so they are quantities.
	ordered = 0.75
)

// Columns returns the indices of the columns that seem to name entities. x (n×d, row-major) are the rows and
// label their labels; for classes, label is the number of the class. NaN is a missing value. number reports
// whether a column has numbers, not categories. A column with a value that is not whole names nothing. Nor does a
// column of numbers if rows with neighbouring values are similar, too, as with counts.
func Columns(x []float32, n, d int, label []float64, number func(column int) bool) (found []int) {
	for j := range d {
		if group, groups := valuesOf(x, n, d, j); groups >= fewestValues &&
			names(x, n, d, j, group, groups, label, number(j)) {
			found = append(found, j)
		}
	}
	return found
}

// valuesOf numbers the values of a column that several rows have, in ascending order. It returns the number of
// each row's value, −1 for other rows, and how many such values there are. groups is 0 if too few rows have one,
// or if a value is not whole.
func valuesOf(x []float32, n, d, column int) (group []int, groups int) {
	rows := map[float32]int{}
	for i := range n {
		v := x[i*d+column]
		if v != v {
			continue
		}
		if v != float32(math.Trunc(float64(v))) {
			return nil, 0
		}
		rows[v]++
	}
	maps.DeleteFunc(rows, func(_ float32, n int) bool { return n < 2 })
	values, repeated := slices.Sorted(maps.Keys(rows)), 0
	for i := range n {
		g, found := slices.BinarySearch(values, x[i*d+column])
		if found {
			repeated++
		} else {
			g = -1
		}
		group = append(group, g)
	}
	if float64(repeated) < repeating*float64(n) {
		return nil, 0
	}
	return group, len(values)
}

// names reports whether the rows of a group are similar, in their label or in most of the other columns. If
// number is true, rows of neighbouring groups must not be similar, too.
func names(x []float32, n, d, column int, group []int, groups int, label []float64, number bool) bool {
	pair := slices.Clone(group)
	for i, g := range group {
		pair[i] = g >> 1 // −1 stays
	}
	alone := func(value func(row int) float64, c float64) bool {
		return !number || correlation(value, pair, (groups+1)/2) < ordered*c
	}
	labelOf := func(i int) float64 { return label[i] }
	if c := correlation(labelOf, group, groups); c > sameLabel && alone(labelOf, c) {
		return true
	}
	similar, looked := 0, 0
	for k := range d {
		if k == column || looked == mostColumns {
			continue
		}
		value := func(i int) float64 { return float64(x[i*d+k]) }
		c := correlation(value, group, groups)
		if c != c {
			continue // constant, or without values
		}
		if looked++; c > alike && alone(value, c) {
			similar++
		}
	}
	return looked >= 2 && 2*similar > looked
}

// correlation returns the intraclass correlation of values (Fisher 1925): 1 minus the variance within groups
// divided by the total variance. It is NaN if all values are equal or no group has two of them.
func correlation(value func(row int) float64, group []int, groups int) float64 {
	rows, sums := make([]float64, groups), make([]float64, groups)
	var n, sum float64
	for i, g := range group {
		if v := value(i); g >= 0 && v == v {
			rows[g]++
			sums[g] += v
			n, sum = n+1, sum+v
		}
	}
	mean := sum / max(1, n)
	var within, all, used float64
	for i, g := range group {
		if v := value(i); g >= 0 && v == v {
			e, f := v-sums[g]/rows[g], v-mean
			within, all = within+float64(e*e), all+float64(f*f)
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
