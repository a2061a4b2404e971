package blas

// Dots stores in dst the products a·b_c for 0 ≤ c < len(dst), b_c being the
// len(a) numbers of b from c·bs on. A product is added in four chains, over the
// elements l, l+4, … with products and sums rounded each for itself, the
// elements behind the last multiple of four going to the first chain; the
// chains s are added (s₀+s₁) + (s₂+s₃).
func Dots(dst, a, b []float64, bs int) {
	if len(dst) == 0 {
		return
	}
	if bs < 0 || len(b) < (len(dst)-1)*bs+len(a) {
		panic("blas: vectors shorter than the first")
	}
	active().dots(dst, a, b, bs)
}

// Dot64 returns the product a·b as Dots adds it.
func Dot64(a, b []float64) float64 {
	var s [1]float64
	Dots(s[:], a, b, 0)
	return s[0]
}

func dotsGo(dst, a, b []float64, bs int) {
	for c := range dst {
		dst[c] = dot64(a, b[c*bs:])
	}
}

func dot64(a, b []float64) float64 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float64
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += float64(a[i] * b[i])
		s1 += float64(a[i+1] * b[i+1])
		s2 += float64(a[i+2] * b[i+2])
		s3 += float64(a[i+3] * b[i+3])
	}
	for ; i < len(a); i++ {
		s0 += float64(a[i] * b[i])
	}
	return (s0 + s1) + (s2 + s3)
}
