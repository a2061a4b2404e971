package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// subtractTile writes tile.
func subtractTile(m machine) {
	text(m, "tile", "func(c *float64, cs int, a *float64, as int, b *float64, k int)", "is tile.")
	rows, n := m.tileRows, m.tileVecs
	acc := func(i, j int) reg.VecPhysical { return m.v(i*n + j) }
	bv := func(j int) reg.VecPhysical { return m.v(rows*n + j) }
	bc := m.v(rows*n + n)
	c, cs := param("c"), shifted("cs", 3)
	p := GP64()
	MOVQ(c, p)
	for i := range rows {
		for j := range n {
			VMOVUPD(at(p, j*m.bytes), acc(i, j))
		}
		ADDQ(cs, p)
	}
	a, as, b, k := param("a"), shifted("as", 3), param("b"), param("k")
	as3, high := GP64(), GP64()
	LEAQ(Mem{Base: as, Index: as, Scale: 2}, as3)
	LEAQ(Mem{Base: a, Index: as, Scale: 4}, high)
	step := func(u int) {
		for j := range n {
			VMOVUPD(at(b, (u*n+j)*m.bytes), bv(j))
		}
		for i := range rows {
			VBROADCASTSD(rowOf(i, 4, a, high, as, as3, 8*u), bc)
			for j := range n {
				VFNMADD231PD(bv(j), bc, acc(i, j))
			}
		}
	}
	const unroll = 4
	advance := func(by int) {
		add(8*by, a)
		add(8*by, high)
		add(n*m.bytes*by, b)
	}
	add(-unroll, k)
	JL(LabelRef("rest"))
	Label("steps")
	for u := range unroll {
		step(u)
	}
	advance(unroll)
	add(-unroll, k)
	JGE(LabelRef("steps"))
	Label("rest")
	add(unroll, k)
	loop("single", k, 1, true, func() {
		step(0)
		advance(1)
	})
	for i := range rows {
		for j := range n {
			VMOVUPD(acc(i, j), at(c, j*m.bytes))
		}
		ADDQ(cs, c)
	}
	ret()
}

// solve writes solve: 32 right sides at once, their elements 256 bytes apart.
func solve(m machine) {
	text(m, "solve", "func(x, l *float64, ls, n int)", "is solve.")
	n := 256 / m.bytes
	first, row, ls, count := param("x"), param("l"), shifted("ls", 3), param("n")
	done, p, at2, l := GP64(), GP64(), GP64(), GP64()
	own := GP64()
	MOVQ(first, own)
	XORQ(done, done)
	bc := m.v(n)
	loop("row", count, 1, false, func() {
		for j := range n {
			VMOVUPD(at(own, j*m.bytes), m.v(j))
		}
		MOVQ(first, at2)
		MOVQ(row, l)
		MOVQ(done, p)
		loop("step", p, 1, true, func() {
			VBROADCASTSD(at(l, 0), bc)
			for j := range n {
				VFNMADD231PD(at(at2, j*m.bytes), bc, m.v(j))
			}
			add(8, l)
			add(256, at2)
		})
		VBROADCASTSD(at(l, 0), bc)
		for j := range n {
			VDIVPD(bc, m.v(j), m.v(j))
			VMOVUPD(m.v(j), at(own, j*m.bytes))
		}
		add(256, own)
		ADDQ(ls, row)
		INCQ(done)
	})
	ret()
}
