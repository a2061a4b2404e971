package preprocess

import (
	"math"
	"slices"
	"testing"
)

// Whiten equals the example in TensorFlow's documentation of tf.image.per_image_standardization.
func TestWhitenEqualsTensorFlow(t *testing.T) {
	x := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	want := []float32{-1.593255, -1.3035723, -1.0138896, -0.7242068, -0.4345241, -0.14484136,
		0.14484136, 0.4345241, 0.7242068, 1.0138896, 1.3035723, 1.593255}
	for _, s := range []ImageShape{{Height: 2, Width: 2, Channels: 3}, {Height: 2, Width: 2, Channels: 3, Planar: true}} {
		y := applyImage(t, Whiten{Shape: s}, x, 1)
		for i := range y {
			if math.Abs(float64(y[i]-want[i])) > 2e-7 {
				t.Errorf("%+v: number %d: have %v, want %v", s, i, y[i], want[i])
			}
		}
	}
}

func TestWhitenedImagesHaveMeanZeroAndDeviationOne(t *testing.T) {
	s := ImageShape{Height: 32, Width: 32, Channels: 3}
	x := pixels(s, 2)
	for i := range x {
		x[i] = x[i]/100 + 1000
	}
	for y := applyImage(t, Whiten{Shape: s}, x, 2); len(y) > 0; y = y[s.Len():] {
		var sum, squares float64
		for _, v := range y[:s.Len()] {
			sum += float64(v)
			squares += float64(v) * float64(v)
		}
		n := float64(s.Len())
		if math.Abs(sum/n) > 1e-7 || math.Abs(squares/n-1) > 1e-6 {
			t.Errorf("mean %v, mean square %v", sum/n, squares/n)
		}
	}
}

// For n values with a deviation below 1/√n, the distances to the mean are multiplied by √n.
func TestFlatImagesAreNotAmplified(t *testing.T) {
	s := ImageShape{Height: 2, Width: 2, Channels: 1}
	y := applyImage(t, Whiten{Shape: s}, []float32{7, 7, 7, 7, 0.25, -0.25, 0.25, -0.25}, 2)
	if want := []float32{0, 0, 0, 0, 0.5, -0.5, 0.5, -0.5}; !slices.Equal(y, want) {
		t.Errorf("have %v, want %v", y, want)
	}
	y = applyImage(t, Whiten{Shape: s}, []float32{0, 0, float32(math.Inf(1)), 0}, 1)
	for _, v := range y {
		if v == v {
			t.Errorf("an infinity left %v", y)
			break
		}
	}
}

func BenchmarkWhiten(b *testing.B) {
	for _, planes := range []bool{false, true} {
		s := ImageShape{Height: 32, Width: 32, Channels: 3, Planar: planes}
		benchmark(b, layoutName(planes), Whiten{Shape: s})
	}
}
