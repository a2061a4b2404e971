package main

import "fmt"

// cross makes the butterflies between vectors, the nearest first. A spare register takes
// the next sum.
func (w *writer) cross(v []int, spare int) int {
	for h := 1; h < len(v); h *= 2 {
		for i := range v {
			if i&h == 0 {
				w.v("fadd v%d.4s, v%d.4s, v%d.4s", spare, v[i], v[i+h])
				w.v("fsub v%d.4s, v%d.4s, v%d.4s", v[i+h], v[i], v[i+h])
				v[i], spare = spare, v[i]
			}
		}
	}
	return spare
}

// butterflies writes hadamardN: log₂N stages between vectors that are h elements apart.
func butterflies(w *writer, n int) {
	w.text(fmt.Sprintf("hadamard%dNEON", n), "func(x *float32, h, vecs int)",
		fmt.Sprintf("makes the butterflies of the %d vectors that are h elements apart,\n"+
			"for as many vectors from x on.", n))
	rows, vecs := w.pointers(w.arg("x"), w.arg("h", 2), n), w.arg("vecs")
	w.loop(vecs, 1, false, func() {
		v := span(0, n)
		for i, p := range rows {
			w.v("ldr q%d, [x%d, #0]", v[i], p)
		}
		w.cross(v, n)
		for i, p := range rows {
			w.v("str q%d, [x%d], #16", v[i], p)
		}
	})
	w.ret()
}

// hadamardBlocks writes hadamardBlocks: all stages of 64 elements. The first two,
// within vectors, are made between the vectors of every fourth element.
func hadamardBlocks(w *writer) {
	w.text("hadamardBlocksNEON", "func(x *float32, blocks int)", "transforms blocks of 64 elements.")
	x, blocks := w.arg("x"), w.arg("blocks")
	p := w.reg()
	w.loop(blocks, 1, false, func() {
		w.op("MOVD %v, %v", x, p)
		all, free := []int{}, 28
		for b := range 4 {
			v := span(4*b, 4)
			w.v("ld4 {v%d.4s, v%d.4s, v%d.4s, v%d.4s}, [x%d]", v[0], v[1], v[2], v[3], p)
			w.op("ADD $64, %v", p)
			free = w.cross(v, free)
			all = append(all, v...)
		}
		// Back in order: words of neighbours, then pairs of them.
		t := []int{}
		for r := range 32 {
			used := r == free
			for _, v := range all {
				used = used || v == r
			}
			if !used {
				t = append(t, r)
			}
		}
		for b := range 4 {
			v := all[4*b : 4*b+4]
			w.v("zip1 v%d.4s, v%d.4s, v%d.4s", t[0], v[0], v[1])
			w.v("zip2 v%d.4s, v%d.4s, v%d.4s", t[1], v[0], v[1])
			w.v("zip1 v%d.4s, v%d.4s, v%d.4s", t[2], v[2], v[3])
			w.v("zip2 v%d.4s, v%d.4s, v%d.4s", t[3], v[2], v[3])
			for i := range 2 {
				w.v("trn1 v%d.2d, v%d.2d, v%d.2d", v[2*i], t[i], t[2+i])
				w.v("trn2 v%d.2d, v%d.2d, v%d.2d", v[2*i+1], t[i], t[2+i])
			}
		}
		w.cross(all, free)
		for i := 0; i < 16; i += 2 {
			w.v("stp q%d, q%d, [x%d, #%d]", all[i], all[i+1], x, 16*i)
		}
		w.op("ADD $256, %v", x)
	})
	w.ret()
}
