package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/io/rowio"
)

// elements reads rows from a JSON array of objects, or of arrays with the values of columns in order. It is a
// jsonlio.Source that decodes one element at a time, so that there is no second copy of the array.
type elements struct {
	names  []string
	array  *json.Decoder
	n      int
	value  json.RawMessage
	values []json.RawMessage
	text   []byte
}

// newElements returns the rows of an array. names has the columns of rows that are arrays.
func newElements(array json.RawMessage, names []string) (*elements, error) {
	e := &elements{names: names, array: json.NewDecoder(bytes.NewReader(array))}
	if first, err := e.array.Token(); err != nil || first != json.Delim('[') {
		return nil, problemf(http.StatusBadRequest, "rows must be an array, as in {\"rows\": [{\"age\": 39}, {\"age\": 40}]}")
	}
	return e, nil
}

// Line returns the number of the last row.
func (e *elements) Line() int64 { return int64(e.n) }

// Next returns the text of the next row.
func (e *elements) Next() ([]byte, error) {
	if !e.array.More() {
		return nil, io.EOF
	}
	e.n++
	if err := e.array.Decode(&e.value); err != nil {
		return nil, err
	}
	if e.value[0] != '[' {
		return e.value, nil
	}
	e.values = e.values[:0]
	row := json.NewDecoder(bytes.NewReader(e.value))
	if _, err := row.Token(); err != nil {
		return nil, err
	}
	for row.More() { // keeps no more values than there are columns
		if len(e.values) == len(e.names) {
			return nil, e.otherLength("more than")
		}
		var value json.RawMessage
		if err := row.Decode(&value); err != nil {
			return nil, err
		}
		e.values = append(e.values, value)
	}
	if n := len(e.values); n < len(e.names) {
		return nil, e.otherLength(strconv.Itoa(n) + " instead of")
	}
	e.text = object(e.text[:0], e.names, e.values)
	return e.text, nil
}

func (e *elements) otherLength(have string) error {
	return &rowio.BadRow{Line: e.Line(), Reason: fmt.Sprintf("has %s %d values, one for each column", have, len(e.names))}
}

// single is a source with one object.
type single struct {
	text []byte
	read bool
}

// Line returns 1.
func (*single) Line() int64 { return 1 }

// Next returns the object.
func (s *single) Next() ([]byte, error) {
	if s.read {
		return nil, io.EOF
	}
	s.read = true
	return s.text, nil
}

// columnar reads rows whose values are given by column: an array of values for each name.
type columnar struct {
	names  []string
	arrays []*json.Decoder
	n      int
	values []json.RawMessage
	text   []byte
}

func newColumnar(columns map[string]json.RawMessage) (*columnar, error) {
	c := &columnar{names: slices.Sorted(maps.Keys(columns))}
	for _, name := range c.names {
		array := json.NewDecoder(bytes.NewReader(columns[name]))
		if first, err := array.Token(); err != nil || first != json.Delim('[') {
			return nil, problemf(http.StatusBadRequest, "column %q must be an array with a value for each row", name)
		}
		c.arrays = append(c.arrays, array)
	}
	c.values = make([]json.RawMessage, len(c.names))
	return c, nil
}

// Line returns the number of the last row.
func (c *columnar) Line() int64 { return int64(c.n) }

// Next returns the next row as an object.
func (c *columnar) Next() ([]byte, error) {
	more := 0
	for i, array := range c.arrays {
		if !array.More() {
			continue
		}
		more++
		if more <= i {
			break
		}
		if err := array.Decode(&c.values[i]); err != nil {
			return nil, err
		}
	}
	switch {
	case more == 0:
		return nil, io.EOF
	case more < len(c.arrays):
		return nil, problemf(http.StatusBadRequest, "the arrays of the columns have different lengths")
	}
	c.n++
	c.text = object(c.text[:0], c.names, c.values)
	return c.text, nil
}

// source is a jsonlio.Source.
type source interface {
	Next() ([]byte, error)
	Line() int64
}

// limitedSource is a source of at most so many rows. It keeps the error that ended it.
type limitedSource struct {
	source
	limit, n int
	err      error
}

func (l *limitedSource) Next() ([]byte, error) {
	text, err := l.source.Next()
	if err == io.EOF {
		return nil, err
	}
	if _, bad := errors.AsType[*rowio.BadRow](err); err == nil || bad {
		l.n++
		if l.n <= l.limit {
			return text, err
		}
		err = tooManyRows(l.limit)
	}
	l.err = err
	return nil, err
}

// members returns the members of a JSON object with the given names, and whether it has others.
func members(text []byte, names ...string) (values map[string]json.RawMessage, others bool, err error) {
	if err := syntax(text); err != nil {
		return nil, false, err
	}
	values = map[string]json.RawMessage{}
	d := json.NewDecoder(bytes.NewReader(text))
	if first, _ := d.Token(); first != json.Delim('{') {
		return nil, false, problemf(http.StatusBadRequest, "the body is JSON, but not an object")
	}
	var other json.RawMessage
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, false, err
		}
		name := key.(string) // cannot fail: the text is valid
		value := &other
		if slices.Contains(names, name) {
			value = new(json.RawMessage)
		} else {
			others = true
		}
		if err := d.Decode(value); err != nil {
			return nil, false, err
		}
		if value != &other {
			values[name] = *value
		}
	}
	return values, others, nil
}

// syntax returns an error if a text is not valid JSON.
func syntax(text []byte) error {
	var nothing struct{}
	if bad, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(text, &nothing)); ok {
		return problemf(http.StatusBadRequest, "the body is not JSON: %s (byte %d)", bad, bad.Offset)
	}
	return nil
}
