package blas

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"
)

// eachISA runs a test with every instruction set of this machine, in the short form of the tests at those that are
// very different.
func eachISA(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	was := ISA()
	defer func() {
		if err := SetISA(was); err != nil {
			t.Fatal(err)
		}
	}()
	names := ISAs()
	if testing.Short() && runtime.GOARCH == "arm64" {
		// The other instruction sets differ in products of bytes only, and are the best of emulated CPUs.
		names = []string{names[0], names[len(names)-1]}
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			if err := SetISA(name); err != nil {
				t.Fatal(err)
			}
			f(t)
		})
	}
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

type number interface {
	int8 | int32 | float32 | float64
}

const fence = 40 // guarded elements on either side

// guarded returns a slice of n elements between two fences of NaN (of a wild
// integer for integers), and a check that the fences still stand.
func guarded[T number](t testing.TB, n int) (s []T, check func()) {
	t.Helper()
	var wild T
	switch p := any(&wild).(type) {
	case *float32:
		*p = float32(math.NaN())
	case *float64:
		*p = math.NaN()
	case *int32:
		*p = math.MinInt32 + 77
	case *int8:
		*p = -111
	}
	all := make([]T, n+2*fence)
	for i := range all {
		all[i] = wild
	}
	s = all[fence : fence+n : fence+n]
	clear(s)
	size := int(unsafe.Sizeof(wild))
	bytes := func(x *T) string { return string(unsafe.Slice((*byte)(unsafe.Pointer(x)), size)) }
	return s, func() {
		t.Helper()
		for i := range fence {
			if bytes(&all[i]) != bytes(&wild) || bytes(&all[fence+n+i]) != bytes(&wild) {
				t.Fatalf("written outside of a slice of %d, %d elements from an end", n, i)
			}
		}
	}
}

// normal fills s with numbers of which some are zero, -0, tiny or large.
func normal[T float32 | float64](r *rand.Rand, s []T) []T {
	for i := range s {
		switch v := r.NormFloat64(); r.IntN(40) {
		case 0:
			s[i] = 0
		case 1:
			s[i] = T(math.Copysign(0, -1))
		case 2:
			s[i] = T(v * 1e-41)
		case 3:
			s[i] = T(v * 1e-20)
		case 4:
			s[i] = T(v * 1e6)
		default:
			s[i] = T(v)
		}
	}
	return s
}

func normals[T float32 | float64](r *rand.Rand, n int) []T { return normal(r, make([]T, n)) }

func same32(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

func same64(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
}

func mustSame32(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if !same32(got[i], want[i]) {
			t.Fatalf("%s: element %d is %g (%08x), want %g (%08x)", what, i, got[i], math.Float32bits(got[i]), want[i],
				math.Float32bits(want[i]))
		}
	}
}

func mustSame64(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		if !same64(got[i], want[i]) {
			t.Fatalf("%s: element %d is %g (%016x), want %g (%016x)", what, i, got[i], math.Float64bits(got[i]), want[i],
				math.Float64bits(want[i]))
		}
	}
}

func mustPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s did not panic", what)
		}
	}()
	f()
}

// tiled returns the lower triangle of a (n×n) in tiles.
func tiled[T float32 | float64](a []T, n int) [][]T {
	tiles := MakeTiles[T](n)
	for i := range n {
		for j := range i + 1 {
			r, c := i/TileDim, j/TileDim
			tiles[r*(r+1)/2+c][i%TileDim*TileRows(n, c)+j%TileDim] = a[i*n+j]
		}
	}
	return tiles
}
