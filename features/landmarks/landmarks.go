package landmarks

import (
	"fmt"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/safetensors"
)

// FileName is the name of the file of landmarks in the directory of a model.
const FileName = "landmarks.safetensors"

// maxValues is the largest Count·In of a file: 256 MiB of float32.
const maxValues = 1 << 26

// Set are landmarks. They must not change after Encode.
type Set struct {
	Count, In int
	X         []float32 // Count×In, row-major
}

// Distinct returns copies of the first rows, at most count and in order, of the n rows of x (d values each)
// that differ from all rows before them. It compares 64-bit hashes.
func Distinct(x []float32, n, d, count int) *Set {
	r := &Set{In: d}
	seen := map[uint64]bool{}
	for i := 0; i < n && r.Count < count; i++ {
		row := x[i*d : (i+1)*d]
		if key := rowio.Hash(0, row); !seen[key] {
			seen[key] = true
			r.Count++
			r.X = append(r.X, row...)
		}
	}
	return r
}

func (r *Set) validate() error {
	switch {
	case r.In < 1 || r.In > rowio.MaxDim:
		return fmt.Errorf("rows must have 1 to %d values (have %d)", rowio.MaxDim, r.In)
	case r.Count < 1 || r.Count > maxValues/r.In:
		return fmt.Errorf("the number of rows must be 1 to %d (have %d)", maxValues/r.In, r.Count)
	case len(r.X) != r.Count*r.In:
		return fmt.Errorf("%d values for %d rows of length %d", len(r.X), r.Count, r.In)
	}
	for i, v := range r.X {
		if !exact.Finite(v) {
			return fmt.Errorf("row %d, column %d must be finite (have %v)", i/r.In+1, i%r.In+1, v)
		}
	}
	return nil
}

// Encode returns the file of r, in the safetensors format: "landmarks" [Count, In] F32. Equal rows have
// equal bytes. It returns an error if sizes or values are invalid.
func Encode(r *Set) ([]byte, error) {
	if err := r.validate(); err != nil {
		return nil, fmt.Errorf("landmarks: %w", err)
	}
	return safetensors.Encode(nil, safetensors.NewTensor("landmarks", r.X, r.Count, r.In)), nil
}

// Decode decodes what Encode returned. It fails if data is not such a file, or if sizes or values are
// invalid.
func Decode(data []byte) (*Set, error) {
	r, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("landmarks: %w", err)
	}
	return r, nil
}

func decode(data []byte) (*Set, error) {
	file, err := safetensors.Decode(data)
	if err != nil {
		return nil, err
	}
	info, ok := file.Lookup("landmarks")
	if !ok || len(file.Tensors) != 1 || len(info.Shape) != 2 {
		return nil, fmt.Errorf("want one array, the matrix %q", "landmarks")
	}
	r := &Set{Count: info.Shape[0], In: info.Shape[1]} // no larger than the file, so allocation is bounded
	if r.X, err = safetensors.Values[float32](file, "landmarks"); err != nil {
		return nil, err
	}
	return r, r.validate()
}
