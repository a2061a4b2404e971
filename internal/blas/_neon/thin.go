package main

import "fmt"

// scores writes scoresRxO: R rows by O outputs, each in 16 chains, four to a vector.
func scores(w *writer, rows, outs int) {
	w.text(fmt.Sprintf("scores%dx%dNEON", rows, outs),
		"func(dst *float32, ds int, x *float32, xs int, w *float32, ws int, n int)",
		fmt.Sprintf("is scores for %d rows and %d outputs; n may be zero.", rows, outs))
	acc := func(i, o, k int) int { return (i*outs+o)*4 + k }
	xv, wv := 4*rows*outs, 4*rows*outs+rows
	w.clear(span(0, 4*rows*outs)...)
	xp, wp := w.pointers(w.arg("x"), w.arg("xs", 2), rows), w.pointers(w.arg("w"), w.arg("ws", 2), outs)
	all, n := append(append([]reg{}, xp...), wp...), w.arg("n")
	part := func(k int) {
		for o := range outs {
			for i := range rows {
				w.v("fmla v%d.4s, v%d.4s, v%d.4s", acc(i, o, k), wv+o, xv+i)
			}
		}
	}
	fours := func(k int) {
		for v, p := range all {
			w.v("ldr q%d, [x%d], #16", xv+v, p)
		}
		part(k)
	}
	w.steps(n, 16, func() {
		for k := range 4 {
			fours(k)
		}
	})
	sums := w.label()
	w.op("CBZ %v, %s", n, sums)
	// The last numbers, with zeros behind them: whole fours, then up to three numbers. The
	// remaining chains add products of zeros, as the definition says.
	var last [4]string
	for k := range 4 {
		last[k] = w.label()
		if k < 3 {
			w.op("CMP $4, %v", n)
			w.op("BLT %s", last[k])
			fours(k)
			w.op("SUB $4, %v", n)
		}
	}
	for k := 3; k >= 0; k-- {
		fmt.Fprintf(&w.asm, "%s:\n", last[k])
		w.upToThree(all, xv, n)
		part(k)
		w.clear(span(xv, len(all))...)
		for rest := k + 1; rest < 4; rest++ {
			part(rest)
		}
		if k > 0 {
			w.op("B %s", sums)
		}
	}
	fmt.Fprintf(&w.asm, "%s:\n", sums)
	dst, ds := w.arg("dst"), w.arg("ds", 2)
	for i := range rows {
		for o := range outs {
			w.pairwise(span(acc(i, o, 0), 4))
			w.v("str s%d, [x%d, #%d]", acc(i, o, 0), dst, 4*o)
		}
		w.op("ADD %v, %v", ds, dst)
	}
	w.ret()
}

// upToThree loads the last n ≤ 3 numbers at each pointer into registers from first on, followed
// by zeros.
func (w *writer) upToThree(from []reg, first int, n reg) {
	done := w.label()
	w.clear(span(first, len(from))...)
	for e := range 3 {
		w.op("CMP $%d, %v", e, n)
		w.op("BLE %s", done)
		for v, p := range from {
			w.v("ld1 {v%d.s}[%d], [x%d], #4", first+v, e, p)
		}
	}
	fmt.Fprintf(&w.asm, "%s:\n", done)
}

// gradient writes gradientO, of O outputs by 64 bytes of columns, in float32; gradientMixedO,
// in float64 with x in float32; or gradientDoubleO, in float64.
func gradient(w *writer, outs int, f real, x32 bool) {
	name, of, xtyp, xshift := "gradient", "gradient", f.typ, f.shift
	switch {
	case f == float64s && x32:
		name, of, xtyp, xshift = "gradientMixed", "gradientMixed", "float32", 2
	case f == float64s:
		name, of = "gradientDouble", "gradient64"
	}
	w.text(fmt.Sprintf("%s%dNEON", name, outs),
		fmt.Sprintf("func(sums *%s, ss int, c *%s, cs int, x *%s, xs int, rows int)", f.typ, f.typ, xtyp),
		fmt.Sprintf("is %s for %d outputs and %d columns.", of, outs, 64/f.size()))
	acc := func(o, v int) int { return 4*o + v }
	const xv, cv = 16, 24
	g, gs, c, cs := w.arg("sums"), w.arg("ss", f.shift), w.arg("c"), w.arg("cs", f.shift)
	x, xs, rows := w.arg("x"), w.arg("xs", xshift), w.arg("rows")
	w.rowsOf("ldp", w.copy(g), gs, outs, 4, acc)
	w.loop(rows, 1, false, func() {
		if xshift < f.shift {
			w.v("ldp q28, q29, [x%d, #0]", x)
			for h := range 2 {
				w.v("fcvtl v%d.2d, v%d.2s", xv+2*h, 28+h)
				w.v("fcvtl2 v%d.2d, v%d.4s", xv+2*h+1, 28+h)
			}
		} else {
			w.v("ldp q%d, q%d, [x%d, #0]", xv, xv+1, x)
			w.v("ldp q%d, q%d, [x%d, #32]", xv+2, xv+3, x)
		}
		for o := range outs {
			w.v("ldr %s%d, [x%d, #%d]", f.letter, cv+o, c, f.size()*o)
			for v := range 4 {
				w.v("fmla v%d.%s, v%d.%s, v%d.%s[0]", acc(o, v), f.vector, xv+v, f.vector, cv+o, f.letter)
			}
		}
		w.op("ADD %v, %v", cs, c)
		w.op("ADD %v, %v", xs, x)
	})
	w.rowsOf("stp", g, gs, outs, 4, acc)
	w.ret()
}

// thin writes the kernels of the products with few outputs.
func thin(w *writer) {
	for _, s := range [][2]int{{3, 2}, {4, 1}, {1, 2}, {1, 1}} {
		scores(w, s[0], s[1])
	}
	for _, outs := range []int{4, 2, 1} {
		gradient(w, outs, float32s, true)
		gradient(w, outs, float64s, true)
		gradient(w, outs, float64s, false)
	}
}
