package skeleton

import "slices"

// Cooccur counts, for each of the given columns, the draws whose feature depends on it and on column 0, 1,
// …: counts[i*in + c] is the number of draws with both columns[i] and c, and counts[i*in + columns[i]] the
// number with columns[i]. A count divided by Draws is the probability in the paper's Figure 4. Columns that
// cancelled, as in z·z̄, are not in a feature. Cooccur panics if a column does not exist.
func (m *Map) Cooccur(columns []int) (counts []int64) {
	in := m.book.columns
	counts = make([]int64, len(columns)*in)
	wanted := make([][]int, in) // indices of a column in columns
	for i, c := range columns {
		wanted[c] = append(wanted[c], i)
	}
	m.eachSet(func(set []int32, times int64) {
		for _, a := range set {
			for _, i := range wanted[a] {
				for _, c := range set {
					counts[i*in+int(c)] += times
				}
			}
		}
	})
	return counts
}

// Occur counts, for each column, the draws whose feature depends on it.
func (m *Map) Occur() (counts []int64) {
	counts = make([]int64, m.book.columns)
	m.eachSet(func(set []int32, times int64) {
		for _, c := range set {
			counts[c] += times
		}
	})
	return counts
}

// eachSet calls f with the set of columns of each feature, valid until the next call, and the number of its
// draws.
func (m *Map) eachSet(f func(set []int32, times int64)) {
	var set []int32
	for j := range m.out {
		set = m.columnsOf(set[:0], j)
		f(set, m.counts[j])
	}
}

// columnsOf appends the columns that feature j depends on to set, in order.
func (m *Map) columnsOf(set []int32, j int) []int32 {
	for _, c := range m.codes[m.start[j]:][:m.size[j]] {
		set = append(set, m.book.columnsOf(c)...)
	}
	if m.productTo != nil {
		lo, hi := span(m.productTo, j)
		for _, c := range m.products[lo:hi] {
			set = append(set, m.book.columnsOf(c)...)
		}
	}
	if m.factorTo != nil {
		lo, hi := span(m.factorTo, j)
		for _, f := range m.factors[lo:hi] {
			set = append(set, m.book.leaves[f.leaf].columns...)
		}
	}
	slices.Sort(set)
	return slices.Compact(set)
}
