package blas

import "math"

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
