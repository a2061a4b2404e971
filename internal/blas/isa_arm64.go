//go:build arm64 && !purego

package blas

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate sh -c "cd _neon && go run . -out ../kernels_arm64.s -stubs ../kernels_arm64.go"

// nativeISAs returns what this CPU and its operating system support. The instruction sets
// differ in how they multiply bytes.
func nativeISAs() (have []*isa) {
	if cpu.ARM64.HasI8MM && cpu.ARM64.HasASIMDDP {
		have = append(have, &i8mmISA)
	}
	if cpu.ARM64.HasASIMDDP {
		have = append(have, &dotProdISA)
	}
	return append(have, &neonISA)
}

var (
	i8mmISA    = neon.withBytes("i8mm", 8, squareTiles)
	dotProdISA = neon.withBytes("dotprod", 4, dotTiles)
	neonISA    = neon.withBytes("neon", 16, pairTiles)
)

// neon holds the kernels that all these instruction sets share.
var neon = isa{
	mapKernels: mapKernels{
		mul: mulNEON,
		cos: func(dst []float32, ds int, src []float32, ss int, rows, vecs int, scale float32, _ bool) {
			reach(dst, rows, ds, vecs*lanes)
			reach(src, rows, ss, vecs*lanes)
			cosNEON(ptr(dst), ds, ptr(src), ss, rows, vecs, scale)
		},
		cosSin: func(dst []float32, ds, sin int, src []float32, ss int, rows, vecs int, scale float32, _ bool) {
			reach(dst, rows, ds, sin+vecs*lanes)
			reach(src, rows, ss, vecs*lanes)
			cosSinNEON(ptr(dst), ds, sin, ptr(src), ss, rows, vecs, scale)
		},
		hadamard: hadamardNEON,
		affine: func(dst, x, s, b []float32) {
			if whole := affineTail(dst, x, s, b); whole > 0 {
				affineNEON(ptr(dst), ptr(x), ptr(s), ptr(b), whole/lanes)
			}
		},
		slide: slideBy(slideNEON),
	},
	gridKernels: gridKernels{
		cosBytes:    cosBytesBy(cosBytesNEON),
		cosSinBytes: cosSinBytesBy(cosSinBytesNEON),
		quantize:    quantizeBy(quantizeNEON),
		split:       splitBy(splitNEON),
	},
	sumKernels: sumKernels{classes: classesBy(classesNEON), targets: targetsBy(targets4NEON, targets1NEON)},
	thinKernels: thinKernels{
		scores:        scoresBy(thinScoresNEON),
		gradient:      gradientBy(thinGradientNEON, thinColumns{16, 16}),
		gradient64:    gradientBy(thinGradient64NEON, thinColumns{8, 8}),
		gradientMixed: gradientBy(thinMixedNEON, thinColumns{8, 8}),
	},
	vectorKernels: vectorKernels{
		exp:     func(x []float64) { expBy(x, 4, expNEON) },
		dots:    dotsNEON,
		dot:     func(x, y []float32) float32 { return dotNEON(ptr(x), ptr(y), min(len(x), len(y))) },
		axpy:    func(a float32, x, y []float32) { axpyNEON(a, ptr(x), ptr(y), min(len(x), len(y))) },
		squares: differencesBy(squaresNEON, squaresGo), absolutes: differencesBy(absolutesNEON, absolutesGo),
		floats: floatsBy(floatsNEON),
	},
	f64: denseBy(6, 8, tileNEON, solveNEON, factorNEON, 2, columnsNEON),
	f32: denseBy(6, 16, tile32NEON, solve32NEON, factor32NEON, 4, columns32NEON),
}

// withBytes returns l with a product of bytes that reads rows rows of each column
// side by side: 4 as they lie in a block.
func (l isa) withBytes(name string, rows int, tiles func(g []float64, gs int, a, b *int8, next, steps int)) isa {
	l.name = name
	if rows == 4 {
		l.gram = func(g []float64, gs int, z *operand, a, b int) {
			reach(g, lanes, gs, width)
			z.panel(b + group - 1)
			tiles(g, gs, ptr(z.panel(a)), ptr(z.panel(b)), panelBytes, z.quads)
		}
		return l
	}
	l.words = true
	at := func(z *operand, p int) *int8 {
		return (*int8)(unsafe.Pointer(ptr(z.words[p*panelBytes:][:panelBytes/2])))
	}
	steps := func(z *operand) int { return (4*z.quads + rows - 1) / rows }
	l.expand = func(z *operand, p int) { interleave(at(z, p), z.panel(p), rows) }
	l.gram = func(g []float64, gs int, z *operand, a, b int) {
		reach(g, lanes, gs, width)
		at(z, b+group-1)
		tiles(g, gs, at(z, a), at(z, b), 2*panelBytes, steps(z))
	}
	return l
}

// interleave lays 8 or 16 rows of each column of the quads of a panel side by side, of which
// the last are filled up by zeros.
func interleave(dst *int8, panel []int8, rows int) {
	kernel := interleave2NEON
	if rows == 16 {
		kernel = interleave4NEON
	}
	step := rows * lanes
	whole := len(panel) / step
	if whole > 0 {
		kernel(dst, ptr(panel), whole)
	}
	if rest := panel[whole*step:]; len(rest) > 0 {
		var last [16 * lanes]int8
		copy(last[:], rest)
		kernel((*int8)(unsafe.Add(unsafe.Pointer(dst), whole*step)), &last[0], 1)
	}
}

