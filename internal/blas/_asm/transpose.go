package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// transpose writes columns, which both machines use: a square of 8×8 float32, or half a square of
// float64, at a time.
func transpose(f real) {
	size := 1 << f.shift
	step := 32 / size // columns at a time
	text(avx2, "columns"+f.suffix, fmt.Sprintf("func(dst *%[1]s, ds int, src *%[1]s, ss int, steps int)", f.typ),
		fmt.Sprintf("is columns, of %d columns in each step.", step))
	dst, ds, low, ss, steps := param("dst"), shifted("ds", f.shift), param("src"), shifted("ss", f.shift), param("steps")
	ss3, ds3, high, far := GP64(), GP64(), GP64(), GP64()
	LEAQ(Mem{Base: ss, Index: ss, Scale: 2}, ss3)
	LEAQ(Mem{Base: low, Index: ss, Scale: 4}, high)
	LEAQ(Mem{Base: ds, Index: ds, Scale: 2}, ds3)
	loop("steps", steps, 1, true, func() {
		if step == 4 {
			for half := range 2 {
				for i := range 4 {
					VMOVUPD(rowOf(4*half+i, 4, low, high, ss, ss3, 0), y[i])
				}
				for i := range 2 {
					VUNPCKLPD(y[2*i+1], y[2*i], y[4+2*i])
					VUNPCKHPD(y[2*i+1], y[2*i], y[5+2*i])
				}
				for c := range 4 {
					VPERM2F128(Imm(uint64(0x20+c/2*0x11)), y[6+c%2], y[4+c%2], y[8+c])
					VMOVUPD(y[8+c], rowOf(c, 4, dst, dst, ds, ds3, 32*half))
				}
			}
			LEAQ(Mem{Base: dst, Index: ds, Scale: 4}, dst)
		} else {
			for i := range 8 {
				VMOVUPS(rowOf(i, 4, low, high, ss, ss3, 0), y[i])
			}
			for i := range 4 { // pairs of rows: columns 0, 1, 4, 5 and 2, 3, 6, 7
				VUNPCKLPS(y[2*i+1], y[2*i], y[8+2*i])
				VUNPCKHPS(y[2*i+1], y[2*i], y[9+2*i])
			}
			for half := range 2 { // four rows: columns c and c+4 in y[4·half+c]
				for c := range 2 {
					a, b := y[8+4*half+c], y[10+4*half+c]
					VUNPCKLPD(b, a, y[4*half+2*c])
					VUNPCKHPD(b, a, y[4*half+2*c+1])
				}
			}
			LEAQ(Mem{Base: dst, Index: ds, Scale: 4}, far)
			for c := range 8 {
				VPERM2F128(Imm(uint64(0x20+c/4*0x11)), y[4+c%4], y[c%4], y[8+c])
				VMOVUPS(y[8+c], rowOf(c, 4, dst, far, ds, ds3, 0))
			}
			LEAQ(Mem{Base: far, Index: ds, Scale: 4}, dst)
		}
		add(32, low)
		add(32, high)
	})
	ret()
}
