package dataset

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"

	"github.com/bochner-ml/bochner/io/lines"
	"github.com/bochner-ml/bochner/io/schema"
)

// FieldSink is a column of a Sink, which takes the values of a field. A nil Sink leaves the field unread.
type FieldSink struct {
	Sink   schema.Sink
	Column int
	whole  bool // do not trim texts
	tabs   bool // trim only spaces, because tabs separate fields
}

// Untapped returns the sink behind a Tap that needs only the number of a field, and this Tap; otherwise s and nil.
func (s FieldSink) Untapped() (FieldSink, *Tap) {
	if t, ok := s.Sink.(*Tap); ok && !t.keeps && t.next.Sink == nil {
		return t.through, t
	}
	return s, nil
}

// Decoder returns the decoder that stores the values in rows; nil if the Sink is something else.
func (s *FieldSink) Decoder() *schema.Decoder {
	switch s := s.Sink.(type) {
	case *schema.Decoder:
		return s
	case plainDecoder:
		return s.Decoder
	}
	return nil
}

// exactInteger is the number up to which float64 represents every integer exactly.
const exactInteger = 1 << 53

// Text passes a text, without the spaces around it unless it is an identifier.
func (s *FieldSink) Text(row []float32, text []byte) (reason string) {
	if s.Sink == nil {
		return ""
	}
	if !s.whole {
		text = lines.Trim(text, s.tabs)
	}
	return s.Sink.Text(row, s.Column, text)
}

// Null passes a missing value.
func (s *FieldSink) Null(row []float32) (reason string) {
	if s.Sink == nil {
		return ""
	}
	return s.Sink.Null(row, s.Column)
}

// Float passes a number.
func (s *FieldSink) Float(row []float32, v float64) (reason string) {
	if s.Sink == nil {
		return ""
	}
	return s.Sink.Float(row, s.Column, v)
}

// Float32 passes a number that is stored as float32, as the shortest decimal number that rounds to it.
func (s *FieldSink) Float32(row []float32, v float32) (reason string) {
	wide := float64(v)
	if wide != math.Trunc(wide) || math.Abs(wide) >= 1<<24 {
		var text [32]byte
		wide, _ = strconv.ParseFloat(string(strconv.AppendFloat(text[:0], wide, 'g', -1, 32)), 64)
	}
	return s.Sink.Float(row, s.Column, wide)
}

// Int passes an integer: as a number if float64 can hold it exactly, otherwise as text.
func (s *FieldSink) Int(row []float32, v int64) (reason string) {
	if -exactInteger <= v && v <= exactInteger {
		return s.Sink.Float(row, s.Column, float64(v))
	}
	var text [20]byte
	return s.Sink.Text(row, s.Column, strconv.AppendInt(text[:0], v, 10))
}

// Uint passes an integer like Int.
func (s *FieldSink) Uint(row []float32, v uint64) (reason string) {
	if v <= exactInteger {
		return s.Sink.Float(row, s.Column, float64(v))
	}
	var text [20]byte
	return s.Sink.Text(row, s.Column, strconv.AppendUint(text[:0], v, 10))
}

var truth = [2][]byte{[]byte("false"), []byte("true")}

// Bool passes true or false as text.
func (s *FieldSink) Bool(row []float32, v bool) (reason string) {
	if v {
		return s.Sink.Text(row, s.Column, truth[1])
	}
	return s.Sink.Text(row, s.Column, truth[0])
}

// storedTexts is a Sink that stores the texts of a column and passes the fields on to the next Sink, if there is one.
type storedTexts struct {
	null string // stored for a missing value
	text []byte
	ends []int
	next FieldSink
}

var _ schema.Sink = (*storedTexts)(nil)

// Text stores a text.
func (t *storedTexts) Text(row []float32, _ int, text []byte) string {
	t.text = append(t.text, text...)
	t.ends = append(t.ends, len(t.text))
	return t.next.Text(row, text)
}

