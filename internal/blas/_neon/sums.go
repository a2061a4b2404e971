package main

import "fmt"

// classes writes classes.
func classes(w *writer) {
	w.text("classesNEON", "func(acc *int32, panel *int8, class *int32, quads int)", "is classes for whole quads of rows.")
	acc, panel, class, quads := w.arg("acc"), w.arg("panel"), w.arg("class"), w.arg("quads")
	row := w.reg()
	w.loop(quads, 1, false, func() {
		w.v("ldp q0, q1, [x%d, #0]", panel)
		w.v("ldp q2, q3, [x%d, #32]", panel)
		for i := range 4 {
			w.op("MOVW.P 4(%v), %v", class, row)
			w.op("ADD %v<<6, %v, %v", row, acc, row)
			w.v("ldp q4, q5, [x%d, #0]", row)
			w.v("ldp q6, q7, [x%d, #32]", row)
			for j := range 4 {
				from := j
				if i < 3 {
					from = 8 + j
					w.v("shl v%d.4s, v%d.4s, #%d", from, j, 24-8*i)
				}
				w.v("ssra v%d.4s, v%d.4s, #24", 4+j, from)
			}
			w.v("stp q4, q5, [x%d, #0]", row)
			w.v("stp q6, q7, [x%d, #32]", row)
		}
		w.op("ADD $64, %v", panel)
	})
	w.ret()
}

// targets writes targetsN: the sums of 16 columns times N targets.
func targets(w *writer, n int) {
	w.text(fmt.Sprintf("targets%dNEON", n), "func(acc *int32, panel *int8, y *int16, ys, quads int)",
		fmt.Sprintf("stores in acc (%d×16) the products of a panel with %d targets. In y, the values of a\ntarget for "+
			"rows 0, 2, 1, 3 of a quad lie side by side, the next quad is ys elements further.", n, n))
	acc, panel, y, ys, quads := w.arg("acc"), w.arg("panel"), w.arg("y"), w.arg("ys", 1), w.arg("quads")
	sum := func(t, j int) int { return 16 + 4*t + j }
	w.clear(span(16, 4*n)...)
	w.loop(quads, 1, false, func() {
		w.v("ld4 {v0.16b, v1.16b, v2.16b, v3.16b}, [x%d]", panel)
		w.op("ADD $64, %v", panel)
		for i := range 4 { // row i: columns 0 to 7 in 4+2i, 8 to 15 in 5+2i
			w.v("sxtl v%d.8h, v%d.8b", 4+2*i, i)
			w.v("sxtl2 v%d.8h, v%d.16b", 5+2*i, i)
		}
		for t := range n {
			w.v("ldr d%d, [x%d, #%d]", t%4, y, 8*t)
			for i := range 4 {
				at := []int{0, 2, 1, 3}[i]
				for j := range 2 {
					w.v("smlal v%d.4s, v%d.4h, v%d.h[%d]", sum(t, 2*j), 4+2*i+j, t%4, at)
					w.v("smlal2 v%d.4s, v%d.8h, v%d.h[%d]", sum(t, 2*j+1), 4+2*i+j, t%4, at)
				}
			}
		}
		w.op("ADD %v, %v", ys, y)
	})
	for t := range n {
		w.v("stp q%d, q%d, [x%d, #%d]", sum(t, 0), sum(t, 1), acc, 64*t)
		w.v("stp q%d, q%d, [x%d, #%d]", sum(t, 2), sum(t, 3), acc, 64*t+32)
	}
	w.ret()
}
