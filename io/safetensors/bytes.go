package safetensors

import (
	"bytes"
	"fmt"
	"slices"
)

// Encode returns the bytes that [Write] writes. It panics if Write returns an error,
// which is about names and metadata.
func Encode(meta map[string]string, tensors ...Tensor) []byte {
	var b bytes.Buffer
	if err := Write(&b, meta, tensors); err != nil {
		panic(err.Error())
	}
	return b.Bytes()
}

// Decode opens a file that is in memory.
func Decode(data []byte) (*File, error) {
	return Read(bytes.NewReader(data), int64(len(data)))
}

// Shaped reads the numbers of a tensor that must have that type and shape, and
// no NaN or infinity. A size of −1 is any. Nothing is allocated unless it fits.
func Shaped[T Value](f *File, name string, shape ...int) ([]T, error) {
	if t, ok := f.Lookup(name); ok && !slices.EqualFunc(t.Shape, shape,
		func(have, want int) bool { return want == -1 || have == want }) {
		return nil, fmt.Errorf("safetensors: tensor %.60q: shape %v, want %v", name, t.Shape, shape)
	}
	v, err := Values[T](f, name)
	if err != nil {
		return nil, err
	}
	for i, x := range v {
		if x-x != 0 {
			return nil, fmt.Errorf("safetensors: tensor %.60q: number %d is not finite", name, i)
		}
	}
	return v, nil
}
