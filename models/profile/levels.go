package profile

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/io/rowio"
)

// maxValues is the largest number of values of a category.
const maxValues = 1<<20 + 1

// NewTable returns an empty Sum for rows whose columns may be categories: values has for each column the
// number of its values if it is a category, and otherwise 0. For a category the rows of each value are
// counted; it has no moments, and is not part of the norm. NewTable panics if a number is out of range.
func NewTable(opts Options, values []int) *Sum {
	s := New(opts)
	if len(values) > rowio.MaxDim {
		panic("profile: length of rows out of range")
	}
	if len(values) > 0 {
		s.counts = make([][]int64, len(values))
	}
	for j, n := range values {
		if n < 0 || n > maxValues {
			panic("profile: number of values of a category out of range")
		}
		if n > 0 {
			s.counts[j] = make([]int64, n)
		}
	}
	return s
}

// Levels returns the number of rows of each value of the category in column j, or nil if it is not a
// category. The caller must not change them.
func (s *Sum) Levels(j int) []int64 {
	if s.counts == nil {
		return nil
	}
	return s.counts[j]
}

func (s *Sum) category(j int) bool { return s.counts != nil && s.counts[j] != nil }

// addTyped adds a row of a table with its weight, and returns the squared norm of its numbers. It panics if
// the row has another length, or a category an impossible value.
func (s *Sum) addTyped(row []float32, w float32) (norm2 float64) {
	if len(row) != len(s.counts) {
		panic("profile: row of another length than the table's")
	}
	for j, x := range row {
		c := &s.columns[j]
		switch counts := s.counts[j]; {
		case math.IsNaN(float64(x)):
			c.missing++
			s.addMissing(j, w)
		case counts != nil:
			level := int(x)
			if level < 0 || level >= len(counts) || float32(level) != x {
				panic("profile: category without that value")
			}
			counts[level]++
		case x != 0:
			c.add(x, w)
			norm2 += float64(float64(x) * float64(x)) // the product is exact
		}
	}
	return norm2
}

// mergeCounts adds the counts of t.
func (s *Sum) mergeCounts(t *Sum) {
	if !slices.EqualFunc(s.counts, t.counts, func(a, b []int64) bool { return len(a) == len(b) }) {
		panic("profile: merge of sums with different categories")
	}
	for j, counts := range t.counts {
		for level, n := range counts {
			s.counts[j][level] += n
		}
	}
}

// typed reports whether there are missing values or categories to encode.
func (s *Sum) typed() bool {
	return s.counts != nil || slices.ContainsFunc(s.columns, func(c column) bool { return c.missing > 0 })
}
