package safetensors

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestShapedRejectsOtherShapesAndNaN(t *testing.T) {
	f, err := Decode(Encode(map[string]string{"a": "b"},
		NewTensor("w", []float32{1, 2, 3, 4, 5, 6}, 2, 3), NewTensor("n", []float64{1, math.NaN()}, 2),
		NewTensor("i", []int64{7}, 1)))
	if err != nil {
		t.Fatal(err)
	}
	for _, shape := range [][]int{{2, 3}, {-1, 3}, {-1, -1}} {
		if v, err := Shaped[float32](f, "w", shape...); err != nil || !slices.Equal(v, []float32{1, 2, 3, 4, 5, 6}) {
			t.Errorf("%v, %v", v, err)
		}
	}
	if v, err := Shaped[int64](f, "i", 1); err != nil || v[0] != 7 {
		t.Errorf("%v, %v", v, err)
	}
	for want, f := range map[string]func() error{
		"shape [2 3], want [3 2]": func() error { _, err := Shaped[float32](f, "w", 3, 2); return err },
		"shape [2 3], want [6]":   func() error { _, err := Shaped[float32](f, "w", 6); return err },
		"not F64":                 func() error { _, err := Shaped[float64](f, "w", 2, 3); return err },
		"number 1 is not finite":  func() error { _, err := Shaped[float64](f, "n", 2); return err },
		"no tensor":               func() error { _, err := Shaped[float64](f, "x", 2); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := Decode([]byte("short")); err == nil {
		t.Error("five bytes are no file")
	}
}
