package align

import (
	"fmt"
	"math"
)

// Options of the game.
type Options struct {
	// Lambda is λ of the support vector machine, which multiplies on the mean loss:
	// 1/(Cn).
	Lambda float64
	// Frequencies is the number of frequencies to learn, T.
	Frequencies int
	// Take is the largest number of frequencies of a round, which have equal weights.
	Take int
	// Apart is the least distance of two frequencies of a round, in units of 1/Width of the
	// search; 0 asks for none.
	Apart float64
	// Rate sets the step of the dual weights, η_t = Rate/(G√t) where G bounds the
	// gradient's elements so far: no weight moves by more than Rate/√t in round t. Elements are
	// seldom near their bound, G/√(2·Take) where frequencies do not go along with each other, and
	// bounds of later rounds are smaller; so with many rounds a larger rate learns more.
	Rate float64
	// Steady takes η_t = Rate/G in every round, which has no bound on the regret.
	Steady bool
	// Start is the initial value of the dual weights before the first projection, in [0, 1].
	Start float64
	// Alternations > 0 replaces the exact projection by so many alternating ones. It is for rows in
	// memory, as Sample is.
	Alternations int
	// Search looks for peaks; its seed is the game's.
	Search Search
	// Sample is the number of rows that the search uses, drawn by its seed; 0 uses all.
	Sample int
}

// Paper returns the options that the paper recommends (Appendix A.1): 500 chains of 100 steps from
// a Gaussian of 1.5/σ, noise as long as the gradient's step, ten frequencies a round, exact
// projections, steps of the dual weights that fall as 1/√t. That the ten are ½/σ apart is ours: in
// few dimensions many chains end on one peak. It is no more than a precaution: on the windmill
// distances from 0 to 4/σ gave accuracies that differ by no more than a few standard errors of the
// test, in no order. In many dimensions chains are far apart anyhow.
func Paper(lambda, width float64, frequencies int, seed uint64) Options {
	return Options{
		Lambda: lambda, Frequencies: frequencies, Take: 10, Apart: 0.5, Rate: 1, Start: 1,
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

// Harmonic returns the options of a game that chooses spherical harmonics (Harmonics), one a round.
// Steps are three times as long as the paper's, which are for features of norm 1: harmonics have it
// in the mean alone, so that the bound of their gradients is larger.
func Harmonic(lambda float64, chosen int) Options {
	return Options{Lambda: lambda, Frequencies: chosen, Take: 1, Rate: 3, Start: 1}
}

// Validate returns an error that names the invalid option.
func (o Options) Validate() error {
	fail := func(format string, a ...any) error {
		return fmt.Errorf("align: %s", fmt.Sprintf(format, a...))
	}
	positive := func(v float64) bool { return v > 0 && !math.IsInf(v, 1) }
	switch {
	case !(o.Lambda >= 1e-15 && o.Lambda <= 1e15):
		return fail("lambda must be 1e-15 to 1e15 (have %v)", o.Lambda)
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
