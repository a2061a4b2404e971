package align

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features/stream"
)

// Options of the game.
type Options struct {
	// Lambda is λ > 0 of the support vector machine, which multiplies on the mean
	// loss: 1/(Cn).
	Lambda float64
	// Frequencies is how many are learned, T.
	Frequencies int
	// Take is how many frequencies a round takes at most, with equal weights.
	Take int
	// Apart is the least distance of two frequencies of a round, in units of 1/Width of the
	// search; 0 asks for none.
	Apart float64
	// Rate sets the step of the dual weights, η_t = Rate/(G√t) where G bounds the
	// gradient's elements: no weight moves by more than Rate/√t in round t.
	Rate float64
	// Steady takes η_t = Rate/G in every round, which has no bound on the regret.
	Steady bool
	// Start is what the dual weights are before their first projection, in [0, 1].
	Start float64
	// Alternations > 0 replaces the exact projection by so many alternating ones.
	Alternations int
	// Search looks for peaks; its seed is the game's.
	Search Search
	// Sample is how many rows the search sees, drawn by its seed; 0 is all of them.
	Sample int
}

// Paper returns the options that the paper recommends (Appendix A.1): 500 chains of
// 100 steps from a Gaussian of 1.5/σ, noise as long as the gradient's step, ten
// frequencies a round, exact projections, steps of the dual weights that fall as 1/√t.
func Paper(lambda, width float64, frequencies int, seed uint64) Options {
	return Options{
		Lambda: lambda, Frequencies: frequencies, Take: 10, Apart: 0, Rate: 1, Start: 1,
		Search: Search{Chains: 500, Steps: 100, Width: width, Spread: 1.5, Step: 1, Noise: 1, Seed: seed},
	}
}

// Demo returns the constants of the authors' public demonstration
// (github.com/yizhangzzz/Not-So-Random-Features): 500 chains of 100 steps from
// 0.3·N(0, I), one frequency a round, the best of all steps and chains, dual weights that
// start at ½ and take one step of constant rate a round, ten alternating projections. Steps of
// chains are found from the gradient here too: theirs are constants for one data set. What
// they use in the end has equal weights and fresh offsets.
func Demo(lambda, width float64, frequencies int, seed uint64) Options {
	return Options{
		Lambda: lambda, Frequencies: frequencies, Take: 1, Rate: 0.1, Steady: true, Start: 0.5, Alternations: 10,
		Search: Search{Chains: 500, Steps: 100, Width: width, Spread: 0.3 * width, Step: 1, Noise: 0.4, Seed: seed},
	}
}

func (o Options) validate() error {
	fail := func(format string, a ...any) error {
		return fmt.Errorf("align: %s", fmt.Sprintf(format, a...))
	}
	positive := func(v float64) bool { return v > 0 && !math.IsInf(v, 1) }
	switch {
	case !positive(o.Lambda):
		return fail("lambda must be > 0 and finite (have %v)", o.Lambda)
	case o.Frequencies < 1 || o.Frequencies > 1<<24:
		return fail("frequencies must be 1 to %d (have %d)", 1<<24, o.Frequencies)
	case o.Take < 1:
		return fail("take must be at least 1 (have %d)", o.Take)
	case !(o.Apart >= 0):
		return fail("apart must be ≥ 0 (have %v)", o.Apart)
	case !positive(o.Rate):
		return fail("rate must be > 0 and finite (have %v)", o.Rate)
	case !(o.Start >= 0 && o.Start <= 1):
		return fail("start must be in [0, 1] (have %v)", o.Start)
	case o.Alternations < 0 || o.Sample < 0:
		return fail("alternations and sample must be ≥ 0 (have %d, %d)", o.Alternations, o.Sample)
	}
	return o.Search.validate()
}

// Report is what a round did. Sums over classes where there are more than two.
type Report struct {
	Round int // from 1
	Taken int // atoms of this round

	Best  float64 // the largest potential found
	Value float64 // F(α_t, q_t)
	Eta   float64 // step of the dual weights
	Moved float64 // root mean square of the gradient's elements

	Zeta, Xi float64 // step and temperature of the search; 0 where there was none

	// Upper and Lower bound the value of the game; see Certificate. Upper is +Inf
	// where the projection is not exact or the rate steady.
	Upper, Lower float64
}

// Certificate bounds the value min_q max_α F(α, q) of the game from its rounds,
// and with it how far the average q̂ of the measures played is from the best measure.
//
// Gradient ascent with exact projection and steps η_t that never grow has
//
//	max_α (1/T) Σ_t F(α, q_t) ≤ (1/T) Σ_t F(α_t, q_t) + (1/Tn) (nk/2η_T + ½ Σ_t η_t ‖g_t‖²)
//
// for each of k weightings of n weights in [0, 1], any two of which are at most √n apart (Zinkevich
// 2003, with the gradients as they were). The left side is max_α F(α, q̂): this is Upper, and it is
// proven. Lower is (1/T) Σ_t min_q F(α_t, q), which is below the value for every α_t. Its
// minimum is at the largest potential of all, in whose place stands the largest one found; so
// Lower is a bound only as far as the search is good.
type Certificate struct {
	n, k            float64
	rounds          float64
	values, lowers  float64
	steps, eta      float64
	unproven        bool
	lastUp, lastLow float64
}

