package blas

import (
	"fmt"
	"math"
	"math/bits"
	"testing"
)

func TestHadamardIsTheMatrixOfSigns(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		for d := 1; d <= 4096; d *= 2 {
			// Whole numbers, so that sums are exact in any order.
			x := make([]float32, d)
			for i := range x {
				x[i] = float32((i*i+3*i)%15 - 7)
			}
			was := append([]float32(nil), x...)
			Hadamard(x, 1, d, 1)
			for i := 0; i < d; i += 1 + d/64 {
				var want float32
				for j, v := range was {
					if bits.OnesCount(uint(i&j))%2 == 1 {
						v = -v
					}
					want += v
				}
				if x[i] != want {
					t.Fatalf("d = %d: entry %d is %g, want %g", d, i, x[i], want)
				}
			}
		}
	})
}

func TestHadamardMatchesTheReference(t *testing.T) {
	for d := 1; d <= 1<<14; d *= 2 {
		n := 1 + 3*1024/d
		was := normals[float32](random(uint64(d)), n*d)
		if d > 4 {
			was[d-1], was[n*d-2] = float32(math.NaN()), float32(math.Inf(-1))
		}
		want := append([]float32(nil), was...)
		for i := range n {
			hadamardStages(want[i*d:(i+1)*d], 1)
		}
		eachISA(t, func(t *testing.T) {
			for _, threads := range []int{1, 3} {
				x, check := guarded[float32](t, n*d)
				copy(x, was)
				Hadamard(x, n, d, threads)
				check()
				mustSame32(t, fmt.Sprintf("%d rows of %d", n, d), x, want)
			}
		})
	}
}

func TestHadamardTwiceScalesByTheLength(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		const d = 1024
		x := make([]float32, d)
		for i := range x {
			x[i] = float32(i%16 - 8)
		}
		Hadamard(x, 1, d, 1)
		Hadamard(x, 1, d, 1)
		for i, v := range x {
			if want := float32(d * (i%16 - 8)); v != want {
				t.Fatalf("element %d is %g, want %g", i, v, want)
			}
		}
	})
}

func TestAffineRoundsOnce(t *testing.T) {
	for d := range 70 {
		for _, n := range []int{0, 1, 3} {
			r := random(uint64(d))
			s, b, was := normals[float32](r, d), normals[float32](r, d), normals[float32](r, n*d)
			sums, products := make([]float32, n*d), make([]float32, n*d)
			for i, v := range was {
				sums[i] = fma32(v, s[i%d], b[i%d])
				products[i] = v * s[i%d]
			}
			eachISA(t, func(t *testing.T) {
				x, checkX := guarded[float32](t, n*d)
				dst, check := guarded[float32](t, n*d)
				copy(x, was)
				Affine(dst, x, s, b, n)
				mustSame32(t, fmt.Sprintf("%d×%d", n, d), dst, sums)
				Affine(x, x, s, nil, n)
				mustSame32(t, fmt.Sprintf("%d×%d without b, in place", n, d), x, products)
				check()
				checkX()
			})
		}
	}
}

func TestCosTurnsAndCosSinTurnsMatchTheReference(t *testing.T) {
	for _, n := range []int{0, 1, 7, 15, 16, 17, 31, 32, 33, 255, 256, 257, 272, 511, 700} {
		was := normals[float32](random(uint64(n)), n)
		wantCos, wantSin := make([]float32, n), make([]float32, n)
		for i, v := range was {
			wantCos[i], wantSin[i] = cosReduced(reduce(v))*0.3, sinReduced(reduce(v))*0.3
		}
		eachISA(t, func(t *testing.T) {
			x, checkX := guarded[float32](t, n)
			cos, checkCos := guarded[float32](t, n)
			sin, checkSin := guarded[float32](t, n)
			copy(x, was)
			CosTurns(cos, x, 0.3)
			mustSame32(t, fmt.Sprint("cosine of ", n), cos, wantCos)
			clear(cos)
			CosSinTurns(cos, sin, x, 0.3)
			mustSame32(t, fmt.Sprint("cosine beside the sine of ", n), cos, wantCos)
			mustSame32(t, fmt.Sprint("sine of ", n), sin, wantSin)
			mustSame32(t, "source", x, was)
			CosSinTurns(cos, x, x, 0.3)
			mustSame32(t, fmt.Sprint("sine in place of ", n), x, wantSin)
			copy(x, was)
			CosTurns(x, x, 0.3)
			mustSame32(t, fmt.Sprint("cosine in place of ", n), x, wantCos)
			checkX()
			checkCos()
			checkSin()
		})
	}
}

func TestVectorFunctionsPanicOnInvalidShapes(t *testing.T) {
	f := make([]float32, 64)
	mustPanic(t, "length 3", func() { Hadamard(f, 1, 3, 1) })
	mustPanic(t, "length 0", func() { Hadamard(f, 1, 0, 1) })
	mustPanic(t, "negative rows", func() { Hadamard(f, -1, 2, 1) })
	mustPanic(t, "short rows", func() { Hadamard(f[:63], 2, 32, 1) })
	mustPanic(t, "b of another length", func() { Affine(f, f, f[:4], f[:3], 1) })
	mustPanic(t, "short source of Affine", func() { Affine(f, f[:7], f[:4], nil, 2) })
	mustPanic(t, "short destination of Affine", func() { Affine(f[:7], f, f[:4], nil, 2) })
	mustPanic(t, "short destination of CosTurns", func() { CosTurns(f[:3], f[:4], 1) })
	mustPanic(t, "short sines", func() { CosSinTurns(f, f[:3], f[:4], 1) })
}
