package learned

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/safetensors"
)

// FileName is the name of the file of frequencies in a model directory.
const FileName = "frequencies.safetensors"

const (
	maxCount  = 1 << 24 // frequencies
	maxValues = 1 << 30 // numbers of all frequencies, Count·In
)

// Frequencies is the content of a file of frequencies. It must not change after Encode.
type Frequencies struct {
	Count, In int
	W         []float32 // Count×In, row-major: frequencies in turns
	Weight    []float64 // Count weights λ_j ≥ 0 that sum to 1; nil for equal weights
}

// validate returns an error that names the first invalid size, value or weight.
func (f *Frequencies) validate() error {
	switch {
	case f.In < 1 || f.In > rowio.MaxDim:
		return fmt.Errorf("rows must have 1 to %d values (have %d)", rowio.MaxDim, f.In)
	case f.Count < 1 || f.Count > maxCount || f.Count > maxValues/f.In:
		return fmt.Errorf("must have 1 to %d frequencies (have %d)", min(maxCount, maxValues/f.In), f.Count)
	case len(f.W) != f.Count*f.In:
		return fmt.Errorf("%d values for %d frequencies of length %d", len(f.W), f.Count, f.In)
	}
	for i, v := range f.W {
		if !exact.Finite(v) {
			return fmt.Errorf("frequency %d, column %d: %v", i/f.In, i%f.In, v)
		}
	}
	if f.Weight == nil {
		return nil
	}
	if len(f.Weight) != f.Count {
		return fmt.Errorf("%d weights for %d frequencies", len(f.Weight), f.Count)
	}
	var sum float64
	for i, v := range f.Weight {
		if !(v >= 0 && v <= 1+1e-6) {
			return fmt.Errorf("weight %d must be in [0, 1] (have %v)", i, v)
		}
		sum += v
	}
	if !(math.Abs(sum-1) <= 1e-6) {
		return fmt.Errorf("weights must sum to 1 (have %v)", sum)
	}
	return nil
}

// Encode returns f as a file in the safetensors format: a tensor "frequencies" [Count, In] F32, and
// a tensor "weights" [Count] F64 unless all weights are equal. Equal frequencies give equal bytes.
// It returns an error if f is invalid.
func Encode(f *Frequencies) ([]byte, error) {
	if err := f.validate(); err != nil {
		return nil, fmt.Errorf("learned: frequencies: %w", err)
	}
	tensors := []safetensors.Tensor{safetensors.NewTensor("frequencies", f.W, f.Count, f.In)}
	if f.Weight != nil {
		tensors = append(tensors, safetensors.NewTensor("weights", f.Weight, f.Count))
	}
	return safetensors.Encode(nil, tensors...), nil
}

// decodeFile reads a file that Encode wrote. It returns an error if the file or its frequencies are
// invalid.
func decodeFile(data []byte) (*Frequencies, error) {
	f, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("learned: frequencies: %w", err)
	}
	return f, nil
}

func decode(data []byte) (*Frequencies, error) {
	file, err := safetensors.Decode(data)
	if err != nil {
		return nil, err
	}
	info, ok := file.Lookup("frequencies")
	if !ok || len(info.Shape) != 2 {
		return nil, fmt.Errorf("no matrix %q", "frequencies")
	}
	// Tensors are no larger than the file, which bounds what is allocated here.
	f := &Frequencies{Count: info.Shape[0], In: info.Shape[1]}
	if f.W, err = safetensors.Values[float32](file, "frequencies"); err != nil {
		return nil, err
	}
	names := 1
	if _, ok := file.Lookup("weights"); ok {
		names++
		if f.Weight, err = safetensors.Values[float64](file, "weights"); err != nil {
			return nil, err
		}
	}
	if len(file.Tensors) != names {
		return nil, fmt.Errorf("%d arrays; want frequencies, and weights if any", len(file.Tensors))
	}
	return f, f.validate()
}
