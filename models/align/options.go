package align

import (
	"fmt"
	"math"
)

// Options are the options of the game.
type Options struct {
	// Lambda is λ > 0 in (λ/2)‖w‖² + mean hinge loss; λ = 1/(Cn).
	Lambda float64
	// Frequencies is the number of frequencies to learn, T ≥ 1.
	Frequencies int
	// Take is the largest number of frequencies that a round adds, with equal weights.
	Take int
	// Apart is the smallest distance between two frequencies of the same round, in units of
	// 1/Search.Width. With 0 they may be equal.
	Apart float64
	// Rate > 0 sets the step size of the dual weights in round t: η_t = Rate/(G√t), where G is the largest bound so
	// far on an element of the gradient. So no dual weight moves by more than Rate/√t before the projection. Most
	// elements are far smaller than G, about G/√(2·Take) if the frequencies of a round are uncorrelated, and they
	// shrink in later rounds. With many rounds a larger Rate therefore learns more.
	Rate float64
	// Steady uses η_t = Rate/G in every round. The regret then has no bound.
	Steady bool
	// Start is the initial value of all dual weights, in [0, 1], before the first projection.
	Start float64
	// Alternations is the number of alternating projections instead of an exact one (Algorithm 3 of
	// the paper). 0 projects exactly, as Learner requires.
	Alternations int
	// Search is how peaks of the potential are found. Its seed is the seed of the whole game.
	Search Search
	// Sample is the number of rows that the search of Learn uses, drawn with the seed; 0 uses all
	// rows. Learner requires 0.
	Sample int
}

// PaperOptions returns the options that the paper recommends (Appendix A.1): 500 chains of 100 steps, noise as long
// as the gradient step, ten frequencies per round, and step sizes of the dual weights that fall as 1/√t. width is σ,
// the typical distance of two rows. Three choices differ from the paper:
//
//   - Chains start from a Gaussian of standard deviation 1.5/σ. The paper has 1.5 times the
//     variance 1/σ².
//   - Projections are exact, not alternating.
//   - The ten frequencies are at least ½/σ apart, because in few dimensions many chains end at the
//     same peak. This is a precaution only: on the windmill data, distances from 0 to 4/σ give
//     accuracies within a few standard errors of each other. In many dimensions the chains are far
//     apart anyway.
func PaperOptions(lambda, width float64, frequencies int, seed uint64) Options {
	return Options{
		Lambda: lambda, Frequencies: frequencies, Take: 10, Apart: 0.5, Rate: 1, Start: 1,
		Search: Search{Chains: 500, Steps: 100, Width: width, StartDeviation: 1.5, Step: 1, Noise: 1, Seed: seed},
	}
}

// DemoOptions returns the constants of the authors' public demonstration
// (github.com/yizhangzzz/Not-So-Random-Features): 500 chains of 100 steps from 0.3·N(0, I), one frequency per round,
// dual weights that start at ½ and have a constant rate, and ten alternating projections. At its end the
// demonstration uses features of equal weight with fresh offsets. One thing differs: here the length of a chain's
// steps follows from the gradient, while the demonstration has constants for one data set.
func DemoOptions(lambda, width float64, frequencies int, seed uint64) Options {
	return Options{
		Lambda: lambda, Frequencies: frequencies, Take: 1, Rate: 0.1, Steady: true, Start: 0.5, Alternations: 10,
		Search: Search{Chains: 500, Steps: 100, Width: width, StartDeviation: 0.3 * width, Step: 1, Noise: 0.4, Seed: seed},
	}
}

// HarmonicOptions returns the options of a game with spherical harmonics as the answers (see Harmonics):
// one per round, chosen times in all. The rate is three times the rate of PaperOptions. The two features of a
// frequency have norm 1 at every row, while the square of a harmonic has mean 1 but is larger at
// some rows, so the bound G on the gradient is larger, too.
func HarmonicOptions(lambda float64, chosen int) Options {
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
