package dataset

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/lines"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
)

// TestSplit chooses the rows of a dataset that are held out for a test, or the others. Readers skip the
// rest, so nothing that is computed from the rows depends on it. Rows with equal Columns are held
// out together. A row that cannot be read is never in the test.
type TestSplit struct {
	Test  bool    `json:"test,omitempty"` // choose the held-out rows, not the others
	Share float64 `json:"share"`          // share of rows to hold out by hash, from 0 to 1
	Seed  uint64  `json:"seed"`
	// Columns names the fields that are hashed; if it is empty, the numbers of the row are.
	Columns []string `json:"columns,omitempty"`

	// Key, unless nil, makes a key of the fields. Rows are held out if their key is at least From,
	// or is one of Keys, which are in ascending order. If both are empty, the hash of the key decides.
	Key  *schema.Key `json:"key,omitempty"`
	Keys []uint64    `json:"keys,omitempty"`
	From uint64      `json:"from,omitempty"`
	// Gap, unless 0, is a key before From. Rows with keys from Gap to From are neither held out nor among the others.
	Gap uint64 `json:"gap,omitempty"`
}

// Other returns the split that chooses the other rows.
func (p TestSplit) Other() *TestSplit {
	p.Test = !p.Test
	return &p
}

// holds reports whether a row is held out. sum is the sum of the hashes of its fields, or its key.
func (p *TestSplit) holds(sum uint64) bool {
	switch {
	case p.Key != nil && p.From > 0:
		return sum >= p.From
	case p.Key != nil && len(p.Keys) > 0:
		_, found := slices.BinarySearch(p.Keys, sum)
		return found
	}
	return float64(hashPair(sum, p.Seed)>>11) < p.Share*(1<<53)
}

// hashPair returns a hash of two numbers.
func hashPair(a, b uint64) uint64 {
	var buffer [16]byte
	for i := range 8 {
		buffer[i], buffer[8+i] = byte(a>>(8*i)), byte(b>>(8*i))
	}
	return xxhash.Sum64(buffer[:])
}

// testFilter decides which rows of a shard are in a TestSplit, one row after another or a batch at a
// time. Its Taps see the fields of the rows on their way to the sinks of the format.
type testFilter struct {
	*TestSplit
	at int // index in the batch of the last row

	taps     []*Tap   // of all fields that have one
	decisive []*Tap   // of the fields in TestSplit.Columns, in this order
	sums     []uint64 // sum of the hashes of the fields, for each row of the batch
}

// tap puts Taps in front of the sinks of the fields that decide which rows of the input are read. If the fields are
// described, all have one, which holds them back until it is known whether the row is read.
func (f *Fields) tap(in *Input) error {
	if in.Data.TestSplit == nil {
		return nil
	}
	p := &testFilter{TestSplit: in.Data.TestSplit}
	in.filter, f.filter = p, p
	add := func(at int, t *Tap) *Tap {
		t.filter, t.column, f.To[at].Sink = p, -1, t
		p.taps = append(p.taps, t)
		return t
	}
	for at, to := range f.To {
		if in.request.Describe != nil && to.Sink != nil {
			add(at, &Tap{next: to})
		}
	}
	for c, name := range p.Columns {
		at := slices.Index(f.columns, name)
		if at < 0 {
			return fmt.Errorf("has no column %s, by which rows are held out for the test", Quote(name))
		}
		t, has := f.To[at].Sink.(*Tap)
		if !has {
			t = add(at, &Tap{through: f.To[at]})
		}
		t.column, t.keeps = c, p.Key != nil
		p.decisive = append(p.decisive, t)
	}
	return nil
}

// reset forgets the fields of the last batch.
func (f *testFilter) reset() {
	if f == nil {
		return
	}
	f.at, f.sums = 0, f.sums[:0]
	for _, t := range f.taps {
		t.n, t.kinds, t.values, t.texts, t.ends = 0, t.kinds[:0], t.values[:0], t.texts[:0], t.ends[:0]
	}
}

