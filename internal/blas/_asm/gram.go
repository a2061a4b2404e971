package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	panelBytes = 1024 * 16      // a panel of Bytes
	panelWords = 2 * panelBytes // the same in words
)

// dpbusd is acc += Σ of four products: unsigned bytes of u by signed bytes of s,
// for each of 16 words. avo does not know this instruction.
func dpbusd(s, u, acc Op, broadcast bool) {
	in := []Op{u, acc}
	if m, ok := s.(Mem); ok {
		in = append(in, m.Base)
	} else {
		in = append(in, s)
	}
	i := &ir.Instruction{Opcode: "VPDPBUSD", Operands: []Op{s, u, acc}, Inputs: in, Outputs: []Op{acc}}
	if broadcast {
		i.Suffixes = []string{"BCST"}
	}
	Instruction(i)
}

// gramVNNI writes gram with VPDPBUSD, 8×48 at a time. One factor of the instruction is
// unsigned: z + 128, which is z with the top bit flipped. Accumulators therefore start from
// -128·(sum of the other factor's column).
func gramVNNI() {
	text(avx512, "gram", "func(dst *float64, stride int, a, b *int8, sums *int32, quads int)",
		"is gram; sums holds -128 times the sums of the 16 columns at a.")
	g, gs, sums := param("dst"), shifted("stride", 3), param("sums")
	a := param("a")
	top := z[31]
	VPBROADCASTD(words("topBits", 0x80808080), top)
	acc := func(i, j int) reg.VecPhysical { return z[3*i+j] }
	tiles := GP64()
	MOVQ(U32(2), tiles)
	Label("tile")
	p := GP64()
	MOVQ(g, p)
	for i := range 8 {
		VPBROADCASTD(at(sums, 4*i), acc(i, 0))
		VMOVDQA32(acc(i, 0), acc(i, 1))
		VMOVDQA32(acc(i, 0), acc(i, 2))
		for line := range 7 {
			PREFETCHT0(at(p, min(64*line, 48*8-1)))
		}
		ADDQ(gs, p)
	}
	ap, bp, quads := GP64(), param("b"), param("quads")
	MOVQ(a, ap)
	step := func(u int) {
		for j := range 3 {
			VPXORD(at(bp, j*panelBytes+64*u), top, z[24+j])
		}
		for i := range 8 {
			VPBROADCASTD(at(ap, 4*i+64*u), z[27])
			for j := range 3 {
				dpbusd(z[27], z[24+j], acc(i, j), false)
			}
		}
	}
	const unroll = 4
	add(-unroll, quads)
	JL(LabelRef("rest"))
	Label("steps")
	for u := range unroll {
		step(u)
	}
	add(64*unroll, ap)
	add(64*unroll, bp)
	add(-unroll, quads)
	JGE(LabelRef("steps"))
	Label("rest")
	add(unroll, quads)
	loop("single", quads, 1, true, func() {
		step(0)
		add(64, ap)
		add(64, bp)
	})
	for i := range 8 {
		for j := range 3 {
			v := acc(i, j)
			VEXTRACTI64X4(Imm(1), v, reg.Y25)
			VCVTDQ2PD(v.AsY(), z[24])
			VCVTDQ2PD(reg.Y25, z[25])
			VADDPD(at(g, 128*j), z[24], z[24])
			VADDPD(at(g, 128*j+64), z[25], z[25])
			VMOVUPD(z[24], at(g, 128*j))
			VMOVUPD(z[25], at(g, 128*j+64))
		}
		ADDQ(gs, g)
	}
	add(32, sums)
	add(32, a)
	DECQ(tiles)
	JNZ(LabelRef("tile"))
	ret()
}

