package blas

import (
	"math"
)

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

// dotGo is the twin of the kernels for dot: 64 chains, added in pairs.
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

// Distances stores in dst the sums of squares of the differences between a and each row of x, of
// len(a) numbers, or of their absolute values. Each is added in four sums over every fourth column,
// s₀ to s₃, and is (s₀ + s₁) + (s₂ + s₃); nothing is fused.
func Distances(dst []float64, a, x []float32, absolute bool) {
	d := len(a)
	if len(x) < len(dst)*d {
		panic("blas: rows shorter than the destination")
	}
	l := active()
	kernel, term := l.squares, func(v float64) float64 { return float64(v * v) }
	if absolute {
		kernel, term = l.absolutes, math.Abs
	}
	const some = 32
	var sums [4 * some]float64
	whole := d - d%4
	for len(dst) > 0 {
		n := min(some, len(dst))
		kernel(sums[:4*n], a[:whole], x, d)
		for r := range n {
			s := (*[4]float64)(sums[4*r:])
			for k := whole; k < d; k++ {
				s[k-whole] += term(float64(a[k]) - float64(x[r*d+k]))
			}
			dst[r] = (s[0] + s[1]) + (s[2] + s[3])
		}
		dst, x = dst[n:], x[n*d:]
	}
}

func squaresGo(dst []float64, a, x []float32, xs int) {
	for r := range len(dst) / 4 {
		var s0, s1, s2, s3 float64
		row := x[r*xs:][:len(a)]
		for i := 0; i+4 <= len(a); i += 4 {
			p, q := (*[4]float32)(a[i:]), (*[4]float32)(row[i:])
			d0, d1 := float64(p[0])-float64(q[0]), float64(p[1])-float64(q[1])
			d2, d3 := float64(p[2])-float64(q[2]), float64(p[3])-float64(q[3])
			s0, s1, s2, s3 = s0+float64(d0*d0), s1+float64(d1*d1), s2+float64(d2*d2), s3+float64(d3*d3)
		}
		*(*[4]float64)(dst[4*r:]) = [4]float64{s0, s1, s2, s3}
	}
}

func absolutesGo(dst []float64, a, x []float32, xs int) {
	for r := range len(dst) / 4 {
		var s0, s1, s2, s3 float64
		row := x[r*xs:][:len(a)]
		for i := 0; i+4 <= len(a); i += 4 {
			p, q := (*[4]float32)(a[i:]), (*[4]float32)(row[i:])
			s0, s1 = s0+math.Abs(float64(p[0])-float64(q[0])), s1+math.Abs(float64(p[1])-float64(q[1]))
			s2, s3 = s2+math.Abs(float64(p[2])-float64(q[2])), s3+math.Abs(float64(p[3])-float64(q[3]))
		}
		*(*[4]float64)(dst[4*r:]) = [4]float64{s0, s1, s2, s3}
	}
}

// Dots stores in dst the products a·b_c for 0 ≤ c < len(dst), b_c being the
// len(a) numbers of b from c·bs on. A product is added in four chains, over the
// elements l, l+4, … with products and sums rounded each for itself, the
// elements after the last multiple of four going to the first chain; the
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

// Axpy64 adds a·x to y, slices of equal length, and rounds each product.
func Axpy64(a float64, x, y []float64) {
	if len(x) != len(y) {
		panic("blas: vectors of different length")
	}
	y = y[:len(x)]
	for i, v := range x {
		y[i] += float64(a * v)
	}
}

func dotsGo(dst, a, b []float64, bs int) {
	for c := range dst {
		dst[c] = dot64(a, b[c*bs:])
	}
}

// dot64 returns the product of two vectors, in four chains of products that are rounded before they are added.
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
