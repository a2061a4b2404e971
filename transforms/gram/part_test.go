package gram

import (
	"slices"
	"testing"
)

func TestPartsComeBackAsTheyWere(t *testing.T) {
	for _, c := range []struct {
		values []float64
		width  int
	}{
		{nil, 1},
		{[]float64{0, 1, -1, 127, -128}, 1},
		{[]float64{128, -5, 3}, 2},
		{[]float64{-129}, 2},
		{[]float64{0, 1, -1, 1<<31 - 1, -1 << 31}, 4},
		{[]float64{0, 1 << 31, -7, 12}, 5},
		{[]float64{-1<<31 - 1}, 5},
		{[]float64{1<<39 - 1, -1 << 39, 1, 2, 3, 4, 5, 6, 7}, 5},
		{[]float64{1 << 39}, 6},
		{[]float64{1 << 53, -1 << 53, 3}, 7},
		{[]float64{0.5, 1 << 53}, 8},
		{[]float64{1 << 62}, 8},
	} {
		data := EncodePart(c.values)
		if want := 1 + c.width*len(c.values); len(data) != want {
			t.Errorf("%v: %d bytes, want %d", c.values, len(data), want)
		}
		got, err := DecodePart(data)
		if err != nil || !slices.Equal(got, c.values) {
			t.Errorf("%v came back as %v, %v", c.values, got, err)
		}
	}
}

func TestDamagedPartsAreErrors(t *testing.T) {
	for _, data := range [][]byte{nil, {0}, {3, 1, 2}, {16}, {9, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {4, 1}, {4, 1, 2, 3, 4, 5}, {8, 1, 2, 3, 4}} {
		if p, err := DecodePart(data); err == nil {
			t.Errorf("% x: %v", data, p)
		}
	}
}

// A part is added to numbers as DecodePart reads it, of every width and length.
func TestPartsAreAddedAsTheyAreRead(t *testing.T) {
	for bits := range 60 {
		for n := range 11 {
			values, sum := make([]float64, n), make([]float64, n)
			for i := range values {
				values[i] = float64(int64(1)<<bits - 1)
				if i%3 == 1 {
					values[i] = -values[i] - 1
				}
				sum[i] = float64(i)
			}
			data := encodePart(make([]byte, 3, 40), values) // in memory that had something else
			if !slices.Equal(data, EncodePart(values)) {
				t.Errorf("%v: %v in other memory", values, data)
			}
			got, err := DecodePart(data)
			if err != nil || !slices.Equal(got, values) {
				t.Errorf("%v came back as %v, %v", values, got, err)
			}
			addValues(sum, data)
			for i, v := range values {
				if want := float64(i) + v; sum[i] != want {
					t.Errorf("%v: %g at %d, want %g", values, sum[i], i, want)
				}
			}
		}
	}
}