// gramBytes writes gram with VPDPBUSD at 256 bits, 4×24 at a time, for CPUs that have it without
// AVX-512. The columns at a are unsigned: turnBytes flipped their top bits. With vex, instructions are
// encoded as AVX-VNNI, which Go's assembler does not know; without it as AVX-512, for tests.
func gramBytes(m machine, vex bool) {
	text(m, "gram", "func(dst *float64, stride int, a, b *int8, sums *int32, quads int)",
		"is gram; a holds columns plus 128, and sums -128 times the sums of the 48 columns at b.")
	g, gs, sums, b := param("dst"), shifted("stride", 3), param("sums"), param("b")
	acc := func(i, j int) reg.VecPhysical { return y[3*i+j] }
	gs3 := GP64()
	LEAQ(Mem{Base: gs, Index: gs, Scale: 2}, gs3)
	for strip := range 2 { // halves of panels: the first, or the last three of six
		half := func(j int) int { return (3*strip+j)/2*panelBytes + (3*strip+j)%2*32 }
		a, tiles, gp := param("a"), GP64(), GP64()
		LEAQ(at(g, 192*strip), gp)
		MOVQ(U32(4), tiles)
		loop(fmt.Sprint("tile", strip), tiles, 1, false, func() {
			for j := range 3 {
				VMOVDQU(at(sums, 96*strip+32*j), acc(0, j))
				for i := 1; i < 4; i++ {
					VMOVDQA(acc(0, j), acc(i, j))
				}
			}
			for i := range 4 {
				for line := range 3 {
					PREFETCHT0(rowOf(i, 4, gp, gp, gs, gs3, 64*line))
				}
			}
			ap, bp, quads := GP64(), GP64(), param("quads")
			MOVQ(a, ap)
			MOVQ(b, bp)
			loop(fmt.Sprint("quad", strip), quads, 1, false, func() {
				for j := range 3 {
					VMOVDQU(at(bp, half(j)), y[12+j])
				}
				for i := range 4 {
					VPBROADCASTD(at(ap, 4*i), y[15])
					for j := range 3 {
						if vex {
							vexDpbusd(12+j, 15, 3*i+j)
						} else {
							dpbusd(y[12+j], y[15], acc(i, j), false)
						}
					}
				}
				add(64, ap)
				add(64, bp)
			})
			for i := range 4 {
				for j := range 3 {
					VEXTRACTI128(Imm(1), acc(i, j), reg.X13)
					VCVTDQ2PD(acc(i, j).AsX(), y[12])
					VCVTDQ2PD(reg.X13, y[13])
					for h := range 2 {
						to := rowOf(i, 4, gp, gp, gs, gs3, 64*j+32*h)
						VADDPD(to, y[12+h], y[12+h])
						VMOVUPD(y[12+h], to)
					}
				}
			}
			add(16, a)
			LEAQ(Mem{Base: gp, Index: gs, Scale: 4}, gp)
		})
	}
	ret()
}

// vexDpbusd is dpbusd with the encoding of AVX-VNNI, VEX.256.66.0F38.W0 50 /r (Intel SDM, volume 2).
func vexDpbusd(s, u, acc int) {
	Comment(fmt.Sprintf("{vex} vpdpbusd %%ymm%d, %%ymm%d, %%ymm%d", s, u, acc))
	prefix := uint32(0x42) // no index; the map
	if acc < 8 {
		prefix |= 0x80
	}
	if s < 8 {
		prefix |= 0x20
	}
	long := 0xc4 | prefix<<8 | uint32(^u&15)<<19 | 5<<16 | 0x50<<24
	Instruction(&ir.Instruction{Opcode: "LONG", Operands: []Op{U32(long)}})
	Instruction(&ir.Instruction{Opcode: "BYTE", Operands: []Op{U8(0xc0 | acc&7<<3 | s&7)}})
}

// turnBytes writes the kernel that flips top bits and sums columns for gramBytes.
func turnBytes(m machine, vex bool) {
	text(m, "turn", "func(turned, panel *int8, sums *int32, quads int)",
		"stores a panel plus 128, and -128 times the sums of its 16 columns.")
	turned, panel, sums, quads := param("turned"), param("panel"), param("sums"), param("quads")
	VPBROADCASTD(words("topBits", 0x80808080), y[2])
	VPBROADCASTD(words("ones", 0x01010101), y[3])
	for i := range 2 {
		VPXOR(y[i], y[i], y[i])
	}
	loop("quad", quads, 1, false, func() {
		for i := range 2 {
			VMOVDQU(at(panel, 32*i), y[4+i])
			if vex {
				vexDpbusd(4+i, 3, i)
			} else {
				dpbusd(y[4+i], y[3], y[i], false)
			}
			VPXOR(y[4+i], y[2], y[4+i])
			VMOVDQU(y[4+i], at(turned, 32*i))
		}
		add(64, panel)
		add(64, turned)
	})
	VPXOR(y[3], y[3], y[3])
	for i := range 2 {
		VPSLLD(Imm(7), y[i], y[i])
		VPSUBD(y[i], y[3], y[i])
		VMOVDQU(y[i], at(sums, 32*i))
	}
	ret()
}

