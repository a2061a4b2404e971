package preprocess

import (
	"math"
	"slices"
	"testing"
)

// A pixel has length 1 and its old direction; a pixel of zeros stays one.
func TestUnitPixelsHaveLengthOne(t *testing.T) {
	s := ImageShape{Height: 3, Width: 4, Channels: 5}
	x := pixels(s, 2)
	clear(x[at(s, 1, 2, 0):at(s, 1, 3, 0)])
	y := applyImage(t, UnitPixels{Shape: s}, x, 2)
	for p := 0; p < len(x); p += s.Channels {
		from, to := x[p:p+s.Channels], y[p:p+s.Channels]
		var length, along, squares float64
		for c := range from {
			length += float64(to[c]) * float64(to[c])
			along += float64(from[c]) * float64(to[c])
			squares += float64(from[c]) * float64(from[c])
		}
		switch {
		case p == at(s, 1, 2, 0):
			if !slices.Equal(to, make([]float32, s.Channels)) {
				t.Errorf("zeros became %v", to)
			}
		case math.Abs(length-1) > 1e-6 || math.Abs(along/math.Sqrt(squares)-1) > 1e-6:
			t.Errorf("pixel %v became %v, of squared length %v", from, to, length)
		}
	}
}

// UnitPixels of an image with a single pixel equals Unit.
func TestUnitPixelsOfOnePixelEqualsUnit(t *testing.T) {
	s := ImageShape{Height: 1, Width: 1, Channels: 9, Planar: true}
	x := pixels(s, 3)
	if !slices.Equal(applyImage(t, UnitPixels{Shape: s}, x, 3), applyImage(t, Unit{In: 9}, x, 3)) {
		t.Error("differs from Unit")
	}
}
