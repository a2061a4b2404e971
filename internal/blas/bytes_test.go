package blas

import (
	"fmt"
	"math"
	"testing"
)

func TestQuantizeRoundsToEvenAndCounts(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	cases := []struct {
		z    float32 // in steps
		want int
		cut  bool
	}{
		{0, 0, false}, {0.5, 0, false}, {1.5, 2, false}, {2.5, 2, false}, {-0.5, 0, false}, {-1.5, -2, false}, {126.5, 126,
			false},
		{127, 127, false}, {127.25, 127, false}, {127.5, 128, false}, {-127.5, -128, false}, {-127.49, -127, false}, {380.5,
			380, false}, {381.5, 382, false},
		{MaxSteps, MaxSteps, false}, {-MaxSteps - 0.25, -MaxSteps, false}, {MaxSteps + 1, MaxSteps, true}, {-MaxSteps - 0.5,
			-MaxSteps, true},
		{1e10, MaxSteps, true}, {-3e38, -MaxSteps, true}, {inf, MaxSteps, true}, {-inf, -MaxSteps, true}, {nan, 0,
			true}, {-nan, 0, true}, {1e-45, 0, false},
	}
	eachISA(t, func(t *testing.T) {
		for d := 1; d < 40; d++ {
			n := len(cases)
			z, check := guarded[float32](t, n*d)
			want := int64(0)
			for i := range z {
				c := cases[(i+i/d)%n]
				z[i] = c.z
				if c.cut {
					want++
				}
			}
			b := NewGrid(d, MaxByte)
			for _, threads := range []int{1, 3} {
				cut := b.Quantize(z, n, 127, threads)
				check()
				if cut != want {
					t.Fatalf("d = %d: %d cut, want %d", d, cut, want)
				}
				for i := range n {
					for j := range d {
						if e := i*d + j; b.At(i, j) != cases[(e+i)%n].want {
							t.Fatalf("d = %d: %g became %d", d, z[e], b.At(i, j))
						}
					}
				}
			}
		}
	})
}

func TestQuantizeMatchesTheReference(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		for _, s := range []struct{ n, d int }{{0, 4}, {1, 1}, {3, 16}, {4, 16}, {5, 17}, {7, 48}, {8, 47}, {1023, 33},
			{1024, 16}} {
			const bound = 2.7
			z := normals[float32](random(9), s.n*s.d)
			b := NewGrid(s.d, MaxByte)
			b.Reset(MaxRows)
			for i := range b.data {
				b.data[i] = 55
			}
			clear(b.data[(s.d+lanes-1)/lanes*panelBytes:])
			b.Quantize(z, s.n, bound, 2)
			mustBePadded(t, b)
			f := float32(127 / float64(float32(bound)))
			for i := range s.n {
				for j := range s.d {
					v := math.RoundToEven(float64(float32(z[i*s.d+j] * f)))
					if want := int(min(MaxSteps, max(-MaxSteps, v))); b.At(i, j) != want {
						t.Fatalf("%+v: (%d, %d) is %d, want %d", s, i, j, b.At(i, j), want)
					}
				}
			}
		}
	})
}

func TestQuantizeRowsMatchesQuantize(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		for _, d := range []int{1, 16, 37} {
			const n = 43
			z := normals[float32](random(uint64(d)), n*d)
			want, got := NewGrid(d, MaxByte), NewGrid(d, MaxByte)
			cut := want.Quantize(z, n, 1.5, 2)
			got.Resize(MaxRows)
			for i := range got.data[:(d+lanes-1)/lanes*panelBytes] {
				got.data[i] = 55
			}
			got.Resize(n)
			var sum int64
			for _, r := range [][2]int{{40, 3}, {0, 4}, {12, 28}, {4, 8}} {
				sum += got.QuantizeRows(r[0], z[r[0]*d:], r[1], 1.5)
			}
			mustBePadded(t, got)
			for i := range n {
				for j := range d {
					if got.At(i, j) != want.At(i, j) {
						t.Fatalf("d = %d: (%d, %d) is %d, want %d", d, i, j, got.At(i, j), want.At(i, j))
					}
				}
			}
			if sum != cut {
				t.Errorf("d = %d: %d cut, want %d", d, sum, cut)
			}
		}
	})
	b := NewGrid(3, MaxByte)
	b.Resize(10)
	z := make([]float32, 30)
	mustPanic(t, "first row 2", func() { b.QuantizeRows(2, z, 4, 1) })
	mustPanic(t, "3 rows of 10", func() { b.QuantizeRows(0, z, 3, 1) })
	mustPanic(t, "rows beyond the block", func() { b.QuantizeRows(8, z, 4, 1) })
	mustPanic(t, "short rows", func() { b.QuantizeRows(8, z[:5], 2, 1) })
}

func TestResetClears(t *testing.T) {
	b, _ := randomBytes(t, random(1), 10, 5)
	b.Reset(7)
	if b.N() != 7 || b.D() != 5 {
		t.Fatalf("block of %d×%d", b.N(), b.D())
	}
	for i := range 7 {
		for j := range 5 {
			if b.At(i, j) != 0 {
				t.Fatalf("(%d, %d) is %d", i, j, b.At(i, j))
			}
		}
	}
	mustPanic(t, "row 7", func() { b.At(7, 0) })
	mustPanic(t, "column 5", func() { b.At(0, 5) })
}

func TestDotAndAxpyMatchTheReference(t *testing.T) {
	for n := range 300 {
		r := random(uint64(n))
		x, checkX := guarded[float32](t, n)
		y, checkY := guarded[float32](t, n)
		normal(r, x)
		normal(r, y)
		wantDot := dotGo(x, y)
		wantAxpy := append([]float32(nil), y...)
		axpyGo(1.7, x, wantAxpy)
		was := append([]float32(nil), y...)
		eachISA(t, func(t *testing.T) {
			copy(y, was)
			mustSame32(t, fmt.Sprint("dot of ", n), []float32{Dot(x, y)}, []float32{wantDot})
			Axpy(1.7, x, y)
			mustSame32(t, fmt.Sprint("axpy of ", n), y, wantAxpy)
			checkX()
			checkY()
		})
	}
}

func TestDotIsADotProduct(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 65, 200} {
		x, y := make([]float32, n), make([]float32, n)
		var want float32
		for i := range x {
			x[i], y[i] = float32(i%7-3), float32(i%5-2)
			want += x[i] * y[i]
		}
		if got := Dot(x, y); got != want {
			t.Errorf("n = %d: %g, want %g", n, got, want)
		}
	}
}
