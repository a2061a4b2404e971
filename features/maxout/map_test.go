package maxout

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/blas"
)

// normals returns n numbers N(0, 1).
func normals(n int, seed uint64) []float32 {
	s := stream.New(seed, stream.PurposeOf("test/rows"), 0)
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(s.Normal())
	}
	return x
}

func mustNew(t testing.TB, r Maxout) *featureMap {
	t.Helper()
	m, err := r.New()
	if err != nil {
		t.Fatal(err)
	}
	return m.(*featureMap)
}

func dot(x, z []float32) (sum float64) {
	for i := range x {
		sum += float64(x[i]) * float64(z[i])
	}
	return sum
}

// Projections never change. The values were computed from the package comments of maxout and stream by an
// independent program.
func TestDrawIsGolden(t *testing.T) {
	const seed = 0xdecafbad12345678
	for p, want := range map[int][3]float32{
		0:       {0x1.7ceee4p0, 0x1.482012p-3, 0x1.105ad6p0},
		1:       {0x1.f36a3ap-3, 0x1.8b1dbp-1, 0x1.6dc64ep0},
		1 << 20: {0x1.7874cap-3, 0x1.e7df6cp-2, -0x1.5a10fap-1},
	} {
		for _, pool := range []int{0, 1 << 21} {
			w, err := Maxout{In: 3, Out: 1 << 20, Q: 2, Pool: pool, Bound: 1, Seed: seed}.Projections(p, 1)
			if err != nil || !slices.Equal(w, want[:]) {
				t.Errorf("projection %d: have %x (%v), want %x", p, w, err, want)
			}
		}
	}
	for _, c := range []struct {
		l, pool int
		want    []int
	}{
		{0, 5, []int{4, 0, 3, 2}}, {0, 1000, []int{951, 93, 979, 941}},
		{1, 5, []int{3, 0, 4, 2}}, {1, 1000, []int{610, 169, 944, 536}},
		{1 << 20, 5, []int{1, 3, 2, 4}}, {1 << 20, 1000, []int{246, 532, 591, 570}},
	} {
		if have := (Maxout{In: 3, Out: 1<<20 + 1, Q: 4, Pool: c.pool, Bound: 1, Seed: seed}).Indices(c.l); !slices.Equal(have,
			c.want) {
			t.Errorf("unit %d of a pool of %d: have %v, want %v", c.l, c.pool, have, c.want)
		}
	}
}

func TestSingleProjectionEqualsThatOfTheWholeDraw(t *testing.T) {
	r := Maxout{In: 300, Out: 100, Q: 4, Bound: 1, Seed: 7} // 120,000 numbers: drawn in parallel
	all, err := r.Projections(0, 400)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []int{0, 1, 53, 54, 55, 399} {
		if w, err := r.Projections(p, 1); err != nil || !slices.Equal(w, all[p*300:(p+1)*300]) {
			t.Errorf("projection %d differs when drawn alone (%v)", p, err)
		}
	}
}

// All projections of a pool are used equally often, and never twice in a unit.
func TestUnitsTakeDifferentProjections(t *testing.T) {
	for _, c := range []struct{ pool, q int }{{7, 3}, {7, 7}, {256, 256}, {1, 1}} {
		const units = 3000
		r := Maxout{In: 1, Out: units, Q: c.q, Pool: c.pool, Bound: 1, Seed: 1}
		first, any := make([]float64, c.pool), make([]float64, c.pool)
		for l := range units {
			index := r.Indices(l)
			first[index[0]]++
			slices.Sort(index)
			if index[0] < 0 || index[c.q-1] >= c.pool || len(slices.Compact(index)) != c.q {
				t.Fatalf("pool %d, unit %d: %v", c.pool, l, index)
			}
			for _, p := range index {
				any[p]++
			}
		}
		for name, s := range map[string]struct {
			count []float64
			share float64
		}{"first": {first, 1}, "any": {any, float64(c.q)}} {
			share := s.share / float64(c.pool)
			for p, n := range s.count {
				if sd := math.Sqrt(units * share * (1 - share)); math.Abs(n-units*share) > 4.5*sd {
					t.Errorf("pool %d, q %d: projection %d is %s in %v units, should be in %.0f ± %.0f", c.pool, c.q, p, name, n,
						units*share, sd)
				}
			}
		}
	}
}

