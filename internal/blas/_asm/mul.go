package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// mulTile writes mulRxV: tiles of R rows by V·16 columns, one below the other.
func mulTile(m machine, rows, vecs int) {
	text(m, fmt.Sprintf("mul%dx%d", rows, vecs),
		"func(c *float32, cs int, init *float32, is int, x *float32, xs int, w *float32, ws int, k int, tiles int)",
		fmt.Sprintf("is mul for tiles of %d rows and %d×16 columns; k may be zero.", rows, vecs))
	n := vecs * m.halves() // vectors in a row
	half := min(rows, 4)
	if rows == 6 {
		half = 3
	}
	acc := func(i, j int) reg.VecPhysical { return m.v(i*n + j) }
	b := func(j int) reg.VecPhysical { return m.v(rows*n + j) }
	bc := m.v(rows*n + n)

	tiles := param("tiles")
	c, init, xp := param("c"), param("init"), param("x")
	Label("tile")
	is := shifted("is", 2)
	from := GP64()
	MOVQ(init, from)
	for i := range rows {
		for j := range n {
			VMOVUPS(at(from, j*m.bytes), acc(i, j))
		}
		ADDQ(is, from)
	}
	MOVQ(from, init)

	xs := shifted("xs", 2)
	xs3, low, high := GP64(), GP64(), GP64()
	LEAQ(Mem{Base: xs, Index: xs, Scale: 2}, xs3)
	MOVQ(xp, low)
	if half == 3 {
		LEAQ(plus(xp, xs3, 0), high)
	} else {
		LEAQ(Mem{Base: xp, Index: xs, Scale: 4}, high)
	}
	w, ws := param("w"), shifted("ws", 2)
	step := func(u int) {
		for j := range n {
			v, off := j/m.halves(), u*64+j%m.halves()*m.bytes
			switch v {
			case 0:
				VMOVUPS(at(w, off), b(j))
			case 1:
				VMOVUPS(plus(w, ws, off), b(j))
			case 2:
				VMOVUPS(Mem{Base: w, Index: ws, Scale: 2, Disp: off}, b(j))
			}
		}
		for i := range rows {
			from := rowOf(i, half, low, high, xs, xs3, 4*u)
			if n == 1 {
				VFMADD231PS_BCST(from, b(0), acc(i, 0))
				continue
			}
			VBROADCASTSS(from, bc)
			for j := range n {
				VFMADD231PS(b(j), bc, acc(i, j))
			}
		}
	}
	const unroll = 4
	advance := func(by int) {
		add(4*by, low)
		if rows > half {
			add(4*by, high)
		}
		add(64*by, w)
	}
	k := param("k")
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

	cs := shifted("cs", 2)
	for i := range rows {
		for j := range n {
			VMOVUPS(acc(i, j), at(c, j*m.bytes))
		}
		ADDQ(cs, c)
	}
	skip := GP64()
	IMUL3Q(U8(uint8(rows)), xs, skip)
	ADDQ(skip, xp)
	DECQ(tiles)
	JNZ(LabelRef("tile"))
	ret()
}