// takes reports whether the last row, whose values are x, is to be read.
func (f *testFilter) takes(x []float32) bool {
	sum := uint64(0)
	switch {
	case len(f.Columns) == 0:
		sum = rowio.Hash(f.Seed, x)
	case f.Key != nil:
		key, reason := f.Key.RowKey(func(i int) []byte { return lines.Trim(f.decisive[i].text(f.at), false) })
		if reason != "" {
			return !f.Test // the reader of the other rows sets this one aside
		}
		sum = key
	case f.at < len(f.sums):
		sum = f.sums[f.at]
	}
	if f.Key != nil && f.Gap > 0 && !f.Test {
		return sum < f.Gap
	}
	return f.holds(sum) == f.Test
}

// forward passes the fields of the last row, which the Taps held back, to their sinks.
func (f *testFilter) forward(row []float32) {
	if f == nil {
		return
	}
	for _, t := range f.taps {
		if t.next.Sink != nil {
			t.forward(row, f.at)
		}
	}
}

// Tap is a Sink in front of another one. It adds the hash of each field to the sum of its row, or stores the field.
type Tap struct {
	filter  *testFilter
	column  int       // index in TestSplit.Columns; −1 if the field does not decide
	keeps   bool      // store texts, for keys
	next    FieldSink // gets the fields of rows that are read later
	through FieldSink // gets every field at once, unless next has a Sink

	n      int // fields since the last reset
	kinds  []byte
	values []float64
	texts  []byte
	ends   []int
}

var _ schema.Sink = (*Tap)(nil)

// The kinds of fields.
const (
	nullField = iota
	textField
	floatField
)

// Number takes a field that is a finite number.
func (t *Tap) Number(v float32) { t.note(uint64(math.Float32bits(v + 0))) }

// note adds the hash of the next field to its row.
func (t *Tap) note(value uint64) {
	p := t.filter
	if t.column >= 0 && p.Key == nil {
		for len(p.sums) <= t.n {
			p.sums = append(p.sums, 0)
		}
		p.sums[t.n] += hashPair(value, uint64(t.column))
	}
	t.n++
}

// keep stores a field if something needs it later.
func (t *Tap) keep(kind byte, v float64, text []byte) {
	if t.next.Sink != nil || t.keeps {
		t.kinds, t.values, t.texts = append(t.kinds, kind), append(t.values, v), append(t.texts, text...)
		t.ends = append(t.ends, len(t.texts))
	}
}

// Text takes a text. A text that is a number has the hash of the number.
func (t *Tap) Text(row []float32, _ int, text []byte) (reason string) {
	plain := lines.Trim(text, false)
	if v, ok := lines.ParseNumber(plain); ok && exact.Finite(v) {
		t.Number(v)
	} else if len(plain) == 0 {
		t.note(0)
	} else {
		t.note(xxhash.Sum64(plain) | 1<<63)
	}
	t.keep(textField, 0, text)
	return t.through.Text(row, text)
}

// Float takes a number.
func (t *Tap) Float(row []float32, column int, v float64) (reason string) {
	if math.IsNaN(v) {
		return t.Null(row, column)
	}
	t.Number(float32(v))
	if t.keeps && t.next.Sink == nil {
		t.keep(textField, 0, schema.AppendFloat(nil, v))
	} else {
		t.keep(floatField, v, nil)
	}
	return t.through.Float(row, v)
}

// Null takes a missing field.
func (t *Tap) Null(row []float32, _ int) (reason string) {
	t.note(0)
	t.keep(nullField, 0, nil)
	return t.through.Null(row)
}

// text returns the stored text of row i of the batch.
func (t *Tap) text(i int) []byte {
	switch {
	case i >= len(t.ends):
		return nil
	case t.kinds[i] == floatField:
		return schema.AppendFloat(nil, t.values[i])
	case i == 0:
		return t.texts[:t.ends[0]]
	}
	return t.texts[t.ends[i-1]:t.ends[i]]
}

// forward passes the stored field of row i to the sink that describes it.
func (t *Tap) forward(row []float32, i int) {
	switch {
	case i >= len(t.kinds): // the record ended before this field
	case t.kinds[i] == floatField:
		t.next.Float(row, t.values[i])
	case t.kinds[i] == textField:
		t.next.Text(row, t.text(i))
	default:
		t.next.Null(row)
	}
}

var errNoHoldOut = errors.New("the format cannot hold out rows by columns")