// shapes are maps of either kind, with sizes at and next to the panels of the kernels.
var shapes = []Maxout{
	{In: 7, Out: 1, Q: 1}, {In: 7, Out: 33, Q: 1}, {In: 7, Out: 16, Q: 2}, {In: 7, Out: 50, Q: 3}, {In: 9, Out: 20, Q: 16},
	{In: 7, Out: 200, Q: 5}, {In: 3, Out: 3, Q: 256}, {In: 1, Out: 4, Q: 2},
	{In: 7, Out: 33, Q: 1, Pool: 8}, {In: 7, Out: 50, Q: 3, Pool: 3}, {In: 7, Out: 500, Q: 4, Pool: 40}, {In: 3, Out: 9,
		Q: 256, Pool: 300},
}

// Features equal the definition in float64.
func TestApplyEqualsTheDefinition(t *testing.T) {
	const n = 5
	for _, r := range shapes {
		r.Bound, r.Seed = 1, 3
		x := normals(n*r.In, 1)
		m := mustNew(t, r)
		dst, codes := make([]float32, n*r.Out), make([]uint8, n*r.Out)
		m.Apply(dst, x, n)
		m.codes(codes, x, n)
		w, err := r.Projections(0, r.projections())
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			for l := range r.Out {
				index := make([]int, r.Q)
				for j := range index {
					index[j] = l*r.Q + j
				}
				if r.Pool != 0 {
					index = r.Indices(l)
				}
				best, code := math.Inf(-1), 0
				for j, p := range index {
					if h := dot(x[i*r.In:(i+1)*r.In], w[p*r.In:(p+1)*r.In]); h > best {
						best, code = h, j
					}
				}
				if off := float64(dst[i*r.Out+l])*math.Sqrt(float64(r.Out)) - best; !(math.Abs(off) < 3e-6) {
					t.Fatalf("%+v, row %d, unit %d: h off by %g", r, i, l, off)
				}
				if int(codes[i*r.Out+l]) != code {
					t.Fatalf("%+v, row %d, unit %d: code %d, want %d", r, i, l, codes[i*r.Out+l], code)
				}
			}
		}
	}
}

func TestQuantizeRoundsApplyBeyondTheBoundToo(t *testing.T) {
	const n = 150
	for _, r := range shapes {
		for _, bound := range []float64{100, 1.5} {
			r.Bound, r.Seed = bound, 2
			x := normals(n*r.In, 2)
			m := mustNew(t, r)
			if want := float64(float32(bound)) / 127 / math.Sqrt(float64(r.Out)); m.Step() != want {
				t.Errorf("step %v, want %v", m.Step(), want)
			}
			dst := make([]float32, n*r.Out)
			m.Apply(dst, x, n)
			for threads := range 4 {
				grid := features.NewGrid(r.Out, features.ByteSteps)
				saturated := m.Quantize(grid, x, n, threads)
				var beyond int64
				for i := range n {
					for l := range r.Out {
						steps, b := float64(dst[i*r.Out+l])/m.Step(), float64(grid.At(i, l))
						if math.Abs(steps) > 127 {
							beyond++
						}
						if off := math.Abs(steps - b); off > 0.501 {
							t.Fatalf("%+v: feature %d,%d is %v steps from its number", r, i, l, off)
						}
					}
				}
				if saturated != 0 || (bound == 1.5) != (beyond > 0) {
					t.Errorf("%+v, %d threads: %d cut, %d beyond the bound", r, threads, saturated, beyond)
				}
			}
		}
	}
}

