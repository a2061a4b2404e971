package features

import "math"

// Overflows counts the NaN features of the n rows of x. It is for maps of cosines that quantize without
// computing float32 features and store 0 for NaN. Only rows with a value beyond reach can have NaN features
// (see Reach), so checking other rows is cheap.
func Overflows(m Map, x []float32, n int, reach float32) (count int64) {
	in, out := m.Dims()
	var z []float32
	for i := range n {
		row := x[i*in : (i+1)*in]
		within := true
		for _, v := range row {
			within = within && v <= reach && v >= -reach // false for NaN
		}
		if within {
			continue
		}
		if z == nil {
			z = make([]float32, out)
		}
		m.Apply(z, row, 1)
		for _, v := range z {
			if v != v {
				count++
			}
		}
	}
	return count
}

// Reach returns a bound on |x_j| below which no angle W·x + b overflows float32. w is W, with in values per
// row.
func Reach(w []float32, in int) float32 {
	var most float64
	for _, v := range w {
		most = max(most, math.Abs(float64(v)))
	}
	return float32(min(math.MaxFloat32, math.MaxFloat32/4/(float64(most*float64(in))+1)))
}
