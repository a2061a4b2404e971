package align

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/models/search/pairs"
)

// Search finds frequencies of large potential by Langevin dynamics (Bullins, Zhang & Zhang 2018,
// Algorithm 1). Chains start at random and move by
//
//	ω ← ω + ζ ∇v(ω) + √(2ζ/ξ) z,    z ~ N(0, I).
//
// The result of a chain is the best frequency that it visited.
//
// The step ζ and the temperature ξ follow from the gradient, so nothing depends on the scale of the potential. ζ is
// such that ζ‖∇v‖ is the length given by Step. ξ is such that the noise, of length about √(2ζd/ξ), is Noise times as
// long. All random numbers are functions of the seed, the round, the chain and the step.
type Search struct {
	Chains int // number of chains, 1 to 2²⁰
	Steps  int // steps of each chain, 1 to 2²⁰

	// Width is σ > 0, the typical distance of two rows. 1/σ, in radians, is the unit of length of
	// frequencies in the fields below.
	Width float64
	// StartDeviation > 0 is the standard deviation of each coordinate of a chain's first frequency, in units of 1/σ.
	StartDeviation float64 `json:"StartDeviation"`
	// Step > 0 is the length of the gradient part of the first step, in units of 1/σ. The length
	// falls linearly to Step/Steps in the last step, so that chains settle.
	Step float64
	// Noise ≥ 0 is the length of the noise divided by the length of the gradient part.
	Noise float64

	Seed uint64

	// Starts are frequencies in turns (any number × d), or empty. If there are any, every second
	// chain starts at one of them.
	Starts []float32 `json:"-"`
}

// searchResult holds the best frequency of each chain.
type searchResult struct {
	Chain []int64   // numbers of the chains
	W     []float32 // frequencies in turns (chains×d)
	V     []float64 // potentials of the frequencies

	// Zeta and Xi are the step ζ and the temperature ξ: geometric means over the chains and their
	// steps. Both are 0 if no chain moved; Xi is 0 if there was no noise.
	Zeta, Xi float64
}

var (
	langevinStart = stream.PurposeOf("align/start")
	langevinNoise = stream.PurposeOf("align/noise")
)

const (
	maxSteps  = 1 << 20 // also the largest number of chains
	maxRounds = 1 << 24
)

// validate returns an error that names the invalid option.
func (s Search) validate() error {
	fail := func(format string, a ...any) error {
		return fmt.Errorf("align: search: %s", fmt.Sprintf(format, a...))
	}
	switch {
	case s.Chains < 1 || s.Chains > maxSteps:
		return fail("chains must be 1 to %d (have %d)", maxSteps, s.Chains)
	case s.Steps < 1 || s.Steps > maxSteps:
		return fail("steps must be 1 to %d (have %d)", maxSteps, s.Steps)
	case !(s.Width > 0) || math.IsInf(s.Width, 1):
		return fail("width must be > 0 and finite (have %v)", s.Width)
	case !(s.StartDeviation > 0) || math.IsInf(s.StartDeviation, 1):
		return fail("start deviation must be > 0 and finite (have %v)", s.StartDeviation)
	case !(s.Step > 0) || math.IsInf(s.Step, 1):
		return fail("step must be > 0 and finite (have %v)", s.Step)
	case !(s.Noise >= 0) || math.IsInf(s.Noise, 1):
		return fail("noise must be ≥ 0 and finite (have %v)", s.Noise)
	}
	return nil
}

// chains are the chains first … first+count−1 of a round.
type chains struct{ round, first, count int }

