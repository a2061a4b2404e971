package cg

import (
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
)

const (
	gridBits = 15 // bits of a feature on its grid, without the sign
	sumBits  = 62 // bits of a sum of products in an int64
	// blockBits limits sums of products over flushRows rows, so that float64 holds them exactly.
	blockBits = 52
	flushRows = 1024
)

// factorBits returns the number of bits of the factor of each of n rows, without the sign. The sum over all
// rows stays below 2⁶², and the sum over flushRows rows below 2⁵².
func factorBits(n int64) int {
	return max(1, min(sumBits-gridBits-bits.Len64(uint64(n)), blockBits-gridBits-bits.Len64(flushRows)))
}

// vector is a vector that the features are multiplied by in a pass, with the grid of the resulting factors
// of the rows.
type vector struct {
	column int     // index of the system; in moments of the output, or −1 for the constant 1
	off    float64 // μ·v
	step   float64 // of the grid: a power of two
}

// round is a state with the data that its workers share.
type round struct {
	*learner
	*state
	vectors []vector
	scaled  []float32 // vectors×D: v in units of the grid; nil in moments
	// A feature is rounded to the grid by φ·inverse + magic − magic.
	inverse, ones, shift, back []float32
	published                  *linear.Model // in verify: the model of all columns
}

// magic is a float32 whose spacing is 1, so that adding it rounds small numbers to whole ones.
const magic = 1.5 * (1 << 23)

// newRound prepares the vectors that workers multiply with rows in the phase of the state, and their grids. Columns
// whose error is small enough take no part in a direction.
func newRound(l *learner, s *state) *round {
	r, d := &round{learner: l, state: s}, l.Dim
	switch s.phase {
	case moments:
		for c := range l.Outputs {
			r.vectors = append(r.vectors, vector{column: c, step: r.step(s.size)})
		}
		r.vectors = append(r.vectors, vector{column: -1, step: r.step(1)})
	case direction, verify:
		for q := range l.columns() {
			v := s.p[q*d:][:d]
			if s.phase == verify {
				v = published(s.x[q*d:][:d])
			} else if r.found[q] <= r.tolerance(q)/2 {
				continue // it needs no more steps, and the margin is for rounding its weights to float32
			}
			// |(z−μ)·v| is at most the product of the norms.
			bound := float64((s.radius + math.Sqrt(blas.Dot64(s.mean, s.mean))) * math.Sqrt(blas.Dot64(v, v)))
			r.vectors = append(r.vectors, vector{column: q, off: blas.Dot64(s.mean, v), step: r.step(bound)})
			for j, x := range v {
				r.scaled = append(r.scaled, float32(x*s.unit[j]))
			}
		}
		if s.phase == verify {
			r.published = r.model(0, l.columns())
		}
	default:
		return r
	}
	r.inverse, r.ones, r.shift, r.back = make([]float32, d), make([]float32, d), make([]float32, d), make([]float32, d)
	for j, u := range s.unit {
		r.inverse[j], r.ones[j], r.shift[j], r.back[j] = float32(1/u), 1, magic, -magic
	}
	return r
}

// step returns the unit of a grid for factors of size at most bound times the largest weight of a row.
func (r *round) step(bound float64) float64 {
	weight := r.Heaviest
	if r.Weights != nil {
		weight *= slices.Max(r.Weights)
	}
	_, e := math.Frexp(float64(bound * weight * (1 + 1e-3))) // the margin is for rounding of scores
	return math.Ldexp(1, e-factorBits(r.Rows))
}

// published returns x rounded to float32, as in a model.
func published(x []float64) []float64 {
	v := make([]float64, len(x))
	for j := range v {
		v[j] = float64(float32(x[j]))
	}
	return v
}

