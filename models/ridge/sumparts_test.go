package ridge

import (
	"slices"
	"testing"
)

// A sum of some parts has the values of the whole sum in these parts, and takes PartBytes of memory.
func TestSumOfSomePartsMatchesTheWholeSum(t *testing.T) {
	const n = 37
	for _, shape := range []Shape{
		{Dim: 900, Outputs: 3}, {Dim: 900, Outputs: 2, Regression: true}, {Dim: 900, Outputs: 3, Weighted: true}, {Dim: 900,
			Outputs: 2, Regression: true, Weighted: true},
	} {
		values := make([]int8, n*shape.Dim)
		for i := range values {
			values[i] = int8(i*31%255 - 127)
		}
		z := packBytes(values, n, shape.Dim)
		y, weights := make([]int32, n*shape.Outputs), make([]int64, n)
		for i := range y {
			y[i] = int32(i*7919%2001 - 1000)
		}
		class := make([]int32, n)
		for i := range class {
			class[i], weights[i] = int32(i%shape.Outputs), int64(1+i%5)
		}
		if !shape.Weighted {
			weights = nil
		}
		add := func(s *Sum) {
			if shape.Regression {
				s.AddLabels(z, y, weights, 2)
			} else {
				s.AddLabels(z, class, weights, 2)
			}
		}
		whole := NewSum(shape)
		add(whole)
		if all := shape.PartBytes(0, shape.NumParts()); shape.Bytes() != all {
			t.Errorf("%+v: a sum takes %d bytes, its parts %d", shape, shape.Bytes(), all)
		}
		for _, pieces := range []int{2, 3, shape.NumParts()} {
			for piece := range pieces {
				first, end := piece*shape.NumParts()/pieces, (piece+1)*shape.NumParts()/pieces
				some := NewPartSum(shape, first, end)
				add(some)
				for k := first; k < end; k++ {
					if part := some.Part(k); len(part) == 0 || !slices.Equal(part, whole.Part(k)) {
						t.Errorf("%+v: part %d of %d to %d differs", shape, k, first, end)
					}
				}
				held := len(some.head) + len(some.cross)
				for _, tile := range some.tiles {
					held += len(tile)
				}
				if bytes := shape.PartBytes(first, end); bytes != int64(8*held) {
					t.Errorf("%+v: parts %d to %d take %d bytes, want %d", shape, first, end, 8*held, bytes)
				}
			}
		}
	}
}
