package main

import "fmt"

// gramTile writes the tile of 8 rows by 3·4 columns that SDOT and SMMLA share:
// columns of the result in fours, whose factors lie at b0, b1 and b2. rows tells,
// after the steps, which register holds row i of the j-th four columns.
func gramTile(w *writer, name, doc string, step func(a reg, b []reg), rows func() func(i, j int) int) {
	w.text(name, "func(dst *float64, ds int, a, b0, b1, b2 *int8, steps int)", doc)
	g, gs, a, steps := w.arg("dst"), w.arg("ds", 3), w.arg("a"), w.arg("steps")
	b := []reg{w.arg("b0"), w.arg("b1"), w.arg("b2")}
	ahead := w.copy(g)
	for i := range 8 {
		w.clear(3*i, 3*i+1, 3*i+2)
		w.op("PRFM (%v), PLDL1KEEP", ahead)
		w.op("PRFM 64(%v), PLDL1KEEP", ahead)
		w.op("ADD %v, %v", gs, ahead)
	}
	w.loop(steps, 1, false, func() { step(a, b) })
	at := rows()
	for i := range 8 {
		for j := range 3 {
			w.addDoubles(at(i, j), g, 32*j, 24+4*(j%2))
		}
		w.op("ADD %v, %v", gs, g)
	}
	w.ret()
}

// addDoubles adds the 4 whole numbers in v, which a float32 holds exactly, to
// float64s. It takes four registers from free on.
func (w *writer) addDoubles(v int, g reg, disp, free int) {
	w.v("scvtf v%d.4s, v%d.4s", v, v)
	w.v("ldp q%d, q%d, [x%d, #%d]", free, free+1, g, disp)
	w.v("fcvtl v%d.2d, v%d.2s", free+2, v)
	w.v("fcvtl2 v%d.2d, v%d.4s", free+3, v)
	w.v("fadd v%d.2d, v%d.2d, v%d.2d", free, free, free+2)
	w.v("fadd v%d.2d, v%d.2d, v%d.2d", free+1, free+1, free+3)
	w.v("stp q%d, q%d, [x%d, #%d]", free, free+1, g, disp)
}

// gramDots writes gram by SDOT, which reads panels as they are in memory: a vector has four
// rows of each of four columns.
func gramDots(w *writer) {
	acc := func(i, j int) int { return 3*i + j }
	gramTile(w, "gramDotProd", "adds to 8 rows of 12 numbers the products of 8 columns at a with four at each of b0,\n"+
		"b1 and b2, over the quads of rows that are 64 bytes apart. It needs FEAT_DotProd.",
		func(a reg, b []reg) {
			w.v("ldp q24, q25, [x%d, #0]", a)
			w.op("ADD $64, %v", a)
			for j := range b {
				w.v("ldr q%d, [x%d, #0]", 26+j, b[j])
				w.op("ADD $64, %v", b[j])
			}
			for i := range 8 {
				for j := range 3 {
					w.v("sdot v%d.4s, v%d.16b, v%d.4b[%d]", acc(i, j), 26+j, 24+i/4, i%4)
				}
			}
		}, func() func(i, j int) int { return acc })
}

// gramSquares writes gram by SMMLA, which multiplies two columns with two others
// over 8 rows.
func gramSquares(w *writer) {
	acc := func(i, j int) int { return 6*i + j } // of pairs
	gramTile(w, "gramI8MM",
		"is gramDotProd for eights of rows, [row/8][column][row%8], 128 bytes apart. It needs FEAT_I8MM.",
		func(a reg, b []reg) {
			w.v("ldp q24, q25, [x%d, #0]", a)
			w.v("ldp q26, q27, [x%d, #32]", a)
			w.op("ADD $128, %v", a)
			for j := range b {
				to := 28 + j%2*2
				w.v("ldp q%d, q%d, [x%d, #0]", to, to+1, b[j])
				w.op("ADD $128, %v", b[j])
				for i := range 4 {
					for h := range 2 {
						w.v("smmla v%d.4s, v%d.16b, v%d.16b", acc(i, 2*j+h), 24+i, to+h)
					}
				}
			}
		}, func() func(i, j int) int {
			at, free := map[[2]int]int{}, 24
			for i := range 4 {
				for j := range 3 {
					a, b := acc(i, 2*j), acc(i, 2*j+1)
					w.v("trn1 v%d.2d, v%d.2d, v%d.2d", free, a, b)
					w.v("trn2 v%d.2d, v%d.2d, v%d.2d", b, a, b)
					at[[2]int{2 * i, j}], at[[2]int{2*i + 1, j}] = a, b
					w.v("mov v%d.16b, v%d.16b", a, free)
					free = 24 + (free+1)%8
				}
			}
			return func(i, j int) int { return at[[2]int{i, j}] }
		})
}

