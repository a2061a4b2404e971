//go:build amd64 && !purego

package blas

type (
	scoresKernel             func(dst *float32, ds int, x *float32, xs int, w *float32, ws int, n int)
	gradientKernel[T, X any] func(g *T, gs int, c *T, cs int, x *X, xs int, rows int)
)

// thinScores are the kernels for a number of outputs: for rows at once, and for one.
type thinScores struct {
	outs, rows   int
	tile, single scoresKernel
}

var (
	thinScoresAVX512 = []thinScores{
		{4, 4, scores4x4AVX512, scores1x4AVX512},
		{2, 4, scores4x2AVX512, scores1x2AVX512},
		{1, 4, scores4x1AVX512, scores1x1AVX512},
	}
	thinScoresAVX2 = []thinScores{
		{2, 3, scores3x2AVX2, scores1x2AVX2},
		{1, 4, scores4x1AVX2, scores1x1AVX2},
	}
)

func scoresAVX512(dst []float32, ds int, x []float32, xs int, w []float32, ws int, n, rows, outs int) {
	scoresBy(thinScoresAVX512, dst, ds, x, xs, w, ws, n, rows, outs)
}

func scoresAVX2(dst []float32, ds int, x []float32, xs int, w []float32, ws int, n, rows, outs int) {
	scoresBy(thinScoresAVX2, dst, ds, x, xs, w, ws, n, rows, outs)
}

func scoresBy(kernels []thinScores, dst []float32, ds int, x []float32, xs int, w []float32, ws int, n, rows,
	outs int) {
	reach(dst, rows, ds, outs)
	reach(x, rows, xs, n)
	reach(w, outs, ws, n)
	o := 0
	for _, k := range kernels {
		for ; o+k.outs <= outs; o += k.outs {
			i := 0
			for ; i+k.rows <= rows; i += k.rows {
				k.tile(ptr(dst[i*ds+o:]), ds, ptr(x[i*xs:]), xs, ptr(w[o*ws:]), ws, n)
			}
			for ; i < rows; i++ {
				k.single(ptr(dst[i*ds+o:]), ds, ptr(x[i*xs:]), xs, ptr(w[o*ws:]), ws, n)
			}
		}
	}
}

// thinGradient are the kernels for a number of outputs: for many columns at once,
// and for a number of them that divides 16.
type thinGradient[T, X any] struct {
	outs       int
	tile, edge gradientKernel[T, X]
}

// thinColumns are the columns of the kernels of thinGradient.
type thinColumns struct{ tile, edge int }

var (
	thinGradientAVX512 = []thinGradient[float32, float32]{
		{4, gradient4x4AVX512, gradient4x1AVX512},
		{2, gradient2x4AVX512, gradient2x1AVX512},
		{1, gradient1x4AVX512, gradient1x1AVX512},
	}
	thinGradientAVX2 = []thinGradient[float32, float32]{
		{4, gradient4x2AVX2, gradient4x2AVX2},
		{2, gradient2x2AVX2, gradient2x2AVX2},
		{1, gradient1x2AVX2, gradient1x2AVX2},
	}
	thinGradient64AVX512 = []thinGradient[float64, float64]{
		{4, gradientDouble4x4AVX512, gradientDouble4x2AVX512},
		{2, gradientDouble2x4AVX512, gradientDouble2x2AVX512},
		{1, gradientDouble1x4AVX512, gradientDouble1x2AVX512},
	}
	thinMixedAVX512 = []thinGradient[float64, float32]{
		{4, gradientMixed4x4AVX512, gradientMixed4x2AVX512},
		{2, gradientMixed2x4AVX512, gradientMixed2x2AVX512},
		{1, gradientMixed1x4AVX512, gradientMixed1x2AVX512},
	}
	thinGradient64AVX2 = []thinGradient[float64, float64]{
		{4, gradientDouble4x2AVX2, gradientDouble4x2AVX2},
		{2, gradientDouble2x2AVX2, gradientDouble2x2AVX2},
		{1, gradientDouble1x2AVX2, gradientDouble1x2AVX2},
	}
	thinMixedAVX2 = []thinGradient[float64, float32]{
		{4, gradientMixed4x2AVX2, gradientMixed4x2AVX2},
		{2, gradientMixed2x2AVX2, gradientMixed2x2AVX2},
		{1, gradientMixed1x2AVX2, gradientMixed1x2AVX2},
	}
)

func gradientAVX512(g []float32, gs int, c []float32, cs int, x []float32, xs int, rows, cols, outs int) {
	gradientBy(thinGradientAVX512, thinColumns{64, 16}, g, gs, c, cs, x, xs, rows, cols, outs)
}

func gradientAVX2(g []float32, gs int, c []float32, cs int, x []float32, xs int, rows, cols, outs int) {
	gradientBy(thinGradientAVX2, thinColumns{16, 16}, g, gs, c, cs, x, xs, rows, cols, outs)
}

func gradient64AVX512(g []float64, gs int, c []float64, cs int, x []float64, xs int, rows, cols, outs int) {
	gradientBy(thinGradient64AVX512, thinColumns{32, 16}, g, gs, c, cs, x, xs, rows, cols, outs)
}

func gradient64AVX2(g []float64, gs int, c []float64, cs int, x []float64, xs int, rows, cols, outs int) {
	gradientBy(thinGradient64AVX2, thinColumns{8, 8}, g, gs, c, cs, x, xs, rows, cols, outs)
}

func gradientMixedAVX512(g []float64, gs int, c []float64, cs int, x []float32, xs int, rows, cols, outs int) {
	gradientBy(thinMixedAVX512, thinColumns{32, 16}, g, gs, c, cs, x, xs, rows, cols, outs)
}

func gradientMixedAVX2(g []float64, gs int, c []float64, cs int, x []float32, xs int, rows, cols, outs int) {
	gradientBy(thinMixedAVX2, thinColumns{8, 8}, g, gs, c, cs, x, xs, rows, cols, outs)
}

func gradientBy[T, X any](kernels []thinGradient[T, X], have thinColumns, g []T, gs int, c []T, cs int, x []X, xs int,
	rows, cols, outs int) {
	reach(g, outs, gs, cols)
	reach(c, rows, cs, outs)
	reach(x, rows, xs, cols)
	for j := 0; j < cols; {
		wide := j+have.tile <= cols
		o := 0
		for _, k := range kernels {
			f := k.edge
			if wide {
				f = k.tile
			}
			for ; o+k.outs <= outs; o += k.outs {
				f(ptr(g[o*gs+j:]), gs, ptr(c[o:]), cs, ptr(x[j:]), xs, rows)
			}
		}
		if wide {
			j += have.tile
		} else {
			j += have.edge
		}
	}
}
