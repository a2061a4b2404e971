package main

import (
	"fmt"

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

// floats writes floats, which both machines use.
func floats() {
	text(avx2, "floats", "func(dst *float32, src *int16, steps int)", "is floats, of 16 numbers in each step.")
	dst, src, steps := param("dst"), param("src"), param("steps")
	loop("steps", steps, 1, false, func() {
		for half := range 2 {
			VPMOVSXWD(at(src, 16*half), y[half])
			VCVTDQ2PS(y[half], y[half])
			VMOVUPS(y[half], at(dst, 32*half))
		}
		add(32, src)
		add(64, dst)
	})
	ret()
}

// differences writes squares and absolutes, which both machines use: of four rows at a time.
func differences(name string, term func(v reg.VecPhysical)) {
	text(avx2, name, "func(dst *float64, a, x *float32, xs, steps, fours int)",
		"is "+name+", of 4 columns in each step and of so many fours of rows.")
	dst, a, x, xs, steps, fours := param("dst"), param("a"), param("x"), shifted("xs", 2), param("steps"), param("fours")
	xs3, p, q, n := GP64(), GP64(), GP64(), GP64()
	LEAQ(Mem{Base: xs, Index: xs, Scale: 2}, xs3)
	if name == "absolutes" {
		VBROADCASTSD(words("absMask64", 0xffffffff, 0x7fffffff), y[15])
	}
	loop("rows", fours, 1, false, func() {
		for i := range 4 {
			VXORPD(y[i], y[i], y[i])
		}
		MOVQ(a, p)
		MOVQ(x, q)
		MOVQ(steps, n)
		loop("steps", n, 1, false, func() {
			VCVTPS2PD(at(p, 0), y[8])
			for i := range 4 {
				VCVTPS2PD(rowOf(i, 4, q, q, xs, xs3, 0), y[4+i])
				VSUBPD(y[4+i], y[8], y[4+i])
				term(y[4+i])
				VADDPD(y[4+i], y[i], y[i])
			}
			add(16, p)
			add(16, q)
		})
		for i := range 4 {
			VMOVUPD(y[i], at(dst, 32*i))
		}
		add(128, dst)
		LEAQ(Mem{Base: x, Index: xs, Scale: 4}, x)
	})
	ret()
}

// dots writes dotsN: N products at a time, each in four chains.
func dots(n int) {
	text(avx2, fmt.Sprint("dots", n), "func(dst, a, b *float64, bs, n int)",
		fmt.Sprintf("is dots for %d vectors bs apart; n may be zero.", n))
	dst, a, b, bs, count := param("dst"), param("a"), param("b"), shifted("bs", 3), param("n")
	bs3 := GP64()
	LEAQ(Mem{Base: bs, Index: bs, Scale: 2}, bs3)
	for i := range n {
		VXORPD(y[i], y[i], y[i])
	}
	add(-4, count)
	JL(LabelRef("rest"))
	Label("steps")
	VMOVUPD(at(a, 0), y[8])
	for i := range n {
		VMULPD(rowOf(i, 4, b, b, bs, bs3, 0), y[8], y[4+i])
		VADDPD(y[4+i], y[i], y[i])
	}
	add(32, a)
	add(32, b)
	add(-4, count)
	JGE(LabelRef("steps"))
	Label("rest")
	add(4, count)
	// The remaining numbers continue the first chain.
	for i := range n {
		VEXTRACTF128(Imm(1), y[i], x[4+i])
	}
	loop("single", count, 1, true, func() {
		VMOVSD(at(a, 0), x[8])
		for i := range n {
			VMULSD(rowOf(i, 4, b, b, bs, bs3, 0), x[8], x[9])
			VADDSD(x[9], x[i], x[i])
		}
		add(8, a)
		add(8, b)
	})
	for i := range n {
		VHADDPD(x[4+i], x[i], x[i]) // s0+s1, s2+s3
		VPERMILPD(Imm(1), x[i], x[4+i])
		VADDSD(x[4+i], x[i], x[i])
		VMOVSD(x[i], at(dst, 8*i))
	}
	ret()
}