// NewCertificate begins the certificate of a game over n rows with k weightings.
func NewCertificate(n int64, k int) *Certificate {
	return &Certificate{n: float64(n), k: float64(k)}
}

// Round takes in a round: F(α_t, q_t), F(α_t, ·) at the best potential, η_t and Σ g².
func (c *Certificate) Round(value, lower, eta, squares float64) {
	c.rounds++
	c.values += value
	c.lowers += lower
	c.steps += float64(eta * squares)
	if c.eta > 0 && eta > c.eta {
		c.unproven = true
	}
	c.eta = eta
}

// Bounds returns the bounds after the rounds so far.
func (c *Certificate) Bounds() (upper, lower float64) {
	regret := float64(c.k/(2*c.eta)) + float64(c.steps/(2*c.n))
	if c.unproven {
		regret = math.Inf(1)
	}
	return (c.values + regret) / c.rounds, c.lowers / c.rounds
}

// game is what both kinds of game have in common.
type game struct {
	o       Options
	dual    *Dual
	n       int
	peak    float64 // the largest norm of an atom's features at a row
	bound   float64 // G
	reports []Report
	cert    *Certificate
}

func newGame(class []int32, classes int, o Options) (*game, error) {
	switch {
	case len(class) == 0:
		return nil, errors.New("align: no rows")
	case classes < 2:
		return nil, fmt.Errorf("align: %d classes; learned features need two or more", classes)
	}
	seen := make([]bool, classes)
	kinds := 0
	for i, c := range class {
		if c < 0 || int(c) >= classes {
			return nil, fmt.Errorf("align: row %d: class %d; have %d classes", i, c, classes)
		}
		if !seen[c] {
			seen[c] = true
			kinds++
		}
	}
	if kinds < 2 {
		return nil, errors.New("align: all rows are of one class; learned features need two or more")
	}
	g := &game{o: o, dual: NewDual(class, classes, o.Start), n: len(class), peak: 1}
	g.cert = NewCertificate(int64(g.n), g.dual.K)
	g.project()
	return g, nil
}

func (g *game) project() {
	if g.o.Alternations == 0 {
		g.dual.Project()
		return
	}
	for k := range g.dual.K {
		alpha, y := g.dual.Row(k)
		Alternate(alpha, y, g.o.Alternations)
	}
}

// step plays a round: atoms of features that apply stores for rows lo … hi−1, r of
// a row, in which features are of equal weight, the sum of their squares being that of an
// atom's potential: those of atom j are j, j+atoms, ….
func (g *game) step(r, atoms int, apply func(dst []float32, lo, hi int)) Report {
	phi := make([]float32, min(g.n, blockRows)*r)
	sums := make([]float64, g.dual.K*r)
	g.each(func(lo, hi int) {
		apply(phi, lo, hi)
		g.dual.AddSums(sums, phi, r, lo, hi-lo)
	})
	report := Report{Round: len(g.reports) + 1, Taken: atoms}
	u := make([]float32, len(sums))
	potentials := make([]float64, atoms)
	var mean, largest float64
	for k := range g.dual.K {
		var v float64
		for j := range r {
			c := sums[k*r+j] / float64(g.n)
			v += float64(c*c) / float64(atoms)
			potentials[j%atoms] += float64(c * c)
			u[k*r+j] = float32(c / (g.o.Lambda * float64(atoms)))
		}
		mean += v
		largest = max(largest, v)
	}
	alpha := g.dual.Mean()
	report.Best = slices.Max(potentials)
	report.Value = alpha - mean/(2*g.o.Lambda)
	// |u·φ(x)| ≤ √(Σ c²/atoms)·peak/λ by Cauchy's inequality.
	g.bound = max(g.bound, 1+math.Sqrt(largest)*g.peak/g.o.Lambda)
	report.Eta = g.o.Rate / g.bound
	if !g.o.Steady {
		report.Eta /= math.Sqrt(float64(report.Round))
	}
	var squares float64
	g.each(func(lo, hi int) {
		apply(phi, lo, hi)
		squares += g.dual.Ascend(report.Eta, u, phi, r, lo, hi-lo)
	})
	g.project()
	report.Moved = math.Sqrt(squares / float64(g.dual.K*g.n))
	g.cert.Round(report.Value, alpha-report.Best/(2*g.o.Lambda), report.Eta, squares)
	report.Upper, report.Lower = g.cert.Bounds()
	if g.o.Alternations > 0 || g.o.Steady {
		report.Upper = math.Inf(1)
	}
	g.reports = append(g.reports, report)
	return report
}

func (g *game) each(f func(lo, hi int)) {
	for lo := 0; lo < g.n; lo += blockRows {
		f(lo, min(g.n, lo+blockRows))
	}
}

var sampleRow = stream.PurposeOf("align/sample")
