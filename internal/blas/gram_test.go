package blas

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// randomBytes returns a block with all bytes in use, and its rows.
func randomBytes(t testing.TB, r *rand.Rand, n, d int) (*Bytes, []float32) {
	t.Helper()
	z := make([]float32, n*d)
	for i := range z {
		z[i] = float32(r.IntN(255) - 127)
	}
	b := NewGrid(d, MaxByte)
	// Earlier contents of the block must not count.
	b.Reset(MaxRows)
	for i := range b.data {
		b.data[i] = 99
	}
	clear(b.data[(d+lanes-1)/lanes*panelBytes:])
	if cut := b.Quantize(z, n, 127, 1); cut != 0 {
		t.Fatalf("%d of the numbers of the grid were cut", cut)
	}
	return b, z
}

func TestGramIsExact(t *testing.T) {
	sizes := []struct{ n, d int }{
		{1, 1}, {2, 15}, {3, 16}, {4, 17}, {5, 47}, {8, 48}, {9, 49}, {1, 100}, {1023, 65},
		{1024, 130}, {37, 383}, {6, 384}, {7, 385}, {66, 433}, {13, 800},
	}
	eachISA(t, func(t *testing.T) {
		r := random(4)
		for _, s := range sizes {
			b, z := randomBytes(t, r, s.n, s.d)
			for _, threads := range []int{1, 3} {
				tiles := NewTiles(s.d)
				var checks []func()
				for i := range tiles {
					var check func()
					n := len(tiles[i])
					tiles[i], check = guarded[float64](t, n)
					checks = append(checks, check)
					for e := range tiles[i] {
						tiles[i][e] = float64(e)
					}
				}
				Gram(tiles, b, threads)
				for _, c := range checks {
					c()
				}
				what := fmt.Sprintf("n = %d, d = %d, %d threads", s.n, s.d, threads)
				for i, at := 0, 0; i*TileDim < s.d; i++ {
					for j := range i + 1 {
						cols := TileRows(s.d, j)
						for p := range TileRows(s.d, i) {
							for q := range cols {
								want := float64(p*cols + q)
								if i != j || q <= p {
									want += dotColumns(z, s.n, s.d, i*TileDim+p, j*TileDim+q)
								}
								if got := tiles[at][p*cols+q]; got != want {
									t.Fatalf("%s: tile (%d, %d) at (%d, %d) is %g, want %g", what, i, j, p, q, got, want)
								}
							}
						}
						at++
					}
				}
			}
		}
	})
}

func dotColumns(z []float32, n, d, p, q int) float64 {
	var s float32 // exact: below 2²⁴
	for i := range n {
		s += z[i*d+p] * z[i*d+q]
	}
	return float64(s)
}

func TestGramOfExtremesDoesNotOverflow(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		for _, v := range []float32{127, -127} {
			const d = 50
			z := make([]float32, MaxRows*d)
			for i := range z {
				z[i] = v
				if i%d%2 == 1 {
					z[i] = -v
				}
			}
			b := NewGrid(d, MaxByte)
			b.Quantize(z, MaxRows, 127, 1)
			tiles := NewTiles(d)
			Gram(tiles, b, 1)
			for i := range d {
				for j := range i + 1 {
					want := float64(MaxRows * 127 * 127)
					if (i+j)%2 == 1 {
						want = -want
					}
					if got := tiles[0][i*d+j]; got != want {
						t.Fatalf("(%d, %d) is %g, want %g", i, j, got, want)
					}
				}
			}
		}
	})
}

func TestClassSumsAreExact(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r := random(6)
		for _, s := range []struct{ n, d, k int }{{1, 1, 1}, {5, 17, 3}, {1024, 33, 10}, {1021, 16, 1500}, {1024, 100, 1},
			{6, 15, 2}} {
			b, z := randomBytes(t, r, s.n, s.d)
			class := make([]int32, s.n)
			for i := range class {
				class[i] = int32(r.IntN(s.k))
			}
			want := make([]float64, s.d*s.k)
			for i, c := range class {
				for j := range s.d {
					want[j*s.k+int(c)] += float64(z[i*s.d+j])
				}
			}
			for _, threads := range []int{1, 3} {
				got, check := guarded[float64](t, s.d*s.k)
				ClassSums(got, b, class, s.k, threads)
				check()
				mustSame64(t, fmt.Sprint(s, threads), got, want)
			}
		}
	})
}

func TestTargetsAreExact(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r := random(8)
		for _, s := range []struct{ n, d, k int }{{1, 1, 1}, {5, 17, 3}, {1024, 33, 1}, {1021, 16, 9}, {1023, 100, 4},
			{6, 15, 17}, {1024, 48, 2}} {
			for _, extreme := range []bool{false, true} {
				b, z := randomBytes(t, r, s.n, s.d)
				y := make([]int32, s.n*s.k)
				for i := range y {
					y[i] = int32(r.IntN(2*MaxTarget+1) - MaxTarget)
				}
				if extreme {
					for i := range z {
						z[i] = 127
					}
					b.Quantize(z, s.n, 127, 1)
					for i := range y {
						y[i] = -MaxTarget
					}
				}
				want := make([]float64, s.d*s.k)
				for i := range s.n {
					for j := range s.d {
						for c := range s.k {
							want[j*s.k+c] += float64(z[i*s.d+j]) * float64(y[i*s.k+c])
						}
					}
				}
				for _, threads := range []int{1, 3} {
					got, check := guarded[float64](t, s.d*s.k)
					Targets(got, b, y, s.k, threads)
					check()
					mustSame64(t, fmt.Sprint(s, threads, extreme), got, want)
				}
			}
		}
	})
}

func TestSumsPanicOnValuesOutOfRange(t *testing.T) {
	b := NewGrid(3, MaxByte)
	b.Reset(2)
	r := make([]float64, 6)
	mustPanic(t, "class 2 of 2", func() { ClassSums(r, b, []int32{0, 2}, 2, 1) })
	mustPanic(t, "class -1", func() { ClassSums(r, b, []int32{0, -1}, 2, 1) })
	mustPanic(t, "target 32768", func() { Targets(r, b, []int32{0, 32768}, 1, 1) })
	mustPanic(t, "short targets", func() { Targets(r, b, []int32{0}, 1, 1) })
	mustPanic(t, "short sums", func() { Targets(r[:2], b, []int32{0, 0}, 1, 1) })
	mustPanic(t, "too many rows", func() { b.Reset(MaxRows + 1) })
	mustPanic(t, "no tiles", func() { Gram(nil, b, 1) })
}
