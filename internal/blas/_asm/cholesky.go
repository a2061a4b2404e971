package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// real is a type of numbers: its name in Go, the end of a kernel's name, its size as
// a power of two, and its instructions.
type real struct {
	typ, suffix  string
	shift        uint64
	move, divide func(...Op)
	broadcast    func(...Op)
	fma, fnm     func(...Op)

	scalar, root func(...Op)
	compare      func(Op, Op)
}

var (
	float64s = real{"float64", "", 3, VMOVUPD, VDIVPD, VBROADCASTSD, VFMADD231PD, VFNMADD231PD, VMOVSD, VSQRTSD, VUCOMISD}
	float32s = real{"float32", "32", 2, VMOVUPS, VDIVPS, VBROADCASTSS, VFMADD231PS, VFNMADD231PS, VMOVSS,
		VSQRTSS, VUCOMISS}
)

// subtractTile writes tile.
func subtractTile(m machine, f real) {
	size := 1 << f.shift
	text(m, "tile"+f.suffix, fmt.Sprintf("func(c *%[1]s, cs int, a *%[1]s, as int, b *%[1]s, k int)", f.typ), "is tile.")
	rows, n := m.tileRows, m.tileVecs
	acc := func(i, j int) reg.VecPhysical { return m.v(i*n + j) }
	bv := func(j int) reg.VecPhysical { return m.v(rows*n + j) }
	bc := m.v(rows*n + n)
	c, cs := param("c"), shifted("cs", f.shift)
	p := GP64()
	MOVQ(c, p)
	for i := range rows {
		for j := range n {
			f.move(at(p, j*m.bytes), acc(i, j))
		}
		ADDQ(cs, p)
	}
	a, as, b, k := param("a"), shifted("as", f.shift), param("b"), param("k")
	as3, high := GP64(), GP64()
	LEAQ(Mem{Base: as, Index: as, Scale: 2}, as3)
	LEAQ(Mem{Base: a, Index: as, Scale: 4}, high)
	step := func(u int) {
		for j := range n {
			f.move(at(b, (u*n+j)*m.bytes), bv(j))
		}
		for i := range rows {
			f.broadcast(rowOf(i, 4, a, high, as, as3, size*u), bc)
			for j := range n {
				f.fnm(bv(j), bc, acc(i, j))
			}
		}
	}
	const unroll = 4
	advance := func(by int) {
		add(size*by, a)
		add(size*by, high)
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
			f.move(acc(i, j), at(c, j*m.bytes))
		}
		ADDQ(cs, c)
	}
	ret()
}

// solve writes solve: 32 right sides at once.
func solve(m machine, f real) {
	size := 1 << f.shift
	pitch := 32 * size
	text(m, "solve"+f.suffix, fmt.Sprintf("func(x, l *%s, ls, n int)", f.typ), "is solve.")
	n := pitch / m.bytes
	first, row, ls, count := param("x"), param("l"), shifted("ls", f.shift), param("n")
	done, p, at2, l := GP64(), GP64(), GP64(), GP64()
	own := GP64()
	MOVQ(first, own)
	XORQ(done, done)
	bc := m.v(n)
	loop("row", count, 1, false, func() {
		for j := range n {
			f.move(at(own, j*m.bytes), m.v(j))
		}
		MOVQ(first, at2)
		MOVQ(row, l)
		MOVQ(done, p)
		loop("step", p, 1, true, func() {
			f.broadcast(at(l, 0), bc)
			for j := range n {
				f.fnm(at(at2, j*m.bytes), bc, m.v(j))
			}
			add(size, l)
			add(pitch, at2)
		})
		f.broadcast(at(l, 0), bc)
		for j := range n {
			f.divide(bc, m.v(j), m.v(j))
			f.move(m.v(j), at(own, j*m.bytes))
		}
		add(pitch, own)
		ADDQ(ls, row)
		INCQ(done)
	})
	ret()
}

// factor writes factor: 32 rows, column by column; each column is divided by the root of its
// diagonal element.
func factor(m machine, f real) {
	size := 1 << f.shift
	pitch := 32 * size
	text(m, "factor"+f.suffix, fmt.Sprintf("func(x *%s, n int) (pivot int)", f.typ), "is factor.")
	n := pitch / m.bytes
	first, count := param("x"), param("n")
	done, offset, p, from, own := GP64(), GP64(), GP64(), GP64(), GP64()
	MOVQ(first, own)
	XORQ(done, done)
	XORQ(offset, offset)
	bc, diagonal, zero := m.v(n), x[n+1], x[n+2]
	VXORPD(zero, zero, zero)
	loop("column", count, 1, false, func() {
		for j := range n {
			f.move(at(own, j*m.bytes), m.v(j))
		}
		MOVQ(first, from)
		MOVQ(done, p)
		loop("step", p, 1, true, func() {
			f.broadcast(plus(from, offset, 0), bc)
			for j := range n {
				f.fnm(at(from, j*m.bytes), bc, m.v(j))
			}
			add(pitch, from)
		})
		for j := range n {
			f.move(m.v(j), at(own, j*m.bytes))
		}
		f.scalar(plus(own, offset, 0), diagonal)
		f.compare(zero, diagonal)
		JHI(LabelRef("positive"))
		Store(done, ReturnIndex(0))
		ret()
		Label("positive")
		f.root(diagonal, diagonal, diagonal)
		f.broadcast(diagonal, bc)
		for j := range n {
			f.divide(bc, m.v(j), m.v(j))
			f.move(m.v(j), at(own, j*m.bytes))
		}
		f.scalar(diagonal, plus(own, offset, 0))
		add(pitch, own)
		add(size, offset)
		INCQ(done)
	})
	Store(done, ReturnIndex(0))
	ret()
}
