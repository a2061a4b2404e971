package fourier

import (
	"math"
	"math/bits"

	"github.com/bochner-ml/bochner/features/stream"
)

// leastSize is the smallest size of a structured block: the frequencies of
// smaller blocks are far from normal, and cost as much.
const leastSize = 64

var sign = stream.PurposeOf("fourier/sign")

// size returns d', the size of a structured block.
func (d *draw) size() int { return max(leastSize, 1<<bits.Len(uint(d.in-1))) }

// structuredTurns implements turns for the structured draw, as a dense matrix. A block is
//
//	√d'/σ · H D₁ H D₂ H D₃,   H normalised          (Yu et al. 2016, SORF)
//
// of which the first d columns are used. Without normalisation H has elements ±1, the rows are
// whole numbers, exact in float64, and the factor is 1/(σ·d').
func (d *draw) structuredTurns(w []float32, first, n int) {
	size := d.size()
	// Sizes are powers of two, so only 1/(2πσ) is rounded.
	factor := 1 / float64(2*math.Pi*d.width) / float64(size)
	each(n, 8*size, func(lo, hi int) {
		row := make([]float64, size)
		for j := lo; j < hi; j++ {
			block, k := (first+j)/size, (first+j)%size
			// Row k is its transpose's column: D₃ H D₂ H D₁ H e_k.
			clear(row)
			row[k] = 1
			for i := range 3 {
				hadamard(row)
				words := d.signs(block, i)
				for e := range row {
					if words[e/64]>>(e%64)&1 != 0 {
						row[e] = -row[e]
					}
				}
			}
			to := w[j*d.in : (j+1)*d.in]
			for e := range to {
				to[e] = float32(row[e] * factor)
			}
		}
	})
}

// signs returns the diagonal of D_{i+1} of a block, one bit per element, set for −1:
// element e is bit e mod 64 of word e/64 of the stream.
func (d *draw) signs(block, i int) []uint64 {
	s := stream.New(d.seed, sign, 3*uint64(block)+uint64(i))
	words := make([]uint64, d.size()/64)
	for j := range words {
		words[j] = s.Uint64()
	}
	return words
}

// hadamard multiplies x, whose length is a power of two, by the Hadamard matrix of
// elements ±1 in Sylvester's order.
func hadamard(x []float64) {
	for h := 1; h < len(x); h *= 2 {
		for i := 0; i < len(x); i += 2 * h {
			a, b := x[i:i+h], x[i+h:][:h]
			for j, v := range a {
				a[j], b[j] = v+b[j], v-b[j]
			}
		}
	}
}
