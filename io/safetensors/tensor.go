// Package safetensors writes and reads the safetensors format: a file of named
// arrays that holds nothing to execute and declares all its sizes up front.
//
// The file is the length of the header (8 bytes, little-endian), the header, and
// the data. The header is a JSON object that gives for each name the type of
// the numbers, the shape, and where in the data the array is, and for the name
// __metadata__ a map of strings to strings. The data are row-major,
// little-endian, and without holes. The format is described at
// https://github.com/huggingface/safetensors.
//
// The package also writes NPY, the array format of NumPy, in its version 1.0. That format is described at
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html.
package safetensors

import "math"

// DType is the type of an array's numbers, as the header spells it.
type DType string

const (
	F32 DType = "F32"
	F64 DType = "F64"
	I8  DType = "I8"
	I16 DType = "I16"
	I32 DType = "I32"
	I64 DType = "I64"
	U8  DType = "U8"
	U16 DType = "U16"
	U32 DType = "U32"
	U64 DType = "U64"
)

// Value is a type that arrays can be written from and read to.
type Value interface {
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

func dtypeOf[T Value]() DType {
	switch any(T(0)).(type) {
	case float32:
		return F32
	case float64:
		return F64
	case int8:
		return I8
	case int16:
		return I16
	case int32:
		return I32
	case int64:
		return I64
	case uint8:
		return U8
	case uint16:
		return U16
	case uint32:
		return U32
	}
	return U64
}

// bits returns the size of one number. Types that are known but have no Go
// counterpart are among them, so that their arrays' sizes are checked too.
func (d DType) bits() (n int, ok bool) {
	switch d {
	case "F4":
		return 4, true
	case "F6_E2M3", "F6_E3M2":
		return 6, true
	case U8, I8, "BOOL", "F8_E4M3", "F8_E5M2", "F8_E8M0":
		return 8, true
	case U16, I16, "F16", "BF16":
		return 16, true
	case U32, I32, F32:
		return 32, true
	case U64, I64, F64, "C64":
		return 64, true
	}
	return 0, false
}

// product returns the number of values of a shape, 1 for the empty one. It is
// not ok if a product on the way is above the largest int.
func product(shape []int) (n int, ok bool) {
	n = 1
	for _, d := range shape {
		if d < 0 || d > 0 && n > math.MaxInt/d {
			return 0, false
		}
		n *= d
	}
	return n, true
}

// Tensor is a named array to be written. It is made by [Of].
type Tensor struct {
	name  string
	shape []int
	dtype DType
	n     int                  // values
	slice func(lo, hi int) any // []T of the values lo to hi
}

// Of returns a tensor of a row-major array, whose memory it shares. No shape at all means a single
// number. Of panics if the length of data is not the product of the shape.
func Of[T Value](name string, data []T, shape ...int) Tensor {
	if n, ok := product(shape); !ok || n != len(data) {
		panic("safetensors: shape does not fit the length of the data")
	}
	return Tensor{name, shape, dtypeOf[T](), len(data), func(lo, hi int) any { return data[lo:hi] }}
}