// columnSums writes the kernel that sums columns for gramVNNI.
func columnSums() {
	text(avx512, "columnSums", "func(sums *int32, panel *int8, quads int)",
		"stores -128 times the sums of the 16 columns of a panel.")
	panel, quads, sums := param("panel"), param("quads"), param("sums")
	VPBROADCASTD(words("ones", 0x01010101), z[1])
	VPXORD(z[0], z[0], z[0])
	VPXORD(z[2], z[2], z[2])
	loop("quad", quads, 1, false, func() {
		dpbusd(at(panel, 0), z[1], z[0], false)
		add(64, panel)
	})
	VPSLLD(Imm(7), z[0], z[0])
	VPSUBD(z[0], z[2], z[0])
	VMOVDQU32(z[0], at(sums, 0))
	ret()
}

// gramWords writes gram by VPMADDWD on 16-bit words, 4×16 at a time.
func gramWords() {
	text(avx2, "gram", "func(dst *float64, stride int, a, b *int16, pairs int)",
		"is gram on words: [panel][row/2][column][row%2].")
	g, gs, a, b := param("dst"), shifted("stride", 3), param("a"), param("b")
	gs3 := GP64()
	LEAQ(Mem{Base: gs, Index: gs, Scale: 2}, gs3)
	acc := func(i, j int) reg.VecPhysical { return y[2*i+j] }
	panels := GP64()
	MOVQ(U32(3), panels)
	loop("panel", panels, 1, false, func() {
		gp, a0, tiles := GP64(), GP64(), GP64()
		MOVQ(g, gp)
		MOVQ(a, a0)
		MOVQ(U32(4), tiles)
		loop("tile", tiles, 1, false, func() {
			ap, bp, pairs := GP64(), GP64(), param("pairs")
			MOVQ(a0, ap)
			MOVQ(b, bp)
			for i := range 4 {
				for j := range 2 {
					VPXOR(acc(i, j), acc(i, j), acc(i, j))
				}
				PREFETCHT0(rowOf(i, 4, gp, gp, gs, gs3, 0))
				PREFETCHT0(rowOf(i, 4, gp, gp, gs, gs3, 64))
				PREFETCHT0(rowOf(i, 4, gp, gp, gs, gs3, 127))
			}
			loop("pair", pairs, 2, false, func() {
				for u := range 2 {
					VMOVDQU(at(bp, 64*u), y[8])
					VMOVDQU(at(bp, 64*u+32), y[9])
					for i := range 4 {
						VPBROADCASTD(at(ap, 64*u+4*i), y[10])
						for j := range 2 {
							t := y[11+(2*i+j)%4]
							VPMADDWD(y[8+j], y[10], t)
							VPADDD(t, acc(i, j), acc(i, j))
						}
					}
				}
				add(128, ap)
				add(128, bp)
			})
			for i := range 4 {
				for j := range 2 {
					v := acc(i, j)
					VEXTRACTI128(Imm(1), v, reg.X9)
					VCVTDQ2PD(v.AsX(), y[8])
					VCVTDQ2PD(reg.X9, y[9])
					for h := range 2 {
						to := rowOf(i, 4, gp, gp, gs, gs3, 64*j+32*h)
						VADDPD(to, y[8+h], y[8+h])
						VMOVUPD(y[8+h], to)
					}
				}
			}
			add(16, a0)
			LEAQ(Mem{Base: gp, Index: gs, Scale: 4}, gp)
		})
		add(panelWords, b)
		add(128, g)
	})
	ret()
}

// expandWords writes the kernel that turns bytes into the words of gramWords.
func expandWords() {
	text(avx2, "expand", "func(words *int16, panel *int8, quads int)",
		"widens a panel of bytes, [row/4][column][row%4], to words, [row/2][column][row%2].")
	words, panel, quads := param("words"), param("panel"), param("quads")
	loop("quad", quads, 1, false, func() {
		for h := range 2 { // 8 columns
			VPMOVSXBW(at(panel, 32*h), y[0])
			VPMOVSXBW(at(panel, 32*h+16), y[1])
			VSHUFPS(Imm(0x88), y[1], y[0], y[2])
			VSHUFPS(Imm(0xdd), y[1], y[0], y[3])
			VPERMQ(Imm(0xd8), y[2], y[2])
			VPERMQ(Imm(0xd8), y[3], y[3])
			VMOVDQU(y[2], at(words, 32*h))
			VMOVDQU(y[3], at(words, 32*h+64))
		}
		add(64, panel)
		add(128, words)
	})
	ret()
}
