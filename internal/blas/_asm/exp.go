package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// exp writes exp: the steps of the package's Exp, each rounded by itself.
func exp(m machine) {
	text(m, "exp", "func(x *float64, vectors int) (done int)",
		"is exp. It stops at a vector with an element that is NaN or above the largest that has a power.")
	p, vectors, done, mask := param("x"), param("vectors"), GP64(), GP64()
	XORQ(done, done)
	x, k, hi, lo, r, t, c, y := m.v(0), m.v(1), m.v(2), m.v(3), m.v(4), m.v(5), m.v(6), m.v(7)
	least, most, log2e, ln2Hi, ln2Lo, half, one := m.v(8), m.v(9), m.v(10), m.v(11), m.v(12), m.v(13), m.v(14)
	of := m.v(15)
	for _, constant := range []struct {
		to   reg.VecPhysical
		name string
		v    float64
	}{
		{least, "expLeast", -708}, {most, "expMost", 709.7827}, {log2e, "log2e", math.Log2E},
		{ln2Hi, "ln2Hi", 6.93147180369123816490e-01}, {ln2Lo, "ln2Lo", 1.90821492927058770002e-10}, {half, "oneHalf", 0.5},
		{one, "one", 1},
	} {
		VBROADCASTSD(doubles(constant.name, constant.v), constant.to)
	}
	loop("vector", vectors, 1, false, func() {
		VMOVUPD(at(p, 0), x)
		// 6: not at most, true of NaN.
		if m.bytes == 64 {
			VCMPPD(Imm(6), most, x, reg.K1)
			KMOVW(reg.K1, mask.As32())
		} else {
			VCMPPD(Imm(6), most, x, t)
			VMOVMSKPD(t, mask.As32())
		}
		TESTL(mask.As32(), mask.As32())
		JNZ(LabelRef("stop"))
		VMULPD(log2e, x, k)
		VADDPD(half, k, k)
		if m.bytes == 64 { // the floor
			VRNDSCALEPD(Imm(9), k, k)
		} else {
			VROUNDPD(Imm(9), k, k)
		}
		VMULPD(ln2Hi, k, hi)
		VSUBPD(hi, x, hi)
		VMULPD(ln2Lo, k, lo)
		VSUBPD(lo, hi, r)
		VMULPD(r, r, t)
		expSeries(t, c, of)
		VSUBPD(c, r, y)
		VMULPD(y, r, y) // r(r−c)
		VSUBPD(r, c, c)
		VADDPD(one, one, of)
		VADDPD(c, of, c) // 2+(c−r)
		VDIVPD(c, y, y)
		VSUBPD(y, lo, y)
		VSUBPD(y, hi, y)
		VADDPD(y, one, y)
		// The power of two is added to the exponent; the number stays normal.
		if m.bytes == 64 {
			VCVTPD2DQ(k, reg.Y6)
			VPMOVSXDQ(reg.Y6, c)
		} else {
			VCVTPD2DQY(k, reg.X6)
			VPMOVSXDQ(reg.X6, c)
		}
		VPSLLQ(Imm(52), c, c)
		VPADDQ(c, y, y)
		// 5: not less than; below the least the result is 0.
		if m.bytes == 64 {
			VCMPPD(Imm(5), least, x, reg.K1)
			VMOVUPD_Z(y, reg.K1, y)
		} else {
			VCMPPD(Imm(5), least, x, t)
			VANDPD(t, y, y)
		}
		VMOVUPD(y, at(p, 0))
		add(m.bytes, p)
		INCQ(done)
	})
	Label("stop")
	Store(done, ReturnIndex(0))
	ret()
}

// expSeries sets c to t·(1/6 − t·(1/360 − …)), the series of Exp in t = r²; of is overwritten.
func expSeries(t, c, of reg.VecPhysical) {
	VBROADCASTSD(doubles("exp0", 691.0/653837184000), c)
	for _, term := range []struct {
		name string
		v    float64
	}{{"exp1", 1.0 / 23950080}, {"exp2", 1.0 / 604800}, {"exp3", 1.0 / 15120}, {"exp4", 1.0 / 360}, {"exp5", 1.0 / 6}} {
		VMULPD(c, t, c)
		VBROADCASTSD(doubles(term.name, term.v), of)
		VSUBPD(c, of, c)
	}
	VMULPD(c, t, c)
}
