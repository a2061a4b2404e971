package parquetio

import (
	"errors"
	"math"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/parquetio/meta"
)

// list says how a column of lists of numbers is stored. In each row of a list of n elements, the columns
// name_0 to name_n−1 are its elements.
type list struct {
	empty int // definition level of an empty list; lower ones mean that there is no list
	full  int // definition level of an element that is not null
	n     int // number of elements; 0 while it is unknown
}

// asList returns the element of a column whose fields are the following elements of the schema, if it is a list
// of numbers: of three levels, as the specification has it, or of two, as older writers have it.
func asList(e []meta.Element) (leaf meta.Element, l *list) {
	outer := e[0]
	l = new(list)
	at := 0
	if outer.Repeat == 1 {
		l.empty++
	}
	if outer.Repeat != 2 {
		if outer.Children != 1 || len(e) < 2 || outer.Logical != meta.LogicalList && outer.Converted != meta.ConvertedList {
			return leaf, nil
		}
		at++
	}
	if e[at].Repeat != 2 {
		return leaf, nil
	}
	l.full = l.empty + 1
	if e[at].Children == 1 && at > 0 && e[at].Physical < 0 && len(e) > at+1 {
		at++
		if e[at].Repeat == 2 {
			return leaf, nil
		}
		l.full += int(e[at].Repeat & 1)
	}
	leaf = e[at]
	if at != len(e)-1 || leaf.Children != 0 || !(*element)(&leaf).isNumber() {
		return leaf, nil
	}
	return leaf, l
}

// isNumber reports whether the elements of lists of type e can be columns.
func (e *element) isNumber() bool {
	switch e.Physical {
	case meta.Float, meta.Double:
		return true
	case meta.Int32, meta.Int64:
		return e.Logical == 0 || e.Logical == meta.LogicalInteger
	case meta.FixedArray:
		return e.Logical == meta.LogicalFloat16 && e.Length == 2
	}
	return false
}

// expand replaces lists by columns of their elements. In a file without rows, lists are as long as in
// like, which may be nil.
func (f *footer) expand(like *dataset.TableLayout) (err error) {
	var plain []string
	lengths := make([]int, len(f.columns))
	for i := range f.columns {
		c := &f.columns[i]
		plain = append(plain, c.name)
		if c.list == nil {
			continue
		}
		values := int64(0)
		for i := range f.groups {
			values += max(0, min(f.groups[i].Chunks[c.leaf].Values, math.MaxInt64/2-values))
		}
		n, ok := dataset.ListLength(values, f.rows)
		if f.rows == 0 {
			n = like.ListNamed(c.name)
			ok = n > 0
		}
		c.nested = !ok
		if ok {
			lengths[i], c.list.n = n, n
		} else {
			c.list = nil
		}
	}
	if f.names, err = dataset.WithLists(plain, lengths); err != nil {
		return err
	}
	var all []column
	for i, c := range f.columns {
		for c.item = range max(1, lengths[i]) {
			c.name = f.names[len(all)]
			all = append(all, c)
		}
	}
	f.columns = all
	return nil
}

// listReader reads the lists of a column.
type listReader struct {
	columnReader
	to      []*dataset.FieldSink // of each element; nil for those that are not read
	fields  []int                // of the layout
	numbers []number

	lists items // decoded, from at on
	at    int
}

// items holds the elements of lists. An empty or missing list has one item without a value.
type items struct {
	n        int
	rep, def [batchRows]uint32
	fixed    [batchRows]uint64
	half     [batchRows][]byte
	halves   bool
	valueAt  [batchRows]int
}

// take makes the reader store an element of the list in a column.
func (l *listReader) take(c *column, field int, to *dataset.FieldSink) {
	l.to[c.item], l.fields[c.item] = to, field
	l.numbers[c.item].set(&c.element, to)
}

// fill decodes the next items of the page. The error is errPage at the end of the chunk.
func (l *listReader) fill() error {
	if l.page == 0 {
		if l.left == 0 {
			return errPage
		}
		if err := l.next(); err != nil {
			return err
		}
	}
	m := int(min(l.page, batchRows))
	in := &l.lists
	in.n, l.at = m, 0
	if err := l.reps.next(in.rep[:m]); err != nil {
		return err
	}
	if err := l.levels.next(in.def[:m]); err != nil {
		return err
	}
	present := 0
	for i, d := range in.def[:m] {
		if int(d) > l.list.full {
			return errPage
		}
		in.valueAt[i] = -1
		if int(d) == l.list.full {
			in.valueAt[i] = present
			present++
		}
	}
	l.page -= int64(m)
	return l.decode(present)
}

// decode decodes n values.
func (l *listReader) decode(n int) error {
	in := &l.lists
	in.halves = l.element.Physical == meta.FixedArray
	if l.indexed {
		index := l.scratch.index[:n]
		if err := l.index.next(index); err != nil {
			return err
		}
		for k, i := range index {
			if i >= l.dict.n {
				return errPage
			}
			in.fixed[k], in.half[k] = l.dict.at(i)
		}
		return nil
	}
	for done := 0; done < n; {
		v := values{fixed: in.fixed[done:]}
		if in.halves {
			v = values{bytes: in.half[done:]}
		}
		got, err := l.values.next(n-done, &v)
		if err != nil {
			return err
		}
		done += got
	}
	return nil
}

// read stores the lists of n rows.
func (l *listReader) read(rows []float32, width, n int, reject rejectFunc) error {
	for i := range n {
		if err := l.readOne(rows[i*width:(i+1)*width], i, reject); err != nil {
			return err
		}
	}
	return nil
}

// readOne stores the list of a row.
func (l *listReader) readOne(row []float32, i int, reject rejectFunc) error {
	k, null := 0, false
	for first := true; ; first = false {
		if l.at == l.lists.n {
			if !first && l.page == 0 && l.left == 0 {
				break
			}
			if err := l.fill(); err != nil {
				return err
			}
		}
		if starts := l.lists.rep[l.at] == 0; starts != first {
			if first {
				return errPage // the page begins inside a list, but no row has begun
			}
			break
		}
		switch def := int(l.lists.def[l.at]); {
		case def < l.list.empty:
			null = true
		case def > l.list.empty:
			l.storeElement(row, i, k, reject)
			k++
		}
		l.at++
	}
	if k != l.list.n && !null {
		reject(i, l.field, dataset.OtherLength(k, l.list.n))
	}
	for ; k < l.list.n; k++ {
		if to := l.to[k]; to != nil {
			reject.check(i, l.fields[k], to.Null(row))
		}
	}
	return nil
}

// storeElement stores element k of the list of row i.
func (l *listReader) storeElement(row []float32, i, k int, reject rejectFunc) {
	if k >= l.list.n || l.to[k] == nil {
		return
	}
	at := l.lists.valueAt[l.at]
	reason := ""
	switch {
	case at < 0:
		reason = l.to[k].Null(row)
	case l.numbers[k].kind != 0:
		if x, ok := l.numbers[k].value(l.lists.fixed[at]); ok {
			row[l.numbers[k].slot] = x
			return
		}
		fallthrough
	default:
		reason = l.columnReader.put(l.to[k], row, l.lists.fixed[at], l.lists.half[at])
	}
	reject.check(i, l.fields[k], reason)
}

// done returns an error if the row group has more items than rows.
func (l *listReader) done() error {
	if l.at < l.lists.n || l.page > 0 || l.left > 0 {
		return errors.New("is damaged: a row group has more lists than rows")
	}
	return nil
}
