package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// edge is 16 words of ones followed by 16 zeros: from word 16-n on, a mask of n words.
func edge() Mem {
	w := make([]uint32, 32)
	for i := range 16 {
		w[i] = 0xffffffff
	}
	return words("lanesFrom", w...)
}

// edgeMask makes a mask of the first n < 16 words: in k1 at 512 bits, in memory at 256 bits.
func edgeMask(m machine, n reg.Register, free reg.VecPhysical) reg.GPVirtual {
	p, back := GP64(), GP64()
	LEAQ(edge(), p)
	LEAQ(Mem{Base: n, Index: n, Scale: 1}, back)
	ADDQ(back, back)
	SUBQ(back, p)
	add(64, p)
	if m.bytes == 64 {
		VMOVDQU32(at(p, 0), free)
		VPMOVD2M(free, reg.K1)
	}
	return p
}

// scores writes scoresRxO: R rows by O outputs.
func scores(m machine, rows, outs int) {
	text(m, fmt.Sprintf("scores%dx%d", rows, outs),
		"func(dst *float32, ds int, x *float32, xs int, w *float32, ws int, n int)",
		fmt.Sprintf("is scores for %d rows and %d outputs; n may be zero.", rows, outs))
	h := m.halves()
	// At 512 bits, accumulators are the registers that only long encodings can name.
	first, free := 0, rows*outs*h
	if m.bytes == 64 {
		first, free = 16, 0
	}
	acc := func(i, j, k int) reg.VecPhysical { return m.v(first + (i*outs+j)*h + k) }
	xv := func(i int) reg.VecPhysical { return m.v(free + i) }
	wv := m.v(free + rows)
	for i := range rows * outs * h {
		VXORPS(m.v(first+i), m.v(first+i), m.v(first+i))
	}
	x0, xs, w0, ws, n := param("x"), shifted("xs", 2), param("w"), shifted("ws", 2), param("n")
	xs3, ws3 := GP64(), GP64()
	LEAQ(Mem{Base: xs, Index: xs, Scale: 2}, xs3)
	LEAQ(Mem{Base: ws, Index: ws, Scale: 2}, ws3)
	step := func(load func(from Mem, half int, to reg.VecPhysical)) {
		for k := range h {
			for i := range rows {
				load(rowOf(i, 4, x0, x0, xs, xs3, k*m.bytes), k, xv(i))
			}
			for j := range outs {
				load(rowOf(j, 4, w0, w0, ws, ws3, k*m.bytes), k, wv)
				for i := range rows {
					VFMADD231PS(wv, xv(i), acc(i, j, k))
				}
			}
		}
	}
	add(-16, n)
	JL(LabelRef("rest"))
	Label("steps")
	step(func(from Mem, _ int, to reg.VecPhysical) { VMOVUPS(from, to) })
	add(64, x0)
	add(64, w0)
	add(-16, n)
	JGE(LabelRef("steps"))
	Label("rest")
	add(16, n)
	JZ(LabelRef("sums"))
	// The last numbers, with zeros behind them.
	p := edgeMask(m, n, wv)
	step(func(from Mem, half int, to reg.VecPhysical) {
		if m.bytes == 64 {
			VMOVUPS_Z(from, reg.K1, to)
			return
		}
		VMOVDQU(at(p, half*m.bytes), to)
		VMASKMOVPS(from, to, to)
	})
	Label("sums")
	dst, ds := param("dst"), shifted("ds", 2)
	s, t := free, free+1
	for i := range rows {
		for j := range outs {
			if m.bytes == 64 {
				VMOVAPS(acc(i, j, 0), z[s])
				VEXTRACTF64X4(Imm(1), z[s], y[t])
				VADDPS(y[t], y[s], y[s])
			} else {
				VADDPS(acc(i, j, 1), acc(i, j, 0), y[s])
			}
			VEXTRACTF128(Imm(1), y[s], x[t])
			VADDPS(x[t], x[s], x[s])
			VSHUFPS(Imm(0x0e), x[s], x[s], x[t])
			VADDPS(x[t], x[s], x[s])
			VSHUFPS(Imm(0x01), x[s], x[s], x[t])
			VADDSS(x[t], x[s], x[s])
			VMOVSS(x[s], at(dst, 4*j))
		}
		ADDQ(ds, dst)
	}
	ret()
}

// gradient writes gradientOxV, of O outputs by V vectors of columns, in float32;
// gradientMixedOxV, in float64 with x in float32; or gradientDoubleOxV, in float64.
func gradient(m machine, outs, vecs int, f real, x32 bool) {
	name, of, size, xshift := "gradient", "gradient", 1<<f.shift, f.shift
	switch {
	case f.shift == 3 && x32:
		name, of, xshift = "gradientMixed", "gradientMixed", 2
	case f.shift == 3:
		name, of = "gradientDouble", "gradient64"
	}
	xtyp := f.typ
	if x32 {
		xtyp = "float32"
	}
	text(m, fmt.Sprintf("%s%dx%d", name, outs, vecs),
		fmt.Sprintf("func(sums *%s, ss int, c *%s, cs int, x *%s, xs int, rows int)", f.typ, f.typ, xtyp),
		fmt.Sprintf("is %s for %d outputs and %d columns.", of, outs, vecs*m.bytes/size))
	acc := func(o, v int) reg.VecPhysical { return m.v(o*vecs + v) }
	xv := func(v int) reg.VecPhysical { return m.v(outs*vecs + v) }
	cv := m.v((outs + 1) * vecs)
	g, gs := param("sums"), shifted("ss", f.shift)
	each := func(do func(at Mem, a reg.VecPhysical)) {
		p := GP64()
		MOVQ(g, p)
		for o := range outs {
			for v := range vecs {
				do(at(p, v*m.bytes), acc(o, v))
			}
			ADDQ(gs, p)
		}
	}
	each(func(from Mem, a reg.VecPhysical) { f.move(from, a) })
	c, cs, x, xs, rows := param("c"), shifted("cs", f.shift), param("x"), shifted("xs", xshift), param("rows")
	loop("row", rows, 1, false, func() {
		for v := range vecs {
			if xshift < f.shift {
				VCVTPS2PD(at(x, v*m.bytes/2), xv(v))
			} else {
				f.move(at(x, v*m.bytes), xv(v))
			}
		}
		for o := range outs {
			f.broadcast(at(c, o*size), cv)
			for v := range vecs {
				f.fma(xv(v), cv, acc(o, v))
			}
		}
		ADDQ(cs, c)
		ADDQ(xs, x)
	})
	each(func(to Mem, a reg.VecPhysical) { f.move(a, to) })
	ret()
}

// thin writes the kernels of the products with few outputs.
func thin(m machine) {
	shapes, vecs, double := [][2]int{{3, 2}, {4, 1}, {1, 2}, {1, 1}}, []int{2}, []int{2}
	if m.bytes == 64 {
		shapes, vecs, double = [][2]int{{4, 4}, {4, 2}, {4, 1}, {1, 4}, {1, 2}, {1, 1}}, []int{4, 1}, []int{4, 2}
	}
	for _, s := range shapes {
		scores(m, s[0], s[1])
	}
	for _, outs := range []int{4, 2, 1} {
		for _, v := range vecs {
			gradient(m, outs, v, float32s, true)
		}
		for _, v := range double {
			gradient(m, outs, v, float64s, true)
			gradient(m, outs, v, float64s, false)
		}
	}
}
