//go:build amd64 && !purego

package blas

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
