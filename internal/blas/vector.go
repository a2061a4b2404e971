package blas

// Dot returns x·y for slices of equal length: 64 chains of fused multiply-adds,
// chain l over the elements l, l+64, …, added pairwise at distances 32, 16, …,
// 1; what is left behind the last multiple of 64 continues the sum as one
// chain.
func Dot(x, y []float32) float32 {
	if len(x) != len(y) {
		panic("blas: vectors of different length")
	}
	return active().dot(x, y)
}

// Axpy adds a·x to y, slices of equal length, by fused multiply-adds.
func Axpy(a float32, x, y []float32) {
	if len(x) != len(y) {
		panic("blas: vectors of different length")
	}
	active().axpy(a, x, y)
}

// Floats stores the numbers of src in dst, a slice of equal length.
func Floats(dst []float32, src []int16) {
	if len(dst) != len(src) {
		panic("blas: vectors of different length")
	}
	active().floats(dst, src)
}

func floatsGo(dst []float32, src []int16) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = float32(v)
	}
}

func dotGo(x, y []float32) float32 {
	var s [64]float32
	whole := len(x) &^ 63
	for i := 0; i < whole; i += 64 {
		a, b := (*[64]float32)(x[i:]), (*[64]float32)(y[i:])
		for l := range s {
			s[l] = mulAdd32(a[l], b[l], s[l])
		}
	}
	for h := 32; h > 0; h /= 2 {
		for l := range h {
			s[l] += s[l+h]
		}
	}
	return dotTail(s[0], x[whole:], y[whole:])
}

func dotTail(s float32, x, y []float32) float32 {
	for i, v := range x {
		s = mulAdd32(v, y[i], s)
	}
	return s
}

func axpyGo(a float32, x, y []float32) {
	for i, v := range x {
		y[i] = mulAdd32(a, v, y[i])
	}
}
