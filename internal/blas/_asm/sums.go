package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// classes writes classes.
func classes() {
	text(avx2, "classes", "func(acc *int32, panel *int8, class *int32, quads int)", "is classes for whole quads of rows.")
	acc, panel, class, quads := param("acc"), param("panel"), param("class"), param("quads")
	row := GP64()
	loop("quad", quads, 1, false, func() {
		VMOVDQU(at(panel, 0), y[0])
		VMOVDQU(at(panel, 32), y[1])
		for i := range 4 {
			MOVLQSX(at(class, 4*i), row)
			SHLQ(Imm(6), row)
			for j := range 2 {
				v := y[2+j]
				if i < 3 {
					VPSLLD(Imm(uint64(24-8*i)), y[j], v)
					VPSRAD(Imm(24), v, v)
				} else {
					VPSRAD(Imm(24), y[j], v)
				}
				VPADDD(plus(acc, row, 32*j), v, v)
				VMOVDQU(v, plus(acc, row, 32*j))
			}
		}
		add(64, panel)
		add(16, class)
	})
	ret()
}

// targets writes targetsN: the sums of 16 columns times N targets.
func targets(n int) {
	text(avx2, fmt.Sprintf("targets%d", n), "func(acc *int32, panel *int8, y *int16, ys, quads int)",
		fmt.Sprintf("stores in acc (%d×16) the products of a panel with %d targets. In y, the values of a\ntarget for "+
			"rows 0, 2, 1, 3 of a quad lie side by side, the next quad is ys elements further.", n, n))
	acc, panel, yp, quads := param("acc"), param("panel"), param("y"), param("quads")
	ys := shifted("ys", 1)
	sum := func(t, j int) reg.VecPhysical { return y[2*t+j] }
	for t := range n {
		for j := range 2 {
			VPXOR(sum(t, j), sum(t, j), sum(t, j))
		}
	}
	loop("quad", quads, 1, false, func() {
		for j := range 2 {
			even, odd := y[8+j], y[10+j]
			VMOVDQU(at(panel, 32*j), odd)
			VPSLLW(Imm(8), odd, even)
			VPSRAW(Imm(8), even, even)
			VPSRAW(Imm(8), odd, odd)
		}
		for t := range n {
			for p := range 2 {
				VPBROADCASTD(at(yp, 8*t+4*p), y[12+p])
				for j := range 2 {
					VPMADDWD(y[8+2*p+j], y[12+p], y[14+j])
					VPADDD(y[14+j], sum(t, j), sum(t, j))
				}
			}
		}
		add(64, panel)
		ADDQ(ys, yp)
	})
	for t := range n {
		for j := range 2 {
			VMOVDQU(sum(t, j), at(acc, 64*t+32*j))
		}
	}
	ret()
}
