package blas

import (
	"math"
	"runtime"
	"unsafe"
)

// mulGo is the twin of the kernels for mul.
func mulGo(c []float32, cs int, init []float32, is int, x []float32, xs int, w []float32, ws int, k, rows, vecs int) {
	for v := range vecs {
		c, init := c[v*lanes:], init[v*lanes:]
		for i := range rows {
			copy(c[i*cs:][:lanes], init[i*is:])
		}
		if fused {
			mulFused(c, cs, x, xs, w[v*ws:], k, rows)
		} else {
			mulExact(c, cs, x, xs, w[v*ws:], k, rows)
		}
	}
}

// fused reports whether the compiler made fused multiply-adds of mulFused, as it
// may (Go specification, Floating-point operators), and as it does on arm64.
// The exact result is just below the midpoint of 2²⁴+2 and 2²⁴+4. Rounding the
// product first gives the midpoint, and so does rounding the sum to float64;
// both then become 2²⁴+4.
var fused = func() bool {
	const rows = 7 // all loops of mulFused
	x, w, c := make([]float32, rows), make([]float32, lanes), make([]float32, rows*lanes)
	for i := range x {
		x[i] = 1 + 0x1p-15
	}
	for i := range w {
		w[i] = 1 - 0x1p-15
	}
	for i := range c {
		c[i] = 1<<24 + 2
	}
	mulFused(c, lanes, x, 1, w, 1, rows)
	for _, v := range c {
		if v != 1<<24+2 {
			return false
		}
	}
	return true
}()

// mulFused continues the chains of 16 columns where the compiler fuses x*y + z.
func mulFused(c []float32, cs int, x []float32, xs int, w []float32, k, rows int) {
	steps := stepsOf(w, k)
	fours := 0
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "s390x" { // which have 16 registers
		fours = rows &^ 3
	}
	for j := 0; j < lanes; j += 4 {
		for i := 0; i < fours; i += 4 {
			fourRows(c[i*cs+j:], cs, x[i*xs:], xs, steps, j)
		}
		for i := fours; i < rows; i += 2 {
			// A last row without a partner is computed twice.
			i2 := min(i+1, rows-1)
			twoRows((*[4]float32)(c[i*cs+j:]), (*[4]float32)(c[i2*cs+j:]), x[i*xs:], x[i2*xs:], steps, j)
		}
	}
}

// twoRows continues the chains of 4 columns from j on of two rows.
func twoRows(a, b *[4]float32, x, y []float32, w [][lanes]float32, j int) {
	x, y = x[:len(w)], y[:len(w)]
	a0, a1, a2, a3 := a[0], a[1], a[2], a[3]
	b0, b1, b2, b3 := b[0], b[1], b[2], b[3]
	for p := range w {
		q := (*[4]float32)(w[p][j&(lanes-4):]) // without a check of j
		xp, yp := x[p], y[p]
		a0, a1, a2, a3 = xp*q[0]+a0, xp*q[1]+a1, xp*q[2]+a2, xp*q[3]+a3
		b0, b1, b2, b3 = yp*q[0]+b0, yp*q[1]+b1, yp*q[2]+b2, yp*q[3]+b3
	}
	*a, *b = [4]float32{a0, a1, a2, a3}, [4]float32{b0, b1, b2, b3}
}

// fourRows is twoRows for four rows of c and x.
func fourRows(c []float32, cs int, x []float32, xs int, w [][lanes]float32, j int) {
	xa, xb, xc, xd := x[:len(w)], x[xs:][:len(w)], x[2*xs:][:len(w)], x[3*xs:][:len(w)]
	a, b := (*[4]float32)(c), (*[4]float32)(c[cs:])
	d, e := (*[4]float32)(c[2*cs:]), (*[4]float32)(c[3*cs:])
	a0, a1, a2, a3 := a[0], a[1], a[2], a[3]
	b0, b1, b2, b3 := b[0], b[1], b[2], b[3]
	d0, d1, d2, d3 := d[0], d[1], d[2], d[3]
	e0, e1, e2, e3 := e[0], e[1], e[2], e[3]
	for p := range w {
		q := (*[4]float32)(w[p][j&(lanes-4):])
		v := xa[p]
		a0, a1, a2, a3 = v*q[0]+a0, v*q[1]+a1, v*q[2]+a2, v*q[3]+a3
		v = xb[p]
		b0, b1, b2, b3 = v*q[0]+b0, v*q[1]+b1, v*q[2]+b2, v*q[3]+b3
		v = xc[p]
		d0, d1, d2, d3 = v*q[0]+d0, v*q[1]+d1, v*q[2]+d2, v*q[3]+d3
		v = xd[p]
		e0, e1, e2, e3 = v*q[0]+e0, v*q[1]+e1, v*q[2]+e2, v*q[3]+e3
	}
	*a, *b = [4]float32{a0, a1, a2, a3}, [4]float32{b0, b1, b2, b3}
	*d, *e = [4]float32{d0, d1, d2, d3}, [4]float32{e0, e1, e2, e3}
}

// wideRun is how many steps of weights are converted to float64 at once.
const wideRun = 128

