package gram

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"slices"
)

// A part of a sum is a slice of whole numbers in float64. Parts with the same key are added element
// by element, which is exact and so independent of the order. The encoding of a part is a byte with
// the width of each number in bytes, followed by the numbers, little-endian. They are integers in
// two's complement, as wide as the largest needs, or float64 if not all are integers below 2⁵⁵.

// floats is the width of numbers that are not integers.
const floats = 8

// widthOf returns how many bytes each of the numbers takes.
func widthOf(values []float64) int {
	var any uint64 // bits that differ from the sign bit in any number
	for len(values) >= 4 {
		v := (*[4]float64)(values)
		i0, i1, i2, i3 := int64(v[0]), int64(v[1]), int64(v[2]), int64(v[3])
		if float64(i0) != v[0] || float64(i1) != v[1] || float64(i2) != v[2] || float64(i3) != v[3] {
			return floats
		}
		any |= uint64(i0^i0>>63) | uint64(i1^i1>>63) | uint64(i2^i2>>63) | uint64(i3^i3>>63)
		values = values[4:]
	}
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
func EncodePart(values []float64) []byte { return appendPart(nil, values) }

// appendPart appends the encoding of a part to buf.
func appendPart(buf []byte, values []float64) []byte {
	width := widthOf(values)
	begin, size := len(buf), 1+width*len(values)
	out := slices.Grow(buf, size+8)[:begin+size+8] // numbers are written 8 bytes at a time
	out[begin] = byte(width)
	at := out[begin+1:]
	if width == 4 { // the usual width, of sums over some thousand rows
		for len(values) >= 4 && len(at) >= 16 {
			v, to := (*[4]float64)(values), (*[16]byte)(at)
			binary.LittleEndian.PutUint32(to[:4], uint32(int64(v[0])))
			binary.LittleEndian.PutUint32(to[4:8], uint32(int64(v[1])))
			binary.LittleEndian.PutUint32(to[8:12], uint32(int64(v[2])))
			binary.LittleEndian.PutUint32(to[12:], uint32(int64(v[3])))
			values, at = values[4:], at[16:]
		}
	}
	for _, v := range values {
		n := uint64(int64(v))
		if width == floats {
			n = math.Float64bits(v)
		}
		binary.LittleEndian.PutUint64(at, n)
		at = at[width:]
	}
	return out[:begin+size]
}

// partLen returns the number of numbers in an encoded part.
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

// addValues adds the numbers of a part to dst, which must have the same length.
func addValues(dst []float64, data []byte) {
	if data[0] != 4 {
		eachValue(data, func(i int, v float64) { dst[i] += v })
		return
	}
	data = data[1:]
	for len(dst) >= 4 && len(data) >= 16 {
		to, from := (*[4]float64)(dst), (*[16]byte)(data)
		to[0] += float64(int32(binary.LittleEndian.Uint32(from[:4])))
		to[1] += float64(int32(binary.LittleEndian.Uint32(from[4:8])))
		to[2] += float64(int32(binary.LittleEndian.Uint32(from[8:12])))
		to[3] += float64(int32(binary.LittleEndian.Uint32(from[12:])))
		dst, data = dst[4:], data[16:]
	}
	for i := range dst {
		dst[i] += float64(int32(binary.LittleEndian.Uint32(data[4*i:])))
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
