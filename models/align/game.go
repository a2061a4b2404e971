package align

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Report describes a round. With more than two classes its values are sums over the classes.
type Report struct {
	Round int // from 1
	Taken int // frequencies, or other atoms, of this round

	Best  float64 // the largest potential found
	Value float64 // F(α_t, q_t)
	Eta   float64 // step of the dual weights
	Moved float64 // root mean square of the gradient's elements

	Zeta, Xi float64 // step and temperature of the search; 0 where there was none

	// Upper and Lower bound the value of the game; see Game.Finish. Upper is known if
	// projections are exact and the rate is not steady, else 0.
	Upper, Lower float64
	Proven       bool // Upper is known
}

// game is the state between rounds other than the dual weights. It is plain data, and all
// fields are state.
type Game struct {
	Lambda float64
	Rate   float64
	Steady bool
	Exact  bool // projections are exact

	N    int64   // rows
	K    int     // weightings of each: 1 for two classes, else their number
	Peak float64 // the largest norm of an atom's features at a row: 1 for a frequency

	Rounds int     // number of finished rounds
	Bound  float64 // G, what an element of the gradient is at most

	// For the bounds of the value, over rounds: Σ F(α_t, q_t), Σ F(α_t, ·) at the best
	// potential, Σ η_t ‖g_t‖², and the last η.
	Values, Lowers, Steps, Eta float64
}

// Game begins a game over n rows with k weightings.
func (o Options) game(n int64, k int) *Game {
	return &Game{Lambda: o.Lambda, Rate: o.Rate, Steady: o.Steady, Exact: o.Alternations == 0, N: n, K: k, Peak: 1}
}

// answer processes the kernel's play of a round: m atoms of equal weight with r features of a
// row in all, atom j having features j, j+m, …; sums (K×r) are Σ_i α_i y_i φ(x_i) over
// all rows, and alpha is Dual.Mean of them. It returns the direction u (K×r) that Dual.Ascend
// takes, and a report with the step Eta; both depend on nothing else.
func (g *Game) answer(sums []float64, r, m int, alpha float64) (u []float32, report Report) {
	u = make([]float32, len(sums))
	potentials := make([]float64, m)
	var mean, largest float64
	for k := range g.K {
		var v float64
		for j := range r {
			c := sums[k*r+j] / float64(g.N)
			v += float64(c*c) / float64(m)
			potentials[j%m] += float64(c * c)
			u[k*r+j] = float32(c / (g.Lambda * float64(m)))
		}
		mean += v
		largest = max(largest, v)
	}
	report = Report{Round: g.Rounds + 1, Taken: m, Best: slices.Max(potentials)}
	report.Value = alpha - mean/(2*g.Lambda)
	// |u·φ(x)| ≤ √(Σ c²/m)·peak/λ by Cauchy's inequality.
	g.Bound = max(g.Bound, 1+math.Sqrt(largest)*g.Peak/g.Lambda)
	report.Eta = g.Rate / g.Bound
	if !g.Steady {
		report.Eta /= math.Sqrt(float64(report.Round))
	}
	g.Values += report.Value
	g.Lowers += alpha - report.Best/(2*g.Lambda)
	return u, report
}

// bracket returns where the multipliers of the projection are after steps of eta from
// weights in [0, 1].
func (g *Game) bracket(eta float64) Bracket {
	most := float64(eta * g.Bound)
	return around(-most, 1+most)
}

// Finish ends the round that Answer began, with the sum of what Dual.Ascend returned for all
// rows, and fills in the rest of its report. The bounds in it are for the value
// min_q max_α F(α, q) of the game, and with it of how far the average q̂ of the measures played is
// from the best one.
//
// Gradient ascent with exact projection and steps η_t that never grow has
//
//	max_α (1/T) Σ_t F(α, q_t) ≤ (1/T) Σ_t F(α_t, q_t) + (1/Tn) (nk/2η_T + ½ Σ_t η_t ‖g_t‖²)
//
// for k weightings of n weights in [0, 1], any two of which are at most √n apart (Zinkevich, "Online convex
// programming and generalized infinitesimal gradient ascent", ICML 2003, Theorem 1, with the gradients as
// they were). The left side is max_α F(α, q̂), no less than the value: this is Upper, and it is
// proven. Lower is (1/T) Σ_t min_q F(α_t, q), no more than min_q F(ᾱ, q) of the average ᾱ, and so no
// more than the value. Its minima are at the largest potential of all, in whose place stands the
// largest one found; so Lower is a bound only as far as the search is good.
func (g *Game) Finish(report *Report, squares float64) {
	g.Rounds++
	g.Steps += float64(report.Eta * squares)
	g.Eta = report.Eta
	report.Moved = math.Sqrt(squares / float64(g.N) / float64(g.K))
	rounds := float64(g.Rounds)
	regret := float64(g.K)/(2*g.Eta) + g.Steps/(2*float64(g.N))
	report.Lower = g.Lowers / rounds
	if report.Proven = g.Exact && !g.Steady; report.Proven {
		report.Upper = (g.Values + regret) / rounds
	}
}

// table is a game over rows in memory.
type table struct {
	*Game
	o    Options
	dual *Dual
	n    int
}

func newTable(class []int32, classes int, o Options) (*table, error) {
	switch {
	case len(class) == 0:
		return nil, errors.New("align: no rows")
	case classes < 2:
		return nil, fmt.Errorf("align: %d classes; at least two are needed", classes)
	}
	for i, c := range class {
		if c < 0 || int(c) >= classes {
			return nil, fmt.Errorf("align: row %d: class %d; have %d classes", i, c, classes)
		}
	}
	if slices.Min(class) == slices.Max(class) {
		return nil, errors.New("align: all rows are of one class; at least two classes are needed")
	}
	t := &table{o: o, dual: newDual(class, classes, o.Start), n: len(class)}
	t.Game = o.game(int64(t.n), t.dual.K)
	t.project()
	return t, nil
}

func (t *table) project() {
	if t.o.Alternations == 0 {
		t.dual.project()
		return
	}
	for k := range t.dual.K {
		alpha, y := t.dual.Row(k)
		alternate(alpha, y, t.o.Alternations)
	}
}

// step plays a round with m atoms of r features, which apply stores for rows lo … hi−1.
func (t *table) step(r, m int, apply func(dst []float32, lo, hi int)) (Report, error) {
	phi := make([]float32, min(t.n, blockRows)*r)
	sums := make([]float64, t.dual.K*r)
	t.each(func(lo, hi int) {
		apply(phi, lo, hi)
		t.dual.addSums(sums, phi, r, lo, hi-lo)
	})
	if err := finite(sums); err != nil {
		return Report{}, fmt.Errorf("align: %w", err)
	}
	u, report := t.answer(sums, r, m, t.dual.mean())
	var squares float64
	t.each(func(lo, hi int) {
		apply(phi, lo, hi)
		squares += t.dual.ascend(report.Eta, u, phi, r, lo, hi-lo)
	})
	t.project()
	t.Finish(&report, squares)
	return report, nil
}

func (t *table) each(f func(lo, hi int)) {
	for lo := 0; lo < t.n; lo += blockRows {
		f(lo, min(t.n, lo+blockRows))
	}
}
