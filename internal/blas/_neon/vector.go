package main

import "fmt"

// dot writes dot: 64 chains, added pairwise.
func dot(w *writer) {
	w.text("dotNEON", "func(x, y *float32, n int) float32", "is dot; n may be zero.")
	x, y, n := w.arg("x"), w.arg("y"), w.arg("n")
	w.clear(span(0, 16)...)
	w.steps(n, 64, func() {
		for j := 0; j < 16; j += 2 {
			t := 16 + j/2%4*4
			w.v("ldp q%d, q%d, [x%d, #%d]", t, t+1, x, 16*j)
			w.v("ldp q%d, q%d, [x%d, #%d]", t+2, t+3, y, 16*j)
			w.v("fmla v%d.4s, v%d.4s, v%d.4s", j, t, t+2)
			w.v("fmla v%d.4s, v%d.4s, v%d.4s", j+1, t+1, t+3)
		}
		w.op("ADD $256, %v", x)
		w.op("ADD $256, %v", y)
	})
	w.pairwise(span(0, 16))
	w.loop(n, 1, true, func() {
		w.v("ldr s1, [x%d], #4", x)
		w.v("ldr s2, [x%d], #4", y)
		w.v("fmadd s0, s1, s2, s0")
	})
	w.op("FMOVS F0, %s", w.slot("ret"))
	w.ret()
}

// pairwise adds the numbers of vectors at half their distance, then at a quarter, down to
// neighbours. The sum is the first number of the first vector.
func (w *writer) pairwise(v []int) {
	for h := len(v) / 2; h > 0; h /= 2 {
		for j := range h {
			w.v("fadd v%d.4s, v%d.4s, v%d.4s", v[j], v[j], v[j+h])
		}
	}
	// Numbers two apart, then neighbours.
	t := v[1]
	w.v("trn2 v%d.2d, v%d.2d, v%d.2d", t, v[0], v[0])
	w.v("fadd v%d.4s, v%d.4s, v%d.4s", v[0], v[0], t)
	w.v("faddp s%d, v%d.2s", v[0], v[0])
}

// axpy writes axpy.
func axpy(w *writer) {
	w.text("axpyNEON", "func(a float32, x, y *float32, n int)", "is axpy; n may be zero.")
	w.argument32(0, "a")
	x, y, n := w.arg("x"), w.arg("y"), w.arg("n")
	w.steps(n, 16, func() {
		for j := 0; j < 4; j += 2 {
			w.v("ldp q%d, q%d, [x%d, #%d]", 1+j, 2+j, x, 16*j)
			w.v("ldp q%d, q%d, [x%d, #%d]", 5+j, 6+j, y, 16*j)
		}
		for j := range 4 {
			w.v("fmla v%d.4s, v%d.4s, v0.4s", 5+j, 1+j)
		}
		for j := 0; j < 4; j += 2 {
			w.v("stp q%d, q%d, [x%d, #%d]", 5+j, 6+j, y, 16*j)
		}
		w.op("ADD $64, %v", x)
		w.op("ADD $64, %v", y)
	})
	w.loop(n, 1, true, func() {
		w.v("ldr s1, [x%d], #4", x)
		w.v("ldr s5, [x%d, #0]", y)
		w.v("fmadd s5, s1, s0, s5")
		w.v("str s5, [x%d], #4", y)
	})
	w.ret()
}

// floats writes floats.
func floats(w *writer) {
	w.text("floatsNEON", "func(dst *float32, src *int16, steps int)", "is floats, of 16 numbers in each step.")
	dst, src, steps := w.arg("dst"), w.arg("src"), w.arg("steps")
	w.loop(steps, 1, false, func() {
		w.v("ldp q0, q1, [x%d, #0]", src)
		for i := range 2 {
			w.v("sxtl v%d.4s, v%d.4h", 2+2*i, i)
			w.v("sxtl2 v%d.4s, v%d.8h", 3+2*i, i)
		}
		for i := range 4 {
			w.v("scvtf v%d.4s, v%d.4s", 2+i, 2+i)
		}
		w.v("stp q2, q3, [x%d, #0]", dst)
		w.v("stp q4, q5, [x%d, #32]", dst)
		w.op("ADD $32, %v", src)
		w.op("ADD $64, %v", dst)
	})
	w.ret()
}

// affine writes affine.
func affine(w *writer) {
	w.text("affineNEON", "func(dst, x, s, b *float32, vecs int)", "is affine for a row; b may be nil.")
	dst, x, s, b, vecs := w.arg("dst"), w.arg("x"), w.arg("s"), w.arg("b"), w.arg("vecs")
	load := func(v int, p reg) {
		w.v("ldp q%d, q%d, [x%d, #0]", v, v+1, p)
		w.v("ldp q%d, q%d, [x%d, #32]", v+2, v+3, p)
		w.op("ADD $64, %v", p)
	}
	store := func() {
		w.v("stp q0, q1, [x%d, #0]", dst)
		w.v("stp q2, q3, [x%d, #32]", dst)
		w.op("ADD $64, %v", dst)
	}
	product := w.label()
	w.op("CBZ %v, %s", b, product)
	w.loop(vecs, 1, false, func() {
		load(0, b)
		load(4, x)
		load(8, s)
		for j := range 4 {
			w.v("fmla v%d.4s, v%d.4s, v%d.4s", j, 4+j, 8+j)
		}
		store()
	})
	w.ret()
	fmt.Fprintf(&w.asm, "%s:\n", product)
	w.loop(vecs, 1, false, func() {
		load(4, x)
		load(8, s)
		for j := range 4 {
			w.v("fmul v%d.4s, v%d.4s, v%d.4s", j, 4+j, 8+j)
		}
		store()
	})
	w.ret()
}

