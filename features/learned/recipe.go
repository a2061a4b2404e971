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
	"github.com/bochner-ml/bochner/io/rowio"
)

// Recipe is the recipe of Fourier features whose frequencies are in a file. RecipeOf returns one with
// its frequencies. In the offset form, offset j is the uniform number of the stream (Seed,
// "learned/offset", j), in turns.
type Recipe struct {
	In     int          `json:"in"`     // row length d
	Count  int          `json:"count"`  // number of frequencies
	Form   fourier.Form `json:"form"`   // paired: 2·Count features; offset: Count features
	SHA256 string       `json:"sha256"` // hash of the file of frequencies, in hexadecimal
	Seed   uint64       `json:"seed"`   // seed of the offsets

	file *Frequencies // nil without the file
}

var offset = stream.PurposeOf("learned/offset")

func init() {
	features.Register("learned", open)
	features.RegisterFile(FileName, decodeFile)
	kernel.Register(kernel.Family{
		Name: "learned", Summary: "Fourier features with frequencies learned from labelled data",
		New: func() kernel.Options { return &Options{Features: kernel.DefaultFeatures} },
	})
}

// RecipeOf returns the recipe of features, given the file of their frequencies. It returns an error
// if the file is invalid.
func RecipeOf(data []byte, form fourier.Form, seed uint64) (Recipe, error) {
	f, err := decodeFile(data)
	if err != nil {
		return Recipe{}, err
	}
	return Recipe{In: f.In, Count: f.Count, Form: form, SHA256: features.SHA256(data), Seed: seed, file: f}, nil
}

func open(data []byte, files *features.Files) (Recipe, error) {
	r, err := features.Decode[Recipe](data, files)
	r.file = features.FileContent[Frequencies](files, r.SHA256)
	return r, err
}

// AddFiles implements features.FileUser.
func (r Recipe) AddFiles(f *features.Files) { f.Set(r.SHA256, r.file) }

