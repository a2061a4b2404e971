package svm

import (
	"errors"
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/rounds"
)

// round is a state and what workers share of it.
type round struct {
	*Learner
	*state
	published []float32 // p×d: weights in float32, as in a model
	intercept []float32 // p: intercepts, as in a model
}

func newRound(l *Learner, s *state) *round {
	r := &round{Learner: l, state: s, published: make([]float32, len(s.weights)), intercept: make([]float32, len(s.bias))}
	for i, w := range s.weights {
		r.published[i] = float32(w)
	}
	for c, b := range s.bias {
		r.intercept[c] = float32(b * l.Bias)
	}
	return r
}

// Reads implements rounds.Round: every round takes rows.
func (r *round) Reads() bool { return true }

// Done implements rounds.Round.
func (r *round) Done() bool { return r.Rounds > 0 && r.round >= r.Rounds }

// Model implements rounds.Fitted.
func (r *round) Model() *models.Linear {
	m := &models.Linear{K: r.Outputs, D: r.Dim}
	m.W = append(m.W, r.published...)
	m.B = append(m.B, r.intercept...)
	if r.mirrored() {
		for _, w := range r.published {
			m.W = append(m.W, -w)
		}
		m.B = append(m.B, -r.intercept[0])
	}
	return m
}

// Update implements rounds.Round: w + Σ Δw, added in the order of the partitions.
func (r *round) Update(next func() ([]byte, error)) ([]byte, rounds.Report, error) {
	sum := newFound(r.Learner)
	for partition := 0; ; partition++ {
		data, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, rounds.Report{}, err
		}
		f, err := decodeFound(r.Learner, data)
		if err != nil {
			return nil, rounds.Report{}, fmt.Errorf("svm: round %d: partition %d: what was found: %w", r.round, partition, err)
		}
		for _, v := range [][2][]float64{{sum.delta, f.delta}, {sum.bias, f.bias}, {sum.gap, f.gap}, {sum.dual, f.dual}} {
			for i, x := range v[1] {
				v[0][i] += x
			}
		}
		sum.learn.Merge(f.learn)
		sum.held.Merge(f.held)
	}
	if sum.learn.Rows != r.Rows {
		return nil, rounds.Report{}, fmt.Errorf("svm: round %d: %d rows were learned from, the options say %d", r.round, sum.learn.Rows, r.Rows)
	}
	return r.after(sum).encode(r.Learner), r.report(sum), nil
}

// after returns the state that follows.
func (r *round) after(sum *found) *state {
	p, d := r.problems(), r.Dim
	s := &state{round: r.round + 1, weights: make([]float64, p*d), bias: make([]float64, p), scale: make([]float64, p)}
	unit := 1 / (r.Lambda * float64(r.Rows))
	for c := range p {
		s.scale[c] = 1
		w, delta := s.weights[c*d:(c+1)*d], sum.delta[c*d:(c+1)*d]
		if !r.given {
			for j, x := range delta {
				w[j] = r.weights[c*d+j] + float64(unit*x)
			}
			s.bias[c] = r.bias[c] + float64(unit*sum.bias[c])
			continue
		}
		// −ℓ*(−t·a) ≥ −t·ℓ*(−a) for 0 ≤ t ≤ 1, as ℓ*(0) ≤ 0 and ℓ* is convex. So the
		// t that is best for t·dual/n − t²(λ/2)‖w(a)‖² leaves the dual at 0 or above.
		var squares float64
		for _, x := range delta {
			squares += float64(x * x)
		}
		squares += float64(sum.bias[c] * sum.bias[c])
		t := 1.0
		if best := sum.dual[c]; best < unit*squares {
			t = max(0, best/float64(unit*squares))
		}
		s.scale[c] = t
		for j, x := range delta {
			w[j] = float64(unit * float64(t*x))
		}
		s.bias[c] = float64(unit * float64(t*sum.bias[c]))
	}
	return s
}

// report tells about the state that the round began with, at the weights that
// were published.
func (r *round) report(sum *found) rounds.Report {
	var squares, off, gap float64
	for i, w := range r.published {
		squares += float64(float64(w) * float64(w))
		e := float64(w) - r.weights[i]
		off += float64(e * e)
	}
	if r.Bias > 0 {
		for c, b := range r.intercept {
			w := float64(b) / r.Bias
			squares += float64(w * w)
			off += float64((w - r.bias[c]) * (w - r.bias[c]))
		}
	}
	for _, g := range sum.gap {
		gap += g
	}
	n, copies := float64(r.Rows), r.copies()
	mean := sum.learn.Loss / n
	rep := rounds.Report{
		Round: r.round, Rows: sum.learn.Rows,
		Objective: mean + float64(copies*float64(r.Lambda/2*squares)),
		Loss:      mean, Errors: sum.learn.Errors,
		HeldRows: sum.held.Rows, HeldLoss: sum.held.Mean(), HeldErrors: sum.held.Errors,
	}
	if !r.given {
		dual := rep.Objective - float64(copies*(gap/n+float64(r.Lambda/2*off)))
		rep.Dual = &dual
	}
	return rep
}
