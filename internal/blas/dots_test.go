package blas

import (
	"fmt"
	"testing"
)

func TestDotsMatchTheReference(t *testing.T) {
	for n := range 40 {
		for k := range 10 {
			r := random(uint64(n))
			bs := n + n%3
			a, checkA := guarded[float64](t, n)
			b, checkB := guarded[float64](t, max(0, k-1)*bs+n)
			normal(r, a)
			normal(r, b)
			want := make([]float64, k)
			dotsGo(want, a, b, bs)
			eachISA(t, func(t *testing.T) {
				dst, check := guarded[float64](t, k)
				Dots(dst, a, b, bs)
				mustSame64(t, fmt.Sprintf("%d products of %d", k, n), dst, want)
				check()
				checkA()
				checkB()
			})
		}
	}
}

func TestDotsAreDotProducts(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		const n, k = 23, 6
		a, b := make([]float64, n), make([]float64, n*k)
		want := make([]float64, k)
		for i := range b {
			b[i] = float64(i%11 - 5)
			a[i%n] = float64(i%n - 7)
		}
		for i, v := range b {
			want[i/n] += a[i%n] * v
		}
		got := make([]float64, k)
		Dots(got, a, b, n)
		mustSame64(t, "whole numbers", got, want)
	})
	mustPanic(t, "short vectors", func() { Dots(make([]float64, 2), make([]float64, 3), make([]float64, 6), 4) })
}
