package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The polynomial of turns.go in the package.
var polynomial = []uint32{0x40c90fda, 0xc2255dda, 0x42a333b5, 0xc299194b, 0x421e20e6}

// trig holds the constants of the cosine in registers, from the top down.
type trig struct {
	machine
	abs, quarter, half, sign, scale reg.VecPhysical
	c                               [5]reg.VecPhysical
}

// newTrig loads the constants of sines and cosines into registers, from the last of the first 16 down.
func newTrig(m machine, sine bool) trig {
	next := 15
	take := func() reg.VecPhysical { next--; return m.v(next + 1) }
	t := trig{machine: m, abs: take(), quarter: take(), scale: take()}
	VBROADCASTSS(words("absMask", 0x7fffffff), t.abs)
	VBROADCASTSS(words("quarter", 0x3e800000), t.quarter)
	for i, v := range polynomial {
		t.c[i] = take()
		VBROADCASTSS(words("sine"+string(rune('0'+i)), v), t.c[i])
	}
	if sine && m.bytes == 64 {
		t.half, t.sign = z[16], z[17]
		VBROADCASTSS(words("half", 0x3f000000), t.half)
		VBROADCASTSS(words("signMask", 0x80000000), t.sign)
	}
	return t
}

// reduce loads angles into r and subtracts whole turns.
func (t trig) reduce(from Mem, r, tmp reg.VecPhysical) {
	VMOVUPS(from, r)
	if t.bytes == 64 {
		VRNDSCALEPS(Imm(8), r, tmp)
	} else {
		VROUNDPS(Imm(8), r, tmp)
	}
	VSUBPS(tmp, r, r)
}

// quarterSine replaces u by scale·sin 2πu.
func (t trig) quarterSine(u, v, p reg.VecPhysical) {
	VMULPS(u, u, v)
	VMOVAPS(t.c[4], p)
	for i := 3; i >= 0; i-- {
		VFMADD213PS(t.c[i], v, p)
	}
	VMULPS(u, p, u)
	VMULPS(t.scale, u, u)
}

// cos makes u the scaled cosine of the reduced r.
func (t trig) cos(r, u, v, p reg.VecPhysical) {
	VANDPS(t.abs, r, u)
	VSUBPS(u, t.quarter, u)
	t.quarterSine(u, v, p)
}

// sin makes r its scaled sine.
func (t trig) sin(r, u, v, p reg.VecPhysical) {
	VANDPS(t.abs, r, u)
	if t.bytes == 64 {
		VSUBPS(u, t.half, v)
		VMINPS(v, u, u)
		VPTERNLOGD(Imm(0xec), t.sign, u, r) // r&sign | u
	} else {
		// Registers are few: ½ is made of two quarters, and the sign by clearing the bits of abs.
		VADDPS(t.quarter, t.quarter, v)
		VSUBPS(u, v, v)
		VMINPS(v, u, u)
		VANDNPS(r, t.abs, r)
		VORPS(u, r, r)
	}
	t.quarterSine(r, v, p)
}

// cosines writes cos and cosSin; with stream, cosStream and cosSinStream.
func cosines(m machine, sine, stream bool) {
	store, suffix, doc := func(v, to Op) { VMOVUPS(v, to) }, "", "."
	if stream {
		store, suffix, doc = func(v, to Op) { VMOVNTPS(v, to) }, "Stream", " past the caches, to whole lines."
	}
	if sine {
		text(m, "cosSin"+suffix, "func(dst *float32, ds, sin int, src *float32, ss int, rows, vecs int, scale float32)",
			"is cosSin"+doc)
	} else {
		text(m, "cos"+suffix, "func(dst *float32, ds int, src *float32, ss int, rows, vecs int, scale float32)", "is cos"+doc)
	}
	t := newTrig(m, sine)
	scale, _ := Param("scale").Resolve()
	VBROADCASTSS(scale.Addr, t.scale)
	dst, src, rows := param("dst"), param("src"), param("rows")
	ds, ss := shifted("ds", 2), shifted("ss", 2)
	var sin reg.GPVirtual
	if sine {
		sin = shifted("sin", 2)
	}
	vecs := param("vecs")
	if m.bytes == 32 {
		ADDQ(vecs, vecs)
	}
	d, s, n := GP64(), GP64(), GP64()
	r, u, v, p := m.v(0), m.v(1), m.v(2), m.v(3)
	loop("row", rows, 1, false, func() {
		MOVQ(dst, d)
		MOVQ(src, s)
		MOVQ(vecs, n)
		loop("vec", n, 1, false, func() {
			t.reduce(at(s, 0), r, u)
			t.cos(r, u, v, p)
			store(u, at(d, 0))
			if sine {
				t.sin(r, u, v, p)
				store(r, plus(d, sin, 0))
			}
			add(m.bytes, s)
			add(m.bytes, d)
		})
		ADDQ(ds, dst)
		ADDQ(ss, src)
	})
	if stream {
		SFENCE() // before another thread may read the features
	}
	ret()
}

