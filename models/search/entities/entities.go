// Package entities finds columns that seem to name what rows belong to, such as a patient or a machine: rows with the
// same value are alike.
package entities

import (
	"maps"
	"math"
	"slices"
)

// What makes a column name entities.
const (
	fewestValues = 20  // different values
	repeating    = 0.5 // share of the rows whose value other rows have too
	alike        = 0.5 // intraclass correlation from which on a column is alike within values
	sameLabel    = 0.9 // likewise, of the label, which other columns may explain, too
	mostColumns  = 64  // other columns that are looked at
	// share of the correlation that pairs of neighbouring values keep from which on the order of
	// values matters
	ordered = 0.75
)

// Columns returns those columns of n rows of d numbers, with a label each, that seem to name
// entities. Values that are not whole numbers name nothing, nor do numbers whose neighbouring
// values are alike too, as with counts; NaN is a missing value. The label of classes is the
// number of the class.
func Columns(x []float32, n, d int, label []float64, number func(column int) bool) (found []int) {
	for j := range d {
		if group, groups := valuesOf(x, n, d, j); groups >= fewestValues &&
			names(x, n, d, j, group, groups, label, number(j)) {
			found = append(found, j)
		}
	}
	return found
}

// valuesOf numbers the values of a column that several rows have, in ascending order: the group of
// each row, −1 for others. Without enough of them groups is 0.
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

// names reports whether rows of a group are alike, in their label or in most other columns. Numbers
// do not name anything if rows of neighbouring groups are alike too.
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

// correlation returns the intraclass correlation of values (Fisher 1925): 1 less the variance
// within groups as a share of the variance of all; NaN if all are equal.
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
