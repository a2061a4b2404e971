package preprocess

import "github.com/bochner-ml/bochner/features"

// UnitPixels is the recipe of an image whose pixels are vectors of length 1: the channels of each pixel are
// divided by √(Σ of their squares). A pixel of zeros is unchanged. After PatchPCA each pixel is a patch, so
// patches become points of the sphere, the base space of the convolutional skeletons of Daniely, Frostig,
// Gupta and Singer (2017, §6).
//
// Squares are summed channel by channel in float64, where they are exact; root and quotient are
// in float64, and each result is rounded once, to float32.
type UnitPixels struct {
	Shape ImageShape `json:"shape"`
}

// New returns the map.
func (r UnitPixels) New() (features.Map, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	in := r.Shape
	pixel, channel := in.strides()
	return &rowMap{family: "image", in: in.Len(), out: in.Len(), row: func(dst, x []float32) {
		for p := range in.Height * in.Width {
			unit(dst[p*pixel:], x[p*pixel:], in.Channels, channel)
		}
	}}, nil
}

// Validate implements features.Recipe.
func (r UnitPixels) Validate() error { return r.Shape.check("UnitPixels") }

// Result returns the shape of the image, which is unchanged.
func (r UnitPixels) Result() ImageShape { return r.Shape }

// Dims implements features.Recipe.
func (r UnitPixels) Dims() (in, out int) { return r.Shape.Len(), r.Shape.Len() }
