package blas

import (
	"fmt"
	"math"
	"testing"
)

// A transpose moves every element, with any bits, and writes nothing else: with every instruction set, for all sizes
// near the sizes of the kernels.
func TestTransposeMovesEveryElement(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		testTranspose(t, func(i int) float64 { return math.Float64frombits(0x7ff0_0000_0000_0001 + uint64(i)) },
			math.Float64bits)
		testTranspose(t, func(i int) float32 { return math.Float32frombits(0x7fc0_0000 + uint32(i)) }, math.Float32bits)
	})
}

func testTranspose[T real, B uint32 | uint64](t *testing.T, number func(i int) T, bits func(T) B) {
	for _, m := range []int{1, 3, 4, 7, 8, 9, 12, 16, 23, 33} {
		for _, n := range []int{1, 3, 4, 5, 7, 8, 11, 16, 17, 40} {
			ds, ss := m+3, n+2
			src := make([]T, (m-1)*ss+n)
			for i := range src {
				src[i] = number(i)
			}
			dst, check := guarded[T](t, (n-1)*ds+m)
			transpose(dst, ds, src, ss, m, n)
			check()
			for j := range n {
				for i := range min(ds, len(dst)-j*ds) {
					want := T(0) // between the rows
					if i < m {
						want = src[i*ss+j]
					}
					if got := dst[j*ds+i]; bits(got) != bits(want) {
						t.Fatalf("%d×%d: element %d, %d is %x, want %x", m, n, j, i, bits(got), bits(want))
					}
				}
			}
		}
	}
}

func BenchmarkTranspose(b *testing.B) {
	for _, name := range ISAs() {
		b.Run(name, func(b *testing.B) {
			defer func(was string) { _ = SetISA(was) }(ISA())
			if err := SetISA(name); err != nil {
				b.Fatal(err)
			}
			b.Run("float64", benchmarkTranspose[float64])
			b.Run("float32", benchmarkTranspose[float32])
		})
	}
}

// benchmarkTranspose transposes what a product packs: 24 rows of a tile, and a square of 32 rows.
func benchmarkTranspose[T real](b *testing.B) {
	src := make([]T, TileDim*TileDim)
	dst := make([]T, TileDim*TileDim)
	for _, size := range [][2]int{{24, chainDepth}, {base, base}} {
		b.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(b *testing.B) {
			for b.Loop() {
				transpose(dst, size[0], src, TileDim, size[0], size[1])
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size[0]*size[1]), "ns/element")
		})
	}
}
