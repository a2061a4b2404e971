package landmarks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/blas"
)

// Recipe is the recipe of φ_j(x) = k(x, z_j), j = 1 to Out. RecipeOf returns one with its landmarks.
type Recipe struct {
	// Of is a recipe of random features. Only its row length and its kernel k are used, which
	// fourier.RadialOf must know; its form, seed and number of features are ignored.
	Of     features.Recipe
	Out    int    // number of features: the first Out landmarks of the file
	SHA256 string // of the file of landmarks, in hexadecimal

	set *Set // nil without the file
}

func init() {
	features.Register("landmarks", open)
	features.RegisterFile(FileName, Decode)
}

// RecipeOf returns the recipe of the kernel of a recipe at landmarks. It returns an error if the landmarks are
// invalid.
func RecipeOf(kernel features.Recipe, s *Set) (Recipe, error) {
	data, err := Encode(s)
	return Recipe{kernel, s.Count, features.SHA256(data), s}, err
}

func open(data []byte, files *features.Files) (Recipe, error) {
	r, err := features.Decode[Recipe](data, files)
	r.set = features.FileContent[Set](files, r.SHA256)
	return r, err
}

// AddFiles implements features.FileUser.
func (r Recipe) AddFiles(f *features.Files) { f.Set(r.SHA256, r.set) }

// Validate returns an error that names the invalid field. It does not check the file.
func (r Recipe) Validate() error {
	if r.Of == nil {
		return errors.New("landmarks: the kernel is missing")
	}
	if err := r.Of.Validate(); err != nil {
		return fmt.Errorf("landmarks: %w", err)
	}
	in, _ := r.Dims()
	switch {
	case fourier.RadialOf(r.Of) == nil:
		return fmt.Errorf("landmarks: %T is not a function of the distance in closed form; have Gaussian, Laplace, "+
			"Exponential, and Matern with nu 0.5, 1.5 or 2.5", r.Of)
	case r.Out < 1 || r.Out > maxValues/in:
		return fmt.Errorf("landmarks: out must be 1 to %d (have %d)", maxValues/in, r.Out)
	}
	if err := features.CheckSum(r.SHA256); err != nil {
		return fmt.Errorf("landmarks: %w", err)
	}
	return nil
}

// Dims implements features.Recipe.
func (r Recipe) Dims() (in, out int) {
	in, _, _ = features.Dims(r.Of)
	return in, r.Out
}

// Landmarks returns the landmarks, Out×In. It fails if the recipe was opened without the file, or if the file
// does not fit.
func (r Recipe) Landmarks() ([]float32, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	in, _ := r.Dims()
	l := r.set
	switch {
	case l == nil:
		return nil, fmt.Errorf("landmarks: no file with SHA-256 %.12s… is available; provide %s of the model",
			r.SHA256, FileName)
	case l.In != in || l.Count < r.Out:
		return nil, fmt.Errorf("landmarks: the file has %d rows of %d values; the recipe needs %d of %d", l.Count, l.In,
			r.Out, in)
	}
	return l.X[:r.Out*in], nil
}

// recipeJSON is the JSON form of a Recipe.
type recipeJSON struct {
	Kernel features.Sealed `json:"kernel"`
	Out    int             `json:"out"`
	SHA256 string          `json:"sha256"`
}

// MarshalJSON returns {"kernel": sealed recipe, "out": …, "sha256": …}.
func (r Recipe) MarshalJSON() ([]byte, error) {
	k, err := features.Seal(r.Of)
	if err != nil {
		return nil, err
	}
	return json.Marshal(recipeJSON{k, r.Out, r.SHA256})
}

// UnmarshalJSON reads the output of MarshalJSON.
func (r *Recipe) UnmarshalJSON(data []byte) error {
	var j recipeJSON
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&j); err != nil {
		return err
	}
	if j.Kernel.Kind == "chain" || j.Kernel.Kind == "join" || j.Kernel.Kind == "landmarks" {
		return fmt.Errorf("the kernel cannot be of kind %q", j.Kernel.Kind) // input must not choose the depth of recursion
	}
	k, err := j.Kernel.Open()
	if err != nil {
		return err
	}
	*r = Recipe{Of: k, Out: j.Out, SHA256: j.SHA256}
	return nil
}

// featureMap is the map of a Recipe. It does not change and is safe for concurrent use.
type featureMap struct {
	in, out   int
	landmarks []float32 // out×in
	of        *fourier.Radial
	scratch   sync.Pool // of *[]float64, distances from a row to the landmarks
}

var _ features.Ranged = (*featureMap)(nil)

// New returns the map. It fails if a field is invalid, or if Landmarks does.
func (r Recipe) New() (features.Map, error) {
	x, err := r.Landmarks()
	if err != nil {
		return nil, err
	}
	m := &featureMap{landmarks: x, of: fourier.RadialOf(r.Of)}
	m.in, m.out = r.Dims()
	m.scratch.New = func() any {
		t := make([]float64, m.out)
		return &t
	}
	return m, nil
}

// Dims implements features.Map.
func (m *featureMap) Dims() (in, out int) { return m.in, m.out }

// Apply stores the features of the n rows of x in dst, each computed in float64 and rounded once. A row
// with NaN gets NaN. It panics if a slice is too short.
func (m *featureMap) Apply(dst, x []float32, n int) {
	if n < 0 || len(x) < n*m.in || len(dst) < n*m.out {
		panic("landmarks: Apply: slice too short")
	}
	m.each(dst, x, n, func(k float64) float32 { return float32(k) })
}

// each stores value(k) for the kernel k of each of n rows with each landmark.
func (m *featureMap) each(dst, x []float32, n int, value func(k float64) float32) {
	scratch := m.scratch.Get().(*[]float64)
	defer m.scratch.Put(scratch)
	t := *scratch
	for i := range n {
		blas.Distances(t, x[i*m.in:(i+1)*m.in], m.landmarks, m.of.Distance == kernel.L1)
		for j, v := range t {
			if m.of.Distance == kernel.Euclidean {
				v = math.Sqrt(v)
			}
			t[j] = v / m.of.Width
		}
		m.of.At(t)
		to := dst[i*m.out : (i+1)*m.out]
		for j, k := range t {
			to[j] = value(k)
		}
	}
}

// Quantize stores the features of the n ≤ features.MaxRows rows of x in dst, rounded to its grid. NaN
// becomes 0 and is counted in saturated. It panics if x is too short.
func (m *featureMap) Quantize(dst *features.Grid, x []float32, n, threads int) (saturated int64) {
	return features.OnGrid(steps{m, float64(dst.Steps())}, dst, x, n, threads, float32(dst.Steps()))
}

// Ranges returns the centre and half length of each feature's range, ½ and ½.
func (m *featureMap) Ranges() (centre, half []float64) {
	half = make([]float64, m.out)
	for j := range half {
		half[j] = 0.5
	}
	return half, half
}

// Step returns the size of a step of the 8-bit grid.
func (m *featureMap) Step() float64 { return 0.5 / features.ByteSteps }

// Wide returns true, which asks for the 16-bit grid: 8 bits are too coarse for features of a wide kernel.
func (m *featureMap) Wide() bool { return true }

// steps maps rows to steps of the grid.
type steps struct {
	*featureMap
	largest float64
}

// Apply stores (2k − 1)·largest.
func (s steps) Apply(dst, x []float32, n int) {
	s.each(dst, x, n, func(k float64) float32 { return float32((2*k - 1) * s.largest) })
}
