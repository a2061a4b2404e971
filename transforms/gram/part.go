package gram

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
)

// A part of a sum is whole numbers in float64. Parts with the same key are added element by
// element, which is exact and so independent of the order. Encoded, it is a byte that says how
// many bytes each number takes, and the numbers, little-endian: integers in two's complement, of
// as few bytes as the largest of them needs; or, if not all are integers below 2⁵⁵, float64.

// floats is the width of numbers that are not integers.
const floats = 8

// widthOf returns how many bytes each of the numbers takes.
func widthOf(values []float64) int {
	var any uint64 // bits that differ from the sign
	for _, v := range values {
		i := int64(v)
		if float64(i) != v {
			return floats
		}
		any |= uint64(i ^ i>>63)
	}
	return min(bits.Len64(any)/8+1, floats) // with a bit for the sign
}

// EncodePart returns the encoding of the whole numbers of a part.
func EncodePart(values []float64) []byte {
	width := widthOf(values)
	out := make([]byte, 1+width*len(values)+8) // numbers are written 8 bytes at a time
	out[0] = byte(width)
	at := out[1:]
	for _, v := range values {
		n := uint64(int64(v))
		if width == floats {
			n = math.Float64bits(v)
		}
		binary.LittleEndian.PutUint64(at, n)
		at = at[width:]
	}
	return out[:len(out)-8]
}

// partLen returns how many numbers an encoded part has.
func partLen(data []byte) (int, error) {
	if len(data) == 0 || data[0] == 0 || data[0] > floats || (len(data)-1)%int(data[0]) != 0 {
		return 0, errors.New("gram: a part of a sum is damaged")
	}
	return (len(data) - 1) / int(data[0]), nil
}

// eachValue calls f with all numbers of a part.
func eachValue(data []byte, f func(i int, v float64)) {
	width, data := int(data[0]), data[1:]
	if width == floats {
		for i := range len(data) / floats {
			f(i, math.Float64frombits(binary.LittleEndian.Uint64(data[floats*i:])))
		}
		return
	}
	shift := 64 - 8*width
	for i := range len(data) / width {
		if len(data) < 8 { // near the end
			data = append(make([]byte, 0, 8), data...)[:8]
		}
		f(i, float64(int64(binary.LittleEndian.Uint64(data)<<shift)>>shift))
		data = data[width:]
	}
}

// DecodePart reads what EncodePart returns.
func DecodePart(data []byte) ([]float64, error) {
	n, err := partLen(data)
	if err != nil {
		return nil, err
	}
	values := make([]float64, n)
	eachValue(data, func(i int, v float64) { values[i] = v })
	return values, nil
}
