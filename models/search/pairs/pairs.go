package pairs

import (
	"cmp"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/blas"
)

const (
	// MaxRows is the largest number of rows that callers should pass; Memory assumes it.
	MaxRows = 4000
	// Bounds on the waves of all columns, on the multiplications for pairs, and on the triples of waves times rows.
	maxWaves   = 2048
	maxWork    = 4e9
	maxTriples = 7e8
	// minRows is the smallest number of rows to use if there are many columns.
	minRows = 500
	// clip bounds the magnitude of standardised columns, waves and labels, so that single rows do not dominate.
	clip = 3
)

// frequencies has sets of ω for standardised columns. The first set for which there is time is used; see
// frequenciesFor.
var frequencies = [][]float32{{0.75, 1.5, 3, 6}, {1, 3}, {1.5}}

// Rows are some rows of the matrix X, which is row-major with D numbers in each row.
type Rows struct {
	X       []float32
	D       int
	Indices []int // of the rows in X
}

// Weights returns for each column the sum of z over the products with this column whose z exceeds chance. It
// returns nil if there are none, or if there are too many columns. Each slice of labels has one number for each
// of the rows, and is overwritten. The result does not depend on threads.
func Weights(r Rows, labels [][]float32, threads int) []float64 {
	f, r, labels := testPairs(r, labels, threads, false)
	m := float64(2 * r.D)
	triples := m * m * m / 6 * float64(len(labels))
	n := len(r.Indices)
	if rows := min(n, int(maxTriples/triples)); f != nil && !f.found && rows >= min(n, minRows) {
		f.bound, r.Indices = bound(triples), r.Indices[:rows]
		f.triples(r, labels)
	}
	if f == nil || !f.found {
		return nil
	}
	return f.weights
}

// Best returns the two columns of the product with the largest z, and whether any z exceeds chance. It overwrites
// labels.
func Best(r Rows, labels [][]float32, threads int) (columns [2]int, found bool) {
	if f, _, _ := testPairs(r, labels, threads, false); f != nil {
		return f.best, f.found
	}
	return columns, false
}

// testPairs tests products of two columns and, if singles is true, waves of single columns. It returns nil if
// there are too many columns or no labels that vary, and otherwise a finder with the rows and the standardised
// labels that were used.
func testPairs(r Rows, labels [][]float32, threads int, singles bool) (*finder, Rows, [][]float32) {
	chosen, n := frequenciesFor(len(r.Indices), r.D, len(labels))
	labels = slices.DeleteFunc(slices.Clone(labels), func(y []float32) bool { return standardise(y[:n]) == 0 })
	if n == 0 || len(labels) == 0 {
		return nil, r, labels
	}
	r.Indices = r.Indices[:n]
	f := &finder{weights: make([]float64, r.D), threads: threads}
	m := float64(2 * len(chosen) * r.D)
	f.bound = bound(m * m / 2 * float64(len(labels)))
	waves, deviations := r.waves(chosen)
	if singles {
		f.frequencies, f.deviations, f.sums = chosen, deviations, make([]float64, len(chosen)*r.D*len(chosen)*r.D)
	}
	for _, y := range labels {
		f.find(y[:n], waves, 2*len(chosen))
	}
	return f, r, labels
}

// bound returns the number that the largest z of a number of products exceeds by chance with a probability of at
// most 14%.
func bound(products float64) float64 { return 2*math.Log(products) + 4 }

// finder collects the products whose z exceeds the bound.
type finder struct {
	weights []float64
	bound   float64
	found   bool // whether any z is above the bound
	largest float64
	best    [2]int // columns of the product with the largest z
	// sums has the sum of the z above the bound for any two frequencies of columns, for single ones on the diagonal.
	// Frequency k of column j has index j·len(frequencies)+k. sums is nil unless Frequencies needs it.
	sums        []float64
	frequencies []float32 // ω of each standardised column
	deviations  []float64 // of the columns
	threads     int
}

// find tests products of y with two waves of different columns. waves (n×m) has per waves for each of the last
// columns. Products above the bound also count for the columns in others.
func (f *finder) find(y, waves []float32, per int, others ...int) {
	n := len(y)
	m := len(waves) / n
	first := len(f.weights) - m/per
	weighted, products := make([]float32, n*m), make([]float32, m*m)
	for i := range n {
		for j, u := range waves[i*m : (i+1)*m] {
			weighted[i*m+j] = y[i] * u
		}
	}
	blas.Gradient(products, weighted, waves, n, m, m, f.threads)
	for a := range m {
		if f.sums != nil {
			f.findSingle(weighted[a:], a, m, n)
		}
		for b := a + 1; b < m; b++ {
			sum := float64(products[a*m+b])
			z := float64(sum*sum) / float64(n)
			if j, k := a/per, b/per; j != k && z > f.bound {
				for _, c := range append(others, first+j, first+k) {
					f.weights[c] += z
				}
				f.found = true
				if f.sums != nil {
					f.sums[a/2*(m/2)+b/2] += z
				}
				if z > f.largest {
					f.largest, f.best = z, [2]int{first + j, first + k}
				}
			}
		}
	}
}