// slide writes slide: the instruction gives NaN if either number is.
func slide(w *writer) {
	w.text("slideNEON", "func(x *float32, xs, shift, rows, vecs int)", "is slide.")
	x, xs, shift, rows, vecs := w.arg("x"), w.arg("xs", 2), w.arg("shift", 2), w.arg("rows"), w.arg("vecs")
	p, q, n := w.reg(), w.reg(), w.reg()
	w.loop(rows, 1, false, func() {
		w.op("MOVD %v, %v", x, p)
		w.op("ADD %v, %v, %v", shift, x, q)
		w.op("MOVD %v, %v", vecs, n)
		w.loop(n, 1, false, func() {
			for i, from := range []reg{p, q} {
				w.v("ldp q%d, q%d, [x%d, #0]", 4*i, 4*i+1, from)
				w.v("ldp q%d, q%d, [x%d, #32]", 4*i+2, 4*i+3, from)
			}
			for j := range 4 {
				w.v("fmax v%d.4s, v%d.4s, v%d.4s", j, j, 4+j)
			}
			w.v("stp q0, q1, [x%d, #0]", p)
			w.v("stp q2, q3, [x%d, #32]", p)
			w.op("ADD $64, %v", p)
			w.op("ADD $64, %v", q)
		})
		w.op("ADD %v, %v", xs, x)
	})
	w.ret()
}

// differences writes squares and absolutes, of four rows at a time.
func differences(w *writer, name string) {
	w.text(name+"NEON", "func(dst *float64, a, x *float32, xs, steps, fours int)",
		"is "+name+", of 4 columns in each step and of so many fours of rows.")
	dst, a, x, xs, steps, fours := w.arg("dst"), w.arg("a"), w.arg("x"), w.arg("xs", 2), w.arg("steps"), w.arg("fours")
	p, n := w.reg(), w.reg()
	mark := w.next
	widen := func(v int) { // to v and v+1
		w.v("fcvtl2 v%d.2d, v%d.4s", v+1, v)
		w.v("fcvtl v%d.2d, v%d.2s", v, v)
	}
	w.loop(fours, 1, false, func() {
		w.next = mark
		rows := w.pointers(x, xs, 4)
		w.clear(span(0, 8)...)
		w.op("MOVD %v, %v", a, p)
		w.op("MOVD %v, %v", steps, n)
		w.loop(n, 1, false, func() {
			w.v("ldr q8, [x%d], #16", p)
			widen(8)
			for i, row := range rows {
				t := 10 + 2*i
				w.v("ldr q%d, [x%d], #16", t, row)
				widen(t)
				for h := range 2 {
					if name == "absolutes" {
						w.v("fabd v%d.2d, v%d.2d, v%d.2d", t+h, 8+h, t+h)
					} else {
						w.v("fsub v%d.2d, v%d.2d, v%d.2d", t+h, 8+h, t+h)
						w.v("fmul v%d.2d, v%d.2d, v%d.2d", t+h, t+h, t+h)
					}
					w.v("fadd v%d.2d, v%d.2d, v%d.2d", 2*i+h, 2*i+h, t+h)
				}
			}
		})
		for i := range 4 {
			w.v("stp q%d, q%d, [x%d, #%d]", 2*i, 2*i+1, dst, 32*i)
		}
		w.op("ADD $128, %v", dst)
		w.op("ADD %v<<2, %v", xs, x)
	})
	w.ret()
}

// dots writes dotsN: N products at a time, each in four chains.
func dots(w *writer, n int) {
	w.text(fmt.Sprintf("dots%dNEON", n), "func(dst, a, b *float64, bs, n int)",
		fmt.Sprintf("is dots for %d vectors bs apart; n may be zero.", n))
	dst, a, count := w.arg("dst"), w.arg("a"), w.arg("n")
	rows := w.pointers(w.arg("b"), w.arg("bs", 3), n)
	w.clear(span(0, 2*n)...)
	w.steps(count, 4, func() {
		w.v("ldp q8, q9, [x%d, #0]", a)
		w.op("ADD $32, %v", a)
		for i, b := range rows {
			t := 10 + 2*i
			w.v("ldp q%d, q%d, [x%d, #0]", t, t+1, b)
			w.op("ADD $32, %v", b)
			for h := range 2 {
				w.v("fmul v%d.2d, v%d.2d, v%d.2d", t+h, 8+h, t+h)
				w.v("fadd v%d.2d, v%d.2d, v%d.2d", 2*i+h, 2*i+h, t+h)
			}
		}
	})
	// The remaining numbers continue the first chain.
	for i := range n {
		w.v("mov d%d, v%d.d[1]", 20+i, 2*i)
	}
	w.loop(count, 1, true, func() {
		w.v("ldr d8, [x%d], #8", a)
		for i, b := range rows {
			w.v("ldr d9, [x%d], #8", b)
			w.v("fmul d9, d8, d9")
			w.v("fadd d%d, d%d, d9", 2*i, 2*i)
		}
	})
	for i := range n {
		w.v("fadd d%d, d%d, d%d", 2*i, 2*i, 20+i)
		w.v("faddp d%d, v%d.2d", 2*i+1, 2*i+1)
		w.v("fadd d%d, d%d, d%d", 2*i, 2*i, 2*i+1)
		w.v("str d%d, [x%d], #8", 2*i, dst)
	}
	w.ret()
}