// run runs some chains and returns the peaks that they found in the potential of the rows in f under the
// weightings a. The potential of a chain is −1 if it met only NaN, because angles overflow. The result of a chain
// depends neither on which other chains run, nor on threads. It panics if the options or the numbers of chains are
// invalid, or a is too short.
func (s Search) run(f *Field, a Weightings, c chains, threads int) *searchResult {
	if err := s.validate(); err != nil {
		panic(err.Error())
	}
	round, first, count := c.round, c.first, c.count
	if round < 0 || round >= maxRounds || first < 0 || count < 0 || first > s.Chains-count {
		panic("align: run: chains out of range")
	}
	d := f.d
	result := &searchResult{Chain: make([]int64, count), W: make([]float32, count*d), V: make([]float64, count)}
	var (
		at   = make([]float32, count*d)
		v    = make([]float64, count)
		grad = make([]float64, count*d)
		logs = make([]float64, count) // Σ log ζ over the steps of a chain
		made = make([]int, count)     // steps in which the chain moved
	)
	perTurn := 1 / (2 * math.Pi * s.Width)
	for j := range count {
		result.Chain[j], result.V[j] = int64(first+j), -1
		s.start(at[j*d:(j+1)*d], round, first+j)
	}
	for step := range s.Steps {
		f.gradients(v, grad, at, a, threads)
		length := s.Step * float64(s.Steps-step) / float64(s.Steps)
		parallel.Ranges(count, 1, threads, func(lo, hi int) {
			for j := lo; j < hi; j++ {
				w, g := at[j*d:(j+1)*d], grad[j*d:(j+1)*d]
				if v[j] > result.V[j] {
					result.V[j] = v[j]
					copy(result.W[j*d:], w)
				}
				size := norm(g)
				if !(size > 0 && size < math.Inf(1)) {
					continue // the gradient is zero or not finite
				}
				zeta := length / (s.Width * size)
				noise := s.Noise * length / math.Sqrt(float64(d))
				logs[j] += math.Log(zeta)
				made[j]++
				z := stream.New(s.Seed, langevinNoise, uint64(round)<<40|uint64(first+j)<<20|uint64(step))
				for i := range w {
					move := float64(g[i] * (length / size))
					if noise > 0 {
						move += float64(z.Normal() * noise)
					}
					w[i] = float32(float64(w[i]) + float64(move*perTurn))
				}
			}
		})
	}
	result.temper(s, logs, made, d)
	return result
}

// start stores in w the frequency from which a chain of a round starts.
func (s Search) start(w []float32, round, chain int) {
	if n := len(s.Starts) / len(w); n > 0 && chain%2 == 1 { // rounds rotate through the starts
		copy(w, s.Starts[(round*(s.Chains/2)+chain/2)%n*len(w):])
		return
	}
	z := stream.New(s.Seed, langevinStart, uint64(round)<<20|uint64(chain))
	perTurn := 1 / (2 * math.Pi * s.Width)
	for i := range w {
		w[i] = float32(z.Normal() * s.StartDeviation * perTurn)
	}
}

// temper sets Zeta, and Xi = 2ζ/ν² for noise of standard deviation ν in each coordinate. logs has
// each chain's Σ log ζ, made its number of moves.
func (r *searchResult) temper(s Search, logs []float64, made []int, d int) {
	var zeta, noise float64
	steps := 0
	for j, l := range logs {
		zeta += l
		steps += made[j]
	}
	if steps == 0 {
		return
	}
	zeta /= float64(steps)
	r.Zeta = math.Exp(zeta)
	if s.Noise == 0 {
		return
	}
	for step := range s.Steps {
		noise += math.Log(s.Noise * s.Step * float64(s.Steps-step) / float64(s.Steps) / (s.Width * math.Sqrt(float64(d))))
	}
	r.Xi = 2 * math.Exp(zeta-float64(2*noise/float64(s.Steps)))
}

func norm(v []float64) float64 {
	var sum float64
	for _, x := range v {
		sum += float64(x * x)
	}
	return math.Sqrt(sum)
}

// lost returns an error if a chain met no potential other than NaN.
func (r *searchResult) lost() error {
	for j, v := range r.V {
		if v < 0 {
			return fmt.Errorf("chain %d: %w", r.Chain[j], errBeyond)
		}
	}
	return nil
}

// errBeyond is the error of rows whose angles overflow.
var errBeyond = errors.New("the products of rows and a frequency overflow float32; scale the rows or use a larger " +
	"width")

// finite returns an error if one of the sums is infinite or NaN.
func finite(sums []float64) error {
	if !exact.AllFinite(sums) {
		return errBeyond
	}
	return nil
}

// join combines the results of several shares of a round's chains, in the order of the chain numbers.
func join(shares ...*searchResult) *searchResult {
	var all searchResult
	type ref struct{ share, at int }
	var refs []ref
	for s, f := range shares {
		for i := range f.Chain {
			refs = append(refs, ref{s, i})
		}
	}
	slices.SortStableFunc(refs, func(p, q ref) int {
		return cmp.Compare(shares[p.share].Chain[p.at], shares[q.share].Chain[q.at])
	})
	for _, p := range refs {
		f := shares[p.share]
		d := len(f.W) / len(f.Chain)
		all.Chain = append(all.Chain, f.Chain[p.at])
		all.W = append(all.W, f.W[p.at*d:(p.at+1)*d]...)
		all.V = append(all.V, f.V[p.at])
	}
	var zeta, xi, n float64
	for _, f := range shares {
		if f.Zeta > 0 {
			chains := float64(len(f.Chain))
			zeta += float64(chains * math.Log(f.Zeta))
			xi += float64(chains * math.Log(f.Xi)) // −∞ without noise, so Xi is 0
			n += chains
		}
	}
	if n > 0 {
		all.Zeta, all.Xi = math.Exp(zeta/n), math.Exp(xi/n)
	}
	return &all
}