// triples tests products of the waves of three columns, with one frequency each.
func (f *finder) triples(r Rows, labels [][]float32) {
	n := len(r.Indices)
	waves, _ := r.waves(frequencies[len(frequencies)-1])
	by := make([]float32, n)
	for a := range 2 * (r.D - 2) {
		j := a / 2
		var rest []float32 // of the columns after j
		for i := range n {
			rest = append(rest, waves[2*(i*r.D+j+1):2*(i+1)*r.D]...)
		}
		for _, y := range labels {
			for i := range n {
				by[i] = y[i] * waves[2*i*r.D+a]
			}
			if standardise(by) > 0 {
				f.find(by, rest, 2, j)
			}
		}
	}
}

// frequenciesFor returns the first set of frequencies for which there is time with n rows of d columns; or else
// the smallest set and fewer rows; or nil and 0 if there is no time for this either.
func frequenciesFor(n, d, labels int) (chosen []float32, rows int) {
	for _, list := range frequencies {
		m := 2 * len(list) * d
		rows = int(maxWork / (float64(m) * float64(m) * float64(labels)))
		if m <= maxWaves && rows >= n {
			return list, n
		}
	}
	if 2*d > maxWaves || rows < minRows {
		return nil, 0
	}
	return frequencies[len(frequencies)-1], rows
}

// Memory bounds the bytes that Weights and Best need for n rows of d numbers. Frequencies needs half as many in
// addition.
func Memory(n, d int) int64 {
	chosen, n := frequenciesFor(min(n, MaxRows), d, 1)
	m := int64(2 * len(chosen) * d)
	return 4 * (2*int64(n)*m + m*m)
}

// waves returns the standardised cosines and sines of the columns (row-major, 2·len(chosen) for each column) and the
// standard deviations of the columns.
func (r Rows) waves(chosen []float32) (out []float32, deviations []float64) {
	n, per := len(r.Indices), 2*len(chosen)
	m := r.D * per
	out, deviations = make([]float32, n*m), make([]float64, r.D)
	column, cos, sin := make([]float32, n), make([]float32, n), make([]float32, n)
	for j := range r.D {
		for i, row := range r.Indices {
			column[i] = r.X[row*r.D+j]
		}
		deviations[j] = standardise(column)
		if deviations[j] == 0 {
			continue
		}
		for k, frequency := range chosen {
			for i, v := range column {
				sin[i] = v * (frequency / (2 * math.Pi)) // in turns
			}
			blas.CosSinTurns(cos, sin, sin, 1)
			for c, wave := range [][]float32{cos, sin} {
				if standardise(wave) == 0 {
					continue
				}
				for i, v := range wave {
					out[i*m+j*per+2*k+c] = v
				}
			}
		}
	}
	return out, deviations
}

// standardise changes x to mean 0 and variance 1, clips it, and subtracts the mean once more. It returns the
// standard deviation that x had; 0, with x unchanged, if the numbers are nearly equal.
func standardise(x []float32) float64 {
	n := float64(len(x))
	var sum, squares float64
	for _, v := range x {
		sum += float64(v)
	}
	mean := sum / n
	for _, v := range x {
		e := float64(v) - mean
		squares += float64(e * e)
	}
	deviation := math.Sqrt(squares / n)
	if !(deviation > 1e-6) {
		return 0
	}
	sum = 0
	for i, v := range x {
		x[i] = float32(max(-clip, min(clip, (float64(v)-mean)/deviation)))
		sum += float64(x[i])
	}
	for i := range x {
		x[i] -= float32(sum / n)
	}
	return deviation
}

// Frequencies returns the frequencies of one or two columns that are aligned with the labels beyond chance, in
// turns (row-major, r.D numbers each). Those with the largest z come first; there are at most limit. It returns
// nil if there are too many columns, and overwrites labels.
func Frequencies(r Rows, labels [][]float32, limit, threads int) (out []float32) {
	f, r, _ := testPairs(r, labels, threads, true)
	if f == nil {
		return nil
	}
	var order []int
	for at, z := range f.sums {
		if z > 0 {
			order = append(order, at)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(f.sums[b], f.sums[a]), cmp.Compare(a, b)) })
	var turns []float32 // by columns
	for _, deviation := range f.deviations {
		for _, frequency := range f.frequencies {
			turns = append(turns, frequency/float32(2*math.Pi*deviation))
		}
	}
	for _, at := range order {
		a, b := at/len(turns), at%len(turns)
		for _, sign := range []float32{1, -1} { // a product of two waves has the sum and the difference
			if len(out) < limit*r.D && (a != b || sign > 0) {
				w := make([]float32, r.D)
				w[b/len(f.frequencies)], w[a/len(f.frequencies)] = sign*turns[b], turns[a]
				out = append(out, w...)
			}
		}
	}
	return out
}

// findSingle tests a single wave, a of m, for n rows. weighted starts at its product with the label of the first row;
// the next row follows m elements later.
func (f *finder) findSingle(weighted []float32, a, m, n int) {
	var sum float64
	for i := range n {
		sum += float64(weighted[i*m])
	}
	if z := float64(sum*sum) / float64(n); z > f.bound {
		f.sums[a/2*(m/2)+a/2] += z
	}
}
