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
	t := &mulTileRegs{machine: m, rows: rows, n: n, half: half}

	tiles := param("tiles")
	c, init, xp := param("c"), param("init"), param("x")
	Label("tile")
	is := shifted("is", 2)
	from := GP64()
	MOVQ(init, from)
	for i := range rows {
		for j := range n {
			VMOVUPS(at(from, j*m.bytes), t.acc(i, j))
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
	t.xs, t.xs3, t.low, t.high = xs, xs3, low, high
	t.w, t.ws = param("w"), shifted("ws", 2)
	const unroll = 4
	k := param("k")
	add(-unroll, k)
	JL(LabelRef("rest"))
	Label("steps")
	for u := range unroll {
		t.step(u)
	}
	t.advance(unroll)
	add(-unroll, k)
	JGE(LabelRef("steps"))
	Label("rest")
	add(unroll, k)
	loop("single", k, 1, true, func() {
		t.step(0)
		t.advance(1)
	})

	cs := shifted("cs", 2)
	for i := range rows {
		for j := range n {
			VMOVUPS(t.acc(i, j), at(c, j*m.bytes))
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

// mulTileRegs holds the registers of a tile: the addresses of rows of x and vectors of w, and the sums.
type mulTileRegs struct {
	machine
	rows, n, half             int // rows in all, vectors in a row, rows that low reaches
	low, high, xs, xs3, w, ws reg.GPVirtual
}

// acc holds vector j of row i, and b vector j of w.
func (t *mulTileRegs) acc(i, j int) reg.VecPhysical { return t.v(i*t.n + j) }
func (t *mulTileRegs) b(j int) reg.VecPhysical      { return t.v(t.rows*t.n + j) }

// step adds the products of step u, counted from the current addresses.
func (t *mulTileRegs) step(u int) {
	for j := range t.n {
		v, off := j/t.halves(), u*64+j%t.halves()*t.bytes
		switch v {
		case 0:
			VMOVUPS(at(t.w, off), t.b(j))
		case 1:
			VMOVUPS(plus(t.w, t.ws, off), t.b(j))
		case 2:
			VMOVUPS(Mem{Base: t.w, Index: t.ws, Scale: 2, Disp: off}, t.b(j))
		}
	}
	bc := t.v(t.rows*t.n + t.n)
	for i := range t.rows {
		from := rowOf(i, t.half, t.low, t.high, t.xs, t.xs3, 4*u)
		if t.n == 1 {
			VFMADD231PS_BCST(from, t.b(0), t.acc(i, 0))
			continue
		}
		VBROADCASTSS(from, bc)
		for j := range t.n {
			VFMADD231PS(t.b(j), bc, t.acc(i, j))
		}
	}
}

// advance moves the addresses by a number of steps.
func (t *mulTileRegs) advance(by int) {
	add(4*by, t.low)
	if t.rows > t.half {
		add(4*by, t.high)
	}
	add(64*by, t.w)
}
