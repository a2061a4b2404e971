package svm

import (
	"fmt"

	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
)

// round is a state with the data that its workers share.
type round struct {
	*learner
	*state
	published []float32 // p×d: weights in float32, as in a model
	intercept []float32 // p: intercepts, as in a model
}

// newRound publishes w(a), unless the weights of an earlier model are still published.
func newRound(l *learner, s *state) *round {
	if s.earlier != nil {
		return &round{learner: l, state: s, published: s.earlier, intercept: s.earlierIntercept}
	}
	r := &round{learner: l, state: s, published: make([]float32, len(s.weights)), intercept: make([]float32, len(s.bias))}
	for i, w := range s.weights {
		r.published[i] = float32(w)
	}
	for c, b := range s.bias {
		r.intercept[c] = float32(b * l.Bias)
	}
	return r
}

func (r *round) Reads() bool { return true }

// Done implements iterative.Round: others stop the rounds.
func (r *round) Done() bool { return false }

func (r *round) Model() *linear.Model {
	m := &linear.Model{K: r.Outputs, D: r.Dim}
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

// Update implements iterative.Round. It adds w + Σ Δw in the order of the partitions.
func (r *round) Update(next func() ([]byte, error)) ([]byte, iterative.Report, error) {
	sum := newPartial(r.learner)
	err := iterative.EachPartial(next, func(partition int, data []byte) error {
		f, err := decodePartial(r.learner, data)
		if err != nil {
			return fmt.Errorf("svm: round %d: partition %d: partial result: %w", r.round, partition, err)
		}
		for _, v := range [][2][]float64{{sum.delta, f.delta}, {sum.bias, f.bias}, {sum.gap, f.gap}, {sum.gain, f.gain}} {
			for i, x := range v[1] {
				v[0][i] += x
			}
		}
		sum.learn.Merge(f.learn)
		sum.heldOut.Merge(f.heldOut)
		return nil
	})
	if err != nil {
		return nil, iterative.Report{}, err
	}
	if sum.learn.Rows != r.Rows {
		return nil, iterative.Report{}, fmt.Errorf("svm: round %d: %d training rows, the options say %d", r.round,
			sum.learn.Rows, r.Rows)
	}
	return r.after(sum).encode(r.learner), r.report(sum), nil
}

// momentum returns the share of the last change of problem c that is repeated before steps are taken:
// (k−1)/(k+2) in the k-th round in one direction (Nesterov 1983, in the form of Su, Boyd and Candès 2014).
// A single partition needs none, because its steps solve the problem itself.
func (r *round) momentum(c int) float64 {
	if r.Partitions == 1 {
		return 0
	}
	n := float64(r.smooth[c])
	return n / (n + 3)
}

// after returns the next state, given the sum of the partial results.
//
// Of the step from a to a + Δa it takes the share t that maximises the bound
//
//	D(a+tΔa) ≥ D(a) + (t/n)·gain − (λ/2)(‖w+tΔw‖² − ‖w‖²),   gain = Σ c_i [ℓ*(−a_i) − ℓ*(−a_i−Δa_i)],
//
// which holds for 0 ≤ t ≤ 1 because ℓ* is convex, and is exact for t = 0. So D never falls. Without
// momentum t = 1 is safe; with momentum t may have to be smaller.
func (r *round) after(sum *partial) *state {
	p, d := r.problems(), r.Dim
	s := newState(p, d)
	s.round = r.round + 1
	if r.given {
		s.earlier, s.earlierIntercept = r.published, r.intercept
	}
	unit := 1 / (r.Lambda * float64(r.Rows))
	for c := range p {
		w, delta := s.weights[c*d:(c+1)*d], sum.delta[c*d:(c+1)*d]
		if !r.given {
			copy(w, r.weights[c*d:(c+1)*d])
			s.bias[c] = r.bias[c]
		}
		slope := sum.gain[c] - (dot(w, delta) + float64(s.bias[c]*sum.bias[c]))
		curvature := float64(unit * (dot(delta, delta) + float64(sum.bias[c]*sum.bias[c])))
		t := 1.0
		if slope < curvature && (r.given || r.momentum(c) > 0) {
			t = max(0, slope/curvature)
		}
		s.scale[c] = t
		for j, x := range delta {
			w[j] += float64(unit * float64(t*x))
		}
		s.bias[c] += float64(unit * float64(t*sum.bias[c]))
		if !r.given {
			r.direct(s, c)
		}
	}
	return s
}

// direct stores how the weights of problem c have changed, and counts the rounds in one direction. It restarts the
// count if the steps after momentum opposed the total change (the gradient scheme of O'Donoghue and Candès 2015).
func (r *round) direct(s *state, c int) {
	momentum := r.momentum(c)
	change := func(was, last, now float64) (by, back float64) {
		by = now - was
		return by, float64(((was + float64(momentum*last)) - now) * by)
	}
	var back, back1 float64
	for j := c * r.Dim; j < (c+1)*r.Dim; j++ {
		s.last[j], back1 = change(r.weights[j], r.last[j], s.weights[j])
		back += back1
	}
	s.lastBias[c], back1 = change(r.bias[c], r.lastBias[c], s.bias[c])
	if back+back1 <= 0 && s.scale[c] == 1 {
		s.smooth[c] = r.smooth[c] + 1
	}
}

// dot returns x·y, summed in order.
func dot(x, y []float64) (sum float64) {
	for i, v := range x {
		sum += float64(v * y[i])
	}
	return sum
}

// report describes the state with which the round began, at the published weights.
func (r *round) report(sum *partial) iterative.Report {
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
	rep := iterative.NewReport(sum.learn, sum.heldOut, float64(copies*float64(r.Lambda/2*squares)))
	rep.Round = r.round
	if !r.given {
		dual := rep.Objective - float64(copies*(gap/n+float64(r.Lambda/2*off)))
		rep.Dual = &dual
	}
	return rep
}
