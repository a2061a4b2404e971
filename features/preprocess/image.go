package preprocess

import (
	"fmt"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/rowio"
)

func init() {
	features.Register("image.crop", features.Decode[Crop])
	features.Register("image.gray", features.Decode[Gray])
	features.Register("image.whiten", features.Decode[Whiten])
	features.Register("image.hog", features.Decode[HoG])
	features.Register("image.unitpixels", features.Decode[UnitPixels])
	features.Register("image.patchpca", features.Decode[PatchPCA])
}

// ImageShape describes how a row stores an image: pixel by pixel, row after row from the top and each row from the
// left, either with the channels of a pixel next to each other or with one plane of pixels per channel.
type ImageShape struct {
	Height   int  `json:"height"`   // pixels, ≥ 1
	Width    int  `json:"width"`    // pixels, ≥ 1
	Channels int  `json:"channels"` // values per pixel, ≥ 1; three are red, green, blue
	Planar   bool `json:"planar"`   // one plane per channel, as in CIFAR files
}

// Len returns the number of values of an image, the length of its row.
func (s ImageShape) Len() int { return s.Height * s.Width * s.Channels }

// At returns the index in the row of a channel of the pixel in row y and column x.
func (s ImageShape) At(y, x, channel int) int {
	pixel, channels := s.strides()
	return (y*s.Width+x)*pixel + channel*channels
}

// strides returns the steps in the row from a pixel to the next, and from a channel to the next.
func (s ImageShape) strides() (pixel, channel int) {
	if s.Planar {
		return 1, s.Height * s.Width
	}
	return s.Channels, 1
}

// check returns an error that names the invalid field of the shape.
func (s ImageShape) check(recipe string) error {
	for _, f := range []struct {
		name  string
		value int
	}{{"height", s.Height}, {"width", s.Width}, {"channels", s.Channels}} {
		if f.value < 1 || f.value > rowio.MaxDim {
			return fmt.Errorf("image: %s: shape.%s must be 1 to %d (have %d)", recipe, f.name, rowio.MaxDim, f.value)
		}
	}
	if s.Width > rowio.MaxDim/s.Height || s.Channels > rowio.MaxDim/(s.Height*s.Width) {
		return fmt.Errorf("image: %s: shape: an image of %d×%d×%d exceeds the longest row, %d values",
			recipe, s.Height, s.Width, s.Channels, rowio.MaxDim)
	}
	return nil
}

// rowMap maps rows one by one. Its only state is its parameters and scratch memory.
type rowMap struct {
	family  string // for messages
	in, out int
	row     func(dst, x []float32) // in and out long
}

var _ features.Map = (*rowMap)(nil)

// Dims implements features.Map.
func (m *rowMap) Dims() (in, out int) { return m.in, m.out }

// Apply stores in dst the outputs for the n rows of x. The slices must not overlap, unless the family
// allows it. It panics if a slice is too short.
func (m *rowMap) Apply(dst, x []float32, n int) {
	if n < 0 || len(x) < n*m.in || len(dst) < n*m.out {
		panic(m.family + ": Apply: slice too short")
	}
	for i := range n {
		m.row(dst[i*m.out:(i+1)*m.out], x[i*m.in:(i+1)*m.in])
	}
}
