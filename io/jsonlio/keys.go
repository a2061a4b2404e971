package jsonlio

import (
	"bytes"
	"container/heap"
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/lines"
	"github.com/bochner-ml/bochner/io/rowio"
)

// keys collects the keys of objects, and what is known about their order.
type keys struct {
	names  []string
	index  map[string]int
	before map[[2]int]bool // pairs of neighbours in an object
	last   []int           // keys of the last object
	values []values        // of each key
}

// values are what is known of the values of a key.
type values struct {
	nested          int64 // line of the first that is nested, perhaps a list
	others          bool  // there are values that are neither null nor lists
	lists, elements int64
}

func newKeys() *keys { return &keys{index: map[string]int{}, before: map[[2]int]bool{}} }

// keysOf returns the keys in the objects at the beginning of a file. Lines that are not
// objects are skipped; the reader reports them.
func keysOf(head []byte) (*keys, error) {
	if len(head) == dataset.HeadBytes { // the last line may be cut off
		n := bytes.LastIndexByte(head, '\n')
		if n < 0 {
			return nil, fmt.Errorf("its first line is longer than %d bytes; is this a table?", dataset.HeadBytes)
		}
		head = head[:n+1]
	}
	k := newKeys()
	r := lines.New(bytes.NewReader(head), lines.Options{})
	var s scanner
	for {
		line, err := r.Next()
		if line == nil && err != nil {
			if _, bad := errors.AsType[*rowio.BadRow](err); bad {
				continue
			}
			break
		}
		k.object(&s, line, r.Line())
		if len(k.names) > dataset.MaxColumns {
			return nil, fmt.Errorf("has more than %d keys", dataset.MaxColumns)
		}
	}
	if len(k.names) == 0 {
		return nil, fmt.Errorf("has no object with keys in its first %d bytes", dataset.HeadBytes)
	}
	return k, nil
}

// object adds the keys of an object, if the line is one.
func (k *keys) object(s *scanner, line []byte, number int64) {
	if s.open(line) != "" {
		return
	}
	var m member
	var now []int
	for {
		more, reason := s.next(&m)
		if reason != "" {
			return
		}
		if !more {
			break
		}
		i := k.add(string(m.key))
		v := &k.values[i]
		if m.kind >= list && v.nested == 0 {
			v.nested = number
		}
		if m.kind == list {
			v.lists++
			v.elements += int64(m.n)
		}
		v.others = v.others || m.kind != list && m.kind != null
		now = append(now, i)
	}
	if !slices.Equal(now, k.last) {
		k.last = now
		for j := 1; j < len(now); j++ {
			k.before[[2]int{now[j-1], now[j]}] = true
		}
	}
}

func (k *keys) add(name string) int {
	i, ok := k.index[name]
	if !ok {
		i = len(k.names)
		k.index[name] = i
		k.names = append(k.names, name)
		k.values = append(k.values, values{})
	}
	return i
}

// same reports whether another file has the same keys in the same order, no lists, and
// nested values only where this file has them.
func (k *keys) same(o *keys) bool {
	if !slices.Equal(k.names, o.names) || len(k.before) != len(o.before) {
		return false
	}
	for pair := range o.before {
		if !k.before[pair] {
			return false
		}
	}
	for i, v := range o.values {
		if v.lists > 0 || v.nested > 0 && k.values[i].nested == 0 {
			return false
		}
	}
	return true
}

// merge adds the keys of another file.
func (k *keys) merge(o *keys) {
	for i, name := range o.names {
		at, other := k.add(name), o.values[i]
		v := &k.values[at]
		v.others = v.others || other.others
		v.lists += other.lists
		v.elements += other.elements
	}
	for pair := range o.before {
		k.before[[2]int{k.index[o.names[pair[0]]], k.index[o.names[pair[1]]]}] = true
	}
}

// columns returns the names of the columns in their order. A key that is always null is a list if it is
// one in like, the layout of the model, which may be nil.
func (k *keys) columns(like dataset.Tabular) ([]string, error) {
	names := k.order()
	lengths := make([]int, len(names))
	for c, name := range names {
		v := k.values[k.index[name]]
		if n, ok := dataset.ListLength(v.elements, v.lists); ok && !v.others {
			lengths[c] = n
		} else if v.lists == 0 && !v.others && like != nil {
			lengths[c] = like.Table().ListNamed(name)
		}
	}
	return dataset.WithLists(names, lengths)
}

// order sorts the names so that each comes after the names that it follows in an object, and by name
// where that leaves a choice. So the result does not depend on the order of the objects.
func (k *keys) order() []string {
	after := make([][]int, len(k.names))
	waits := make([]int, len(k.names))
	for pair := range k.before {
		if pair[0] != pair[1] {
			after[pair[0]] = append(after[pair[0]], pair[1])
			waits[pair[1]]++
		}
	}
	sorted := slices.Clone(k.names)
	slices.Sort(sorted)
	rank := make([]int, len(k.names)) // of each name
	for r, name := range sorted {
		rank[k.index[name]] = r
	}
	ready := new(ranks)
	done := make([]bool, len(k.names))
	for i := range k.names {
		if waits[i] == 0 {
			heap.Push(ready, rank[i])
		}
	}
	order := make([]string, 0, len(k.names))
	smallest := 0
	for len(order) < len(k.names) {
		var r int
		if ready.Len() > 0 {
			r = heap.Pop(ready).(int)
		} else { // objects disagree on the order
			for done[k.index[sorted[smallest]]] {
				smallest++
			}
			r = smallest
		}
		i := k.index[sorted[r]]
		if done[i] {
			continue
		}
		done[i] = true
		order = append(order, sorted[r])
		for _, j := range after[i] {
			waits[j]--
			if waits[j] == 0 && !done[j] {
				heap.Push(ready, rank[j])
			}
		}
	}
	return order
}

// ranks is a heap of numbers.
type ranks []int

func (r ranks) Len() int           { return len(r) }
func (r ranks) Less(i, j int) bool { return r[i] < r[j] }
func (r ranks) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *ranks) Push(x any)        { *r = append(*r, x.(int)) }
func (r *ranks) Pop() any {
	old := *r
	x := old[len(old)-1]
	*r = old[:len(old)-1]
	return x
}
