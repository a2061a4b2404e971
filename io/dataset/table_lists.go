package dataset

import (
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/io/rowio"
)

// A column of lists of numbers, such as an embedding, becomes one column for each element. In a
// row without a list these are missing.

// ListLength returns the length of the lists of a column, given how many elements some of the lists
// have together. It is not ok if the total shows that the lists differ in length.
func ListLength(elements, lists int64) (n int, ok bool) {
	mean := math.Round(float64(elements) / float64(max(1, lists)))
	off := math.Abs(float64(elements) - mean*float64(lists))
	return int(mean), 1 <= mean && mean <= rowio.MaxDim && 10*off <= float64(elements)
}

// ElementName returns the name of the column for element i of a list.
func ElementName(list string, i int) string { return fmt.Sprintf("%s_%d", list, i) }

// WithLists returns the columns with each list replaced by its elements. lengths holds the length
// of each list, and 0 for other columns.
func WithLists(names []string, lengths []int) ([]string, error) {
	var all []string
	elements := map[string]string{}
	for c, name := range names {
		n := lengths[c]
		if n == 0 {
			all = append(all, name)
		}
		if len(all)+n > MaxColumns {
			return nil, fmt.Errorf("has more than %d columns, with the elements of its lists", MaxColumns)
		}
		for i := range n {
			all = append(all, ElementName(name, i))
			elements[all[len(all)-1]] = name
		}
	}
	for c, name := range names {
		if list, both := elements[name]; both && lengths[c] == 0 {
			return nil, fmt.Errorf("column %s is also an element of the list %s; rename one", Quote(name), Quote(list))
		}
	}
	return all, nil
}

// ListAt returns the number of columns, from a field on, that are elements of a list; 0 if there are none.
func (l *TableLayout) ListAt(field int, list string) (n int) {
	for columns := l.Stored(); field+n < len(columns) && columns[field+n] == ElementName(list, n); n++ {
	}
	return n
}

// ListNamed returns the number of elements of a list; 0 if there is no such list, or no layout.
func (l *TableLayout) ListNamed(list string) int {
	if l == nil {
		return 0
	}
	return l.ListAt(max(0, slices.Index(l.Columns, ElementName(list, 0))), list)
}

// OtherLength is the reason why a row whose list has k elements instead of n cannot be used.
func OtherLength(k, n int) string {
	return fmt.Sprintf("has a list of %d %s, want %d", k, Plural(k, "value"), n)
}

// IsNested is the reason why a row cannot be used whose value has parts while others have none.
const IsNested = "is an object or an array, and nested values are not supported"

// Reads reports whether any of n fields is read, beginning with field.
func (f *Fields) Reads(field, n int) bool {
	return slices.ContainsFunc(f.To[field:field+n], func(to FieldSink) bool { return to.Sink != nil })
}

// NestedColumnError returns the error of a column whose values have parts, which cannot be columns.
func NestedColumnError(name string) error {
	return fmt.Errorf("column %s is nested, or has lists of different lengths, or lists of values other than numbers, "+
		"which is not supported; flatten it, or drop the column", Quote(name))
}