// The quantized features of a row do not depend on threads or on the other rows of
// the block.
func TestBytesDoNotDependOnThreadsAndCuts(t *testing.T) {
	const n = 130
	for _, r := range shapes {
		r.Bound, r.Seed = 3, 5
		x := normals(n*r.In, 6)
		m := mustNew(t, r)
		whole, part := features.NewGrid(r.Out, features.ByteSteps), features.NewGrid(r.Out, features.ByteSteps)
		saturated := m.Quantize(whole, x, n, 1)
		for _, run := range []int{1, 7, 97, n} {
			var cuts int64
			for first := 0; first < n; first += run {
				rows := min(run, n-first)
				cuts += m.Quantize(part, x[first*r.In:], rows, 1+run%3)
				for i := range rows {
					for l := range r.Out {
						if have, want := part.At(i, l), whole.At(first+i, l); have != want {
							t.Fatalf("%+v, blocks of %d rows: byte %d, %d is %d, want %d", r, run, first+i, l, have, want)
						}
					}
				}
			}
			if cuts != saturated {
				t.Errorf("%+v, blocks of %d rows: %d cut, want %d", r, run, cuts, saturated)
			}
		}
	}
}

func TestRowsDoNotDependOnTheirNeighbours(t *testing.T) {
	const n = 120
	for _, r := range shapes {
		r.Bound = 1
		x := normals(n*r.In, 3)
		x[5*r.In] = float32(math.NaN())
		m := mustNew(t, r)
		want := make([]float32, n*r.Out)
		m.Apply(want, x, n)
		var wg sync.WaitGroup
		for worker := range 4 {
			wg.Go(func() {
				one := make([]float32, r.Out)
				for i := worker; i < n; i += 2 {
					m.Apply(one, x[i*r.In:(i+1)*r.In], 1)
					for l, v := range one {
						if w := want[i*r.Out+l]; v != w && i != 5 || (i == 5) != (v != v) {
							t.Errorf("%+v: row %d alone has %v at unit %d, with others %v", r, i, v, l, w)
							return
						}
					}
				}
			})
		}
		wg.Wait()
	}
}

func TestBoundIsExceededWithItsShare(t *testing.T) {
	const n, d, m = 20, 8, 4000
	for _, q := range []int{1, 2, 16} {
		for _, share := range []float64{0.1, 0.01} {
			x := normals(n*d, 5)
			h := make([]float32, n*m)
			mustNew(t, Maxout{In: d, Out: m, Q: q, Bound: 1, Seed: 4}).Apply(h, x, n)
			var beyond float64
			for i := range n {
				row := x[i*d : (i+1)*d]
				s := Bound(math.Sqrt(dot(row, row)), q, share)
				for _, v := range h[i*m : (i+1)*m] {
					if math.Abs(float64(v))*math.Sqrt(m) > s {
						beyond++
					}
				}
			}
			// Rows share their units, so that up to all n of a unit may exceed together.
			if want := share * n * m; math.Abs(beyond-want) > 4*math.Sqrt(want*n) {
				t.Errorf("q = %d: %v of %d values beyond, want %v", q, beyond, n*m, want)
			}
		}
	}
}

