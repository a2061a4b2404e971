package learned

import (
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/io/rows"
)

// Recipe is the recipe of Fourier features whose frequencies are in a file. In the offset form,
// offset j is the uniform number of the stream (Seed, "learned/offset", j), in turns.
type Recipe struct {
	In     int          `json:"in"`     // row length d
	Count  int          `json:"count"`  // number of frequencies
	Form   fourier.Form `json:"form"`   // paired: 2·Count features; offset: Count features
	SHA256 string       `json:"sha256"` // hash of the file of frequencies, in hexadecimal
	Seed   uint64       `json:"seed"`   // seed of the offsets
}

var offset = stream.PurposeOf("learned/offset")

func init() {
	features.Register("learned", features.Decode[Recipe])
	features.RegisterFile(FileName, &provided, decodeFile)
	kernel.Register(kernel.Family{
		Name: "learned", Summary: "Fourier features with frequencies learned from labelled data",
		New: func() kernel.Options { return &Options{Features: kernel.DefaultFeatures} },
	})
}

// RecipeOf calls Provide for a file of frequencies and returns the recipe of its features. It
// returns an error if the file is invalid.
func RecipeOf(data []byte, form fourier.Form, seed uint64) (Recipe, error) {
	sum, err := Provide(data)
	if err != nil {
		return Recipe{}, err
	}
	f := provided.Get(sum)
	return Recipe{In: f.In, Count: f.Count, Form: form, SHA256: sum, Seed: seed}, nil
}

// Validate returns an error that names the invalid field. It does not check whether the file of
// frequencies was provided.
func (r Recipe) Validate() error {
	fail := func(format string, a ...any) error {
		return fmt.Errorf("learned: "+format, a...)
	}
	switch {
	case r.In < 1 || r.In > rows.MaxDim:
		return fail("in must be 1 to %d (have %d)", rows.MaxDim, r.In)
	case r.Form > fourier.Offset:
		return fail("form must be paired or offset (have %v)", r.Form)
	case r.Count < 1 || r.Count > min(maxCount, maxValues/r.In):
		return fail("count must be 1 to %d for rows of length %d (have %d)", min(maxCount, maxValues/r.In), r.In, r.Count)
	}
	if err := features.CheckSum(r.SHA256); err != nil {
		return fail("%w", err)
	}
	return nil
}

// Dims returns the row length and the number of features.
func (r Recipe) Dims() (in, out int) {
	if r.Form == fourier.Paired {
		return r.In, 2 * r.Count
	}
	return r.In, r.Count
}

// frequencies returns the frequencies that were provided for the recipe. It returns an error if
// there are none, or if their shape differs from the recipe's.
func (r Recipe) frequencies() (*Frequencies, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	f := provided.Get(r.SHA256)
	if f == nil {
		return nil, fmt.Errorf("learned: the frequencies with SHA-256 %.12s… are not available; provide %s of the model",
			r.SHA256, FileName)
	}
	if f.Count != r.Count || f.In != r.In {
		return nil, fmt.Errorf("learned: the file has %d frequencies of length %d, the recipe %d of length %d", f.Count,
			f.In, r.Count, r.In)
	}
	return f, nil
}

// Turns returns the frequencies in turns (Count×In, row-major). The caller must not change them. It
// returns an error if the recipe is invalid or its file was not provided.
func (r Recipe) Turns() ([]float32, error) {
	f, err := r.frequencies()
	if err != nil {
		return nil, err
	}
	return f.W, nil
}

// Waves returns the amplitude of each frequency's features and, in the offset form, the offset of
// each frequency in turns. Both slices have length Count; offsets is nil in the paired form. It
// returns an error if the recipe is invalid or its file was not provided.
func (r Recipe) Waves() (amplitude, offsets []float32, err error) {
	f, err := r.frequencies()
	if err != nil {
		return nil, nil, err
	}
	squarePerWeight := 1.0 // squared amplitude of a feature, divided by λ_j
	if r.Form == fourier.Offset {
		squarePerWeight = 2
		offsets = make([]float32, r.Count)
		for j := range offsets {
			offsets[j] = float32(stream.New(r.Seed, offset, uint64(j)).Uniform())
		}
	}
	amplitude = make([]float32, r.Count)
	for j := range amplitude {
		weight := 1 / float64(r.Count)
		if f.Weight != nil {
			weight = f.Weight[j]
		}
		amplitude[j] = float32(math.Sqrt(squarePerWeight * weight))
	}
	return amplitude, offsets, nil
}

// New returns the feature map. It returns an error if a field is invalid or the file of
// frequencies was not provided.
func (r Recipe) New() (features.Map, error) {
	m, err := r.build(r.In, func(w, offsets []float32) *blas.Weights { return blas.Pack(w, offsets, r.Count, r.In) })
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Gather implements features.Gathering: it returns the map of rows in the short form of c, or nil
// if an angle could overflow float32. It panics if c is for rows of another length.
func (r Recipe) Gather(c *features.Compact) (features.Map, error) {
	short, whole := c.Row()
	if whole != r.In {
		panic("learned: Gather: rows of another length")
	}
	m, err := r.build(short, func(w, offsets []float32) *blas.Weights {
		return blas.PackHot(w, offsets, r.Count, r.In, blas.Hot{Values: c.Hot, Groups: c.Groups})
	})
	if err != nil || !c.Within(m.reach) {
		return nil, err
	}
	return m, nil
}

// build returns the map of rows of length in. pack packs the frequencies and the offsets for such
// rows.
func (r Recipe) build(in int, pack func(w, offsets []float32) *blas.Weights) (*featureMap, error) {
	f, err := r.frequencies()
	if err != nil {
		return nil, err
	}
	m := &featureMap{form: r.Form, in: in}
	_, m.out = r.Dims()
	amplitude, b, err := r.Waves()
	if err != nil {
		return nil, err
	}
	m.weights, m.reach = pack(f.W, b), features.Reach(f.W, r.In)
	m.bound = slices.Max(amplitude)
	if f.Weight != nil {
		m.amplitude = make([]float32, m.out)
		for j := range m.amplitude {
			m.amplitude[j] = amplitude[j%r.Count]
		}
	}
	return m, nil
}

// Kernel returns Σ_j λ_j cos 2πw_j·(x−z), or NaN if the recipe is invalid or its file was not
// provided. It panics unless both rows have length In.
func (r Recipe) Kernel(x, z []float32) float64 {
	f, err := r.frequencies()
	if err != nil {
		return math.NaN()
	}
	if len(x) != len(z) || len(x) != r.In {
		panic("learned: Kernel of rows of different lengths")
	}
	var sum float64
	for j := range f.Count {
		var turns float64
		for i, w := range f.W[j*r.In : (j+1)*r.In] {
			turns += float64(float64(w) * (float64(x[i]) - float64(z[i])))
		}
		weight := 1 / float64(f.Count)
		if f.Weight != nil {
			weight = f.Weight[j]
		}
		sum += float64(weight * math.Cos(2*math.Pi*(turns-math.Round(turns))))
	}
	return sum
}
