package tuning

import (
	"cmp"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/search"
)

// Memory returns an upper bound on the bytes that a search needs. rows is the number of rows, or 0
// if unknown. length is their length in the files and encoded their length after encoding. more is
// how many numbers longer they become with levels or, for images, as patches. outputs is the number
// of classes, or 1.
func Memory(rows int64, length, encoded, more, outputs int, images bool, threads int) int64 {
	n := int64(PilotRows(cmp.Or(rows, search.MaxRows), max(length, encoded)))
	if n == 0 {
		return 0
	}
	// The sample while it is merged and when it is dense; then the views.
	sample := 4 * n * int64(length+3) * 4
	views := maxViews
	if images {
		views = 1
	}
	return sample + search.Memory(int(n), encoded, more, outputs, views, threads)
}

// Measured returns the number of columns that have too many values to become levels in a search. It judges by
// the sample of the rows in s; if this is small, the number is 0. Categories of the table never count: they may
// be encoded by numbers that repeat. table is nil for plain numbers.
func Measured(s *profile.Sum, table *schema.Table) (columns int) {
	const (
		least   = 800 // rows of a sample that is large enough
		percent = 75  // more values than this in 100 rows are too many: 1,024 levels, the most, show fewer
	)
	x, n, d := s.Sample()
	if n < least {
		return 0
	}
	rows := n
	for _, copies := range s.Copies() {
		rows += int(copies) - 1
	}
	var numbers []int // of a row
	if table != nil {
		numbers = table.Slots(schema.Number)
	} else {
		for j := range d {
			numbers = append(numbers, j)
		}
	}
	values := make([]float32, 0, n)
	for _, j := range numbers {
		values = values[:0]
		for i := range n {
			if v := x[i*d+j]; !math.IsNaN(float64(v)) {
				values = append(values, v)
			}
		}
		slices.Sort(values)
		if 100*len(slices.Compact(values)) > percent*rows {
			columns++
		}
	}
	return columns
}

// maxViews is the largest number of views (search.View) of a search.
const maxViews = 4