// Float stores the text of a number, from schema.AppendFloat; NaN is missing.
func (t *storedTexts) Float(row []float32, _ int, v float64) string {
	if math.IsNaN(v) {
		return t.Null(row, 0)
	}
	t.text = schema.AppendFloat(t.text, v)
	t.ends = append(t.ends, len(t.text))
	return t.next.Float(row, v)
}

// Null stores the text of a missing value, which is empty except for identifiers.
func (t *storedTexts) Null(row []float32, _ int) string {
	t.text = append(t.text, t.null...)
	t.ends = append(t.ends, len(t.text))
	return t.next.Null(row)
}

// at returns text i, which is empty if the row ended before it. The result is nil only if t is nil, which means that
// there is no such column.
func (t *storedTexts) at(i int) []byte {
	if t == nil {
		return nil
	}
	if i >= len(t.ends) {
		return []byte{}
	}
	from := 0
	if i > 0 {
		from = t.ends[i-1]
	}
	if from == t.ends[i] {
		return []byte{}
	}
	return t.text[from:t.ends[i]:t.ends[i]]
}

// key returns text i as part of a key, which may also be an identifier.
func (t *storedTexts) key(i int) []byte {
	if text := t.at(i); t.null == "" || string(text) != t.null {
		return lines.Trim(text, t.next.tabs)
	}
	return nil
}

// plainDecoder is the Sink of rows of plain numbers: missing values and texts cannot be used.
type plainDecoder struct{ *schema.Decoder }

func newPlain(l *TableLayout, centre []float64) schema.Sink {
	t := new(schema.Table)
	for _, name := range l.Names() {
		t.Columns = append(t.Columns, schema.Column{Name: name, Type: schema.Number})
	}
	return plainDecoder{schema.NewDecoder(t, centre)}
}

const isMissing = "is missing"

func (p plainDecoder) Text(row []float32, column int, text []byte) string {
	if len(text) == 0 {
		return isMissing
	}
	return p.Decoder.Text(row, column, text)
}

func (p plainDecoder) Float(row []float32, column int, v float64) string {
	if math.IsNaN(v) {
		return isMissing
	}
	return p.Decoder.Float(row, column, v)
}

func (p plainDecoder) Null([]float32, int) string { return isMissing }

// Layouts in which FieldSink.Time writes times.
const (
	DateLayout  = "2006-01-02"
	ClockLayout = "15:04:05.999999999"
	StampLayout = DateLayout + " " + ClockLayout
)

// Time passes a time in UTC as text, in one of the layouts above.
func (s *FieldSink) Time(row []float32, at time.Time, layout string) (reason string) {
	var text [48]byte
	return s.Sink.Text(row, s.Column, at.UTC().AppendFormat(text[:0], layout))
}

// UUID passes an identifier of 16 bytes as text.
func (s *FieldSink) UUID(row []float32, b []byte) (reason string) {
	text := make([]byte, 0, 36)
	for i, c := range b {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			text = append(text, '-')
		}
		text = hex.AppendEncode(text, []byte{c})
	}
	return s.Sink.Text(row, s.Column, text)
}

// Limits of decimal numbers.
const (
	maxDecimal = 64 // bytes
	maxScale   = 200
)

// Decimal passes a decimal number as text: a big-endian integer divided by 10^scale.
func (s *FieldSink) Decimal(row []float32, b []byte, scale int64) (reason string) {
	if len(b) > maxDecimal || scale < 0 || scale > maxScale {
		return fmt.Sprintf("is a decimal number of %d bytes and scale %d; at most %d and %d are supported", len(b), scale,
			maxDecimal, maxScale)
	}
	v := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	text := v.Abs(v).Append(nil, 10)
	for int64(len(text)) <= scale {
		text = append([]byte{'0'}, text...)
	}
	if point := len(text) - int(scale); scale > 0 {
		text = append(text[:point:point], append([]byte{'.'}, text[point:]...)...)
	}
	if len(b) > 0 && b[0] >= 0x80 {
		text = append([]byte{'-'}, text...)
	}
	return s.Sink.Text(row, s.Column, text)
}
