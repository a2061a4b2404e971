package main

import (
	"fmt"
	"math/bits"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// butterflies writes hadamardN: log₂N stages between vectors that are h elements apart.
func butterflies(m machine, n int) {
	text(m, fmt.Sprint("hadamard", n), "func(x *float32, h, vecs int)",
		fmt.Sprintf("makes the butterflies of the %d vectors that are h elements apart,\nfor as many vectors from x on.", n))
	p, h, vecs := param("x"), shifted("h", 2), param("vecs")
	h3, high := GP64(), GP64()
	if n > 2 {
		LEAQ(Mem{Base: h, Index: h, Scale: 2}, h3)
	}
	if n > 4 {
		LEAQ(Mem{Base: p, Index: h, Scale: 4}, high)
	}
	loop("vec", vecs, 1, false, func() {
		v, spare := registers(m, n)
		for i := range n {
			VMOVUPS(rowOf(i, 4, p, high, h, h3, 0), v[i])
		}
		cross(v, spare)
		for i := range n {
			VMOVUPS(v[i], rowOf(i, 4, p, high, h, h3, 0))
		}
		add(m.bytes, p)
		if n > 4 {
			add(m.bytes, high)
		}
	})
	ret()
}

func registers(m machine, n int) (v []reg.VecPhysical, spare reg.VecPhysical) {
	for i := range n {
		v = append(v, m.v(i))
	}
	return v, m.v(n)
}

// cross makes the butterflies between whole vectors, the nearest first.
func cross(v []reg.VecPhysical, spare reg.VecPhysical) {
	for h := 1; h < len(v); h *= 2 {
		for i := range v {
			if i&h == 0 {
				VADDPS(v[i+h], v[i], spare)
				VSUBPS(v[i+h], v[i], v[i+h])
				v[i], spare = spare, v[i]
			}
		}
	}
}

// hadamardBlocks writes hadamardBlocks: all stages of 8 consecutive vectors.
func hadamardBlocks(m machine) {
	text(m, "hadamardBlocks", "func(x *float32, blocks int)", fmt.Sprintf("transforms blocks of %d elements.", 2*m.bytes))
	p, blocks := param("x"), param("blocks")
	// Within a vector, a shuffle fetches the partner. Elements become x + partner at even
	// places and partner - x at odd ones. Products by ±1 are exact, so the fused
	// multiply-add gives this sum.
	stages := bits.Len(uint(m.bytes/4)) - 1
	signs := make([]reg.VecPhysical, stages)
	for s := range stages {
		signs[s] = m.v(15 - s)
		w := make([]uint32, 16)
		for i := range w {
			w[i] = 0x3f800000
			if i>>s&1 == 1 {
				w[i] = 0xbf800000
			}
		}
		VMOVUPS(words(fmt.Sprint("signs", s), w...), signs[s])
	}
	loop("block", blocks, 1, false, func() {
		v, spare := registers(m, 8)
		for i := range v {
			VMOVUPS(at(p, i*m.bytes), v[i])
		}
		for s := range stages {
			for _, x := range v {
				switch {
				case s == 0:
					VPERMILPS(Imm(0xb1), x, spare)
				case s == 1:
					VPERMILPS(Imm(0x4e), x, spare)
				case s == 2 && m.bytes == 32:
					VPERM2F128(Imm(1), x, x, spare)
				case s == 2:
					VSHUFF32X4(Imm(0xb1), x, x, spare)
				case s == 3:
					VSHUFF32X4(Imm(0x4e), x, x, spare)
				}
				VFMADD213PS(spare, signs[s], x)
			}
		}
		cross(v, spare)
		for i := range v {
			VMOVUPS(v[i], at(p, i*m.bytes))
		}
		add(8*m.bytes, p)
	})
	ret()
}

// affine writes affine.
func affine(m machine) {
	text(m, "affine", "func(dst, x, s, b *float32, vecs int)", "is affine for a row; b may be nil.")
	dst, x, s, b, vecs := param("dst"), param("x"), param("s"), param("b"), param("vecs")
	if m.bytes == 32 {
		ADDQ(vecs, vecs)
	}
	TESTQ(b, b)
	JZ(LabelRef("product"))
	loop("vec", vecs, 1, false, func() {
		VMOVUPS(at(b, 0), m.v(0))
		VMOVUPS(at(x, 0), m.v(1))
		VFMADD231PS(at(s, 0), m.v(1), m.v(0))
		VMOVUPS(m.v(0), at(dst, 0))
		for _, p := range []reg.GPVirtual{dst, x, s, b} {
			add(m.bytes, p)
		}
	})
	ret()
	Label("product")
	loop("pair", vecs, 1, false, func() {
		VMOVUPS(at(x, 0), m.v(1))
		VMULPS(at(s, 0), m.v(1), m.v(0))
		VMOVUPS(m.v(0), at(dst, 0))
		for _, p := range []reg.GPVirtual{dst, x, s} {
			add(m.bytes, p)
		}
	})
	ret()
}

// slide writes slide.
func slide(m machine) {
	text(m, "slide", "func(x *float32, xs, shift, rows, vecs int)", "is slide.")
	x, xs, shift, rows, vecs := param("x"), shifted("xs", 2), shifted("shift", 2), param("rows"), param("vecs")
	if m.bytes == 32 {
		ADDQ(vecs, vecs)
	}
	p, n := GP64(), GP64()
	a, b, t := m.v(0), m.v(1), m.v(2)
	loop("row", rows, 1, false, func() {
		MOVQ(x, p)
		MOVQ(vecs, n)
		loop("vec", n, 1, false, func() {
			VMOVUPS(at(p, 0), a)
			VMOVUPS(plus(p, shift, 0), b)
			// VMAXPS returns a NaN of b; a NaN of a is put back.
			VMAXPS(b, a, t)
			if m.bytes == 64 {
				VCMPPS(Imm(3), a, a, reg.K1)
				VMOVAPS(a, reg.K1, t)
			} else {
				VCMPPS(Imm(3), a, a, b)
				VBLENDVPS(b, a, t, t)
			}
			VMOVUPS(t, at(p, 0))
			add(m.bytes, p)
		})
		ADDQ(xs, x)
	})
	ret()
}
