package skeleton

import (
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/bochner-ml/bochner/features"

	"github.com/bochner-ml/bochner/internal/blas"
)

// every holds maps of each path through Apply: phases only, waves, products,
// hybrids, and all of them at once; three chunks of features, the last not whole.
func every(t testing.TB) map[string]*Map {
	const out = 2*chunk + 77
	return map[string]*Map{
		"phases":     mustNew(t, Compositional{Skeleton: deep(Space{Circle: 2}), Out: out, Seed: 1}),
		"waves":      mustNew(t, Compositional{Skeleton: connected(9, Space{Gaussian: 1}, exp1), Out: out, Seed: 1}),
		"hybrid":     mustNew(t, Compositional{Skeleton: deep(Space{Circle: 2}), Out: out, Sampler: Hybrid, Seed: 1}),
		"products":   mustNew(t, Compositional{Skeleton: connected(9, Space{Sphere: Pairs}, exp1), Out: out, Seed: 1}),
		"projection": mustNew(t, Compositional{Skeleton: connected(9, Space{Sphere: Projection}, exp1), Out: out, Seed: 1}),
		"mixed":      mustNew(t, Compositional{Skeleton: mixed, Out: out, Seed: 1}),
	}
}

func TestRangesAndCutsHaveTheBitsOfApply(t *testing.T) {
	const n = 37
	for name, m := range every(t) {
		in, out := m.Dims()
		x := numbers(n*in, 3)
		want := make([]float32, n*out)
		m.Apply(want, x, n)
		var wg sync.WaitGroup
		for _, r := range []struct{ first, count int }{{0, 1}, {0, out}, {5, 1000}, {chunk - 1, 2}, {chunk, chunk},
			{out - 1, 1}, {2*chunk + 3, 70}, {7, 0}} {
			wg.Go(func() { // concurrently, and row by row
				dst := make([]float32, n*r.count+1)
				dst[n*r.count] = 42
				m.applyRange(dst, x, n, r.first, r.count)
				one := make([]float32, r.count)
				for i := range n {
					m.applyRange(one, x[i*in:(i+1)*in], 1, r.first, r.count)
					if !slices.Equal(dst[i*r.count:(i+1)*r.count], want[i*out+r.first:][:r.count]) ||
						!slices.Equal(one, dst[i*r.count:(i+1)*r.count]) {
						t.Errorf("%s: %+v: row %d differs", name, r, i)
						return
					}
				}
				if dst[n*r.count] != 42 {
					t.Errorf("%s: %+v: written behind the end", name, r)
				}
			})
		}
		wg.Wait()
	}
}

func TestBitsDoNotDependOnTheLevel(t *testing.T) {
	was := blas.ISA()
	defer blas.SetISA(was)
	for name, m := range every(t) {
		const n = 5
		in, out := m.Dims()
		x := numbers(n*in, 3)
		var want []float32
		for _, level := range blas.ISAs() {
			if err := blas.SetISA(level); err != nil {
				t.Fatal(err)
			}
			dst := make([]float32, n*out)
			m.Apply(dst, x, n)
			if want == nil {
				want = dst
			} else if !slices.Equal(dst, want) {
				t.Errorf("%s: other bits at level %s", name, level)
			}
		}
	}
}

func TestQuantizeRoundsApply(t *testing.T) {
	const n = 33
	for name, m := range every(t) {
		in, out := m.Dims()
		x := numbers(n*in, 4)
		for i := range n {
			switch name {
			case "products", "projection":
				unit(x[i*in : (i+1)*in])
			case "mixed":
				unit(x[i*in+4 : i*in+7])
			}
		}
		dst, grid := make([]float32, n*out), features.NewGrid(out, features.ByteSteps)
		m.Apply(dst, x, n)
		if s := m.Quantize(grid, x, n, 2); s != 0 {
			t.Errorf("%s: %d saturated", name, s)
		}
		if want := float64(m.bound) / 127; m.Step() != want {
			t.Errorf("%s: step %v, want %v", name, m.Step(), want)
		}
		constants := 0
		for i := range n {
			for j := range out {
				v := float64(dst[i*out+j])
				if m.constant(j) {
					constants++
					v = min(v, float64(m.bound))
				}
				if off := math.Abs(v/m.Step() - float64(grid.At(i, j))); off > 0.5001 {
					t.Fatalf("%s: feature %d,%d is %.4f steps from its byte", name, i, j, off)
				}
			}
		}
		if constants != n {
			t.Errorf("%s: %d constants in %d rows", name, constants, n)
		}
	}
}

// A vector that is longer than 1 is outside the base space, and is counted.
func TestRowsOffTheSphereSaturate(t *testing.T) {
	m := every(t)["products"]
	in, out := m.Dims()
	x := make([]float32, in)
	for i := range x {
		x[i] = 3
	}
	if s := m.Quantize(features.NewGrid(out, features.ByteSteps), x, 1, 1); s == 0 {
		t.Error("nothing saturated")
	}
}

