package search

import (
	"context"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models/agop"
)

// Two columns may matter only together: their product with waves, or their parity. No kernel of many columns
// sees that, so no metric is learned. Products of waves of two columns show such pairs:
//
//	z = n·corr²(y, u_j·u_k),   u_j one of cos(ωt), sin(ωt) of the standardised column t_j
//
// Where y does not depend on the columns, z is about χ² with one degree of freedom, so that of m products the
// largest stays below 2 ln m + 4 but for chance. This is the kernel alignment of Bullins et al. with
// frequencies of two columns. Products above the bound make a first metric, from which metrics are learned
// as from others.

const (
	// productRows, mostWaves and productWork bound the rows, the waves and the multiplications of products.
	productRows = 4000
	mostWaves   = 1024
	productWork = 4e9
	// mostCodes is the number of combinations of classes that products are aligned with.
	mostCodes = 3
	// unexplained is the share of the loss without features from which pairs are looked for.
	unexplained = 0.2
	// clipWave bounds standardised waves and labels, whose squares would otherwise have heavy tails.
	clipWave = 3
)

// waveScales are frequencies of standardised columns, for as many as there is time for.
var waveScales = [][]float32{{0.75, 1.5, 3, 6}, {1, 3}, {1.5}}

// pairRoot is how a metric follows from the products: other columns keep more weight than in learned metrics.
var pairRoot = agop.Root{Floor: 0.1, Power: 1}

// products tries metrics of columns that matter in pairs, if the best candidate does not explain the labels,
// and metrics that are learned from these.
func (r *runner) products(ctx context.Context, field []*entry, l *level) ([]*entry, error) {
	view := r.options.Views[0].Name
	best, smooth := field[0], r.plain(field, view)
	if best.judged == nil || smooth == nil || !(best.mean()/l.scale > float64(unexplained*r.nullLoss(l))) {
		return field, nil
	}
	found := make([]*learned, len(l.train)+1)
	for part := range found {
		train := l.whole
		if part < len(l.train) {
			train = l.train[part]
		}
		weights := r.pairWeights(r.views[view], train)
		if weights == nil || part == 0 && r.weighs(field, view, weights) {
			return field, nil
		}
		d, err := pairRoot.Diagonal(weights)
		if err != nil {
			return field, nil
		}
		found[part] = &learned{recipe: d}
	}
	var first []*entry
	for _, w := range firstWidths {
		c := Candidate{View: view, Kernel: smooth.Kernel, Width: w, Metric: Diagonal, Products: true}
		first = append(first, &entry{Candidate: c, start: coarse, metric: found})
	}
	if err := r.tryAll(ctx, first, l); err != nil {
		return field, err
	}
	field = append(field, first...)
	order(first)
	var err error
	if first[0].judged != nil && first[0].mean() < worth*best.mean() {
		field, err = r.rounds(ctx, first[0], Diagonal, r.kernelsFor(best, smooth, l), field, l)
	}
	order(field)
	return field, err
}

// nullLoss is the loss without features, as a share of l.scale: 1, or the entropy of the classes.
func (r *runner) nullLoss(l *level) float64 {
	if r.grid != nil {
		return 1
	}
	counts, total := make([]float64, r.outputs), 0.0
	for _, i := range l.whole {
		counts[int(r.y[i])] += r.weight(i)
		total += r.weight(i)
	}
	var h float64
	for _, c := range counts {
		if c > 0 {
			h -= float64(c / total * math.Log(c/total))
		}
	}
	return h
}

// weighs tells whether a metric that was learned in a view, and does better than none, already stretches the
// columns with most of the weights.
func (r *runner) weighs(field []*entry, view string, weights []float64) bool {
	best := func(metric string) int {
		return slices.IndexFunc(field, func(e *entry) bool { return e.judged != nil && e.View == view && e.Metric == metric })
	}
	at, plain := best(Diagonal), best(NoMetric)
	if at < 0 || plain < 0 || !(field[at].mean() < worth*field[plain].mean()) {
		return false
	}
	of, ok := field[at].metric[0].recipe.(preprocess.DiagonalMetric)
	if !ok {
		return false
	}
	var all, known float64
	for j, w := range weights {
		all += w
		if of.A[j] >= 1 {
			known += w
		}
	}
	return known >= float64(0.8*all)
}

