package svm

import (
	"slices"

	"github.com/bochner-ml/bochner/internal/blas"
)

// window caches the rows of a partition that have moved in this round, with their features, so that steps
// can be repeated there. Most rows stop moving at an end of their domain; the few others affect each other.
type window struct {
	rowBlock
	rows []int     // their indices in the partition
	was  []float64 // n×p: dual variables when the round began
	way  []float64 // n×p: momentum added to them at the start
	base []float64 // n×p: dual variables up to which steps have been summed
}

// cycles is the most passes over a window. It is left when a pass gains less than the share settled of the
// round's gain in the dual.
const (
	cycles  = 8
	settled = 0.003
)

// windowRows returns how many rows the window holds.
func (w *worker) windowRows() int { return int(w.Window / (4 * int64(w.Dim))) }

// keep appends row i of s, which is row at of the partition, with its dual variables at the start of the
// round (was) and the momentum added to them (way). Its norm may be missing if no step will be taken.
func (w *worker) keep(s *rowBlock, i, at int, was, way []float64) {
	p, d, k := w.problems(), w.Dim, &w.window
	if k.phi == nil {
		// Allocate the whole window, so that it is not copied as it grows. Unused pages are never touched.
		rows := min(w.windowRows(), int(w.Rows)/w.Partitions+1)
		k.phi = blas.Make[float32](rows * d)[:0]
	}
	k.n++
	k.phi = append(k.phi, s.phi[i*d:(i+1)*d]...)
	k.y, k.c = append(k.y, s.y[i]), append(k.c, s.c[i])
	if i < len(s.norms) {
		k.norms = append(k.norms, s.norms[i])
	}
	k.a = append(k.a, s.a[i*p:(i+1)*p]...)
	k.rows = append(k.rows, at)
	k.was, k.way = append(k.was, was...), append(k.way, way...)
	for c := range was {
		k.base = append(k.base, was[c]+way[c])
	}
}

// settle repeats steps in the window until they gain little, stores the result in found and now, and
// empties the window.
func (w *worker) settle() {
	k, p, l := &w.window, w.problems(), w.loss.Scalar
	if k.n == 0 {
		return
	}
	w.sum(w.partial.delta, w.partial.bias, func(at int) float64 { return k.way[at] })
	w.account()
	for more, i := !w.given, 0; more && i < cycles; i++ {
		more = w.ascend(&k.rowBlock, w.Passes, settled)
		w.account()
	}
	for i, row := range k.rows {
		was, a := k.was[i*p:(i+1)*p], k.a[i*p:(i+1)*p]
		for c := range p {
			if before, now := was[c], float64(a[c]); now != before {
				code := w.loss.Code(k.y[i], c)
				w.partial.gain[c] += float64(k.c[i] * (l.Conjugate(code, -before) - l.Conjugate(code, -now)))
			}
		}
		w.now.set(row*p, was, a)
	}
	k.n = 0
	k.phi, k.y, k.c, k.norms, k.a = k.phi[:0], k.y[:0], k.c[:0], k.norms[:0], k.a[:0]
	k.rows, k.was, k.way, k.base = k.rows[:0], k.was[:0], k.way[:0], k.base[:0]
}

// account sums the steps since its last call, in float64 and from the stored dual variables, and recomputes
// view from the sum, so that rounding errors of steps do not accumulate.
func (w *worker) account() {
	k, d := &w.window, w.Dim
	w.sum(w.steps, w.stepsBias, func(at int) float64 {
		now := float64(k.a[at])
		step := now - k.base[at]
		k.base[at] = now
		return step
	})
	for c := range w.problems() {
		momentum, view := w.momentum(c), w.view[c*d:(c+1)*d]
		for j := range view {
			at := c*d + j
			view[j] = float32(w.weights[at] + float64(momentum*w.last[at]) + float64(w.unit*w.steps[at]))
		}
		w.viewBias[c] = w.bias[c] + float64(momentum*w.lastBias[c]) + float64(w.unit*w.stepsBias[c])
	}
}

// sum adds Σ c_i δ_i φ_i over the window to delta, and the same for the constant feature to bias. change
// returns δ by index; it is 0 for most rows.
func (w *worker) sum(delta, bias []float64, change func(at int) float64) {
	p, d, k := w.problems(), w.Dim, &w.window
	const run = 256
	for from := 0; from < k.n; from += run {
		// Gather only the rows that changed.
		coef, phi := w.coef[:0], w.moved[:0]
		for i := from; i < min(from+run, k.n); i++ {
			weight, any := k.c[i], false
			for c := range p {
				x := float64(weight * change(i*p+c))
				any = any || x != 0
				coef = append(coef, x)
				bias[c] += float64(x * w.Bias)
			}
			if !any {
				coef = coef[:len(coef)-p]
				continue
			}
			phi = append(phi, k.phi[i*d:(i+1)*d]...)
		}
		blas.Gradient64(delta, coef, phi, len(coef)/p, d, p, w.threads)
		w.coef, w.moved = coef, phi
	}
}

// grown returns s with length n and undefined content.
func grown[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }
