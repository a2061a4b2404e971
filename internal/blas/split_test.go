package blas

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// wideRows returns n rows of d whole numbers of up to MaxSteps steps, most of them at
// most 127, and with all of them small if narrow is set.
func wideRows(seed uint64, n, d int, narrow bool) []float32 {
	r := random(seed)
	z := make([]float32, n*d)
	for i := range z {
		switch r.IntN(8) {
		case 0, 1:
			z[i] = float32(r.IntN(2*MaxSteps+1) - MaxSteps)
		case 2:
			z[i] = float32([]int{MaxSteps, -MaxSteps, 127, -127, 128, -128, 381, -381}[r.IntN(8)])
		default:
			z[i] = float32(r.IntN(255) - 127)
		}
		if narrow {
			z[i] = float32(int(z[i]) % 128)
		}
	}
	return z
}

// All sums over a block, split or not, are sums of products of its whole numbers.
func TestSumsOfSplitBlocksAreExact(t *testing.T) {
	const k = 3
	eachISA(t, func(t *testing.T) {
		for _, s := range []struct{ n, d int }{{1, 1}, {3, 16}, {5, 47}, {8, 48}, {9, 49}, {1024, 65}, {37, 383}, {6, 385},
			{66, 433}} {
			for _, most := range []int{MaxByte, 5040} {
				b := NewGrid(s.d, most)
				// A split block, then one that need not be, in the same memory.
				for _, narrow := range []bool{false, true} {
					what := fmt.Sprintf("%+v, %d steps, narrow %v", s, most, narrow)
					z := wideRows(uint64(s.n), s.n, s.d, narrow)
					if cut := b.Quantize(z, s.n, float32(most), 2); cut != 0 {
						t.Fatalf("%s: %d numbers of the grid were cut", what, cut)
					}
					mustBePadded(t, b)
					class, y := make([]int32, s.n), make([]int32, s.n*k)
					cross, targets := make([]float64, s.d*k), make([]float64, s.d*k)
					r := random(2)
					for i := range class {
						class[i] = int32(r.IntN(k))
						for c := range k {
							y[i*k+c] = int32(r.IntN(2*MaxTarget+1) - MaxTarget)
						}
						for j := range s.d {
							v := float64(z[i*s.d+j])
							if b.At(i, j) != int(v) {
								t.Fatalf("%s: (%d, %d) is %d, want %g", what, i, j, b.At(i, j), v)
							}
							cross[j*k+int(class[i])] += v
							for c := range k {
								targets[j*k+c] += v * float64(y[i*k+c])
							}
						}
					}
					for _, threads := range []int{1, 3} {
						tiles := NewTiles(s.d)
						Gram(tiles, b, threads)
						for j := range s.d {
							for i := j; i < s.d; i += 1 + i/7 {
								var want float64
								for row := range s.n {
									want += float64(z[row*s.d+i]) * float64(z[row*s.d+j])
								}
								p, q := i/TileDim, j/TileDim
								got := tiles[p*(p+1)/2+q][i%TileDim*TileRows(s.d, q)+j%TileDim]
								if got != want {
									t.Fatalf("%s: Gram at (%d, %d) is %g, want %g", what, i, j, got, want)
								}
							}
						}
						got := make([]float64, s.d*k)
						ClassSums(got, b, class, k, threads)
						mustSame64(t, what, got, cross)
						clear(got)
						Targets(got, b, y, k, threads)
						mustSame64(t, what, got, targets)
					}
				}
			}
		}
	})
}

// Every number of steps, numbers halfway between two, and numbers that are cut are split as by plain Go.
func TestSplitMatchesTheReference(t *testing.T) {
	var z []float32
	for v := -2 * (MaxSteps + 3); v <= 2*(MaxSteps+3); v++ {
		z = append(z, float32(v)/2)
	}
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	z = append(z, nan, -nan, inf, -inf, 1e30, -1e30, math.Nextafter32(MaxSteps+0.5, 0), -math.Nextafter32(MaxSteps+0.5, 0))
	for len(z)%64 > 0 {
		z = append(z, 0)
	}
	quads := len(z) / 64
	low, high := make([]int8, len(z)), make([]int8, len(z))
	want := splitGo(low, high, z, lanes, quads, 1)
	eachISA(t, func(t *testing.T) {
		l, checkLow := guarded[int8](t, len(z))
		h, checkHigh := guarded[int8](t, len(z))
		if cut := active().split(l, h, z, lanes, quads, 1); cut != want || !slices.Equal(l, low) || !slices.Equal(h, high) {
			t.Errorf("%d were cut, want %d; low limbs equal %v, high ones %v", cut, want, slices.Equal(l, low),
				slices.Equal(h, high))
		}
		checkLow()
		checkHigh()
	})
}
