//go:build amd64 && !purego

package blas

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate sh -c "cd _asm && go run . -out ../kernels_amd64.s -stubs ../kernels_amd64.go -pkg blas"

// nativeISAs returns what this CPU and its operating system support.
func nativeISAs() []*isa {
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA || !cpu.X86.HasPOPCNT {
		return nil
	}
	have := []*isa{&avx2ISA}
	if cpu.X86.HasAVXVNNI {
		have = append([]*isa{&vnniISA}, have...)
	}
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL {
		if !cpu.X86.HasAVX512VNNI {
			avx512ISA.sumKernels = avx2ISA.sumKernels // whose gram needs no VNNI
		}
		have = append([]*isa{&avx512ISA}, have...)
	}
	return have
}

var avx512ISA = isa{
	name: "avx512",
	mapKernels: mapKernels{
		mul: func(c []float32, cs int, init []float32, is int, x []float32, xs int, w []float32, ws int, k, rows, vecs int) {
			reach(c, rows, cs, vecs*lanes)
			reach(init, rows, is, vecs*lanes)
			reach(x, rows, xs, k)
			reach(w, vecs, ws, k*lanes)
			tile, single := mul8x3AVX512, mul1x3AVX512
			switch vecs {
			case 1:
				tile, single = mul8x1AVX512, mul1x1AVX512
			case 2:
				tile, single = mul8x2AVX512, mul1x2AVX512
			}
			whole := rows &^ 7
			if whole > 0 {
				tile(ptr(c), cs, ptr(init), is, ptr(x), xs, ptr(w), ws, k, whole/8)
			}
			if whole < rows {
				single(ptr(c[whole*cs:]), cs, ptr(init[whole*is:]), is, ptr(x[whole*xs:]), xs, ptr(w), ws, k, rows-whole)
			}
		},
		cos: func(dst []float32, ds int, src []float32, ss int, rows, vecs int, scale float32, stream bool) {
			reach(dst, rows, ds, vecs*lanes)
			reach(src, rows, ss, vecs*lanes)
			if stream && wholeLines(dst, ds) {
				cosStreamAVX512(ptr(dst), ds, ptr(src), ss, rows, vecs, scale)
			} else {
				cosAVX512(ptr(dst), ds, ptr(src), ss, rows, vecs, scale)
			}
		},
		cosSin: func(dst []float32, ds, sin int, src []float32, ss int, rows, vecs int, scale float32, stream bool) {
			reach(dst, rows, ds, sin+vecs*lanes)
			reach(src, rows, ss, vecs*lanes)
			if stream && wholeLines(dst, ds) && sin%lanes == 0 {
				cosSinStreamAVX512(ptr(dst), ds, sin, ptr(src), ss, rows, vecs, scale)
			} else {
				cosSinAVX512(ptr(dst), ds, sin, ptr(src), ss, rows, vecs, scale)
			}
		},
		hadamard: func(x []float32) {
			if len(x) < 128 {
				hadamardGo(x)
				return
			}
			hadamardBlocksAVX512(ptr(x), len(x)/128)
			passes(x, 128, func(x []float32, h, factor int) {
				reach(x, factor, h, h)
				switch factor {
				case 2:
					hadamard2AVX512(ptr(x), h, h/16)
				case 4:
					hadamard4AVX512(ptr(x), h, h/16)
				case 8:
					hadamard8AVX512(ptr(x), h, h/16)
				}
			})
		},
		affine: func(dst, x, s, b []float32) {
			whole := affineTail(dst, x, s, b)
			if whole > 0 {
				affineAVX512(ptr(dst), ptr(x), ptr(s), ptr(b), whole/lanes)
			}
		},
		slide: slideBy(slideAVX512),
	},
	gridKernels: gridKernels{
		cosBytes:    cosBytesBy(cosBytesAVX512),
		cosSinBytes: cosSinBytesBy(cosSinBytesAVX512),
		quantize:    quantizeBy(quantizeAVX512),
		split:       splitBy(splitAVX512),
	},
	sumKernels: sumKernels{
		expand: func(z *operand, p int) {
			columnSumsAVX512(ptr(z.sums[p*lanes:][:lanes]), ptr(z.panel(p)), z.quads)
		},
		gram: func(g []float64, gs int, z *operand, a, b int) {
			reach(g, lanes, gs, width)
			z.panel(b + group - 1)
			gramAVX512(ptr(g), gs, ptr(z.panel(a)), ptr(z.panel(b)), ptr(z.sums[a*lanes:][:lanes]), z.quads)
		},
		classes: classesWide, targets: targetsWide,
	},
	thinKernels: thinKernels{
		scores:        scoresBy(thinScoresAVX512),
		gradient:      gradientBy(thinGradientAVX512, thinColumns{64, 16}),
		gradient64:    gradientBy(thinGradient64AVX512, thinColumns{32, 16}),
		gradientMixed: gradientBy(thinMixedAVX512, thinColumns{32, 16}),
	},
	vectorKernels: vectorKernels{
		exp:     func(x []float64) { expBy(x, 8, expAVX512) },
		dots:    dotsWide,
		dot:     func(x, y []float32) float32 { return dotAVX512(ptr(x), ptr(y), min(len(x), len(y))) },
		axpy:    func(a float32, x, y []float32) { axpyAVX512(a, ptr(x), ptr(y), min(len(x), len(y))) },
		squares: differencesBy(squaresAVX2, squaresGo), absolutes: differencesBy(absolutesAVX2, absolutesGo),
		floats: floatsWide,
	},
	f64: denseBy(8, 24, tileAVX512, solveAVX512, factorAVX512, 4, columnsAVX2),
	f32: denseBy(8, 48, tile32AVX512, solve32AVX512, factor32AVX512, 8, columns32AVX2),
}

