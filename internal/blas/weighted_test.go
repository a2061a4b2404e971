package blas

import (
	"fmt"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

// drawWeights returns n weights of a kind that Set treats in its own way.
func drawWeights(kind string, n int) []int64 {
	r := random(uint64(n))
	w := make([]int64, n)
	for i := range w {
		switch kind {
		case "one":
			w[i] = 1
		case "equal":
			w[i] = 3001
		case "none":
		case "counts":
			w[i] = int64(r.IntN(6))
		case "byte":
			w[i] = int64(r.IntN(256)) * 12
			if i%5 == 0 {
				w[i] = 255 * 12
			}
		case "words":
			w[i] = int64(r.IntN(100))
			if i%16 == 0 {
				w[i] = int64(r.IntN(64771))
			}
		case "word":
			w[i] = int64(r.IntN(64771))
		case "long": // few, so that sums stay below 2⁵³
			w[i] = int64(r.IntN(100))
			if i%100 == 0 {
				w[i] = int64(r.IntN(1 << 20))
			}
		}
	}
	return w
}

// Sums of weighted rows equal a plain sum of whole numbers, with every instruction set, for features of one
// limb and of two, and for weights of every number of limbs.
func TestSumsOfWeightedRowsAreExact(t *testing.T) {
	const k = 3
	eachISA(t, func(t *testing.T) {
		w := new(Weighted) // one for all: what was in it before must not count
		for _, s := range []struct{ n, d int }{{1, 1}, {3, 16}, {9, 49}, {1024, 65}, {37, 433}} {
			for _, kind := range []string{"words", "one", "equal", "none", "counts", "byte", "long"} {
				if !campaign.Whole() && (s.n > 100 && kind != "words" || s.d > 100 && kind != "byte") {
					continue // each kind of weights and each size, but not all pairs
				}
				for _, narrow := range []bool{true, false} {
					b, weights := NewGrid(s.d, 5040), drawWeights(kind, s.n)
					z := wideRows(uint64(s.n), s.n, s.d, narrow)
					if cut := b.Quantize(z, s.n, 5040, 2); cut != 0 {
						t.Fatalf("%d numbers of the grid were cut", cut)
					}
					class, y := make([]int32, s.n), make([]int32, s.n*k)
					cross, targets := make([]float64, s.d*k), make([]float64, s.d*k)
					r := random(2)
					for i := range class {
						class[i] = int32(r.IntN(k))
						for c := range k {
							y[i*k+c] = int32(r.IntN(2*MaxTarget+1) - MaxTarget)
						}
						for j := range s.d {
							v := float64(z[i*s.d+j]) * float64(weights[i])
							cross[j*k+int(class[i])] += v
							for c := range k {
								targets[j*k+c] += v * float64(y[i*k+c])
							}
						}
					}
					for _, threads := range []int{1, 3} {
						what := fmt.Sprintf("%+v, %s, narrow %v, %d threads", s, kind, narrow, threads)
						tiles := NewTiles(s.d)
						w.Set(b, weights, threads)
						w.Gram(tiles, threads)
						for j := range s.d {
							for i := j; i < s.d; i += 1 + i/7 {
								var want float64
								for row := range s.n {
									want += float64(weights[row]) * float64(z[row*s.d+i]) * float64(z[row*s.d+j])
								}
								p, q := i/TileDim, j/TileDim
								if got := tiles[p*(p+1)/2+q][i%TileDim*TileRows(s.d, q)+j%TileDim]; got != want {
									t.Fatalf("%s: Gram at (%d, %d) is %g, want %g", what, i, j, got, want)
								}
							}
						}
						got := make([]float64, s.d*k)
						w.ClassSums(got, class, k, threads)
						mustSame64(t, what+": class sums", got, cross)
						clear(got)
						w.Targets(got, y, k, threads)
						mustSame64(t, what+": targets", got, targets)
					}
				}
			}
		}
	})
}

func TestWeightsOutOfRangePanic(t *testing.T) {
	b := NewGrid(3, MaxByte)
	b.Reset(2)
	for _, weights := range [][]int64{{1}, {1, -1}, {1, 1 << 32}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("weights %v are accepted", weights)
				}
			}()
			new(Weighted).Set(b, weights, 1)
		}()
	}
}

// BenchmarkGramOfWeights compares no weights with equal ones, with weights of a byte, and of two.
func BenchmarkGramOfWeights(b *testing.B) {
	for _, d := range []int{1024, 4096} {
		z := NewGrid(d, MaxByte)
		x := make([]float32, MaxRows*d)
		r := random(1)
		for i := range x {
			x[i] = float32(r.IntN(255) - 127)
		}
		z.Quantize(x, MaxRows, 127, 1)
		tiles := NewTiles(d)
		b.Run(fmt.Sprintf("%d/none", d), func(b *testing.B) {
			for b.Loop() {
				Gram(tiles, z, 1)
			}
		})
		for _, kind := range []string{"equal", "byte", "word"} {
			b.Run(fmt.Sprintf("%d/%s", d, kind), func(b *testing.B) {
				weights, w := drawWeights(kind, MaxRows), new(Weighted)
				for b.Loop() {
					w.Set(z, weights, 1)
					w.Gram(tiles, 1)
				}
			})
		}
	}
}
