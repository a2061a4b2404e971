// Package linear has the linear model that learners fit (Model), labelled rows in memory to fit it to
// (Data), and the grids that targets are rounded to (TargetGrid). A Machine is a Model together with its
// feature map.
package linear

import (
	"sync"

	"github.com/bochner-ml/bochner/internal/blas"
)

// Model is a fitted linear model of K outputs on D features: the scores of a row of features φ are W·φ + B.
// It is safe for concurrent use. Its fields must not change after the first call of Scores.
type Model struct {
	W    []float32 // K×D, row-major: one output's weights are contiguous
	B    []float32 // length K
	K, D int

	once   sync.Once
	packed *blas.Weights
}

// Scores stores in dst (n×K) the scores of n rows of features, phi (n×D). Each
// score is one chain of fused multiply-adds, so it does not depend on n. It
// panics if a slice is too short.
func (l *Model) Scores(dst, phi []float32, n int) {
	l.once.Do(func() { l.packed = blas.Pack(l.W, l.B, l.K, l.D) })
	l.packed.Mul(dst, phi, n, 1)
}

// Classes stores in dst the class of each of n rows of scores (n×K): the output
// with the largest score, the first of several. It panics if a slice is too short.
func (l *Model) Classes(dst []int32, scores []float32, n int) {
	if len(dst) < n || len(scores) < n*l.K {
		panic("linear: Classes: slice too short")
	}
	for i := range n {
		row := scores[i*l.K : (i+1)*l.K]
		best := 0
		for c, s := range row {
			if s > row[best] {
				best = c
			}
		}
		dst[i] = int32(best)
	}
}