// packer turns four rows of int32 into quads of bytes.
type packer struct {
	machine
	shuffle, low reg.VecPhysical
}

func newPacker(m machine, shuffle, low reg.VecPhysical) packer {
	k := words("quads", 0x0c080400, 0x0d090501, 0x0e0a0602, 0x0f0b0703)
	if m.bytes == 64 {
		VBROADCASTI32X4(k, shuffle)
	} else {
		VBROADCASTI128(k, shuffle)
	}
	VPBROADCASTD(words("lowest", 0x80808080), low)
	return packer{m, shuffle, low}
}

// pack stores v[0..3] and overwrites them. Rounding turned NaN into -2³¹, which gives 0.
func (p packer) pack(v [4]reg.VecPhysical, to Mem) {
	VPACKSSDW(v[1], v[0], v[0])
	VPACKSSDW(v[3], v[2], v[2])
	VPACKSSWB(v[2], v[0], v[0])
	VPSHUFB(p.shuffle, v[0], v[0])
	if p.bytes == 64 {
		VPCMPB(Imm(4), p.low, v[0], reg.K1)
		VMOVDQU8_Z(v[0], reg.K1, v[0])
	} else {
		VPCMPEQB(p.low, v[0], v[1])
		VPANDN(v[0], v[1], v[0])
	}
	VMOVDQU_(p.machine, v[0], to)
}

// VMOVDQU_ is the unaligned move, which has a name for each width.
func VMOVDQU_(m machine, from, to Op) {
	if m.bytes == 64 {
		VMOVDQU32(from, to)
	} else {
		VMOVDQU(from, to)
	}
}

// cosineBytes writes cosBytes and cosSinBytes.
func cosineBytes(m machine, sine bool) {
	if sine {
		text(m, "cosSinBytes", "func(cos, sin *int8, src *float32, ss, quads int)", "is cosSinBytes.")
	} else {
		text(m, "cosBytes", "func(cos *int8, src *float32, ss, quads int)", "is cosBytes.")
	}
	t := newTrig(m, sine)
	VBROADCASTSS(words("most", 0x42fe0000), t.scale)
	cos, src, quads := param("cos"), param("src"), param("quads")
	var sin reg.GPVirtual
	if sine {
		sin = param("sin")
	}
	ss := shifted("ss", 2)
	ss3 := GP64()
	LEAQ(Mem{Base: ss, Index: ss, Scale: 2}, ss3)
	// At 256 bits there are too few registers: cosines and sines are packed one after the
	// other, and the packer's constants overwrite temporary values.
	if m.bytes == 64 {
		pk := newPacker(m, z[18], z[19])
		c := [4]reg.VecPhysical{z[20], z[21], z[22], z[23]}
		s := [4]reg.VecPhysical{z[24], z[25], z[26], z[27]}
		loop("quad", quads, 1, false, func() {
			for i := range 4 {
				t.reduce(rowOf(i, 4, src, src, ss, ss3, 0), s[i], c[i])
				t.cos(s[i], c[i], z[0], z[1])
				VCVTPS2DQ(c[i], c[i])
				if sine {
					t.sin(s[i], z[2], z[0], z[1])
					VCVTPS2DQ(s[i], s[i])
				}
			}
			pk.pack(c, at(cos, 0))
			add(64, cos)
			if sine {
				pk.pack(s, at(sin, 0))
				add(64, sin)
			}
			LEAQ(Mem{Base: src, Index: ss, Scale: 4}, src)
		})
		ret()
		return
	}
	rows := [4]reg.VecPhysical{y[0], y[1], y[2], y[3]}
	a, b, v := y[4], y[5], y[6]
	part := func(half int, sine bool, to Mem) {
		for i := range 4 {
			r, u := a, rows[i]
			if sine {
				r, u = rows[i], a
			}
			t.reduce(rowOf(i, 4, src, src, ss, ss3, 32*half), r, u)
			if sine {
				t.sin(r, u, b, v)
			} else {
				t.cos(r, u, b, v)
			}
			VCVTPS2DQ(rows[i], rows[i])
		}
		pk := newPacker(m, a, b)
		pk.pack(rows, to)
	}
	loop("quad", quads, 1, false, func() {
		for h := range 2 {
			part(h, false, at(cos, 32*h))
			if sine {
				part(h, true, at(sin, 32*h))
			}
		}
		add(64, cos)
		if sine {
			add(64, sin)
		}
		LEAQ(Mem{Base: src, Index: ss, Scale: 4}, src)
	})
	ret()
}

