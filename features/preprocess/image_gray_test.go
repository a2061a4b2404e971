package preprocess

import (
	"slices"
	"testing"
)

func TestGrayIsTheLumaOfBT601(t *testing.T) {
	s := ImageShape{Height: 2, Width: 4, Channels: 3}
	x := []float32{
		1000, 0, 0, 0, 1000, 0, 0, 0, 1000, 255, 255, 255,
		0, 0, 0, 1, 1, 1, 100, 200, 50, -1000, 0, 1000,
	}
	want := []float32{299, 587, 114, 255, 0, 1, 153, -185}
	if y := applyImage(t, Gray{Shape: s}, x, 1); !slices.Equal(y, want) {
		t.Errorf("have %v, want %v", y, want)
	}
}

func BenchmarkGray(b *testing.B) {
	for _, planes := range []bool{false, true} {
		s := ImageShape{Height: 32, Width: 32, Channels: 3, Planar: planes}
		benchmark(b, layoutName(planes), Gray{Shape: s})
	}
}
