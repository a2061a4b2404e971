//go:build amd64 && !purego

package blas

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate sh -c "cd _asm && go run . -out ../kernels_amd64.s -stubs ../kernels_amd64.go -pkg blas"

// nativeLevels returns what this CPU and its operating system support.
func nativeLevels() []*level {
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA || !cpu.X86.HasPOPCNT {
		return nil
	}
	have := []*level{&avx2Level}
	if cpu.X86.HasAVXVNNI {
		have = append([]*level{&avxVNNILevel}, have...)
	}
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL {
		if !cpu.X86.HasAVX512VNNI {
			avx512Level.borrowGram()
		}
		have = append([]*level{&avx512Level}, have...)
	}
	return have
}

// borrowGram makes l multiply bytes as AVX2 does, because VNNI is missing.
func (l *level) borrowGram() {
	l.gram, l.expand, l.words = avx2Level.gram, avx2Level.expand, avx2Level.words
}

var avx512Level = level{
	name: "avx512",
	mul: func(c []float32, cs int, init []float32, is int, x []float32, xs int, w []float32, ws int, k, rows, vecs int) {
		tile, single := mul8x3AVX512, mul1x3AVX512
		switch vecs {
		case 1:
			tile, single = mul8x1AVX512, mul1x1AVX512
		case 2:
			tile, single = mul8x2AVX512, mul1x2AVX512
		}
		mulBy(tile, single, 8, c, cs, init, is, x, xs, w, ws, k, rows, vecs)
	},
	cos:         cosBy(cosAVX512, cosStreamAVX512),
	cosSin:      cosSinBy(cosSinAVX512, cosSinStreamAVX512),
	cosBytes:    cosBytesBy(cosBytesAVX512),
	cosSinBytes: cosSinBytesBy(cosSinBytesAVX512),
	quantize:    quantizeBy(quantizeAVX512),
	split:       splitBy(splitAVX512),
	exp:         expBy(8, expAVX512),
	expand:      columnSums,
	gram: func(g []float64, gs int, z *operand, a, b int) {
		reach(g, lanes, gs, width)
		z.panel(b + group - 1)
		gramAVX512(ptr(g), gs, ptr(z.panel(a)), ptr(z.panel(b)), ptr(z.sums[a*lanes:][:lanes]), z.quads)
	},
	classes:       classesBy(classesAVX2),
	targets:       targetsBy(targets4AVX2, targets1AVX2),
	dots:          dotsBy(dots4AVX2, dots1AVX2),
	f64:           denseBy(8, 24, tileAVX512, solveAVX512, factorAVX512, 4, columnsAVX2),
	f32:           denseBy(8, 48, tile32AVX512, solve32AVX512, factor32AVX512, 8, columns32AVX2),
	hadamard:      hadamardBy(128, 16, hadamardBlocksAVX512, hadamard2AVX512, hadamard4AVX512, hadamard8AVX512),
	affine:        affineBy(affineAVX512),
	slide:         slideBy(slideAVX512),
	scores:        scoresAVX512,
	gradient:      gradientAVX512,
	gradient64:    gradient64AVX512,
	gradientMixed: gradientMixedAVX512,
	dot:           func(x, y []float32) float32 { return dotAVX512(ptr(x), ptr(y), min(len(x), len(y))) },
	axpy:          func(a float32, x, y []float32) { axpyAVX512(a, ptr(x), ptr(y), min(len(x), len(y))) },
	floats:        floatsBy(floatsAVX2),
	squares:       differencesBy(squaresAVX2, squaresGo),
	absolutes:     differencesBy(absolutesAVX2, absolutesGo),
}

var avx2Level = level{
	name: "avx2",
	mul: func(c []float32, cs int, init []float32, is int, x []float32, xs int, w []float32, ws int, k, rows, vecs int) {
		for v := range vecs {
			mulBy(mul6x1AVX2, mul1x1AVX2, 6, c[v*lanes:], cs, init[v*lanes:], is, x, xs, w[v*ws:], ws, k, rows, 1)
		}
	},
	cos:         cosBy(cosAVX2, cosStreamAVX2),
	cosSin:      cosSinBy(cosSinAVX2, cosSinStreamAVX2),
	cosBytes:    cosBytesBy(cosBytesAVX2),
	cosSinBytes: cosSinBytesBy(cosSinBytesAVX2),
	quantize:    quantizeBy(quantizeAVX2),
	split:       splitBy(splitAVX2),
	exp:         expBy(4, expAVX2),
	words:       true,
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
	classes:       classesBy(classesAVX2),
	targets:       targetsBy(targets4AVX2, targets1AVX2),
	dots:          dotsBy(dots4AVX2, dots1AVX2),
	f64:           denseBy(4, 12, tileAVX2, solveAVX2, factorAVX2, 4, columnsAVX2),
	f32:           denseBy(4, 24, tile32AVX2, solve32AVX2, factor32AVX2, 8, columns32AVX2),
	hadamard:      hadamardBy(64, 8, hadamardBlocksAVX2, hadamard2AVX2, hadamard4AVX2, hadamard8AVX2),
	affine:        affineBy(affineAVX2),
	slide:         slideBy(slideAVX2),
	scores:        scoresAVX2,
	gradient:      gradientAVX2,
	gradient64:    gradient64AVX2,
	gradientMixed: gradientMixedAVX2,
	dot:           func(x, y []float32) float32 { return dotAVX2(ptr(x), ptr(y), min(len(x), len(y))) },
	axpy:          func(a float32, x, y []float32) { axpyAVX2(a, ptr(x), ptr(y), min(len(x), len(y))) },
	floats:        floatsBy(floatsAVX2),
	squares:       differencesBy(squaresAVX2, squaresGo),
	absolutes:     differencesBy(absolutesAVX2, absolutesGo),
}

var avxVNNILevel = avx2Level.withBytes("avxvnni", gramAVXVNNI, turnAVXVNNI)

// withBytes is l with another product of bytes, which reads a copy of each panel on one side.
func (l level) withBytes(name string, gram func(dst *float64, stride int, a, b *int8, sums *int32, quads int),
	turn func(turned, panel *int8, sums *int32, quads int)) level {
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

func columnSums(z *operand, p int) {
	columnSumsAVX512(ptr(z.sums[p*lanes:][:lanes]), ptr(z.panel(p)), z.quads)
}
