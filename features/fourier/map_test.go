package fourier

import (
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/kerneltest"
	"github.com/bochner-ml/bochner/internal/testing/stattest"
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

func mustNew(t testing.TB, r features.Recipe) features.Gridded {
	t.Helper()
	m, err := r.New()
	if err != nil {
		t.Fatal(err)
	}
	return m.(features.Gridded)
}

func dot(x, z []float32) (sum float64) {
	for i := range x {
		sum += float64(x[i]) * float64(z[i])
	}
	return sum
}

// Features equal a naive reference: frequencies in radians, math.Cos, float64 throughout.
func TestApplyEqualsTheDefinition(t *testing.T) {
	for _, form := range []Form{Paired, Offset} {
		for _, out := range []int{2, 30, 96, 130} {
			const in, n = 7, 5
			x := normals(n*in, 1)
			r := Gaussian{In: in, Out: out, Width: 0.7, Form: form, Seed: 9}
			m := mustNew(t, r)
			dst := make([]float32, n*out)
			m.Apply(dst, x, n)

			d := r.draw()
			f := d.frequencies()
			w, b, err := Turns(r, 0, f)
			if err != nil {
				t.Fatal(err)
			}
			for i := range n {
				for j := range f {
					angle := dot(x[i*in:(i+1)*in], w[j*in:(j+1)*in])
					if form == Offset {
						angle += float64(b[j])
					}
					angle *= 2 * math.Pi
					have, want := []float32{dst[i*out+j]}, []float64{math.Cos(angle)}
					if form == Paired {
						have, want = append(have, dst[i*out+f+j]), append(want, math.Sin(angle))
					}
					for k := range have {
						if off := math.Abs(float64(have[k])/math.Sqrt(2/float64(out)) - want[k]); off > 3e-6 {
							t.Fatalf("%v, out %d, row %d, frequency %d: off by %g", form, out, i, j, off)
						}
					}
				}
			}
		}
	}
}

func TestQuantizeRoundsApply(t *testing.T) {
	const in, n = 11, 37
	x := normals(n*in, 2)
	for name, r := range kernels(in, 200, 1.5, Paired, 4) {
		m := mustNew(t, r)
		dst, grid := make([]float32, n*200), features.NewGrid(200, features.ByteSteps)
		m.Apply(dst, x, n)
		if s := m.Quantize(grid, x, n, 2); s != 0 {
			t.Errorf("%s: %d saturated", name, s)
		}
		if want := math.Sqrt(2.0/200) / 127; m.Step() != want {
			t.Errorf("%s: step %v, want %v", name, m.Step(), want)
		}
		for i := range n {
			for j := range 200 {
				if off := math.Abs(float64(dst[i*200+j])/m.Step() - float64(grid.At(i, j))); off > 0.5001 {
					t.Fatalf("%s: feature %d,%d is %.4f steps from its byte", name, i, j, off)
				}
			}
		}
	}
}

func TestApplyIsSafeAndTheSameConcurrently(t *testing.T) {
	const in, out, n = 20, 64, 50
	x := normals(n*in, 3)
	m := mustNew(t, Laplace{In: in, Out: out, Width: 10})
	want := make([]float32, n*out)
	m.Apply(want, x, n)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range n { // row by row: different blocks, same bits
				one := make([]float32, out)
				m.Apply(one, x[i*in:(i+1)*in], 1)
				for j, v := range one {
					if v != want[i*out+j] {
						t.Errorf("row %d alone differs at feature %d", i, j)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

func TestShortSlicesPanic(t *testing.T) {
	m := mustNew(t, Gaussian{In: 4, Out: 8, Width: 1})
	for name, f := range map[string]func(){
		"Apply, x":    func() { m.Apply(make([]float32, 16), make([]float32, 7), 2) },
		"Apply, dst":  func() { m.Apply(make([]float32, 15), make([]float32, 8), 2) },
		"Apply, n":    func() { m.Apply(nil, nil, -1) },
		"Quantize, x": func() { m.Quantize(features.NewGrid(8, features.ByteSteps), make([]float32, 7), 2, 1) },
		"Quantize, n": func() {
			m.Quantize(features.NewGrid(8, features.ByteSteps), make([]float32, 8000),
				blas.MaxRows+1, 1)
		},
		"Kernel, sizes": func() { Gaussian{Width: 1}.Kernel(make([]float32, 2), make([]float32, 3)) },
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

// pairs are rows of 5 numbers at various distances.
var pairs = []struct {
	name string
	x, z []float32
}{
	{"equal", []float32{0.5, -1, 2, 0, 0.25}, []float32{0.5, -1, 2, 0, 0.25}},
	{"near", []float32{0.5, -1, 2, 0, 0.25}, []float32{0.4, -1.1, 2.2, 0.1, 0.2}},
	{"along one axis", []float32{1, 1, 1, 1, 1}, []float32{2, 1, 1, 1, 1}},
	{"middling", []float32{0, 0, 0, 0, 0}, []float32{0.7, -0.6, 0.5, 0.4, -0.3}},
	{"far", []float32{1, -1, 1, -1, 1}, []float32{-1, 1, -1, 1, -1}},
}

// gridGain returns the effect of the grid on the kernel where angles θ are uniform.
// The rounded cosine is a series of harmonics, c_1·cos θ + c_3·cos 3θ + …, and
// the mean of the product of two at distance δ is ½ Σ c_k² cos kδ. So the kernel is
// multiplied by c_1², the gain, and the rest is at most Σ_{k>1} c_k² = 2·E[ĉ²] − c_1².
func gridGain() (gain, rest float64) {
	const n = 1 << 20
	var first, squares float64
	for i := range n {
		c := math.Cos(2 * math.Pi * (float64(i) + 0.5) / n)
		rounded := math.RoundToEven(127*c) / 127
		first += 2 * rounded * c / n
		squares += 2 * rounded * rounded / n
	}
	return first * first, squares - first*first
}

// E[φ(x)·φ(z)] = K(x, z), for every kernel, form and pair, and on the grid of bytes.
func TestMeanOfProductsIsTheKernel(t *testing.T) {
	const in, out = 5, 32
	seeds := campaign.Pick(500, 1500)
	gain, rest := gridGain()
	if !(gain > 1 && gain < 1.0002 && rest > 0 && rest < 2e-5) {
		t.Errorf("the grid's gain is %v, with a rest of %v", gain, rest)
	}
	for _, form := range []Form{Paired, Offset} {
		for name := range kernels(in, out, 1, form, 0) {
			plain, grid := make([][]float64, len(pairs)), make([][]float64, len(pairs))
			dst, bytes := make([]float32, 2*out), features.NewGrid(out, features.ByteSteps)
			for seed := range uint64(seeds) {
				m := mustNew(t, kernels(in, out, 1.4, form, seed)[name])
				for p, pair := range pairs {
					x := append(append([]float32(nil), pair.x...), pair.z...)
					m.Apply(dst, x, 2)
					plain[p] = append(plain[p], dot(dst[:out], dst[out:]))
					m.Quantize(bytes, x, 2, 1)
					var sum int
					for j := range out {
						sum += int(bytes.At(0, j)) * int(bytes.At(1, j))
					}
					grid[p] = append(grid[p], float64(sum)*m.Step()*m.Step())
				}
			}
			r := kernels(in, out, 1.4, form, 0)[name]
			for p, pair := range pairs {
				k := kerneltest.Kernel(r)(pair.x, pair.z)
				what := name + ", " + form.String() + ", " + pair.name
				// In the paired form equal rows have product 1 up to rounding: no variance, some float32 error.
				stattest.MeanOf(plain[p]).Near(t, what, k, 1e-6)
				stattest.MeanOf(grid[p]).Near(t, what+", on the grid", k, gain-1+rest)
				for i, v := range plain[p] {
					grid[p][i] -= v
				}
				if form == Offset { // angles are uniform, so the gain is exact
					stattest.MeanOf(grid[p]).Near(t, what+", grid less plain", (gain-1)*k, rest)
				}
			}
		}
	}
}

func TestFormTextRoundTrips(t *testing.T) {
	for _, f := range []Form{Paired, Offset} {
		text, err := f.MarshalText()
		var back Form = 7
		if err != nil || back.UnmarshalText(text) != nil || back != f {
			t.Errorf("%v: %q, %v, back %v", f, text, err, back)
		}
	}
	var f Form
	if err := f.UnmarshalText([]byte("pared")); err == nil || err.Error() != `unknown form "pared"; have paired, offset` {
		t.Error(err)
	}
	if _, err := Form(2).MarshalText(); err == nil {
		t.Error("Form(2) marshals")
	}
}

// Features of heavy-tailed kernels, compared with the same features with angles in float64, are as the package
// comment says: if rows have length s widths in ‖·‖₁, the error of the mean is the share of angles beyond 2²³
// turns, and one estimate of 256 features changes by far less than its standard deviation, 1/16.
func TestFloat32AnglesKeepTheLaplaceKernel(t *testing.T) {
	const in, out, seeds = 20, 256, 200
	for _, s := range []float64{10, 1000, 30000} {
		width := 1.0
		x := make([]float32, 2*in)
		for i, v := range normals(in, 6) {
			x[i] = float32(s/in) * (1 + v/10)
			x[in+i] = x[i] + float32(width*0.3/in)*v
		}
		off := stattest.Over(seeds, func(seed uint64) float64 {
			r := Laplace{In: in, Out: out, Width: width, Seed: seed}
			m, dst := mustNew(t, r), make([]float32, 2*out)
			m.Apply(dst, x, 2)
			w, _, err := Turns(r, 0, out/2)
			if err != nil {
				t.Fatal(err)
			}
			var exact float64
			for j := range out / 2 {
				row := w[j*in : (j+1)*in]
				exact += math.Cos(2 * math.Pi * (dot(row, x[:in]) - dot(row, x[in:])))
			}
			return dot(dst[:out], dst[out:]) - exact*2/out
		})
		off.Near(t, fmt.Sprintf("s=%v", s), 0, 1.2e-8*s)
		if rms := math.Sqrt(off.Variance()); !(rms < 0.01) {
			t.Errorf("s=%v: one estimate is off by %v", s, rms)
		}
	}
}
