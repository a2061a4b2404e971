//go:build amd64 && !purego

package blas

import (
	"slices"
	"testing"
)

// The first CPUs with AVX-512 have no VNNI; their products of bytes are those
// of AVX2.
func TestGramWithoutVNNI(t *testing.T) {
	if !slices.Contains(Levels(), "avx512") {
		t.Skip("no AVX-512 here")
	}
	defer current.Store(current.Load())
	const n, d = 1001, 500
	z, _ := randomBytes(t, random(12), n, d)
	want := NewTiles(d)
	current.Store(&goLevel)
	Gram(want, z, 1)
	l := avx512Level
	l.borrowGram()
	if !l.words {
		t.Fatal("the kernel of AVX2 wants words")
	}
	current.Store(&l)
	got := NewTiles(d)
	Gram(got, z, 2)
	for i := range got {
		mustSame64(t, "tile", got[i], want[i])
	}
}
