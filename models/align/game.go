package align

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/blas"
)

// Report describes a round of the game. With more than two classes, F and the potentials are sums over the classes.
type Report struct {
	Round int // from 1
	Taken int // number of frequencies or harmonics taken in this round

	Best  float64 // their largest potential
	Value float64 // F(α_t, q_t)
	Eta   float64 // step size of the dual weights, η_t
	Moved float64 // root mean square of the elements of the gradient by α

	Zeta, Xi float64 // step and temperature of the search; 0 without a search

	// Upper and Lower bound the value of the game. Upper is 0 unless Proven.
	Upper, Lower float64
	Proven       bool // Upper is a proven bound: projections are exact and the rate is not steady
}

// game is the state of the game between rounds, except for the dual weights. It is plain data.
// Below, an atom is a frequency, with two features, or a harmonic, with one.
type game struct {
	Lambda float64
	Rate   float64
	Steady bool
	Exact  bool // projections are exact

	N    int64   // number of rows
	K    int     // number of weightings
	Peak float64 // largest norm of an atom's features at a row: 1 for a frequency

	Rounds int     // number of finished rounds
	Bound  float64 // G, the largest bound so far on an element of the gradient

	// For the bounds of the value: Σ_t F(α_t, q_t), Σ_t F(α_t, q) for the best single atom q that
	// was taken, Σ_t η_t ‖g_t‖², and the last η_t.
	Values, Lowers, Steps, Eta float64
}

// game begins a game over n rows with k weightings.
func (o Options) game(n int64, k int) *game {
	return &game{Lambda: o.Lambda, Rate: o.Rate, Steady: o.Steady, Exact: o.Alternations == 0, N: n, K: k, Peak: 1}
}

// answer takes the answer of the kernel player in a round: m atoms of equal weight, which have r features in all;
// features j, j+m, … belong to atom j. sums (K×r) are Σ_i α_i y_i φ(x_i) over all rows, and alpha is Dual.mean of all
// rows. It returns the direction u (K×r) for Dual.ascend, u = c/(λm) with c = sums/N, and a report with the step size
// Eta. It also updates g for the bounds of the value; finish does the rest.
func (g *game) answer(sums []float64, r, m int, alpha float64) (u []float32, report Report) {
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
	// |u·φ(x)| ≤ √(Σ c²/m)·Peak/λ by the Cauchy–Schwarz inequality, since ‖φ(x)‖ ≤ √m·Peak.
	g.Bound = max(g.Bound, 1+math.Sqrt(largest)*g.Peak/g.Lambda)
	report.Eta = g.Rate / g.Bound
	if !g.Steady {
		report.Eta /= math.Sqrt(float64(report.Round))
	}
	g.Values += report.Value
	g.Lowers += alpha - report.Best/(2*g.Lambda)
	return u, report
}

// finish ends the round that answer began and completes its report. squares is the sum of the
// results of Dual.ascend over all rows.
//
// The report bounds the value min_q max_α F(α, q) of the game. Let q̂ be the average of the measures q_t played so
// far. Gradient ascent with exact projections and step sizes η_t that never grow has
//
//	max_α (1/T) Σ_t F(α, q_t) ≤ (1/T) Σ_t F(α_t, q_t) + (1/Tn) (nk/2η_T + ½ Σ_t η_t ‖g_t‖²)
//
// for k weightings of n dual weights in [0, 1]; two such vectors of n weights are at most √n apart
// (Zinkevich, "Online convex programming and generalized infinitesimal gradient ascent", ICML 2003,
// Theorem 1, with the actual gradients instead of their bound). The left side is max_α F(α, q̂),
// which is at least the value. The right side is Upper, a proven bound.
//
// Lower is (1/T) Σ_t min_q F(α_t, q). This is at most min_q F(ᾱ, q) for the average ᾱ of the α_t, and so at most the
// value. The minimum is at the largest potential of all frequencies, but the code uses the largest one that the
// search found. So Lower is a bound only if the search finds the peaks.
func (g *game) finish(report *Report, squares float64) {
	g.Rounds++
	g.Steps += float64(report.Eta * squares)
	g.Eta = report.Eta
	report.Moved = math.Sqrt(squares / float64(g.N) / float64(g.K))
	rounds := float64(g.Rounds)
	regret := float64(g.K)/(2*g.Eta) + g.Steps/(2*float64(g.N))
	report.Lower = g.Lowers / rounds
	report.Proven = g.Exact && !g.Steady
	if report.Proven {
		report.Upper = (g.Values + regret) / rounds
	}
}

// table is a game over n rows in memory.
type table struct {
	*game
	o    Options
	dual *Dual
	n    int
}

// newTable begins a game over rows of the given classes: it sets the dual weights to o.Start and projects them. The
// error names the invalid class, or is about too few classes or no rows.
func newTable(rows Rows, o Options) (*table, error) {
	class, classes := rows.Class, rows.Classes
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
	t.game = o.game(int64(t.n), t.dual.K)
	t.project()
	return t, nil
}

// project projects the dual weights onto K, exactly or by alternating projections.
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

