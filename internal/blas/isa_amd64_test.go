//go:build amd64 && !purego

package blas

import (
	"slices"
	"testing"

	"golang.org/x/sys/cpu"
)

// With AVX-512 but without VNNI, as on the first such CPUs, bytes are multiplied as with AVX2.
func TestGramMatchesWithoutVNNI(t *testing.T) {
	if !slices.Contains(ISAs(), "avx512") {
		t.Skip("no AVX-512 here")
	}
	l := avx512ISA
	l.sumKernels = avx2ISA.sumKernels
	if !l.words {
		t.Fatal("the kernel of AVX2 wants words")
	}
	mustGram(t, &l)
}

// The kernel for dot products at 256 bits is right with the encoding of AVX-512. Most CPUs with such products
// have the encoding of AVX-VNNI only, which TestEncodedBytesMatchTheAssembly compares.
func TestGramMatchesAt256Bits(t *testing.T) {
	if !cpu.X86.HasAVX512VNNI || !cpu.X86.HasAVX512VL {
		t.Skip("no VNNI of AVX-512 here")
	}
	l := avx2ISA.withBytes("evex", gramEVEX, turnEVEX)
	mustGram(t, &l)
	z, _ := randomBytes(t, random(12), 1001, 500)
	want, got := NewTiles(500), NewTiles(500)
	weights := make([]int64, 1001)
	for i := range weights {
		weights[i] = int64(i * i)
	}
	var w Weighted
	w.Set(z, weights, 1)
	defer current.Store(current.Load())
	for l, tiles := range map[*isa][][]float64{&goISA: want, &l: got} {
		current.Store(l)
		w.Gram(tiles, 2)
	}
	for i := range got {
		mustSame64(t, "tile", got[i], want[i])
	}
}

// mustGram compares the products of bytes of l with the twin's.
func mustGram(t *testing.T, l *isa) {
	t.Helper()
	defer current.Store(current.Load())
	const d = 500
	for _, n := range []int{1, 4, 5, 1001, 1024} {
		z, _ := randomBytes(t, random(12), n, d)
		want, got := NewTiles(d), NewTiles(d)
		current.Store(&goISA)
		Gram(want, z, 1)
		current.Store(l)
		Gram(got, z, 2)
		for i := range got {
			mustSame64(t, "tile", got[i], want[i])
		}
	}
}