// quantize writes quantize.
func quantize(m machine) {
	text(m, "quantize", "func(dst *int8, src *float32, ss, quads int, f float32) (cut int64)", "is quantize.")
	f, lowest, most, edge, abs := m.v(15), m.v(14), m.v(13), m.v(12), m.v(11)
	factor, _ := Param("f").Resolve()
	VBROADCASTSS(factor.Addr, f)
	VBROADCASTSS(words("least", 0xc2fe0000), lowest)
	VBROADCASTSS(words("most", 0x42fe0000), most)
	VBROADCASTSS(words("edge", 0x42ff0000), edge)
	VBROADCASTSS(words("absMask", 0x7fffffff), abs)
	pk := newPacker(m, m.v(10), m.v(9))
	dst, src, quads := param("dst"), param("src"), param("quads")
	ss := shifted("ss", 2)
	ss3, cut, mask := GP64(), GP64(), GP64()
	LEAQ(Mem{Base: ss, Index: ss, Scale: 2}, ss3)
	XORQ(cut, cut)
	rows := [4]reg.VecPhysical{m.v(0), m.v(1), m.v(2), m.v(3)}
	t := m.v(4)
	loop("quad", quads, 1, false, func() {
		for h := range m.halves() {
			for i, r := range rows {
				scale(m, rowOf(i, 4, src, src, ss, ss3, m.bytes*h), f, r, edge, abs, t, cut, mask)
				// The minimum returns its second operand if either is NaN.
				VMINPS(r, most, r)
				VMAXPS(r, lowest, r)
				VCVTPS2DQ(r, r)
			}
			pk.pack(rows, at(dst, m.bytes*h))
		}
		add(64, dst)
		LEAQ(Mem{Base: src, Index: ss, Scale: 4}, src)
	})
	Store(cut, ReturnIndex(0))
	ret()
}

// scale makes r the numbers times f, and counts in cut those whose absolute values are not below
// the edge, NaN included.
func scale(m machine, from Mem, f, r, edge, abs, t reg.VecPhysical, cut, mask reg.GPVirtual) {
	VMULPS(from, f, r)
	VANDPS(abs, r, t)
	// 5: not less than, true of NaN.
	if m.bytes == 64 {
		VCMPPS(Imm(5), edge, t, reg.K1)
		KMOVW(reg.K1, mask.As32())
	} else {
		VCMPPS(Imm(5), edge, t, t)
		VMOVMSKPS(t, mask.As32())
	}
	POPCNTL(mask.As32(), mask.As32())
	ADDQ(mask, cut)
}

// split writes split: numbers of steps v = 254·h + l, with h = ⌊(v+127)/254⌋.
func split(m machine) {
	text(m, "split", "func(low, high *int8, src *float32, ss, quads int, f float32) (cut int64)", "is split.")
	f, lowest, most, edge, abs := m.v(15), m.v(14), m.v(13), m.v(12), m.v(11)
	factor, _ := Param("f").Resolve()
	VBROADCASTSS(factor.Addr, f)
	VBROADCASTSS(words("leastSteps", 0xc6fd0000), lowest)
	VBROADCASTSS(words("maxSteps", 0x46fd0000), most)
	VBROADCASTSS(words("edgeSteps", 0x46fd0100), edge)
	VBROADCASTSS(words("absMask", 0x7fffffff), abs)
	pk := newPacker(m, m.v(10), m.v(9))
	low, high, src, quads := param("low"), param("high"), param("src"), param("quads")
	ss := shifted("ss", 2)
	ss3, cut, mask := GP64(), GP64(), GP64()
	LEAQ(Mem{Base: ss, Index: ss, Scale: 2}, ss3)
	XORQ(cut, cut)
	rows := [4]reg.VecPhysical{m.v(0), m.v(1), m.v(2), m.v(3)}
	above := [4]reg.VecPhysical{m.v(4), m.v(5), m.v(6), m.v(7)}
	t := m.v(8)
	loop("quad", quads, 1, false, func() {
		for part := range m.halves() {
			for i, r := range rows {
				h := above[i]
				scale(m, rowOf(i, 4, src, src, ss, ss3, m.bytes*part), f, r, edge, abs, t, cut, mask)
				// NaN becomes 0: a comparison with itself masks it.
				if m.bytes == 64 {
					VCMPPS(Imm(7), r, r, reg.K1)
					VMOVAPS_Z(r, reg.K1, r)
				} else {
					VCMPPS(Imm(7), r, r, t)
					VANDPS(t, r, r)
				}
				VMINPS(r, most, r)
				VMAXPS(r, lowest, r)
				VCVTPS2DQ(r, r)
				// The quotient is at least 1/508 from a whole number, and its rounding error far below.
				VCVTDQ2PS(r, h)
				VBROADCASTSS(words("half254", 0x42ff0000), t)
				VADDPS(t, h, h)
				VBROADCASTSS(words("per254", 0x3b810204), t)
				VMULPS(t, h, h)
				if m.bytes == 64 {
					VRNDSCALEPS(Imm(9), h, h)
				} else {
					VROUNDPS(Imm(9), h, h)
				}
				VCVTPS2DQ(h, h)
				VPBROADCASTD(words("base254", 254), t)
				VPMULLD(h, t, t)
				VPSUBD(t, r, r)
			}
			pk.pack(rows, at(low, m.bytes*part))
			pk.pack(above, at(high, m.bytes*part))
		}
		add(64, low)
		add(64, high)
		LEAQ(Mem{Base: src, Index: ss, Scale: 4}, src)
	})
	Store(cut, ReturnIndex(0))
	ret()
}
