package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// dot writes dot: 64 chains, added pairwise.
func dot(m machine) {
	text(m, "dot", "func(x, y *float32, n int) float32", "is dot; n may be zero.")
	xp, yp, n := param("x"), param("y"), param("n")
	vecs := 256 / m.bytes
	for j := range vecs {
		VXORPS(m.v(j), m.v(j), m.v(j))
	}
	add(-64, n)
	JL(LabelRef("rest"))
	Label("steps")
	for j := range vecs {
		VMOVUPS(at(xp, j*m.bytes), m.v(vecs+j))
		VFMADD231PS(at(yp, j*m.bytes), m.v(vecs+j), m.v(j))
	}
	add(256, xp)
	add(256, yp)
	add(-64, n)
	JGE(LabelRef("steps"))
	Label("rest")
	for h := vecs / 2; h > 0; h /= 2 {
		for j := range h {
			VADDPS(m.v(j+h), m.v(j), m.v(j))
		}
	}
	if m.bytes == 64 {
		VEXTRACTF64X4(Imm(1), z[0], y[1])
		VADDPS(y[1], y[0], y[0])
	}
	VEXTRACTF128(Imm(1), y[0], x[1])
	VADDPS(x[1], x[0], x[0])
	VSHUFPS(Imm(0x0e), x[0], x[0], x[1])
	VADDPS(x[1], x[0], x[0])
	VSHUFPS(Imm(0x01), x[0], x[0], x[1])
	VADDSS(x[1], x[0], x[0])
	add(64, n)
	loop("single", n, 1, true, func() {
		VMOVSS(at(xp, 0), x[1])
		VFMADD231SS(at(yp, 0), x[1], x[0])
		add(4, xp)
		add(4, yp)
	})
	Store(reg.X0, ReturnIndex(0))
	ret()
}

// axpy writes axpy.
func axpy(m machine) {
	text(m, "axpy", "func(a float32, x, y *float32, n int)", "is axpy; n may be zero.")
	a, _ := Param("a").Resolve()
	VBROADCASTSS(a.Addr, m.v(0))
	xp, yp, n := param("x"), param("y"), param("n")
	const vecs = 4
	per := vecs * m.bytes / 4
	add(-per, n)
	JL(LabelRef("rest"))
	Label("steps")
	for j := range vecs {
		VMOVUPS(at(yp, j*m.bytes), m.v(1+j))
		VFMADD231PS(at(xp, j*m.bytes), m.v(0), m.v(1+j))
		VMOVUPS(m.v(1+j), at(yp, j*m.bytes))
	}
	add(vecs*m.bytes, xp)
	add(vecs*m.bytes, yp)
	add(-per, n)
	JGE(LabelRef("steps"))
	Label("rest")
	add(per, n)
	loop("single", n, 1, true, func() {
		VMOVSS(at(yp, 0), x[1])
		VFMADD231SS(at(xp, 0), x[0], x[1])
		VMOVSS(x[1], at(yp, 0))
		add(4, xp)
		add(4, yp)
	})
	ret()
}
