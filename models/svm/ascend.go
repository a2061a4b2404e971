package svm

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models/loss"
	"github.com/bochner-ml/bochner/models/rounds"
)

// refresh is after how many rows view is computed anew, so that roundings of
// its steps do not add up.
const refresh = 256

// ascend takes the steps of a block: all rows in a random order, and then again
// those that moved, Passes times in all. What is added to the dual variables a is
// added to coef.
func (w *worker) ascend(b rounds.Block, a []float32) {
	p, d, l := w.problems(), w.Dim, w.loss.Scalar
	if w.stale >= refresh {
		w.renew()
	}
	w.stale += b.N
	w.norms = slices.Grow(w.norms[:0], b.N)[:b.N]
	w.order = slices.Grow(w.order[:0], b.N)[:b.N]
	for i := range b.N {
		w.order[i] = int32(i)
		row := b.Phi[i*d : (i+1)*d]
		w.norms[i] = float64(blas.Dot(row, row)) + float64(w.Bias*w.Bias)
	}
	// Of one step Δa: v moves by σ'·c·Δa/(λn)·φ.
	unit := float64(w.Partitions) / (w.Lambda * float64(w.Rows))
	random := stream.New(w.seed, blockOrder, uint64(b.Index))
	for pass := 0; pass < w.Passes && len(w.order) > 0; pass++ {
		for i := len(w.order) - 1; i > 0; i-- {
			j := random.Below(uint64(i + 1))
			w.order[i], w.order[j] = w.order[j], w.order[i]
		}
		moved := w.order[:0]
		for _, i := range w.order {
			row, y := b.Phi[int(i)*d:(int(i)+1)*d], b.Y[i]
			blas.Scores(w.steps, row, 1, d, w.view, p, 1)
			weight := w.Weight(y)
			gain := unit * weight
			q := gain * w.norms[i]
			any := false
			for c := range p {
				at := int(i)*p + c
				code, was := w.loss.Code(y, c), float64(a[at])
				s := float64(w.steps[c]) + float64(w.viewBias[c]*w.Bias)
				now := feasible(l, code, l.Step(code, s, was, q))
				step := float64(now) - was
				if step == 0 {
					continue
				}
				any = true
				a[at] = now
				w.coef[at] += float64(weight * step)
				blas.Axpy(float32(gain*step), row, w.view[c*d:(c+1)*d])
				w.viewBias[c] += float64(float64(gain*step) * w.Bias)
			}
			if any {
				moved = append(moved, i)
			}
		}
		w.order = moved
	}
}

// renew computes view from what was found.
func (w *worker) renew() {
	unit := float64(w.Partitions) / (w.Lambda * float64(w.Rows))
	for j, x := range w.found.delta {
		w.view[j] = float32(w.weights[j] + float64(unit*x))
	}
	for c, x := range w.found.bias {
		w.viewBias[c] = w.bias[c] + float64(unit*x)
	}
	w.stale = 0
}

// feasible returns a as float32, rounded towards 0 where the nearest float32 is
// outside of the domain: huber's ends need not be one.
func feasible(l loss.Scalar, code, a float64) float32 {
	f := float32(a)
	if math.Abs(float64(f)) > math.Abs(a) && math.IsInf(l.Conjugate(code, -float64(f)), 1) {
		f = math.Nextafter32(f, 0)
	}
	return f
}
