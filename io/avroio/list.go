package avroio

import (
	"bufio"
	"bytes"
	"context"
	"io"

	"github.com/bochner-ml/bochner/io/compress"
	"github.com/bochner-ml/bochner/io/dataset"
)

// listOf describes a field that is a list of n numbers, some of which are used.
type listOf struct {
	n    int
	used bool
}

// listsIn returns, for each field, the length of its lists in a layout; 0 if it is not a list.
func (h *header) listsIn(l *dataset.TableLayout) (lengths []int) {
	at := 0
	for _, f := range h.schema.fields {
		n := 0
		if f.node.list() != nil {
			n = l.ListAt(at, f.name)
		}
		lengths = append(lengths, n)
		at += max(1, n)
	}
	return lengths
}

// lengths returns, for each field, the length of its lists, from the first block of the file that has records. If
// there is no such block, the lengths are those in like, which may be nil.
func (h *header) lengths(ctx context.Context, f *dataset.File, like *dataset.TableLayout) ([]int, error) {
	lengths, lists := make([]int, len(h.schema.fields)), make([]*node, len(h.schema.fields))
	hasLists := false
	for i := range lists {
		lists[i] = h.schema.fields[i].node.list()
		hasLists = hasLists || lists[i] != nil
	}
	if !hasLists {
		return lengths, nil
	}
	stored, err := f.Object.Open(ctx, 0, -1)
	if err != nil {
		return nil, err
	}
	defer stored.Close()
	content, _, err := compress.NewReader(stored)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	r, rest := &reader{end: -1}, []byte(nil)
	if r.header, rest, err = readHeader(content); err != nil {
		return nil, err
	}
	r.in = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(rest), content), 1<<16)
	for r.left == 0 && err == nil {
		err = r.next()
	}
	if err != nil && err != io.EOF {
		return nil, err
	}
	elements, count := make([]int64, len(lists)), make([]int64, len(lists))
	d := &r.values
	for range r.left {
		for i := range lists {
			n := h.schema.fields[i].node
			if lists[i] == nil {
				d.skip(n, 0)
			} else if n = d.whichever(n); n.kind == array {
				elements[i] += int64(d.elements(func(int) { d.skip(n.parts[0], 0) }))
				count[i]++
			}
		}
		if d.err != nil {
			return nil, d.err
		}
	}
	for i := range lists {
		if n, ok := dataset.ListLength(elements[i], count[i]); ok {
			lengths[i] = n
		} else if lists[i] != nil && count[i] == 0 {
			lengths[i] = like.ListNamed(h.schema.fields[i].name)
		}
	}
	return lengths, nil
}

// whichever returns the type of the value that follows: n, or a branch of it.
func (d *decoder) whichever(n *node) *node {
	if n.kind == union {
		return d.branch(n)
	}
	return n
}

// elements reads a list or a map, which is a sequence of blocks. It calls each to read element k, and returns their
// number.
func (d *decoder) elements(each func(k int)) (k int) {
	for d.err == nil {
		count := d.long()
		if count == 0 {
			break
		}
		if count < 0 { // the block's size follows
			count = -count
			d.long()
		}
		for range count {
			each(k)
			if d.err != nil {
				break
			}
			k++
		}
	}
	return k
}

// elements stores a list of n numbers in the columns from a field on. They are missing if there is no list.
func (r *reader) elements(list *node, at, n int) {
	d := &r.values
	list = d.whichever(list)
	if list.kind != array {
		return
	}
	k := d.elements(func(k int) {
		if k >= n || r.To[at+k].Sink == nil {
			d.skip(list.parts[0], 0)
			return
		}
		to, row, _ := r.Field(at + k)
		r.Check(at+k, d.value(list.parts[0], to, row))
	})
	if k != n {
		r.Check(at, dataset.OtherLength(k, n))
	}
}