// pick returns the indices of at most k chains in found, by descending potential. It skips a chain
// whose frequency is closer than apart, in radians, to one taken before; ω and −ω count as the same
// frequency. Chains of equal potential keep their order.
func (r *searchResult) pick(k int, apart float64) []int {
	order := make([]int, len(r.V))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(r.V[j], r.V[i]) })
	var taken []int
	for _, i := range order {
		if len(taken) == k {
			break
		}
		near := slices.ContainsFunc(taken, func(j int) bool { return r.distance(i, j) < apart })
		if !near {
			taken = append(taken, i)
		}
	}
	return taken
}

// distance returns min ‖ω_i ± ω_j‖ in radians.
func (r *searchResult) distance(i, j int) float64 {
	d := len(r.W) / len(r.V)
	var minus, plus float64
	for l, u := range r.W[i*d : (i+1)*d] {
		v := r.W[j*d+l]
		m, p := float64(u)-float64(v), float64(u)+float64(v)
		minus += float64(m * m)
		plus += float64(p * p)
	}
	return 2 * math.Pi * math.Sqrt(min(minus, plus))
}

const (
	maxProposals = 1000 // frequencies that package pairs may propose
	probeChains  = 50   // chains that FindStarts runs from random frequencies, for comparison
	needleFactor = 2    // a needle has more than this multiple of the largest potential found at random
)

// needles returns the needles of the field's rows x (n×d), in turns, with their potentials. A needle is a frequency
// of one or two columns that is aligned with the labels beyond chance (package pairs) and whose potential is more
// than twice random(a). random returns the largest potential of random frequencies under the weightings a. Among many
// columns, random frequencies hardly ever come near a needle. Both results are nil if there are none. They do not
// depend on threads.
func (f *Field) needles(x []float32, dual *Dual, threads int,
	random func(a Weightings) float64) (out []float32, v []float64) {
	r := pairs.Rows{X: x, D: f.d, Indices: make([]int, min(dual.N, pairs.MaxRows))}
	for i := range r.Indices {
		r.Indices[i] = i
	}
	var labels [][]float32
	for k := range dual.K {
		_, y := dual.Row(k)
		labels = append(labels, slices.Clone(y[:len(r.Indices)]))
	}
	w := pairs.Frequencies(r, labels, maxProposals, threads)
	if w == nil {
		return nil, nil
	}
	a := dual.Weightings()
	least := needleFactor * random(a)
	for j, potential := range f.potentials(w, len(w)/f.d, a, threads) {
		if potential > least {
			out, v = append(out, w[j*f.d:(j+1)*f.d]...), append(v, potential)
		}
	}
	return out, v
}

// FindStarts sets Starts to the needles of the rows: frequencies of one or two columns that agree with the classes
// much better than the peaks that chains reach from random frequencies. The result does not depend on threads.
func (s *Search) FindStarts(rows Rows, threads int) {
	dual, f := newDual(rows.Class, rows.Classes, 1), NewField(rows.X, len(rows.Class), rows.D)
	dual.project()
	s.Starts, _ = f.needles(rows.X, dual, threads, func(a Weightings) float64 {
		return slices.Max(s.run(f, a, chains{count: min(probeChains, s.Chains)}, threads).V)
	})
}

// AddNeedles appends needles to the frequencies w (m×d, in turns) and their potentials to v. A
// needle is a frequency of one or two columns of the field's rows whose potential, with all dual
// weights 1, is more than twice the largest of v (see Alignment).
func AddNeedles(f *Field, w []float32, v []float64, rows Rows, threads int) ([]float32, []float64) {
	most := func(Weightings) float64 { return slices.Max(v) }
	more, potentials := f.needles(rows.X, newCodes(rows.Class, rows.Classes), threads, most)
	return slices.Concat(w, more), slices.Concat(v, potentials)
}