// mulExact is mulFused by way of float64, see fma32. Weights are converted to float64 once for all
// rows, if there are enough of them.
func mulExact(c []float32, cs int, x []float32, xs int, w []float32, k, rows int) {
	if rows < 4 {
		exactRows(c, cs, x, xs, stepsOf(w, k), rows)
		return
	}
	var wide [wideRun][lanes]float64
	for from := 0; from < k; from += wideRun {
		steps, x := stepsOf(w[from*lanes:], min(wideRun, k-from)), x[from:]
		leastX, leastW := uint32(math.MaxUint32), uint32(math.MaxUint32)
		for i := range rows {
			for _, v := range x[i*xs:][:len(steps)] {
				leastX = min(leastX, magnitude(v))
			}
		}
		for p := range steps {
			for l, v := range steps[p] {
				wide[p][l] = float64(v)
				leastW = min(leastW, magnitude(v))
			}
		}
		// Products are multiples of 2^(e-46), where e is the sum of the exponents without their
		// bias of 127. If that is 2⁻¹⁷⁹ or more, float64 holds all sums below 2⁻¹²⁶ exactly.
		if int(leastX>>23)+int(leastW>>23)-2*127-46 >= -179 {
			exactRows(c, cs, x, xs, wide[:len(steps)], rows)
		} else {
			exactRows(c, cs, x, xs, steps, rows)
		}
	}
}

// magnitude grows with the absolute value of x, except that 0 has the largest. Its bits from 23 on
// are the exponent of x, or a smaller one.
func magnitude(x float32) uint32 { return math.Float32bits(x)&^(1<<31) - 1 }

// stepsOf returns 16 columns of k steps of w.
func stepsOf(w []float32, k int) [][lanes]float32 {
	return unsafe.Slice((*[lanes]float32)(unsafe.Pointer(unsafe.SliceData(w[:k*lanes]))), k)
}

// exactRows continues the chains of 16 columns. With weights in float64, sums below 2⁻¹²⁶ are exact.
func exactRows[W real](c []float32, cs int, x []float32, xs int, w [][lanes]W, rows int) {
	for j := 0; j < lanes; j += 8 {
		for i := range rows {
			c, x := (*[8]float32)(c[i*cs+j:]), x[i*xs:][:len(w)]
			for p := 0; p < len(w); p++ {
				steps, l := toDoubtful(c, x[p:], w[p:], j)
				p += steps
				if p == len(w) {
					break
				}
				for ; l < len(c); l++ {
					c[l] = fma32(x[p], float32(w[p][j+l]), c[l])
				}
			}
		}
	}
}

// toDoubtful continues 8 chains up to the first sum whose rounding by way of float64 may be wrong. It
// returns the step of this sum, and how many chains were continued by that step. Four sums at a time
// are what registers have room for.
func toDoubtful[W real](c *[8]float32, x []float32, w [][lanes]W, j int) (p, l int) {
	c0, c1, c2, c3 := float64(c[0]), float64(c[1]), float64(c[2]), float64(c[3])
	c4, c5, c6, c7 := float64(c[4]), float64(c[5]), float64(c[6]), float64(c[7])
	x = x[:len(w)]
	small := unsafe.Sizeof(W(0)) == 4
	for ; p < len(w); p++ {
		l = 0
		q, xp := (*[8]W)(w[p][j&(lanes-8):]), float64(x[p])
		s0, s1 := xp*float64(q[0])+c0, xp*float64(q[1])+c1
		s2, s3 := xp*float64(q[2])+c2, xp*float64(q[3])+c3
		if midpoint(s0) && inexact(xp*float64(q[0]), c0, s0) {
			break
		}
		if midpoint(s1) && inexact(xp*float64(q[1]), c1, s1) {
			break
		}
		if midpoint(s2) && inexact(xp*float64(q[2]), c2, s2) {
			break
		}
		if midpoint(s3) && inexact(xp*float64(q[3]), c3, s3) {
			break
		}
		if small {
			if tiny(s0) {
				break
			}
			if tiny(s1) {
				break
			}
			if tiny(s2) {
				break
			}
			if tiny(s3) {
				break
			}
		}
		c0, c1 = float64(float32(s0)), float64(float32(s1))
		c2, c3 = float64(float32(s2)), float64(float32(s3))
		l = 4
		s4, s5 := xp*float64(q[4])+c4, xp*float64(q[5])+c5
		s6, s7 := xp*float64(q[6])+c6, xp*float64(q[7])+c7
		if midpoint(s4) && inexact(xp*float64(q[4]), c4, s4) {
			break
		}
		if midpoint(s5) && inexact(xp*float64(q[5]), c5, s5) {
			break
		}
		if midpoint(s6) && inexact(xp*float64(q[6]), c6, s6) {
			break
		}
		if midpoint(s7) && inexact(xp*float64(q[7]), c7, s7) {
			break
		}
		if small {
			if tiny(s4) {
				break
			}
			if tiny(s5) {
				break
			}
			if tiny(s6) {
				break
			}
			if tiny(s7) {
				break
			}
		}
		c4, c5 = float64(float32(s4)), float64(float32(s5))
		c6, c7 = float64(float32(s6)), float64(float32(s7))
	}
	*c = [8]float32{float32(c0), float32(c1), float32(c2), float32(c3),
		float32(c4), float32(c5), float32(c6), float32(c7)}
	return p, l
}
