package preprocess

import (
	"slices"
	"testing"
)

func TestCropIsTheMiddle(t *testing.T) {
	for _, s := range []ImageShape{
		{Height: 5, Width: 5, Channels: 1}, {Height: 32, Width: 32, Channels: 3},
		{Height: 4, Width: 7, Channels: 2}, {Height: 9, Width: 6, Channels: 5}, {Height: 1, Width: 3, Channels: 1},
	} {
		x := pixels(s, 2)
		for size := 1; size <= min(s.Height, s.Width); size++ {
			var want []float32
			for i := range 2 {
				for y := range size {
					for j := range size {
						for c := range s.Channels {
							want = append(want, x[i*s.Len()+at(s, (s.Height-size)/2+y, (s.Width-size)/2+j, c)])
						}
					}
				}
			}
			if have := applyImage(t, Crop{Shape: s, Size: size}, x, 2); !slices.Equal(have, want) {
				t.Errorf("%+v: the middle %d×%d pixels: have %v, want %v", s, size, size, have, want)
			}
		}
	}
}

// A margin of 3 pixels gives 1 to the top and left, 2 to the bottom and right.
func TestCropRoundsTheOffsetDown(t *testing.T) {
	s := ImageShape{Height: 4, Width: 4, Channels: 1}
	x := make([]float32, 16)
	for i := range x {
		x[i] = float32(i)
	}
	if y := applyImage(t, Crop{Shape: s, Size: 1}, x, 1); y[0] != 5 {
		t.Errorf("the middle pixel of 4×4 is %v, want number 5", y[0])
	}
	if y := applyImage(t, Crop{Shape: s, Size: 4}, x, 1); !slices.Equal(y, x) {
		t.Error("a crop of all pixels changes the image")
	}
}

func BenchmarkCrop(b *testing.B) {
	for _, planes := range []bool{false, true} {
		s := ImageShape{Height: 32, Width: 32, Channels: 3, Planar: planes}
		benchmark(b, layoutName(planes), Crop{Shape: s, Size: 24})
	}
}