// step plays a round in which the kernel player answers with m atoms of r features in all. apply
// stores the features of rows lo … hi−1 in dst ((hi−lo)×r).
func (t *table) step(r, m int, apply func(dst []float32, lo, hi int)) (Report, error) {
	phi := make([]float32, min(t.n, blockRows)*r)
	sums := make([]float64, t.dual.K*r)
	t.each(func(lo, hi int) {
		apply(phi, lo, hi)
		t.dual.addSums(sums, phi[:(hi-lo)*r], lo)
	})
	if err := finite(sums); err != nil {
		return Report{}, fmt.Errorf("align: %w", err)
	}
	u, report := t.answer(sums, r, m, t.dual.mean())
	var squares float64
	t.each(func(lo, hi int) {
		apply(phi, lo, hi)
		squares += t.dual.ascend(report.Eta, u, phi[:(hi-lo)*r], lo)
	})
	t.project()
	t.finish(&report, squares)
	return report, nil
}

// each calls f for the rows lo … hi−1 of each block.
func (t *table) each(f func(lo, hi int)) {
	for lo := 0; lo < t.n; lo += blockRows {
		f(lo, min(t.n, lo+blockRows))
	}
}

var sampleRow = stream.PurposeOf("align/sample")

// Result is the result of Learn.
type Result struct {
	W       []float32 // frequencies in turns (T×d), in the order in which they were found
	Reports []Report  // one per round
	Dual    *Dual     // the dual weights after the last round
}

// Rows are rows in memory with their classes.
type Rows struct {
	X       []float32 // n×D, row-major
	D       int
	Class   []int32 // of each row: 0 … Classes−1
	Classes int
}

// Learn plays the game for rows in memory: Algorithm 2 of Bullins, Zhang & Zhang (2018). The frequencies found have
// equal weights. The result depends on the rows and their order, but not on threads. progress, if not nil, is called
// with the report of each round. It fails if an option or class is invalid, or if values are too large.
func Learn(rows Rows, o Options, threads int, progress func(Report)) (*Result, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	x, d := rows.X, rows.D
	t, err := newTable(rows, o)
	if err != nil {
		return nil, err
	}
	seen := t.sample()
	sample := make([]float32, 0, len(seen)*d)
	for _, i := range seen {
		sample = append(sample, x[i*d:(i+1)*d]...)
	}
	field := NewField(sample, len(seen), d)
	a := make([]float32, t.dual.K*len(seen))
	result := &Result{Dual: t.dual}
	for len(result.W) < o.Frequencies*d {
		for k := range t.dual.K {
			alpha, y := t.dual.Row(k)
			for j, i := range seen {
				a[k*len(seen)+j] = float32(alpha[i]) * y[i]
			}
		}
		peaks := o.Search.run(field, Weightings{a, t.dual.K}, chains{round: t.Rounds, count: o.Search.Chains}, threads)
		if err := peaks.lost(); err != nil {
			return nil, fmt.Errorf("align: %w", err)
		}
		taken := peaks.pick(min(o.Take, o.Frequencies-len(result.W)/d), o.Apart/o.Search.Width)
		w := make([]float32, 0, len(taken)*d)
		for _, j := range taken {
			w = append(w, peaks.W[j*d:(j+1)*d]...)
		}
		result.W = append(result.W, w...)
		packed := blas.Pack(w, nil, len(taken), d)
		report, err := t.step(2*len(taken), len(taken), func(dst []float32, lo, hi int) {
			packed.CosSin(dst, x[lo*d:hi*d], hi-lo, 1, threads)
		})
		if err != nil {
			return nil, err
		}
		report.Zeta, report.Xi = peaks.Zeta, peaks.Xi
		result.Reports = append(result.Reports, report)
		if progress != nil {
			progress(report)
		}
	}
	return result, nil
}

// sample returns the indices of the rows that the search uses, in ascending order.
func (t *table) sample() []int {
	order := make([]int, t.n)
	for i := range order {
		order[i] = i
	}
	if t.o.Sample == 0 || t.o.Sample >= t.n {
		return order
	}
	rank := make([]uint64, t.n)
	for i := range rank {
		rank[i] = stream.New(t.o.Search.Seed, sampleRow, uint64(i)).Uint64()
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Or(cmp.Compare(rank[i], rank[j]), cmp.Compare(i, j)) })
	order = order[:t.o.Sample]
	slices.Sort(order)
	return order
}

// SampleSize returns the number n of rows that a search should use. With n rows, and with probability
// at least 1−δ, the potential differs by at most eps from the potential of the distribution that
// the rows come from, at all frequencies with ‖ω‖ ≤ radius (in radians) at once:
//
//	n ≥ (8R_x²R_ω²/ε²)(d·log(2R_xR_ω/ε) + log(1/δ))      (Bullins, Zhang & Zhang 2018, Theorem 4.4, Appendix E)
//
// Rows have length d and ‖x‖ ≤ norm, and all dual weights are 1. The bound is proven but far too
// large in practice. The error names the invalid argument.
func SampleSize(d int, norm, radius, eps, delta float64) (float64, error) {
	for _, o := range []struct {
		name  string
		value float64
	}{{"norm", norm}, {"radius", radius}, {"eps", eps}, {"delta", delta}} {
		if !(o.value > 0) || math.IsInf(o.value, 1) {
			return 0, fmt.Errorf("align: sample size: %s must be > 0 and finite (have %v)", o.name, o.value)
		}
	}
	if d < 1 || delta >= 1 {
		return 0, fmt.Errorf("align: sample size: want d ≥ 1 and delta < 1 (have %d, %v)", d, delta)
	}
	r := float64(norm * radius)
	net := float64(d) * math.Log(max(1, 2*r/eps)) // log of the size of a net over the frequencies
	per := 8 * r * r / (eps * eps)
	return math.Ceil(per * (float64(net) - math.Log(delta))), nil
}
