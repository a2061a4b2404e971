package svm

import (
	"math"

	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/models/loss"
)

// rowBlock is rows in memory with their dual variables.
type rowBlock struct {
	n     int
	phi   []float32 // n×d
	y     []float32 // n
	c     []float64 // n: weights, times the weights of classes
	norms []float64 // n: ‖φ‖² with the constant feature
	a     []float32 // n×p
}

// ascend takes steps for every problem at those rows of s whose dual variable can move at the scores by
// view, in random order, and then again at the rows that moved, up to passes times. It stops early if a
// pass raises the dual by less than the share tol of the gain of this round so far. It reports whether the
// dual of any problem rose by more than that in all.
//
// Problems share only rows, so they run in parallel.
func (w *worker) ascend(s *rowBlock, passes int, tol float64) (more bool) {
	p := w.problems()
	blas.Scores(blas.Grow(&w.scores, s.n*p), s.phi, s.n, w.Dim, w.view, p, w.threads) // without intercepts
	w.turn++
	rising := make([]bool, p)
	parallel.Ranges(p, 1, w.threads, func(lo, hi int) {
		for c := lo; c < hi; c++ {
			random := stream.New(w.seed, stepOrder, uint64(w.turn)<<32|uint64(c))
			list := w.restless(s, c)
			var sum float64
			for pass := 0; pass < passes && len(list) > 0; pass++ {
				for i := len(list) - 1; i > 0; i-- {
					j := random.Below(uint64(i + 1))
					list[i], list[j] = list[j], list[i]
				}
				var gain float64
				list, gain = w.visit(s, c, list)
				sum += gain
				if gain <= tol*(w.gained[c]+sum) {
					break
				}
			}
			w.gained[c] += sum
			rising[c] = sum > tol*w.gained[c]
			w.lists[c] = list[:0]
		}
	})
	for _, r := range rising {
		more = more || r
	}
	return more
}

// restless lists the rows of s at which problem c can make a step, given w.scores.
func (w *worker) restless(s *rowBlock, c int) []int32 {
	p, l := w.problems(), w.loss.Scalar
	list := w.lists[c][:0]
	offset := float64(w.viewBias[c] * w.Bias)
	for i := range s.n {
		at, y := i*p+c, s.y[i]
		code, was := w.loss.Code(y, c), float64(s.a[at])
		q := float64(w.unit*s.c[i]) * s.norms[i]
		if float64(feasible(l, code, l.Step(code, float64(w.scores[at])+offset, was, q))) != was {
			list = append(list, int32(i))
		}
	}
	return list
}

// visit makes a step of problem c at each row of the list. It returns the rows that moved, in the list's
// memory, and a lower bound of their gain in the dual, times n. Along each coordinate the dual is concave
// with curvature at least q, so a step of δ to the optimum raises it by at least ½qδ².
func (w *worker) visit(s *rowBlock, c int, list []int32) (moved []int32, gain float64) {
	p, d, l := w.problems(), w.Dim, w.loss.Scalar
	view := w.view[c*d : (c+1)*d]
	moved = list[:0]
	for _, i := range list {
		row, y := s.phi[int(i)*d:(int(i)+1)*d], s.y[i]
		at := int(i)*p + c
		code, was := w.loss.Code(y, c), float64(s.a[at])
		score := float64(blas.Dot(row, view)) + float64(w.viewBias[c]*w.Bias)
		// A step δ moves view by unit·c·δ·φ.
		weight := s.c[i]
		far := float64(w.unit * weight)
		q := far * s.norms[i]
		now := feasible(l, code, l.Step(code, score, was, q))
		step := float64(now) - was
		if step == 0 {
			continue
		}
		s.a[at] = now
		blas.Axpy(float32(far*step), row, view)
		w.viewBias[c] += float64(float64(far*step) * w.Bias)
		gain += float64(weight * float64(0.5*q*float64(step*step)))
		moved = append(moved, i)
	}
	return moved, gain
}

// feasible returns a as float32, rounded towards 0 if the nearest float32 is outside the domain, as may
// happen at the ends of huber's domain.
func feasible(l loss.Scalar, code, a float64) float32 {
	f := float32(a)
	if math.Abs(float64(f)) > math.Abs(a) && math.IsInf(l.Conjugate(code, -float64(f)), 1) {
		f = math.Nextafter32(f, 0)
	}
	return f
}

// window caches the rows of a partition that have moved in this round, with their features, so that steps
// can be repeated there. Most rows stop moving at an end of their domain; the few others affect each other.
type window struct {
	rowBlock
	rows []int     // their indices in the partition
	was  []float64 // n×p: dual variables when the round began
	lead []float64 // n×p: momentum added to them at the start
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
// round (was) and the momentum added to them (lead). Its norm may be missing if no step will be taken.
func (w *worker) keep(s *rowBlock, i, at int, was, lead []float64) {
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
	k.was, k.lead = append(k.was, was...), append(k.lead, lead...)
	for c := range was {
		k.base = append(k.base, was[c]+lead[c])
	}
}

// settle repeats steps in the window until they gain little, stores the result in found and now, and
// empties the window.
func (w *worker) settle() {
	k, p, l := &w.window, w.problems(), w.loss.Scalar
	if k.n == 0 {
		return
	}
	w.sum(w.partial.delta, w.partial.bias, func(at int) float64 { return k.lead[at] })
	w.account()
	for i := 0; i < cycles && !w.given; i++ {
		more := w.ascend(&k.rowBlock, w.Passes, settled)
		w.account()
		if !more {
			break
		}
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
	k.rowBlock = rowBlock{phi: k.phi[:0], y: k.y[:0], c: k.c[:0], norms: k.norms[:0], a: k.a[:0]}
	k.rows, k.was, k.lead, k.base = k.rows[:0], k.was[:0], k.lead[:0], k.base[:0]
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
			weight, changed := k.c[i], false
			for c := range p {
				x := float64(weight * change(i*p+c))
				changed = changed || x != 0
				coef = append(coef, x)
				bias[c] += float64(x * w.Bias)
			}
			if !changed {
				coef = coef[:len(coef)-p]
				continue
			}
			phi = append(phi, k.phi[i*d:(i+1)*d]...)
		}
		blas.Gradient64(delta, coef, phi, len(coef)/p, d, p, w.threads)
		w.coef, w.moved = coef, phi
	}
}
