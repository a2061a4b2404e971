package cg

import (
	"fmt"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/models/loss"
)

// phase is what the round does that begins with a state.
type phase int

const (
	scaling phase = iota
	moments
	direction
	verify
	done
)

// state is what a round begins with.
type state struct {
	round  int
	phase  phase
	radius float64 // an upper bound of ‖φ‖
	size   float64 // an upper bound of |t|
	last   float64 // the largest residual of the last verification, in units of the tolerance; 0 before the first

	all []float64 // as encoded: phase to last, then the slices below, which share its memory

	equations
	iterates
	counts []float64 // loss.Tally of training and held-out rows for each λ, by the last verification
}

// equations are what is solved.
type equations struct {
	target, spread, norm []float64 // of each output: mean and variance of the codes, ‖r‖
	unit, mean           []float64 // D: units of the grid, powers of two; μ
	right                []float64 // outputs×D: r
}

// iterates are the solution so far.
type iterates struct {
	rho, found     []float64 // of each column: residual·P⁻¹residual, ‖residual‖/‖r‖
	x, residual, p []float64 // columns×D: weights, r − A x, and directions, rounded to float32
}

// scalars is the number of fields of a state before its slices.
const scalars = 4

// fields is the number of fields of a loss.Tally.
const fields = 5

// newState returns a state with the numbers of all, or of zeros if all is nil.
func newState(o *options, round int, all []float64) *state {
	s, c, k, d := &state{round: round, all: all}, o.Outputs, o.columns(), o.Dim
	if all == nil {
		s.all = make([]float64, o.numbers())
	}
	s.phase, s.radius, s.size, s.last = phase(s.all[0]), s.all[1], s.all[2], s.all[3]
	at := scalars
	take := func(n int, parts ...*[]float64) {
		for _, part := range parts {
			*part, at = s.all[at:at+n:at+n], at+n
		}
	}
	take(c, &s.target, &s.spread, &s.norm)
	take(k, &s.rho, &s.found)
	take(2*fields*len(o.Path), &s.counts)
	take(d, &s.unit, &s.mean)
	take(c*d, &s.right)
	take(k*d, &s.x, &s.residual, &s.p)
	return s
}

func (o *options) numbers() int {
	c, k := o.Outputs, o.columns()
	return scalars + 3*c + 2*k + 2*fields*len(o.Path) + (2+c+3*k)*o.Dim
}

// tally returns the tally for a λ: side 0 is the training rows, side 1 the held-out rows.
func (s *state) tally(lambda, side int) loss.Tally {
	c := s.counts[(2*lambda+side)*fields:]
	return loss.Tally{Rows: int64(c[0]), Errors: int64(c[1]), Loss: c[2], Weight: c[3], Wrong: c[4]}
}

const (
	stateKind   = "cg state 1"
	partialKind = "cg found 1"
)

func (s *state) encode(o *options) []byte {
	copy(s.all, []float64{float64(s.phase), s.radius, s.size, s.last})
	r := loss.NewState(stateKind, o, s.round)
	loss.Array(r, "state", &s.all, -1)
	return r.Encode()
}

func decodeState(o *options, data []byte) (*state, error) {
	r, round := loss.OpenState(data, stateKind, o, maxRounds+2)
	var all []float64
	loss.Array(r, "state", &all, o.numbers())
	if r.Err != nil {
		return nil, r.Err
	}
	if p := phase(all[0]); p < scaling || p > done || float64(p) != all[0] {
		return nil, fmt.Errorf("unknown phase %g (want 0 to %d)", all[0], done)
	}
	return newState(o, round, all), nil
}

// partial is the partial result of a worker. All of its sums are exact.
type partial struct {
	most []float32 // in scaling: the largest |φ| of each column, and the largest |t|
	// sums has vectors×D sums of features, the sum of each vector's factors, the number of rows, and rows
	// and errors for each λ and side.
	sums []int64
	// exact has Σ c t² and, for each λ and side, the sums of the losses, of the weights, and of the weights
	// of errors.
	exact []exact.Sum
}

func newPartial(r *round) *partial {
	f := &partial{exact: make([]exact.Sum, 1+6*len(r.Path)), sums: make([]int64, len(r.vectors)*(r.Dim+1)+1+4*len(r.Path))}
	if r.phase == scaling {
		f.most = make([]float32, r.Dim+1)
	}
	return f
}

// totals returns sums after the sums of features; rows returns the counts after the factors.
func (f *partial) totals(r *round) []int64 { return f.sums[len(r.vectors)*r.Dim:] }
func (f *partial) rows(r *round) []int64   { return f.totals(r)[len(r.vectors):] }

// arrays reads or writes the arrays, with the exact sums in raw.
func (f *partial) arrays(r *loss.Record, raw *[]byte) {
	loss.Array(r, "most", &f.most, len(f.most))
	loss.Array(r, "sums", &f.sums, len(f.sums))
	loss.Array(r, "exact", raw, -1)
}

func (f *partial) encode() []byte {
	var raw []byte
	for i := range f.exact {
		raw, _ = f.exact[i].AppendBinary(raw)
	}
	r := loss.NewRecord(partialKind)
	f.arrays(r, &raw)
	return r.Encode()
}

// merge adds the partial result in an encoding.
func (f *partial) merge(data []byte) error {
	r, g, raw := loss.OpenRecord(data, partialKind), *f, []byte(nil)
	g.arrays(r, &raw)
	err := r.Err
	for i := 0; err == nil && i < len(f.exact); i++ {
		var t exact.Sum
		raw, err = t.Decode(raw)
		f.exact[i].Merge(&t)
	}
	for j, x := range g.most {
		f.most[j] = max(f.most[j], x)
	}
	for i, v := range g.sums {
		f.sums[i] += v
	}
	return err
}
