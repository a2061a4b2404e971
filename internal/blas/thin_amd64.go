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
