package main

import (
	"fmt"
	"math"
)

// exp writes exp: the steps of the package's Exp, each rounded by itself, on two pairs of
// registers at once.
func exp(w *writer) {
	w.text("expNEON", "func(x *float64, vectors int) (done int)",
		"is exp, of 4 numbers at a time. It stops at a vector with an element that is NaN or above the largest\n"+
			"that has a power.")
	x, vectors, done, mask := w.arg("x"), w.arg("vectors"), w.reg(), w.reg()
	w.op("MOVD $0, %v", done)
	const least, most, log2e, ln2Hi, ln2Lo, oneHalf, unit, two, first = 16, 17, 18, 19, 20, 21, 22, 23, 24
	for i, v := range []float64{-708, 709.7827, math.Log2E, 6.93147180369123816490e-01, 1.90821492927058770002e-10, 0.5,
		1, 2, 691.0 / 653837184000, 1.0 / 23950080, 1.0 / 604800, 1.0 / 15120, 1.0 / 360, 1.0 / 6} {
		w.doubles(least+i, math.Float64bits(v))
	}
	const number, k, hi, lo, r, t, c, y = 0, 2, 4, 6, 8, 10, 12, 14 // pairs of registers
	// Both registers of a pair; constants have one.
	three := func(op string, dst, a, b int) {
		pick := func(v, h int) int {
			if v < least {
				return v + h
			}
			return v
		}
		for h := range 2 {
			w.v("%s v%d.2d, v%d.2d, v%d.2d", op, dst+h, pick(a, h), pick(b, h))
		}
	}
	both := func(format string, dst, a int) {
		for h := range 2 {
			w.v(format, dst+h, a+h)
		}
	}
	stop := w.label()
	w.loop(vectors, 1, false, func() {
		w.v("ldp q%d, q%d, [x%d, #0]", number, number+1, x)
		three("fcmge", t, most, number) // not true of NaN
		w.v("and v%d.16b, v%d.16b, v%d.16b", t, t, t+1)
		w.v("uminv s%d, v%d.4s", t, t)
		w.v("fmov w%d, s%d", mask, t)
		w.op("CBZ %v, %s", mask, stop)
		three("fmul", k, number, log2e)
		three("fadd", k, k, oneHalf)
		both("frintm v%d.2d, v%d.2d", k, k)
		three("fmul", hi, k, ln2Hi)
		three("fsub", hi, number, hi)
		three("fmul", lo, k, ln2Lo)
		three("fsub", r, hi, lo)
		three("fmul", t, r, r)
		three("fmul", c, t, first)
		for term := 1; term < 6; term++ {
			three("fsub", c, first+term, c)
			three("fmul", c, t, c)
		}
		three("fsub", y, r, c)
		three("fmul", y, r, y) // r(r−c)
		three("fsub", c, c, r)
		three("fadd", c, two, c) // 2+(c−r)
		three("fdiv", y, y, c)
		three("fsub", y, lo, y)
		three("fsub", y, hi, y)
		three("fadd", y, unit, y)
		// The power of two is added to the exponent; the number stays normal.
		both("fcvtzs v%d.2d, v%d.2d", k, k)
		both("shl v%d.2d, v%d.2d, #52", k, k)
		three("add", y, y, k)
		// Below the least the result is 0.
		three("fcmge", t, number, least)
		for h := range 2 {
			w.v("and v%d.16b, v%d.16b, v%d.16b", y+h, y+h, t+h)
		}
		w.v("stp q%d, q%d, [x%d, #0]", y, y+1, x)
		w.op("ADD $32, %v", x)
		w.op("ADD $1, %v", done)
	})
	fmt.Fprintf(&w.asm, "%s:\n", stop)
	w.op("MOVD %v, %s", done, w.slot("done"))
	w.ret()
}
