package preprocess

import (
	"math"

	"github.com/bochner-ml/bochner/features"
)

// Whiten is the recipe of an image of mean 0 and, unless it is flat, deviation 1:
//
//	x_j ↦ (x_j − mean) / max(dev, 1/√n)
//
// where mean and dev are taken over all n values of the image, all channels together (TensorFlow,
// tf.image.per_image_standardization). The mean and the mean square distance from it are sums in
// float64 over the pixels, channel by channel within each; each result is rounded once, to float32.
// A NaN or infinity makes the whole image NaN.
type Whiten struct {
	Shape ImageShape `json:"shape"`
}

// New returns the map.
func (r Whiten) New() (features.Map, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	in, n := r.Shape, float64(r.Shape.Len())
	pixel, channel := in.strides()
	least := 1 / math.Sqrt(n)
	return &rowMap{family: "image", in: in.Len(), out: in.Len(), row: func(dst, x []float32) {
		var sum, squares float64
		for p := range in.Height * in.Width {
			for c := range in.Channels {
				sum += float64(x[p*pixel+c*channel])
			}
		}
		mean := sum / n
		for p := range in.Height * in.Width {
			for c := range in.Channels {
				d := float64(x[p*pixel+c*channel]) - mean
				squares += float64(d * d)
			}
		}
		by := max(math.Sqrt(squares/n), least)
		for j, v := range x {
			dst[j] = float32((float64(v) - mean) / by)
		}
	}}, nil
}

// Validate implements features.Recipe.
func (r Whiten) Validate() error { return r.Shape.check("Whiten") }

// Result returns the shape of the image, which is unchanged.
func (r Whiten) Result() ImageShape { return r.Shape }

// Dims implements features.Recipe.
func (r Whiten) Dims() (in, out int) { return r.Shape.Len(), r.Shape.Len() }