// dotTiles adds the products of 16 columns with 48, which are in panels next apart.
func dotTiles(g []float64, gs int, a, b *int8, next, steps int) {
	tilesBy(gramDotProd, 16, g, gs, a, b, next, steps)
}

func squareTiles(g []float64, gs int, a, b *int8, next, steps int) {
	tilesBy(gramI8MM, 32, g, gs, a, b, next, steps)
}

// tilesBy adds tiles of 8 by 12 columns, of which fours are four bytes apart.
func tilesBy(kernel func(g *float64, gs int, a, b0, b1, b2 *int8, steps int), four int, g []float64, gs int, a, b *int8,
	next, steps int) {
	column := func(c int) *int8 { return (*int8)(unsafe.Add(unsafe.Pointer(b), c/4*next+c%4*four)) }
	for c := 0; c < width/4; c += 3 {
		for r := 0; r < lanes; r += 8 {
			kernel(ptr(g[r*gs+4*c:]), gs, (*int8)(unsafe.Add(unsafe.Pointer(a), r/4*four)), column(c),
				column(c+1), column(c+2), steps)
		}
	}
}

// pairTiles adds tiles of 4 by 4 columns.
func pairTiles(g []float64, gs int, a, b *int8, next, steps int) {
	for c := range width / 4 {
		for r := range lanes / 4 {
			gramNEON(ptr(g[4*r*gs+4*c:]), gs, (*int8)(unsafe.Add(unsafe.Pointer(a), 64*r)),
				(*int8)(unsafe.Add(unsafe.Pointer(b), c/4*next+c%4*64)), steps)
		}
	}
}

// mulNEON does six rows at a time for each vector of columns, then the other rows one by one for up to three vectors
// together.
func mulNEON(c []float32, cs int, init []float32, is int, x []float32, xs int, w []float32, ws int, k, rows, vecs int) {
	reach(c, rows, cs, vecs*lanes)
	reach(init, rows, is, vecs*lanes)
	reach(x, rows, xs, k)
	reach(w, vecs, ws, k*lanes)
	whole := rows / 6 * 6
	if whole > 0 {
		for v := range vecs {
			mul6x1NEON(ptr(c[v*lanes:]), cs, ptr(init[v*lanes:]), is, ptr(x), xs, ptr(w[v*ws:]), ws, k, whole/6)
		}
	}
	if whole == rows {
		return
	}
	c, init, x = c[whole*cs:], init[whole*is:], x[whole*xs:]
	if vecs == group {
		mul1x3NEON(ptr(c), cs, ptr(init), is, ptr(x), xs, ptr(w), ws, k, rows-whole)
		return
	}
	for v := range vecs {
		mul1x1NEON(ptr(c[v*lanes:]), cs, ptr(init[v*lanes:]), is, ptr(x), xs, ptr(w[v*ws:]), ws, k, rows-whole)
	}
}

// hadamardNEON transforms blocks of 64 numbers, and then combines them in passes.
func hadamardNEON(x []float32) {
	if len(x) < 64 {
		hadamardGo(x)
		return
	}
	hadamardBlocksNEON(ptr(x), len(x)/64)
	passes(x, 64, func(x []float32, h, factor int) {
		reach(x, factor, h, h)
		switch factor {
		case 2:
			hadamard2NEON(ptr(x), h, h/4)
		case 4:
			hadamard4NEON(ptr(x), h, h/4)
		case 8:
			hadamard8NEON(ptr(x), h, h/4)
		}
	})
}

func dotsNEON(dst, a, b []float64, bs int) {
	reach(b, len(dst), bs, len(a))
	c := 0
	for ; c+4 <= len(dst); c += 4 {
		dots4NEON(ptr(dst[c:]), ptr(a), ptr(b[c*bs:]), bs, len(a))
	}
	for ; c < len(dst); c++ {
		dots1NEON(ptr(dst[c:]), ptr(a), ptr(b[c*bs:]), bs, len(a))
	}
}

var (
	thinScoresNEON = []thinScores{
		{2, 3, scores3x2NEON, scores1x2NEON},
		{1, 4, scores4x1NEON, scores1x1NEON},
	}
	thinGradientNEON = []thinGradient[float32, float32]{
		{4, gradient4NEON, gradient4NEON},
		{2, gradient2NEON, gradient2NEON},
		{1, gradient1NEON, gradient1NEON},
	}
	thinGradient64NEON = []thinGradient[float64, float64]{
		{4, gradientDouble4NEON, gradientDouble4NEON},
		{2, gradientDouble2NEON, gradientDouble2NEON},
		{1, gradientDouble1NEON, gradientDouble1NEON},
	}
	thinMixedNEON = []thinGradient[float64, float32]{
		{4, gradientMixed4NEON, gradientMixed4NEON},
		{2, gradientMixed2NEON, gradientMixed2NEON},
		{1, gradientMixed1NEON, gradientMixed1NEON},
	}
)