// gramPairs writes gram by SMULL and SADALP, for CPUs without dot products: the
// products of two of 16 rows are at most 2·127² and fit in 16 bits.
func gramPairs(w *writer) {
	w.text("gramNEON", "func(dst *float64, ds int, a, b *int8, steps int)",
		"adds to 4 rows of 4 numbers the products of 4 columns at a with 4 at b, over sixteens of\n"+
			"rows, [row/16][column][row%16], 256 bytes apart.")
	g, gs, a, b, steps := w.arg("dst"), w.arg("ds", 3), w.arg("a"), w.arg("b"), w.arg("steps")
	w.clear(span(0, 16)...)
	w.loop(steps, 1, false, func() {
		for i, p := range []reg{a, b} {
			w.v("ldp q%d, q%d, [x%d, #0]", 16+4*i, 17+4*i, p)
			w.v("ldp q%d, q%d, [x%d, #32]", 18+4*i, 19+4*i, p)
			w.op("ADD $256, %v", p)
		}
		for from := 0; from < 16; from += 8 {
			for i := from; i < from+8; i++ {
				w.v("smull v%d.8h, v%d.8b, v%d.8b", 24+i%8, 16+i/4, 20+i%4)
			}
			for i := from; i < from+8; i++ {
				w.v("smlal2 v%d.8h, v%d.16b, v%d.16b", 24+i%8, 16+i/4, 20+i%4)
			}
			for i := from; i < from+8; i++ {
				w.v("sadalp v%d.4s, v%d.8h", i, 24+i%8)
			}
		}
	})
	for i := range 4 {
		w.v("addp v%d.4s, v%d.4s, v%d.4s", 4*i, 4*i, 4*i+1)
		w.v("addp v%d.4s, v%d.4s, v%d.4s", 4*i+2, 4*i+2, 4*i+3)
		w.v("addp v%d.4s, v%d.4s, v%d.4s", 4*i, 4*i, 4*i+2)
		w.addDoubles(4*i, g, 0, 24)
		w.op("ADD %v, %v", gs, g)
	}
	w.ret()
}

// interleave writes the kernels that arrange panels for gramSquares and gramPairs.
func interleave(w *writer, n int) {
	w.text(fmt.Sprintf("interleave%dNEON", n), "func(dst, panel *int8, steps int)",
		fmt.Sprintf("lays %d rows of each column of a panel side by side, where it has quads.", 4*n))
	dst, panel, steps := w.arg("dst"), w.arg("panel"), w.arg("steps")
	w.loop(steps, 1, false, func() {
		for j := range 4 { // four columns
			v := span(n*(j%2), n)
			for i := range n {
				w.v("ldr q%d, [x%d, #%d]", v[i], panel, 64*i+16*j)
			}
			if n == 2 {
				w.v("st2 {v%d.4s, v%d.4s}, [x%d]", v[0], v[1], dst)
			} else {
				w.v("st4 {v%d.4s, v%d.4s, v%d.4s, v%d.4s}, [x%d]", v[0], v[1], v[2], v[3], dst)
			}
			w.op("ADD $%d, %v", 16*n, dst)
		}
		w.op("ADD $%d, %v", 64*n, panel)
	})
	w.ret()
}
