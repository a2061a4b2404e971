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

// measure computes the missing norms of the rows.
func (s *rowBlock) measure(d int, bias float64) {
	for i := len(s.norms); i < s.n; i++ {
		row := s.phi[i*d : (i+1)*d]
		s.norms = append(s.norms, float64(blas.Dot(row, row))+float64(bias*bias))
	}
}

// ascend takes steps for every problem at those rows of s whose dual variable can move at the scores by
// view, in random order, and then again at the rows that moved, up to passes times. It stops early if a
// pass raises the dual by less than the share tol of the gain of this round so far. It reports whether the
// dual of any problem rose by more than that in all.
//
// Problems share only rows, so they run in parallel.
func (w *worker) ascend(s *rowBlock, passes int, tol float64) (more bool) {
	p := w.problems()
	w.scoreByView(s)
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

// scoreByView stores in w.scores the scores of s by the weights view, without intercepts.
func (w *worker) scoreByView(s *rowBlock) {
	p := w.problems()
	w.scores = grown(w.scores, s.n*p)
	blas.Scores(w.scores, s.phi, s.n, w.Dim, w.view, p, w.threads)
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
