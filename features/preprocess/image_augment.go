package preprocess

import (
	"fmt"

	"github.com/bochner-ml/bochner/features/stream"
)

var (
	augmentEpoch = stream.PurposeOf("image/augment/epoch")
	augmentRow   = stream.PurposeOf("image/augment")
)

// Augment changes images at random, differently in each round of training. It is not a features.Recipe and
// cannot be part of a chain or a model file: the map of a recipe depends only on the row, while the result
// of Augment also depends on the round and the row's index. A model trained on augmented images predicts on
// unchanged images, or on the centre that a Crop takes.
//
// Steps whose field is 0 or false are skipped. The others run in the order of the fields:
//
//	crop        any of the Crop×Crop squares of the image, all equally likely
//	flip        exchanges left and right, with probability ½
//	brightness  v ↦ f·v                         f uniform in 1 ± Brightness
//	contrast    v ↦ m + f·(v − m)               f uniform in 1 ± Contrast
//	saturation  v ↦ y + f·(v − y)               f uniform in 1 ± Saturation
//
// where y is the luma of the pixel (see Gray) and m the mean luma of the image at that point, or the mean of all its
// values if it does not have three channels. These are the adjustments of torchvision's ColorJitter, except that
// results are not clipped to the range of the pixels, which is unknown, and the order is fixed.
//
// All choices depend only on Seed, on the row's index or hash, and on the round: not on the order
// of the rows or on the blocks. Skipping a step does not change the choices of the others. Each
// step is computed in float64 and rounded to float32 once.
type Augment struct {
	Shape      ImageShape
	Crop       int     // pixels; 0 means no crop
	Flip       bool    // flip half of the images
	Brightness float64 // 0 to 1
	Contrast   float64 // 0 to 1
	Saturation float64 // 0 to 1; only for images of three channels
	Seed       uint64
}

// Validate returns an error that names the invalid field.
func (a Augment) Validate() error {
	if err := a.Shape.check("Augment"); err != nil {
		return err
	}
	if limit := min(a.Shape.Height, a.Shape.Width); a.Crop < 0 || a.Crop > limit {
		return fmt.Errorf("image: Augment: crop must be 1 to %d, or 0 for none (have %d)", limit, a.Crop)
	}
	for _, f := range []struct {
		name  string
		value float64
	}{{"brightness", a.Brightness}, {"contrast", a.Contrast}, {"saturation", a.Saturation}} {
		if !(f.value >= 0 && f.value <= 1) {
			return fmt.Errorf("image: Augment: %s must be 0 to 1 (have %v)", f.name, f.value)
		}
	}
	if a.Saturation > 0 && a.Shape.Channels != 3 {
		return fmt.Errorf("image: Augment: saturation takes images of 3 channels (have %d)", a.Shape.Channels)
	}
	return nil
}

// Result returns the shape of a changed image.
func (a Augment) Result() ImageShape {
	s := a.Shape
	if a.Crop > 0 {
		s.Height, s.Width = a.Crop, a.Crop
	}
	return s
}

// Dims returns the lengths of the image and of the changed image.
func (a Augment) Dims() (in, out int) { return a.Shape.Len(), a.Result().Len() }

// Apply stores in dst the n images of x, changed as in round epoch. row(i) is the index of image i among
// all rows, or a hash of its content. The slices must not overlap. It is safe for concurrent use if row is.
// It panics if a slice is too short or a is not valid.
func (a Augment) Apply(dst, x []float32, n int, row func(i int) uint64, epoch int) {
	if err := a.Validate(); err != nil {
		panic(err.Error())
	}
	in, out := a.Dims()
	if n < 0 || len(x) < n*in || len(dst) < n*out {
		panic("image: Augment: slice too short")
	}
	// Each round has its own seed, so the index of the stream can be the row.
	seed := stream.New(a.Seed, augmentEpoch, uint64(epoch)).Uint64()
	for i := range n {
		a.change(dst[i*out:(i+1)*out], x[i*in:(i+1)*in], stream.New(seed, augmentRow, row(i)))
	}
}

// change stores one changed image in dst, with choices drawn from s.
func (a Augment) change(dst, x []float32, s *stream.Stream) {
	to := a.Result()
	// Draw all of them, so that no choice depends on which steps are enabled.
	top := int(s.Below(uint64(a.Shape.Height-to.Height) + 1))
	left := int(s.Below(uint64(a.Shape.Width-to.Width) + 1))
	flipped := s.Below(2) == 1
	brightness, contrast, saturation := factor(s, a.Brightness), factor(s, a.Contrast), factor(s, a.Saturation)

	if a.Crop > 0 {
		crop(dst, x, a.Shape, top, left, a.Crop)
	} else {
		copy(dst, x)
	}
	if a.Flip && flipped {
		flip(dst, to)
	}
	if a.Brightness > 0 {
		for i, v := range dst {
			dst[i] = float32(brightness * float64(v))
		}
	}
	if a.Contrast > 0 {
		m := meanLuma(dst, to)
		for i, v := range dst {
			dst[i] = blend(m, v, contrast)
		}
	}
	if a.Saturation > 0 {
		pixel, channel := to.strides()
		for p := range to.Height * to.Width {
			i, j, k := p*pixel, p*pixel+channel, p*pixel+2*channel
			y := float64(luma(dst[i], dst[j], dst[k]))
			dst[i], dst[j], dst[k] = blend(y, dst[i], saturation), blend(y, dst[j], saturation), blend(y, dst[k], saturation)
		}
	}
}

// factor returns a number uniform in 1 ± jitter.
func factor(s *stream.Stream, jitter float64) float64 {
	return 1 + float64(jitter*(2*s.Uniform()-1))
}

// blend returns from + f·(v − from).
func blend(from float64, v float32, f float64) float32 {
	return float32(from + float64(f*(float64(v)-from)))
}

// flip exchanges left and right.
func flip(x []float32, s ImageShape) {
	pixel, channel := s.strides()
	for c := range s.Channels {
		for y := range s.Height {
			first := y*s.Width*pixel + c*channel
			for i, j := first, first+(s.Width-1)*pixel; i < j; i, j = i+pixel, j-pixel {
				x[i], x[j] = x[j], x[i]
			}
		}
	}
}

// meanLuma returns the mean luma of an image of three channels, otherwise the mean of its values, summed
// pixel by pixel and channel by channel.
func meanLuma(x []float32, s ImageShape) float64 {
	pixel, channel := s.strides()
	var sum float64
	for p := range s.Height * s.Width {
		if s.Channels == 3 {
			i := p * pixel
			sum += float64(luma(x[i], x[i+channel], x[i+2*channel]))
			continue
		}
		for c := range s.Channels {
			sum += float64(x[p*pixel+c*channel])
		}
	}
	if s.Channels == 3 {
		return sum / float64(s.Height*s.Width)
	}
	return sum / float64(s.Len())
}
