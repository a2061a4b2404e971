package fourier

import (
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
)

// Features equal a naive reference: the dense matrix of Turns, math.Cos, float64 throughout. Sizes end inside,
// at and after pieces and blocks.
func TestStructuredApplyEqualsTheDenseDefinition(t *testing.T) {
	const n = 3
	for _, in := range []int{1, 5, 64, 65, 200} {
		for _, form := range []Form{Paired, Offset} {
			for _, out := range []int{2, 30, 32, 126, 128, 130, 256, 600, 1024} {
				x := normals(n*in, 1)
				r := Gaussian{In: in, Out: out, Width: 2, Form: form, Draw: Structured, Seed: 9}
				m := mustNew(t, r)
				if i, o := m.Dims(); i != in || o != out {
					t.Fatalf("dims %d, %d", i, o)
				}
				dst := make([]float32, n*out+1)
				dst[n*out] = 7
				m.Apply(dst, x, n)
				if dst[n*out] != 7 {
					t.Fatalf("in %d, out %d: wrote past the features", in, out)
				}
				d := r.draw()
				f := d.frequencies()
				w, b, err := Turns(r, 0, f)
				if err != nil {
					t.Fatal(err)
				}
				bound := math.Sqrt(2 / float64(out))
				for i := range n {
					for j := range f {
						angle := dot(x[i*in:(i+1)*in], w[j*in:(j+1)*in])
						if form == Offset {
							angle += float64(b[j])
						}
						angle *= 2 * math.Pi
						off := math.Abs(float64(dst[i*out+j])/bound - math.Cos(angle))
						if form == Paired {
							off = max(off, math.Abs(float64(dst[i*out+f+j])/bound-math.Sin(angle)))
						}
						if !(off < 2e-5) {
							t.Fatalf("%v, in %d, out %d, row %d, frequency %d: off by %g", form, in, out, i, j, off)
						}
					}
				}
			}
		}
	}
}

func TestStructuredQuantizeRoundsApply(t *testing.T) {
	const in, n = 70, 150
	x := normals(n*in, 2)
	for _, form := range []Form{Paired, Offset} {
		for _, out := range []int{126, 500, 1024} {
			m := mustNew(t, Gaussian{In: in, Out: out, Width: 9, Form: form, Draw: Structured, Seed: 4})
			dst := make([]float32, n*out)
			m.Apply(dst, x, n)
			var first *features.Grid
			for threads := range 4 {
				grid := features.NewGrid(out, features.ByteSteps)
				if s := m.Quantize(grid, x, n, threads); s != 0 {
					t.Errorf("%d saturated", s)
				}
				if first == nil {
					first = grid
				}
				for i := range n {
					for j := range out {
						if off := math.Abs(float64(dst[i*out+j])/m.Step() - float64(grid.At(i, j))); off > 0.5001 ||
							grid.At(i, j) != first.At(i, j) {
							t.Fatalf("%v, %d threads: feature %d,%d is %.4f steps from its byte", form, threads, i, j, off)
						}
					}
				}
			}
			if want := math.Sqrt(2/float64(out)) / 127; m.Step() != want {
				t.Errorf("step %v, want %v", m.Step(), want)
			}
		}
	}
}

func TestStructuredRowsDoNotDependOnTheirNeighbours(t *testing.T) {
	const in, out, n = 90, 700, 60
	x := normals(n*in, 3)
	x[5*in+3] = float32(math.NaN())
	x[6*in+8] = float32(math.Inf(1))
	for _, form := range []Form{Paired, Offset} {
		m := mustNew(t, Gaussian{In: in, Out: out, Width: 10, Form: form, Draw: Structured})
		want := make([]float32, n*out)
		m.Apply(want, x, n)
		var wg sync.WaitGroup
		for worker := range 4 {
			wg.Go(func() {
				for i := worker; i < n; i += 2 { // row by row: different blocks, same bits
					one := make([]float32, out)
					m.Apply(one, x[i*in:(i+1)*in], 1)
					if all := want[i*out : (i+1)*out]; i == 5 || i == 6 {
						if !slices.ContainsFunc(one, func(v float32) bool { return v == v }) {
							continue
						}
						t.Errorf("row %d is not finite but has finite features", i)
					} else if !slices.Equal(one, all) {
						t.Errorf("row %d alone differs", i)
						return
					}
				}
			})
		}
		wg.Wait()
	}
}

func TestStructuredShortSlicesPanic(t *testing.T) {
	m := mustNew(t, Gaussian{In: 4, Out: 8, Width: 1, Draw: Structured})
	for name, f := range map[string]func(){
		"Apply, x":    func() { m.Apply(make([]float32, 16), make([]float32, 7), 2) },
		"Apply, dst":  func() { m.Apply(make([]float32, 15), make([]float32, 8), 2) },
		"Apply, n":    func() { m.Apply(nil, nil, -1) },
		"Quantize, x": func() { m.Quantize(features.NewGrid(8, features.ByteSteps), make([]float32, 7), 2, 1) },
		"Quantize, n": func() {
			m.Quantize(features.NewGrid(8, features.ByteSteps), make([]float32, 8000),
				blas.MaxRows+1, 1)
		},
		"Quantize, bytes": func() { m.Quantize(features.NewGrid(7, features.ByteSteps), make([]float32, 8), 2, 1) },
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