var avx2ISA = isa{
	name: "avx2",
	mapKernels: mapKernels{
		mul: func(c []float32, cs int, init []float32, is int, x []float32, xs int, w []float32, ws int, k, rows, vecs int) {
			reach(c, rows, cs, vecs*lanes)
			reach(init, rows, is, vecs*lanes)
			reach(x, rows, xs, k)
			reach(w, vecs, ws, k*lanes)
			whole := rows / 6 * 6
			for v := range vecs {
				c, init, w := c[v*lanes:], init[v*lanes:], w[v*ws:]
				if whole > 0 {
					mul6x1AVX2(ptr(c), cs, ptr(init), is, ptr(x), xs, ptr(w), ws, k, whole/6)
				}
				if whole < rows {
					mul1x1AVX2(ptr(c[whole*cs:]), cs, ptr(init[whole*is:]), is, ptr(x[whole*xs:]), xs, ptr(w), ws, k, rows-whole)
				}
			}
		},
		cos: func(dst []float32, ds int, src []float32, ss int, rows, vecs int, scale float32, stream bool) {
			reach(dst, rows, ds, vecs*lanes)
			reach(src, rows, ss, vecs*lanes)
			if stream && wholeLines(dst, ds) {
				cosStreamAVX2(ptr(dst), ds, ptr(src), ss, rows, vecs, scale)
			} else {
				cosAVX2(ptr(dst), ds, ptr(src), ss, rows, vecs, scale)
			}
		},
		cosSin: func(dst []float32, ds, sin int, src []float32, ss int, rows, vecs int, scale float32, stream bool) {
			reach(dst, rows, ds, sin+vecs*lanes)
			reach(src, rows, ss, vecs*lanes)
			if stream && wholeLines(dst, ds) && sin%lanes == 0 {
				cosSinStreamAVX2(ptr(dst), ds, sin, ptr(src), ss, rows, vecs, scale)
			} else {
				cosSinAVX2(ptr(dst), ds, sin, ptr(src), ss, rows, vecs, scale)
			}
		},
		hadamard: func(x []float32) {
			if len(x) < 64 {
				hadamardGo(x)
				return
			}
			hadamardBlocksAVX2(ptr(x), len(x)/64)
			passes(x, 64, func(x []float32, h, factor int) {
				reach(x, factor, h, h)
				switch factor {
				case 2:
					hadamard2AVX2(ptr(x), h, h/8)
				case 4:
					hadamard4AVX2(ptr(x), h, h/8)
				case 8:
					hadamard8AVX2(ptr(x), h, h/8)
				}
			})
		},
		affine: func(dst, x, s, b []float32) {
			whole := affineTail(dst, x, s, b)
			if whole > 0 {
				affineAVX2(ptr(dst), ptr(x), ptr(s), ptr(b), whole/lanes)
			}
		},
		slide: slideBy(slideAVX2),
	},
	gridKernels: gridKernels{
		cosBytes:    cosBytesBy(cosBytesAVX2),
		cosSinBytes: cosSinBytesBy(cosSinBytesAVX2),
		quantize:    quantizeBy(quantizeAVX2),
		split:       splitBy(splitAVX2),
	},
	sumKernels: sumKernels{
		words: true,
		expand: func(z *operand, p int) {
			words := z.words[p*panelBytes:][:z.quads*64]
			expandAVX2(ptr(words), ptr(z.panel(p)), z.quads)
		},
		gram: func(g []float64, gs int, z *operand, a, b int) {
			reach(g, lanes, gs, width)
			// Half a block at a time, so that both panels stay in the first cache.
			const half = MaxRows / 4
			for from := 0; from < 2*z.quads; from += half {
				pairs := min(half, 2*z.quads-from)
				at := func(p int) []int16 { return z.words[p*panelBytes+from*32:][:pairs*32] }
				at(b + group - 1)
				gramAVX2(ptr(g), gs, ptr(at(a)), ptr(at(b)), pairs)
			}
		},
		classes: classesWide, targets: targetsWide,
	},
	thinKernels: thinKernels{
		scores:        scoresBy(thinScoresAVX2),
		gradient:      gradientBy(thinGradientAVX2, thinColumns{16, 16}),
		gradient64:    gradientBy(thinGradient64AVX2, thinColumns{8, 8}),
		gradientMixed: gradientBy(thinMixedAVX2, thinColumns{8, 8}),
	},
	vectorKernels: vectorKernels{
		exp:     func(x []float64) { expBy(x, 4, expAVX2) },
		dots:    dotsWide,
		dot:     func(x, y []float32) float32 { return dotAVX2(ptr(x), ptr(y), min(len(x), len(y))) },
		axpy:    func(a float32, x, y []float32) { axpyAVX2(a, ptr(x), ptr(y), min(len(x), len(y))) },
		squares: differencesBy(squaresAVX2, squaresGo), absolutes: differencesBy(absolutesAVX2, absolutesGo),
		floats: floatsWide,
	},
	f64: denseBy(4, 12, tileAVX2, solveAVX2, factorAVX2, 4, columnsAVX2),
	f32: denseBy(4, 24, tile32AVX2, solve32AVX2, factor32AVX2, 8, columns32AVX2),
}

