package blas

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"
)

// grid fills a slice with multiples of 2⁻²¹ in [-1, 1): the same on every
// platform, which the distributions of math/rand do not promise.
func grid[T float32 | float64](r *rand.Rand, n int) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = T(int32(r.Uint32())>>10) / (1 << 21)
	}
	return s
}

// The digests of what this package computes never change, so that models come out the same on other machines
// and years later. Plain Go on amd64 and arm64 and the assembly agree on them.
func TestBitsNeverChange(t *testing.T) {
	sum32 := func(s []float32) uint64 {
		h := fnv.New64a()
		for _, v := range s {
			_ = binary.Write(h, binary.LittleEndian, math.Float32bits(v))
		}
		return h.Sum64()
	}
	sum64 := func(s []float64) uint64 {
		h := fnv.New64a()
		for _, v := range s {
			_ = binary.Write(h, binary.LittleEndian, math.Float64bits(v))
		}
		return h.Sum64()
	}
	eachISA(t, func(t *testing.T) {
		const n, in, out = 19, 30, 70
		r := random(20)
		p := Pack(grid[float32](r, in*out), grid[float32](r, out), out, in)
		x := grid[float32](r, n*in)
		dst := make([]float32, 2*n*out)
		is := func(what string, got, want uint64) {
			t.Helper()
			if got != want {
				t.Errorf("%s: the sum of the bits is %#x, was always %#x", what, got, want)
			}
		}
		p.Mul(dst, x, n, 1)
		is("Mul", sum32(dst[:n*out]), 0x6fa9a5bd7ec5e955)
		is("Dot", sum32([]float32{Dot(dst[:500], dst[500:1000])}), 0x135b4a0c2aea4ced)
		p.Cos(dst, x, n, 0.17, 1)
		is("Cos", sum32(dst[:n*out]), 0x7ec7771314cc2274)
		p.CosSin(dst, x, n, 0.17, 1)
		is("CosSin", sum32(dst), 0xfe84c2760cc27f31)
		p.Max(dst, x, n, 5, 1)
		is("Max", sum32(dst[:n*out/5]), 0x36dad942a566cce6)
		h := grid[float32](random(21), 3*512)
		Affine(h, h, h[:512], h[512:1024], 3)
		Hadamard(h, 3, 512, 1)
		is("Affine and Hadamard", sum32(h), 0xaa192c08050330d4)
		b := NewGrid(2*out, MaxByte)
		p.CosSinBytes(b, x, n, 1)
		tiles := NewTiles(2 * out)
		Gram(tiles, b, 1)
		is("CosSinBytes and Gram", sum64(tiles[0]), 0xa5f9d810fe39d244)
		a := tiles[0]
		for i := range 2 * out {
			a[i*2*out+i] += 1e4
		}
		if _, ok := Cholesky(a, 2*out, 1); !ok {
			t.Fatal("not positive definite")
		}
		is("Cholesky", sum64(a), 0xf8772b70d8676b4c)
		rhs := grid[float64](r, 2*out*3)
		CholeskySolve(a, 2*out, rhs, 3, 1)
		is("CholeskySolve", sum64(rhs), 0xdaca32c57edfb136)

		w := grid[float32](random(22), 10*in)
		scores := make([]float32, n*10)
		Scores(scores, x, n, in, w, 10, 1)
		is("Scores", sum32(scores), 0x31ba25c6d2866ecc)
		Gradient(w, scores, x, n, in, 10, 1)
		is("Gradient", sum32(w), 0xc111766cefa59399)
		wide := make([]float64, 3*in)
		Gradient64(wide, grid[float64](random(23), n*3), x, n, in, 3, 1)
		is("Gradient64", sum64(wide), 0x9470372db437d122)
		const side = 300
		coarse := grid[float32](random(24), side*side)
		for i := range side {
			coarse[i*side+i] = 100
		}
		if _, ok := Cholesky(coarse, side, 1); !ok {
			t.Fatal("not positive definite in float32")
		}
		is("Cholesky in float32", sum32(coarse), 0xc9fb5ee196050c7c)
		sides := grid[float32](random(25), 3*side)
		NewTriangle(tiled(coarse, side), side, 1).Solve(sides, 3, 1)
		is("Triangle", sum32(sides), 0xace5cccab0efce8)
	})
}
