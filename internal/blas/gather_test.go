package blas

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// hotRows returns n rows of dense numbers and of groups, each with one hot column of several or none,
// and the same rows with all of the zeros.
func hotRows(r *rand.Rand, n, dense int, sizes []int, values []float32) (short, full []float32) {
	for range n {
		row := normals[float32](r, dense)
		short = append(short, row...)
		full = append(full, row...)
		first := 0
		for _, size := range sizes {
			index := r.IntN(size+1) - 1
			if index < 0 {
				short = append(short, []float32{-1, float32(math.NaN()), float32(len(values)), 1e30}[r.IntN(4)])
			} else {
				short = append(short, float32(first+index))
			}
			for i := range size {
				v := float32(0)
				if i == index {
					v = values[first+i]
				}
				full = append(full, v)
			}
			first += size
		}
	}
	return short, full
}

// Gathered products have the bits of products with zeros.
func TestHotColumnsHaveTheBitsOfZeros(t *testing.T) {
	for _, s := range []struct {
		n, dense int
		sizes    []int
		out      int
	}{
		{1, 0, []int{1}, 1}, {3, 0, []int{5, 2}, 17}, {5, 3, nil, 20}, {1, 4, []int{2, 0, 3}, 48}, {97, 6,
			[]int{3, 40, 7}, 50},
		{20, 1, []int{9}, 383}, {20, 2, []int{9}, 384}, {20, 3, []int{9, 9}, 385}, {193, 20, []int{300, 4}, 800}, {9, 1025,
			[]int{30}, 33},
	} {
		r := random(uint64(s.n + 1000*s.out))
		hot := Hot{Groups: len(s.sizes)}
		for _, size := range s.sizes {
			hot.Values = append(hot.Values, normals[float32](r, size)...)
		}
		in := s.dense + len(hot.Values)
		w, bias := normals[float32](r, s.out*in), normals[float32](r, s.out)
		short, full := hotRows(r, s.n, s.dense, s.sizes, hot.Values)
		p, whole := PackHot(w, bias, s.out, in, hot), Pack(w, bias, s.out, in)
		if row, out := p.Dims(); row != s.dense+len(s.sizes) || out != s.out {
			t.Fatalf("Dims() = %d, %d", row, out)
		}
		want := make([]float32, s.n*s.out)
		whole.Mul(want, full, s.n, 1)
		wantEndings := endings(t, whole, full, s.n, 1)
		eachISA(t, func(t *testing.T) {
			for _, threads := range []int{1, 3} {
				name := fmt.Sprintf("%+v, %d threads", s, threads)
				dst, check := guarded[float32](t, s.n*s.out)
				p.Mul(dst, short, s.n, threads)
				check()
				mustSame32(t, name, dst, want)
				mustSame32(t, name, endings(t, p, short, s.n, threads), wantEndings)
			}
		})
	}
}

func TestWrongHotColumnsPanic(t *testing.T) {
	w := make([]float32, 12)
	for name, f := range map[string]func(){
		"more than all": func() { PackHot(w, nil, 3, 4, Hot{Values: make([]float32, 5)}) },
		"groups":        func() { PackHot(w, nil, 3, 4, Hot{Groups: -1}) },
		"short":         func() { PackHot(w, nil, 4, 4, Hot{}) },
		"Max": func() {
			PackHot(w, nil, 3, 4, Hot{Values: make([]float32, 2), Groups: 1}).Max(make([]float32, 1), make([]float32, 3),
				1, 3, 1)
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// BenchmarkHot compares gathered products with products of whole rows: 10 numbers and 4 categories.
func BenchmarkHot(b *testing.B) {
	const n, dense, groups, out = 1024, 10, 4, 2048
	r := random(1)
	bytes := NewGrid(2*out, MaxByte)
	for _, levels := range []int{4, 10, 16, 24, 100, 10_000} {
		sizes := make([]int, groups)
		for g := range sizes {
			sizes[g] = levels
		}
		hot := Hot{Groups: groups, Values: make([]float32, groups*levels)}
		for i := range hot.Values {
			hot.Values[i] = 1
		}
		in := dense + groups*levels
		w := normals[float32](r, out*in)
		short, full := hotRows(r, n, dense, sizes, hot.Values)
		gathered, whole := PackHot(w, nil, out, in, hot), Pack(w, nil, out, in)
		for _, way := range []struct {
			name string
			p    *Weights
			x    []float32
		}{{"gather", gathered, short}, {"dense", whole, full}} {
			b.Run(fmt.Sprintf("levels=%d/%s", levels, way.name), func(b *testing.B) {
				for b.Loop() {
					way.p.CosSinBytes(bytes, way.x, n, 1)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
			})
		}
	}
}