func TestMaxoutSealsAndOpens(t *testing.T) {
	for want, r := range map[string]Maxout{
		`{"in":4,"out":8,"q":2,"bound":0.1,"seed":18446744073709551615}`: {In: 4, Out: 8, Q: 2, Bound: 0.1,
			Seed: math.MaxUint64},
		`{"in":4,"out":8,"q":2,"pool":9,"bound":3,"seed":0}`: {In: 4, Out: 8, Q: 2, Pool: 9, Bound: 3},
	} {
		s, err := features.Seal(r)
		if err != nil {
			t.Fatal(err)
		}
		if s.Kind != "maxout" || string(s.JSON) != want {
			t.Errorf("%+v seals as %s %s, want %s", r, s.Kind, s.JSON, want)
		}
		if back, err := s.Open(); err != nil || back != r {
			t.Errorf("%s opens as %+v, %v", s.JSON, back, err)
		}
	}
	_, err := features.Sealed{Kind: "maxout", JSON: json.RawMessage(`{"in":4,"out":8,"bound":1}`)}.Open()
	if want := "features: maxout: maxout: q must be 1 to 256 (have 0)"; fmt.Sprint(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestErrorsNameTheField(t *testing.T) {
	for _, c := range []struct {
		r    Maxout
		want string
	}{
		{Maxout{In: 0, Out: 8, Q: 2, Bound: 1}, "maxout: in must be 1 to 1048576 (have 0)"},
		{Maxout{In: 4, Out: 0, Q: 2, Bound: 1}, "out must be 1 to 16777216 (have 0)"},
		{Maxout{In: 4, Out: 1<<24 + 1, Q: 2, Bound: 1}, "out must be 1 to 16777216 (have 16777217)"},
		{Maxout{In: 4, Out: 8, Q: 257, Bound: 1}, "q must be 1 to 256 (have 257)"},
		{Maxout{In: 4, Out: 8, Q: 2, Pool: 1, Bound: 1}, "pool must be at least q = 2 projections"},
		{Maxout{In: 4, Out: 8, Q: 2, Pool: -1, Bound: 1}, "(have -1)"},
		{Maxout{In: 1 << 20, Out: 1024, Q: 2, Bound: 1},
			"1024 units of 2 projections of 1048576 values take 8.0 GiB; the limit is 1: use fewer units or a pool"},
		{Maxout{In: 1 << 20, Out: 1024, Q: 2, Pool: 2048, Bound: 1},
			"a pool of 2048 projections of 1048576 values takes 8.0 GiB; the limit is 1: use a smaller pool"},
		{Maxout{In: 1, Out: 1 << 24, Q: 256, Pool: 256, Bound: 1}, "16777216 units of 256 indices exceed the limit of 1 GiB"},
		{Maxout{In: 4, Out: 8, Q: 2}, "bound must be a number > 0 within float32 (have 0)"},
		{Maxout{In: 4, Out: 8, Q: 2, Bound: -1}, "(have -1)"},
		{Maxout{In: 4, Out: 8, Q: 2, Bound: math.NaN()}, "(have NaN)"},
		{Maxout{In: 4, Out: 8, Q: 2, Bound: math.Inf(1)}, "(have +Inf)"},
	} {
		if _, err := c.r.New(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: have %v, want %q", c.r, err, c.want)
		}
	}
	r := Maxout{In: 4, Out: 8, Q: 2, Bound: 1}
	for _, c := range []struct{ first, n int }{{-1, 1}, {0, 17}, {16, 1}, {0, -1}, {math.MaxInt, 1}} {
		if _, err := r.Projections(c.first, c.n); err == nil {
			t.Errorf("Projections gave %d from %d on", c.n, c.first)
		}
	}
}

func TestWrongShapesPanic(t *testing.T) {
	r := Maxout{In: 4, Out: 8, Q: 3, Bound: 1}
	m := mustNew(t, r)
	for name, f := range map[string]func(){
		"Apply, x":    func() { m.Apply(make([]float32, 16), make([]float32, 7), 2) },
		"Apply, dst":  func() { m.Apply(make([]float32, 15), make([]float32, 8), 2) },
		"Apply, n":    func() { m.Apply(nil, nil, -1) },
		"Codes, dst":  func() { m.codes(make([]uint8, 15), make([]float32, 8), 2) },
		"Quantize, x": func() { m.Quantize(features.NewGrid(8, features.ByteSteps), make([]float32, 7), 2, 1) },
		"Quantize, n": func() {
			m.Quantize(features.NewGrid(8, features.ByteSteps), make([]float32, 8000),
				blas.MaxRows+1, 1)
		},
		"Quantize, bytes":  func() { m.Quantize(features.NewGrid(7, features.ByteSteps), make([]float32, 8), 2, 1) },
		"Kernel, sizes":    func() { r.Kernel(make([]float32, 2), make([]float32, 3)) },
		"Indices, no pool": func() { r.Indices(0) },
		"Kappa, q":         func() { kappa(0, 0.5) },
		"UnitKernel, q":    func() { unitKernel(257, 0.5) },
		"Bound, share":     func() { Bound(1, 2, 0) },
		"Pack, dst":        func() { pack(make([]uint64, 1), make([]uint8, 3), 4) },
		"Pack, code":       func() { pack(make([]uint64, 2), []uint8{3}, 3) },
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
