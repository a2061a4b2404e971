package cg

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/models/iterative"
)

// worker adds up the rows of a partition. Its result does not depend on their order.
type worker struct {
	*round
	*partial
	threads int
	z       []float32 // some rows, on the grid
	scores  []float32
	factors []float64
	sums64  []float64 // vectors×D, over at most flushRows rows
}

// stripRows is the number of rows that are rounded to the grid together, so that they fit in the cache.
const stripRows = 32

func (r *round) Worker(int, []byte) (iterative.Worker, error) {
	k := len(r.vectors)
	return &worker{
		round: r, partial: newPartial(r), threads: 1, sums64: blas.Make[float64](k * r.Dim),
		z:      blas.Make[float32](stripRows * r.Dim),
		scores: make([]float32, stripRows*k), factors: make([]float64, stripRows*k),
	}, nil
}

func (w *worker) Threads(n int) { w.threads = n }

func (w *worker) Take(b iterative.Block) error {
	b.Check("cg", w.Dim)
	if err := w.CheckLabels(b.Y); err != nil {
		return fmt.Errorf("cg: %w", err)
	}
	if w.phase == verify {
		if err := w.score(b); err != nil {
			return err
		}
	}
	if b.HeldOut || w.phase == done {
		return nil
	}
	w.rows(w.round)[0] += int64(b.N)
	if w.phase == scaling {
		return w.measure(b)
	}
	for first := 0; first < b.N; first += stripRows {
		w.add(b, first, min(stripRows, b.N-first))
	}
	return nil
}

// measure finds the largest feature of each column and the largest code.
func (w *worker) measure(b iterative.Block) error {
	for i := range b.N {
		for j, x := range b.Phi[i*b.D:][:b.D] {
			if !exact.Finite(x) {
				return fmt.Errorf("cg: feature %d of a row is not finite", j)
			}
			w.most[j] = max(w.most[j], x, -x)
		}
		w.most[w.Dim] = max(w.most[w.Dim], float32(math.Abs(w.loss.Code(b.Y[i], 0))))
	}
	return nil
}

// add adds some rows of a block.
func (w *worker) add(b iterative.Block, first, n int) {
	d, k := w.Dim, len(w.vectors)
	z, totals := w.z[:n*d], w.totals(w.round)
	blas.Affine(z, b.Phi[first*d:][:n*d], w.inverse, w.shift, n)
	blas.Affine(z, z, w.ones, w.back, n)
	if w.phase != moments {
		blas.Scores(w.scores[:n*k], z, n, d, w.scaled, k, w.threads)
	}
	for i := range n {
		y := b.Y[first+i]
		weight := float64(b.Weight(first+i) * w.Problem.Weight(y))
		if w.phase == moments && w.Regression {
			w.exact[0].AddWeightedSquare(float32(weight), y)
		}
		for c, v := range w.vectors {
			f := float64(w.scores[i*k+c]) - v.off
			switch {
			case w.phase == moments && v.column < 0:
				f = 1
			case w.phase == moments:
				f = w.loss.Code(y, v.column)
			}
			units := math.RoundToEven(float64(weight*f) / v.step)
			w.factors[i*k+c] = units
			totals[c] += int64(units)
		}
	}
	blas.Gradient64(w.sums64, w.factors[:n*k], z, n, d, k, w.threads)
	if end := first + n; end == b.N || end%flushRows == 0 {
		for i, v := range w.sums64 {
			w.sums[i] += int64(v)
		}
		clear(w.sums64)
	}
}

// score counts the errors of the published weights for each λ, with features that are not rounded.
func (w *worker) score(b iterative.Block) error {
	k, rows, side := w.columns(), w.rows(w.round)[1:], 0
	if b.HeldOut {
		side = 1
	}
	scores := make([]float32, b.N*k)
	w.published.Scores(scores, b.Phi, b.N)
	for i, y := range b.Y {
		weight := b.Weight(i)
		for l := range w.Path {
			outputs, at := scores[i*k+l*w.Outputs:][:w.Outputs], 2*l+side
			sums := w.exact[1+3*at:]
			rows[2*at]++
			sums[1].Add64(weight)
			if w.Wrong(outputs, y) {
				rows[2*at+1]++
				sums[2].Add64(weight)
			}
			for c, s := range outputs {
				e := s - float32(w.loss.Code(y, c))
				if square := float32(e * e); !exact.Finite(square) {
					return fmt.Errorf("cg: the score of a row is %g", s)
				}
				sums[0].AddWeightedSquare(float32(weight/2), e)
			}
		}
	}
	return nil
}

func (w *worker) End() (partial, carried []byte, err error) {
	return w.partial.encode(), nil, nil
}
