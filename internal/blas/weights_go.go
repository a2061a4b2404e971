package blas

// mulGo is the twin of the kernels for mul.
func mulGo(c []float32, cs int, init []float32, is int, x []float32, xs int, w []float32, ws int, k, rows, vecs int) {
	if fused {
		mulFused(c, cs, init, is, x, xs, w, ws, k, rows, vecs)
	} else {
		mulExact(c, cs, init, is, x, xs, w, ws, k, rows, vecs)
	}
}

// fused tells whether the compiler made fused multiply-adds of mulFused, as it
// may (Go specification, Floating-point operators), and as it does on arm64:
// rounding twice would give 0 for some of the probe.
var fused = func() bool {
	const rows = 3
	var x [rows]float32
	var w, init, c [rows * lanes]float32
	for i := range w {
		w[i], init[i] = 1+0x1p-12, -1-0x1p-11
	}
	for i := range x {
		x[i] = 1 + 0x1p-12
	}
	mulFused(c[:], lanes, init[:], lanes, x[:], 1, w[:], lanes, 1, rows, 1)
	for _, v := range c {
		if v != 0x1p-24 {
			return false
		}
	}
	return true
}()

// mulFused is mul where the compiler fuses x*y + z. Two rows at once keep the
// units busy without spilling registers.
func mulFused(c []float32, cs int, init []float32, is int, x []float32, xs int, w []float32, ws int, k, rows,
	vecs int) {
	for v := range vecs {
		wv := w[v*ws:][:k*lanes]
		for i := 0; i < rows; i += 2 {
			// A last row without a partner is computed twice.
			i2 := min(i+1, rows-1)
			x1, x2 := x[i*xs:][:k], x[i2*xs:][:k]
			for j := 0; j < lanes; j += 4 {
				a, b := init[i*is+v*lanes+j:][:4], init[i2*is+v*lanes+j:][:4]
				a0, a1, a2, a3 := a[0], a[1], a[2], a[3]
				b0, b1, b2, b3 := b[0], b[1], b[2], b[3]
				for p, xa := range x1 {
					q := (*[4]float32)(wv[p*lanes+j:])
					xb := x2[p]
					a0 = xa*q[0] + a0
					a1 = xa*q[1] + a1
					a2 = xa*q[2] + a2
					a3 = xa*q[3] + a3
					b0 = xb*q[0] + b0
					b1 = xb*q[1] + b1
					b2 = xb*q[2] + b2
					b3 = xb*q[3] + b3
				}
				*(*[4]float32)(c[i*cs+v*lanes+j:]) = [4]float32{a0, a1, a2, a3}
				*(*[4]float32)(c[i2*cs+v*lanes+j:]) = [4]float32{b0, b1, b2, b3}
			}
		}
	}
}

// mulExact is mul by way of float64, see fma32. The check whether a sum needs a
// second thought is made for four of them at once.
func mulExact(c []float32, cs int, init []float32, is int, x []float32, xs int, w []float32, ws int, k, rows,
	vecs int) {
	for v := range vecs {
		wv := w[v*ws:][:k*lanes]
		for i := range rows {
			xi := x[i*xs:][:k]
			for j := 0; j < lanes; j += 4 {
				from := init[i*is+v*lanes+j:][:4]
				c0, c1, c2, c3 := from[0], from[1], from[2], from[3]
				for p, xp := range xi {
					q := (*[4]float32)(wv[p*lanes+j:])
					xd := float64(xp)
					s0 := xd*float64(q[0]) + float64(c0)
					s1 := xd*float64(q[1]) + float64(c1)
					s2 := xd*float64(q[2]) + float64(c2)
					s3 := xd*float64(q[3]) + float64(c3)
					if doubtful(s0) || doubtful(s1) || doubtful(s2) || doubtful(s3) {
						c0, c1, c2, c3 = fma32(xp, q[0], c0), fma32(xp, q[1], c1), fma32(xp, q[2], c2), fma32(xp, q[3], c3)
						continue
					}
					c0, c1, c2, c3 = float32(s0), float32(s1), float32(s2), float32(s3)
				}
				*(*[4]float32)(c[i*cs+v*lanes+j:]) = [4]float32{c0, c1, c2, c3}
			}
		}
	}
}
