package align

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/parallel"
)

// Search finds frequencies of large potential by Langevin dynamics (Bullins,
// Zhang & Zhang 2018, Algorithm 1): chains that start at random and go
//
//	ω ← ω + ζ ∇v(ω) + √(2ζ/ξ) z,    z ~ N(0, I),
//
// each of which returns the best point that it visited.
//
// Step and temperature are found from the gradient, so that nothing depends on the
// scale of the potential: ζ makes ζ‖∇v‖ the length that Step says, and ξ makes the
// noise, which has length √(2ζd/ξ) nearly, Noise times as long. All random numbers are
// functions of the seed, the round, the chain and the step.
type Search struct {
	Chains int // number of chains, up to 2²⁰
	Steps  int // of each chain, up to 2²⁰

	// Width is the typical distance of two rows, σ > 0: 1/σ is the unit of lengths of
	// frequencies below, in radians.
	Width float64
	// Spread is the standard deviation of each coordinate of the first frequency.
	Spread float64
	// Step is the length of the gradient's share of the first step. It falls linearly, to
	// Step/Steps in the last one, so that chains settle.
	Step float64
	// Noise is the length of the noise over the length of the gradient's share.
	Noise float64

	Seed uint64

	// Starts are frequencies in turns. If there are any, every second chain starts from one of them.
	Starts []float32 `json:"-"`
}

// SearchResult is where chains have ended.
type SearchResult struct {
	Chain []int     // their numbers
	W     []float32 // frequencies, in turns (chains×d)
	V     []float64 // their potentials

	// Zeta and Xi are step and temperature of the dynamics, geometric means over
	// chains and the steps they made; 0 where there were none, or no noise.
	Zeta, Xi float64
}

var (
	langevinStart = stream.PurposeOf("align/start")
	langevinNoise = stream.PurposeOf("align/noise")
)

const (
	maxSteps  = 1 << 20 // and chains
	maxRounds = 1 << 24
)

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
	case !(s.Spread > 0) || math.IsInf(s.Spread, 1):
		return fail("spread must be > 0 and finite (have %v)", s.Spread)
	case !(s.Step > 0) || math.IsInf(s.Step, 1):
		return fail("step must be > 0 and finite (have %v)", s.Step)
	case !(s.Noise >= 0) || math.IsInf(s.Noise, 1):
		return fail("noise must be ≥ 0 and finite (have %v)", s.Noise)
	}
	return nil
}

// Run runs the chains first … first+count−1 of a round to find peaks of the
// potential of the rows in f under the k weightings a (k×n). A chain's end does not
// depend on which others run. It panics if the options do not fit, or a is too short.
func (s Search) Run(f *Field, a []float32, k, round, first, count, threads int) *SearchResult {
	if err := s.validate(); err != nil {
		panic(err.Error())
	}
	if round < 0 || round >= maxRounds || first < 0 || count < 0 || first > s.Chains-count {
		panic("align: Run: chains out of range")
	}
	d := f.d
	found := &SearchResult{Chain: make([]int, count), W: make([]float32, count*d), V: make([]float64, count)}
	var (
		at   = make([]float32, count*d)
		v    = make([]float64, count)
		grad = make([]float64, count*d)
		logs = make([]float64, count) // Σ log ζ
		made = make([]int, count)     // steps
	)
	perTurn := 1 / (2 * math.Pi * s.Width)
	for j := range count {
		found.Chain[j], found.V[j] = first+j, -1
		if n, c := len(s.Starts)/d, first+j; n > 0 && c%2 == 1 { // rounds take the starts in turn
			copy(at[j*d:(j+1)*d], s.Starts[(round*(s.Chains/2)+c/2)%n*d:])
			continue
		}
		z := stream.New(s.Seed, langevinStart, uint64(round)<<20|uint64(first+j))
		for i := range d {
			at[j*d+i] = float32(z.Normal() * s.Spread * perTurn)
		}
	}
	for step := range s.Steps {
		f.Gradient(v, grad, at, count, a, k, threads)
		length := s.Step * float64(s.Steps-step) / float64(s.Steps)
		parallel.Ranges(count, 1, threads, func(lo, hi int) {
			for j := lo; j < hi; j++ {
				w, g := at[j*d:(j+1)*d], grad[j*d:(j+1)*d]
				if v[j] > found.V[j] {
					found.V[j] = v[j]
					copy(found.W[j*d:], w)
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
	found.temper(s, logs, made, d)
	return found
}

// temper fills in Zeta, and Xi = 2ζ/ν² for noise of standard deviation ν a coordinate.
func (found *SearchResult) temper(s Search, logs []float64, made []int, d int) {
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
	found.Zeta = math.Exp(zeta)
	if s.Noise == 0 {
		return
	}
	for step := range s.Steps {
		noise += math.Log(s.Noise * s.Step * float64(s.Steps-step) / float64(s.Steps) / (s.Width * math.Sqrt(float64(d))))
	}
	found.Xi = 2 * math.Exp(zeta-float64(2*noise/float64(s.Steps)))
}

func norm(v []float64) float64 {
	var sum float64
	for _, x := range v {
		sum += float64(x * x)
	}
	return math.Sqrt(sum)
}

// lost returns an error if a chain has met no potential that is a number.
func (found *SearchResult) lost() error {
	for j, v := range found.V {
		if v < 0 {
			return fmt.Errorf("chain %d: %w", found.Chain[j], errBeyond)
		}
	}
	return nil
}

// errBeyond is the error for rows whose angles overflow.
var errBeyond = errors.New("the products of rows and a frequency overflow float32; scale the rows or use a larger width")

// finite returns an error if a sum of features is not a number.
func finite(sums []float64) error {
	for _, s := range sums {
		if !(s-s == 0) {
			return errBeyond
		}
	}
	return nil
}

// join combines the chains of several shares of a round, in the order of their
// numbers.
func join(shares ...*SearchResult) *SearchResult {
	var all SearchResult
	type place struct{ share, at int }
	var places []place
	for s, f := range shares {
		for i := range f.Chain {
			places = append(places, place{s, i})
		}
	}
	slices.SortStableFunc(places, func(p, q place) int {
		return cmp.Compare(shares[p.share].Chain[p.at], shares[q.share].Chain[q.at])
	})
	for _, p := range places {
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
			xi += float64(chains * math.Log(f.Xi)) // −∞ where there was no noise
			n += chains
		}
	}
	if n > 0 {
		all.Zeta, all.Xi = math.Exp(zeta/n), math.Exp(xi/n)
	}
	return &all
}

// Pick returns which of the chains to take: at most k, the largest potentials
// first, none nearer to one taken before than `apart`, a length of ω in radians,
// where ω and −ω are the same. Of equal potentials the first chain's is taken.
func (found *SearchResult) Pick(k int, apart float64) []int {
	order := make([]int, len(found.V))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(found.V[j], found.V[i]) })
	var taken []int
	for _, i := range order {
		if len(taken) == k {
			break
		}
		near := slices.ContainsFunc(taken, func(j int) bool { return found.distance(i, j) < apart })
		if !near {
			taken = append(taken, i)
		}
	}
	return taken
}

// distance returns min ‖ω_i ± ω_j‖ in radians.
func (found *SearchResult) distance(i, j int) float64 {
	d := len(found.W) / len(found.V)
	var minus, plus float64
	for l, u := range found.W[i*d : (i+1)*d] {
		v := found.W[j*d+l]
		m, p := float64(u)-float64(v), float64(u)+float64(v)
		minus += float64(m * m)
		plus += float64(p * p)
	}
	return 2 * math.Pi * math.Sqrt(min(minus, plus))
}
