package landmarks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
)

// Recipe is the recipe of φ_j(x) = k(x, z_j), j = 1 to Out.
type Recipe struct {
	// Of is a recipe of random features. Only its row length and its kernel k are used, which
	// fourier.RadialOf must know; its form, seed and number of features are ignored.
	Of     features.Recipe
	Out    int    // number of features: the first Out landmarks of the file
	SHA256 string // of the file of landmarks, in hexadecimal
}

var _ features.Fixed = Recipe{}

func init() { features.Register("landmarks", features.Decode[Recipe]) }

// Validate returns an error that names the invalid field. It does not check that the file is available.
func (r Recipe) Validate() error {
	if r.Of == nil {
		return errors.New("landmarks: the kernel is missing")
	}
	if err := features.Validate(r.Of); err != nil {
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

// Dims returns the row length and the number of features.
func (r Recipe) Dims() (in, out int) {
	in, _, _ = features.Dims(r.Of)
	return in, r.Out
}

// Fixed marks a recipe whose kernel is exactly the inner product of features.
func (Recipe) Fixed() {}

// Kernel returns φ(x)·φ(z), or NaN if New fails.
func (r Recipe) Kernel(x, z []float32) float64 { return features.InnerProduct(r, x, z) }

// Landmarks returns the landmarks, Out×In. It fails if the file is not available or does not fit.
func (r Recipe) Landmarks() ([]float32, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	in, _ := r.Dims()
	l := provided.Get(r.SHA256)
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
	*r = Recipe{k, j.Out, j.SHA256}
	return nil
}