// Validate returns an error that names the invalid field. It does not check the file of frequencies.
func (r Recipe) Validate() error {
	fail := func(format string, a ...any) error {
		return fmt.Errorf("learned: "+format, a...)
	}
	switch {
	case r.In < 1 || r.In > rowio.MaxDim:
		return fail("in must be 1 to %d (have %d)", rowio.MaxDim, r.In)
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

// Dims implements features.Recipe.
func (r Recipe) Dims() (in, out int) {
	if r.Form == fourier.Paired {
		return r.In, 2 * r.Count
	}
	return r.In, r.Count
}

// frequencies returns the frequencies. It returns an error if the recipe is invalid or was opened
// without its file, or if the file has another shape.
func (r Recipe) frequencies() (*Frequencies, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	f := r.file
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
// returns an error if the recipe is invalid or has no file.
func (r Recipe) Turns() ([]float32, error) {
	f, err := r.frequencies()
	if err != nil {
		return nil, err
	}
	return f.W, nil
}

// Waves returns the amplitude of each frequency's features and, in the offset form, the offset of
// each frequency in turns. Both slices have length Count; offsets is nil in the paired form. It
// returns an error if the recipe is invalid or has no file.
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

// New returns the feature map. It returns an error if the recipe is invalid or has no file.
func (r Recipe) New() (features.Map, error) {
	m, err := r.build(r.In, func(w, offsets []float32) *blas.Weights { return blas.Pack(w, offsets, r.Count, r.In) })
	if err != nil {
		return nil, err // m is a nil *featureMap, which would make a Map that is not nil
	}
	return m, nil
}

// NewShort implements features.ShortFormRecipe: it returns the map of rows in the short form, or nil
// if an angle could overflow float32. It panics if the form is of rows of another length.
func (r Recipe) NewShort(form *features.ShortForm) (features.Map, error) {
	short, whole := form.Row()
	if whole != r.In {
		panic("learned: NewShort: rows of another length")
	}
	m, err := r.build(short, func(w, offsets []float32) *blas.Weights {
		return blas.PackHot(w, offsets, r.Count, r.In, blas.Hot{Values: form.Hot, Groups: form.Groups})
	})
	if err != nil || !form.Within(m.limit) {
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
	m.weights, m.limit = pack(f.W, b), features.AngleLimit(f.W, r.In)
	m.bound = slices.Max(amplitude)
	if f.Weight != nil {
		m.amplitude = make([]float32, m.out)
		for j := range m.amplitude {
			m.amplitude[j] = amplitude[j%r.Count]
		}
	}
	return m, nil
}

// Kernel returns Σ_j λ_j cos 2πw_j·(x−z), or NaN if the recipe is invalid or has no file. It panics
// unless both rows have length In.
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

// featureMap is the feature map of a Recipe. It is immutable and safe for concurrent use.
type featureMap struct {
	weights *blas.Weights
	in, out int
	form    fourier.Form
	bound   float32 // largest magnitude of a feature
	limit   float32 // no angle overflows for values up to limit; see features.AngleLimit
	// amplitude holds the amplitude of each feature. It is nil if all are equal to bound.
	amplitude []float32
}

var _ features.Gridded = (*featureMap)(nil)

// Dims implements features.Map.
func (m *featureMap) Dims() (in, out int) { return m.in, m.out }

// Apply stores the features of the n rows of x (n×in, row-major) in dst (n×out). It runs on one
// thread. If an angle of a row overflows float32, the features are NaN. It panics if a slice is too
// short.
func (m *featureMap) Apply(dst, x []float32, n int) {
	if n < 0 || len(x) < n*m.in || len(dst) < n*m.out {
		panic("learned: Apply: slice too short")
	}
	m.apply(dst, x, n, 1)
}

func (m *featureMap) apply(dst, x []float32, n, threads int) {
	scale := m.bound
	if m.amplitude != nil {
		scale = 1
	}
	if m.form == fourier.Paired {
		m.weights.CosSin(dst, x, n, scale, threads)
	} else {
		m.weights.Cos(dst, x, n, scale, threads)
	}
	if m.amplitude != nil {
		blas.Affine(dst, dst, m.amplitude, nil, n)
	}
}

// Quantize stores the features of n ≤ features.MaxRows rows of x on the grid. All features share
// one grid, so features of small weight use only a few of its steps. It returns the number of
// features that are NaN; no other feature is clipped. It panics if x is too short or n is too
// large.
func (m *featureMap) Quantize(dst *features.Grid, x []float32, n, threads int) (saturated int64) {
	if n < 0 || n > blas.MaxRows || len(x) < n*m.in {
		panic("learned: Quantize: slice too short, or too many rows")
	}
	switch {
	case m.amplitude != nil, dst.Steps() != blas.MaxByte:
		return features.OnGrid(m, dst, x, n, threads, m.bound)
	case m.form == fourier.Paired:
		m.weights.CosSinBytes((*blas.Bytes)(dst), x, n, threads)
	default:
		m.weights.CosBytes((*blas.Bytes)(dst), x, n, threads)
	}
	return features.Overflows(m, x, n, m.limit)
}

// Step returns the step of the 8-bit grid, the largest amplitude divided by 127.
func (m *featureMap) Step() float64 { return float64(m.bound) / 127 }

// Options are the options of the kernel "learned". The zero value learns the frequencies of
// kernel.DefaultFeatures features. The search for them starts from frequencies of the Gaussian
// kernel whose width is the median distance of two rows.
type Options struct {
	Frequencies string       `flag:"frequencies" placeholder:"DIR" help:"Directory with the features that bochner align learned, for --kernel learned or harmonic. It includes the preprocessing."`
	Width       kernel.Width `flag:"width,common" placeholder:"NUMBER"`
	Gamma       float64      `flag:"gamma" help:"Alternative to --width: γ in exp(-γ‖x-z‖²) (gaussian) or exp(-γ‖x-z‖₁) (laplace)."`
	Features    int          `flag:"features,common" help:"Number of random features. More features are more accurate and slower."`
	Form        fourier.Form `flag:"form"`
}

var _ kernel.Learned = (*Options)(nil)

// Directory returns the directory of frequencies that were found earlier, or "" if they are still
// to be found.
func (o *Options) Directory() string { return o.Frequencies }

// Start returns the options of the Gaussian kernel whose frequencies the search starts from.
func (o *Options) Start() kernel.Options {
	return &fourier.GaussianOptions{Width: o.Width, Gamma: o.Gamma, Features: o.Features, Form: o.Form}
}

// Count returns the number of frequencies: half the number of features in the paired form.
func (o *Options) Count() int {
	out := kernel.Count(o.Features)
	if o.Form == fourier.Paired {
		return out / 2
	}
	return out
}

// Validate implements kernel.Options.
func (o *Options) Validate() error {
	if o.Frequencies != "" {
		return nil // the directory determines the rest
	}
	return o.Start().Validate()
}

// Size returns the number of features and the memory that they need, in bytes.
func (o *Options) Size(in int) kernel.Size { return o.Start().Size(in) }

// Choose chooses the Gaussian kernel of Start for the data.
func (o *Options) Choose(d *kernel.Data) (*kernel.Choice, error) { return o.Start().Choose(d) }