var vnniISA = avx2ISA.withBytes("avxvnni", gramAVXVNNI, turnAVXVNNI)

// withBytes is l with another product of bytes, which reads a copy of each panel on one side.
func (l isa) withBytes(name string, gram func(dst *float64, stride int, a, b *int8, sums *int32, quads int),
	turn func(turned, panel *int8, sums *int32, quads int)) isa {
	l.name = name
	turned := func(z *operand, p int) *int8 {
		return (*int8)(unsafe.Pointer(ptr(z.words[p*panelBytes:][:panelBytes/2])))
	}
	l.expand = func(z *operand, p int) {
		turn(turned(z, p), ptr(z.panel(p)), ptr(z.sums[p*lanes:][:lanes]), z.quads)
	}
	l.gram = func(g []float64, gs int, z *operand, a, b int) {
		reach(g, lanes, gs, width)
		z.panel(b + group - 1)
		gram(ptr(g), gs, turned(z, a), ptr(z.panel(b)), ptr(z.sums[b*lanes:][:width]), z.quads)
	}
	return l
}

// These kernels are bound by the cache at 256 bits already, like dotsWide.
var (
	classesWide = classesBy(classesAVX2)
	targetsWide = targetsBy(targets4AVX2, targets1AVX2)
	floatsWide  = floatsBy(floatsAVX2)
)

func dotsWide(dst, a, b []float64, bs int) {
	reach(b, len(dst), bs, len(a))
	c := 0
	for ; c+4 <= len(dst); c += 4 {
		dots4AVX2(ptr(dst[c:]), ptr(a), ptr(b[c*bs:]), bs, len(a))
	}
	for ; c < len(dst); c++ {
		dots1AVX2(ptr(dst[c:]), ptr(a), ptr(b[c*bs:]), bs, len(a))
	}
}

// wholeLines reports whether the rows of dst, ds apart, begin with a cache line, as
// stores past the caches need.
func wholeLines(dst []float32, ds int) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(dst)))%64 == 0 && ds%lanes == 0
}