// model returns the linear model of n columns from first on, with their intercepts t̄ − w·φ̄.
func (r *round) model(first, n int) *linear.Model {
	m := &linear.Model{K: n, D: r.Dim}
	for q := first; q < first+n; q++ {
		w := published(r.x[q*r.Dim:][:r.Dim])
		for _, x := range w {
			m.W = append(m.W, float32(x))
		}
		m.B = append(m.B, float32(r.target[q%r.Outputs]-blas.Dot64(r.mean, w)))
	}
	return m
}

func (r *round) Reads() bool { return r.phase != done }

func (r *round) Done() bool { return r.phase == done }

// Model implements iterative.LinearRound: the model of the best λ.
func (r *round) Model() *linear.Model { return r.model(r.best()*r.Outputs, r.Outputs) }

// best returns the index of the λ with the least held-out error, the first of several.
func (r *round) best() int {
	best := 0
	for i := range r.Path {
		if r.report(i).Better(r.report(best).HeldOut) {
			best = i
		}
	}
	return best
}

// report returns the report on λ number i. The objective follows from A x = r − residual:
//
//	f(x) = ½Σ c t²/n − ½ x·(r + residual)
func (r *round) report(i int) iterative.Report {
	d, lambda := r.Dim, r.Path[i]
	var objective, squares, above float64
	for c := range r.Outputs {
		q := i*r.Outputs + c
		x, res := r.x[q*d:][:d], r.residual[q*d:][:d]
		objective += float64((r.spread[c] - blas.Dot64(x, r.right[c*d:][:d]) - blas.Dot64(x, res)) / 2)
		squares += blas.Dot64(x, x)
		above += blas.Dot64(res, res) / (2 * lambda)
	}
	rep := iterative.NewReport(r.tally(i, 0), r.tally(i, 1), 0)
	rep.Round, rep.Rows = r.round, r.Rows
	rep.Objective, rep.Loss = objective, objective-float64(lambda/2*squares)
	if r.Done() {
		worst := slices.Max(r.found[i*r.Outputs:][:r.Outputs])
		rep.Above, rep.Residual, rep.Ended = &above, &worst, r.ended()
		return rep
	}
	rep.Words = fmt.Sprintf("residual %.2g times the tolerance", r.worst(r.state))
	return rep
}

// ended says why the rounds have ended.
func (r *round) ended() string {
	switch {
	case r.worst(r.state) <= 1:
		return "the residual is within the tolerance"
	case r.round >= r.Planned-2:
		return "no rounds are left"
	}
	return "the residual no longer falls"
}

func (r *round) Update(next func() ([]byte, error)) ([]byte, iterative.Report, error) {
	sum := newPartial(r)
	err := iterative.EachPartial(next, func(partition int, data []byte) error {
		if err := sum.merge(data); err != nil {
			return fmt.Errorf("cg: round %d: partition %d: partial result: %w", r.round, partition, err)
		}
		return nil
	})
	if err != nil {
		return nil, iterative.Report{}, err
	}
	if n := sum.rows(r)[0]; r.Reads() && n != r.Rows {
		return nil, iterative.Report{}, fmt.Errorf("cg: round %d: %d training rows, the options say %d",
			r.round, n, r.Rows)
	}
	report := r.report(r.best())
	if len(r.Path) > 1 && r.Done() {
		var all []iterative.Report
		for i := range r.Path {
			all = append(all, r.report(i))
		}
		if report.Detail, err = json.Marshal(all); err != nil {
			return nil, iterative.Report{}, err
		}
	}
	s := newState(&r.options, r.round+1, slices.Clone(r.all))
	switch r.phase {
	case scaling:
		err = s.setGrid(sum)
	case moments:
		err = r.setMoments(s, sum)
	case direction:
		err = r.descend(s, sum)
	case verify:
		err = r.verified(s, sum)
	}
	if err != nil {
		return nil, iterative.Report{}, err
	}
	data := s.encode(&r.options) // which also sets the scalars of s.all
	if !exact.AllFinite(s.all) {
		return nil, iterative.Report{}, fmt.Errorf("cg: round %d: the weights overflow; lower the weights of classes "+
			"and rows",
			r.round)
	}
	return data, report, nil
}