// Real features take only the values ±weight, complex ones the cosine of their angle.
func TestSignsAreExact(t *testing.T) {
	m := mustNew(t, Compositional{Skeleton: connected(9, Space{Binary: true}, exp1), Out: 100, Seed: 1})
	x := []float32{1, -1, 0, 2, -3, 1, 1, -1, 0.5}
	dst := make([]float32, 100)
	m.Apply(dst, x, 1)
	for j, v := range dst {
		if w := float32(math.Sqrt(float64(m.counts[j]) / float64(m.Draws()))); v != w && v != -w {
			t.Errorf("feature %d is %v, its weight %v", j, v, w)
		}
	}
}

func TestNaNStaysInItsRow(t *testing.T) {
	for name, m := range every(t) {
		in, out := m.Dims()
		x := numbers(3*in, 5)
		for i := range in {
			x[in+i] = float32(math.NaN())
		}
		dst := make([]float32, 3*out)
		m.Apply(dst, x, 3)
		m.Apply(dst, x, 3) // with scratch memory that held NaN
		for i, v := range dst {
			if v != v && i/out != 1 {
				t.Fatalf("%s: NaN in row %d, feature %d", name, i/out, i%out)
			}
		}
	}
}

func TestShortSlicesPanic(t *testing.T) {
	m := mustNew(t, Compositional{Skeleton: connected(4, Space{Circle: 2}, relu), Out: 8})
	x, dst := make([]float32, 8), make([]float32, 16)
	for name, f := range map[string]func(){
		"Apply, x":           func() { m.Apply(dst, x[:7], 2) },
		"Apply, dst":         func() { m.Apply(dst[:15], x, 2) },
		"Apply, n":           func() { m.Apply(nil, nil, -1) },
		"ApplyRange, first":  func() { m.applyRange(dst, x, 1, 8, 1) },
		"ApplyRange, before": func() { m.applyRange(dst, x, 1, -1, 1) },
		"ApplyRange, count":  func() { m.applyRange(dst, x, 1, 0, 9) },
		"Quantize, x":        func() { m.Quantize(features.NewGrid(8, features.ByteSteps), x[:7], 2, 1) },
		"Quantize, n": func() {
			m.Quantize(features.NewGrid(8, features.ByteSteps), make([]float32, 8000),
				blas.MaxRows+1, 1)
		},
		"Quantize, width": func() { m.Quantize(features.NewGrid(9, features.ByteSteps), x, 2, 1) },
		"Kernel, sizes":   func() { connected(4, Space{Circle: 2}, relu).kernel(x[:4], x[:3]) },
		"Kernel, columns": func() { connected(4, Space{Circle: 2}, relu).kernel(x[:3], x[:3]) },
		"Cooccur":         func() { m.Cooccurrences([]int{4}) },
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

// Cooccur equals counts of pairs from the columns of each feature, one by one.
func TestCooccurCountsDraws(t *testing.T) {
	for name, m := range every(t) {
		in, out := m.Dims()
		want := make([]int64, in*in)
		for j := range out {
			// A column is in a feature if the feature changes with it; waves and hybrids
			// depend on all columns of their node.
			set := m.columnsOf(nil, j)
			for _, a := range set {
				for _, b := range set {
					want[int(a)*in+int(b)] += m.counts[j]
				}
			}
		}
		columns := []int{in - 1, 0, 2, 0}
		have, occur := m.Cooccurrences(columns), m.Occurrences()
		for i, c := range columns {
			if !slices.Equal(have[i*in:(i+1)*in], want[c*in:(c+1)*in]) {
				t.Errorf("%s: column %d: %v, want %v", name, c, have[i*in:(i+1)*in], want[c*in:(c+1)*in])
			}
			if occur[c] != want[c*in+c] {
				t.Errorf("%s: column %d occurs %d times, want %d", name, c, occur[c], want[c*in+c])
			}
		}
	}
}

// The columns of a feature are the columns that change its value.
func TestColumnsAreThoseThatChangeTheFeature(t *testing.T) {
	for name, m := range every(t) {
		in, out := m.Dims()
		base, dst := make([]float32, out), make([]float32, out)
		depends := make([][]int32, out)
		for trial := range uint64(3) {
			x := numbers(in, 6+trial)
			m.Apply(base, x, 1)
			for c := range in {
				y := slices.Clone(x)
				y[c] = -y[c] - 1.3
				m.Apply(dst, y, 1)
				for j := range dst {
					if dst[j] != base[j] {
						depends[j] = append(depends[j], int32(c))
					}
				}
			}
		}
		for j, set := range depends {
			slices.Sort(set)
			set = slices.Compact(set)
			have := m.columnsOf(nil, j)
			same := slices.Equal(set, have) || len(set)+len(have) == 0
			if m.productTo != nil { // the real part of x_j + i·x_k changes only with x_j
				same = !slices.ContainsFunc(set, func(c int32) bool { return !slices.Contains(have, c) })
			}
			if !same {
				t.Fatalf("%s: feature %d changes with %v, its columns are %v", name, j, set, have)
			}
		}
	}
}
