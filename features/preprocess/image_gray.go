package preprocess

import (
	"fmt"

	"github.com/bochner-ml/bochner/features"
)

// Gray is the recipe of the grey version of a colour image, pixel by pixel
//
//	y = 0.299·red + 0.587·green + 0.114·blue   (Recommendation ITU-R BT.601, §2.5.1)
//
// summed from the left in float64 and rounded to float32. scikit-image's rgb2gray uses the weights of BT.709 instead.
type Gray struct {
	Shape ImageShape `json:"shape"` // of three channels
}

// New returns the map.
func (r Gray) New() (features.Map, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	in := r.Shape
	return &rowMap{family: "image", in: in.Len(), out: r.Result().Len(),
		row: func(dst, x []float32) { gray(dst, x, in) }}, nil
}

// gray stores in dst the luma of the pixels of x, an image of three channels.
func gray(dst, x []float32, s ImageShape) {
	if s.Planar {
		n := s.Height * s.Width
		dst, red, green, blue := dst[:n], x[:n], x[n:2*n], x[2*n:3*n]
		for i := range dst {
			dst[i] = luma(red[i], green[i], blue[i])
		}
		return
	}
	for i := range s.Height * s.Width {
		dst[i] = luma(x[3*i], x[3*i+1], x[3*i+2])
	}
}

func luma(red, green, blue float32) float32 {
	return float32(float64(0.299*float64(red)) + float64(0.587*float64(green)) + float64(0.114*float64(blue)))
}

// Validate implements features.Recipe.
func (r Gray) Validate() error {
	if err := r.Shape.check("Gray"); err != nil {
		return err
	}
	if r.Shape.Channels != 3 {
		return fmt.Errorf("image: Gray: shape.channels must be 3: red, green, blue (have %d)", r.Shape.Channels)
	}
	return nil
}

// Result returns the shape of the grey image.
func (r Gray) Result() ImageShape {
	s := r.Shape
	s.Channels = 1
	return s
}

// Dims returns the lengths of the image and of the grey image.
func (r Gray) Dims() (in, out int) { return r.Shape.Len(), r.Result().Len() }
