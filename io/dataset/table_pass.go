package dataset

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"time"
)

// Layouts in which FieldSink.Time writes times.
const (
	DateLayout  = "2006-01-02"
	ClockLayout = "15:04:05.999999999"
	StampLayout = DateLayout + " " + ClockLayout
)

// Time passes a time in UTC as text, in one of the layouts above.
func (t *FieldSink) Time(row []float32, at time.Time, layout string) (reason string) {
	var text [48]byte
	return t.Sink.Text(row, t.Column, at.UTC().AppendFormat(text[:0], layout))
}

// UUID passes an identifier of 16 bytes as text.
func (t *FieldSink) UUID(row []float32, b []byte) (reason string) {
	text := make([]byte, 0, 36)
	for i, c := range b {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			text = append(text, '-')
		}
		text = hex.AppendEncode(text, []byte{c})
	}
	return t.Sink.Text(row, t.Column, text)
}

// Limits of decimal numbers.
const (
	maxDecimal = 64 // bytes
	maxScale   = 200
)

// Decimal passes a decimal number as text: a big-endian integer divided by 10^scale.
func (t *FieldSink) Decimal(row []float32, b []byte, scale int64) (reason string) {
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
	return t.Sink.Text(row, t.Column, text)
}
