package exact

// Finite reports whether v is neither NaN nor infinite.
func Finite[T ~float32 | ~float64](v T) bool {
	v = T(v) // rounds: where v is a product, a fused multiply-add would otherwise subtract the exact one
	return v-v == 0
}

// AllFinite reports whether all numbers are finite.
func AllFinite[T ~float32 | ~float64](v []T) bool {
	for _, x := range v {
		if !Finite(x) {
			return false
		}
	}
	return true
}
