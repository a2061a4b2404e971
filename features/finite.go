package features

import "math"

// Overflows counts the features that are NaN of the n rows of x, for a map of cosines
// whose grid is made without their values in float32 and has 0 for those. Only rows with
// a number beyond the reach of the map can have any (see Reach), so that it takes little
// time where there are none.
func Overflows(m Map, x []float32, n int, reach float32) (count int64) {
	in, out := m.Dims()
	var z []float32
	for i := range n {
		row := x[i*in : (i+1)*in]
		within := true
		for _, v := range row {
			within = within && v <= reach && v >= -reach // false of NaN
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

// Reach returns a number that no angle W·x + b overflows float32 for, if no number of x
// is larger: rows of w have in numbers.
func Reach(w []float32, in int) float32 {
	var most float64
	for _, v := range w {
		most = max(most, math.Abs(float64(v)))
	}
	return float32(min(math.MaxFloat32, math.MaxFloat32/4/(most*float64(in)+1)))
}
