// Package entity finds columns that seem to name what rows belong to, such as a patient or a machine: rows with the
// same value are alike. Held-out figures of such rows are those of known entities, unless whole groups are held out.
package entity

import "math"

// What makes a column name entities.
const (
	fewestValues = 20  // different values
	repeating    = 0.5 // share of the rows whose value other rows have too
	alike        = 0.5 // intraclass correlation from which on a column is alike within values
	sameLabel    = 0.9 // likewise, of the label, which other columns may explain, too
	mostColumns  = 64  // other columns that are looked at
)

// Columns returns those columns of n rows of d numbers, with a label each, that seem to name entities. Values that are not
// whole numbers name nothing; NaN is a missing value. The label of classes is the number of the class.
func Columns(x []float32, n, d int, label []float64) (found []int) {
	for j := range d {
		if group, groups := valuesOf(x, n, d, j); groups >= fewestValues && names(x, n, d, j, group, groups, label) {
			found = append(found, j)
		}
	}
	return found
}

// valuesOf numbers the values of a column that several rows have: the group of each row, −1 for others. Without enough of them
// groups is 0.
func valuesOf(x []float32, n, d, column int) (group []int, groups int) {
	rows := map[float32]int{}
	for i := range n {
		v := x[i*d+column]
		if v == v && v != float32(math.Trunc(float64(v))) {
			return nil, 0
		}
		rows[v]++
	}
	number, repeated := map[float32]int{}, 0
	for i := range n {
		v := x[i*d+column]
		if v != v || rows[v] < 2 {
			group = append(group, -1)
			continue
		}
		if _, known := number[v]; !known {
			number[v] = len(number)
		}
		group = append(group, number[v])
		repeated++
	}
	if float64(repeated) < repeating*float64(n) {
		return nil, 0
	}
	return group, len(number)
}

// names reports whether rows of a group are alike, in their label or in most other columns.
func names(x []float32, n, d, column int, group []int, groups int, label []float64) bool {
	if correlation(func(i int) float64 { return label[i] }, group, groups) > sameLabel {
		return true
	}
	similar, looked := 0, 0
	for k := range d {
		if k == column || looked == mostColumns {
			continue
		}
		c := correlation(func(i int) float64 { return float64(x[i*d+k]) }, group, groups)
		if c != c {
			continue // constant, or without values
		}
		if looked++; c > alike {
			similar++
		}
	}
	return looked >= 2 && 2*similar > looked
}

// correlation returns the intraclass correlation of values (Fisher 1925): 1 less the variance within groups as a share of
// that of all; NaN if all are equal.
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
