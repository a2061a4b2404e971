package preprocess

import (
	"fmt"

	"github.com/bochner-ml/bochner/features"
)

// Crop is the recipe of the centre of an image: Size×Size pixels, starting in row (Height−Size)/2 and
// column (Width−Size)/2, rounded down.
type Crop struct {
	Shape ImageShape `json:"shape"`
	Size  int        `json:"size"` // pixels, 1 to the lesser of height and width
}

// New returns the map.
func (r Crop) New() (features.Map, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	in, top, left := r.Shape, (r.Shape.Height-r.Size)/2, (r.Shape.Width-r.Size)/2
	return &rowMap{family: "image", in: in.Len(), out: r.Result().Len(), row: func(dst, x []float32) {
		crop(dst, x, in, top, left, r.Size)
	}}, nil
}

// crop copies to dst the size×size pixels of x that start in row top and column left.
func crop(dst, x []float32, s ImageShape, top, left, size int) {
	planes, width := 1, s.Channels
	if s.Planar {
		planes, width = s.Channels, 1
	}
	for p := range planes {
		for y := range size {
			from := ((p*s.Height+top+y)*s.Width + left) * width
			copy(dst[(p*size+y)*size*width:][:size*width], x[from:])
		}
	}
}

// Validate implements features.Recipe.
func (r Crop) Validate() error {
	if err := r.Shape.check("Crop"); err != nil {
		return err
	}
	if limit := min(r.Shape.Height, r.Shape.Width); r.Size < 1 || r.Size > limit {
		return fmt.Errorf("image: Crop: size must be 1 to %d (have %d)", limit, r.Size)
	}
	return nil
}

// Result returns the shape of the cropped image.
func (r Crop) Result() ImageShape {
	s := r.Shape
	s.Height, s.Width = r.Size, r.Size
	return s
}

// Dims returns the lengths of the image and of the cropped image.
func (r Crop) Dims() (in, out int) { return r.Shape.Len(), r.Result().Len() }