// pairWeights returns for each column of a view the sum of z over the products with it that are above the
// bound, by the rows of train; nil if there are none.
func (r *runner) pairWeights(s *scaled, train []int) []float64 {
	train = train[:min(len(train), productRows)]
	codes := r.codes(train)
	scales := scalesFor(len(train), s.d, len(codes))
	if scales == nil || codes == nil {
		return nil
	}
	waves := s.waves(train, scales)
	per := 2 * len(scales)
	n, m := len(train), per*s.d
	bound := float64(2*math.Log(float64(m)*float64(m)/2*float64(len(codes)))) + 4
	weights, some := make([]float64, s.d), false
	times, product := make([]float32, n*m), make([]float32, m*m)
	for _, y := range codes {
		for i := range n {
			for j, u := range waves[i*m : (i+1)*m] {
				times[i*m+j] = y[i] * u
			}
		}
		clear(product)
		blas.Gradient(product, times, waves, n, m, m, r.options.Threads)
		for a := range m {
			for b := a + 1; b < m; b++ {
				sum := float64(product[a*m+b])
				z := float64(sum*sum) / float64(n)
				if j, k := a/per, b/per; j != k && z > bound {
					weights[j] += z
					weights[k] += z
					some = true
				}
			}
		}
	}
	if !some {
		return nil
	}
	return weights
}

// scalesFor returns the frequencies that there is time for; nil for none.
func scalesFor(n, d, codes int) []float32 {
	for _, scales := range waveScales {
		m := 2 * len(scales) * d
		if m <= mostWaves && float64(n)*float64(m)*float64(m)*float64(codes) <= productWork {
			return scales
		}
	}
	return nil
}

// productBytes bounds the memory of the products of n rows of d numbers.
func productBytes(n, d int) int64 {
	n = min(n, productRows)
	m := int64(2 * len(scalesFor(n, d, 1)) * d)
	return 4 * (2*int64(n)*m + m*m)
}

// waves returns cosines and sines of the standardised columns of those rows at the scales, themselves
// standardised: 2·len(scales) for each column.
func (s *scaled) waves(train []int, scales []float32) []float32 {
	n, per := len(train), 2*len(scales)
	m := s.d * per
	out := make([]float32, n*m)
	column, cos, sin := make([]float32, n), make([]float32, n), make([]float32, n)
	for j := range s.d {
		for i, row := range train {
			column[i] = s.x[row*s.d+j]
		}
		if !standardise(column) {
			continue
		}
		for k, scale := range scales {
			for i, v := range column {
				sin[i] = v * (scale / (2 * math.Pi))
			}
			blas.CosSinTurns(cos, sin, sin, 1)
			for c, wave := range [][]float32{cos, sin} {
				if !standardise(wave) {
					continue
				}
				for i, v := range wave {
					out[i*m+j*per+2*k+c] = v
				}
			}
		}
	}
	return out
}

// standardise gives the numbers mean 0 and variance 1, bounds them, and makes their mean 0 again; false if they
// are all equal.
func standardise(x []float32) bool {
	var sum, squares float64
	for _, v := range x {
		sum += float64(v)
	}
	mean := sum / float64(len(x))
	for _, v := range x {
		e := float64(v) - mean
		squares += float64(e * e)
	}
	deviation := math.Sqrt(squares / float64(len(x)))
	if !(deviation > 1e-6) {
		return false
	}
	sum = 0
	for i, v := range x {
		x[i] = float32(max(-clipWave, min(clipWave, (float64(v)-mean)/deviation)))
		sum += float64(x[i])
	}
	for i := range x {
		x[i] -= float32(sum / float64(len(x)))
	}
	return true
}

// codes returns what products are aligned with: the standardised targets, or some combinations of the classes.
func (r *runner) codes(train []int) [][]float32 {
	var out [][]float32
	number := 1
	if r.grid == nil {
		number = min(r.outputs-1, mostCodes)
	}
	for c := range number {
		y := make([]float32, len(train))
		for at, i := range train {
			switch {
			case r.grid != nil:
				y[at] = r.scaled[i]
			case r.outputs-1 <= mostCodes:
				y[at] = float32(r.code(i, c))
			default: // a class is a 1 in some of the combinations, by the digits of its number
				y[at] = float32(uint32(r.y[i]+1) * 0x9e3779b1 >> (31 - c) & 1)
			}
		}
		if standardise(y) {
			out = append(out, y)
		}
	}
	return out
}
