package features_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/testing/kerneltest"
)

const in, out = 6, 16

var steps = []features.Recipe{
	preprocess.Standard{Mean: []float32{1, 2, 3, 4, 5, 6}, Dev: []float32{1, 2, 1, 2, 0, 3}},
	preprocess.Unit{In: in},
	preprocess.Divide{In: in, By: 0.5},
	fourier.Gaussian{In: in, Out: out, Width: 1, Seed: 4},
}

func sample(n int) []float32 {
	s := stream.New(1, stream.PurposeOf("test/rows"), 0)
	x := make([]float32, n*in)
	for i := range x {
		x[i] = float32(3 + 2*s.Normal())
	}
	return x
}

// oneByOne applies the maps of the steps, each to memory of its own.
func oneByOne(t *testing.T, steps []features.Recipe, x []float32, n int) []float32 {
	for _, r := range steps {
		m, err := r.New()
		if err != nil {
			t.Fatal(err)
		}
		_, o := m.Dims()
		y := make([]float32, n*o)
		m.Apply(y, x, n)
		x = y
	}
	return x
}

func TestChainEqualsItsStepsOneByOne(t *testing.T) {
	for first := range steps { // chains of 4, 3, 2 and 1 steps
		for _, n := range []int{0, 1, 5, blas.MaxRows, blas.MaxRows + 3} {
			x := sample(n)
			kept := slices.Clone(x)
			m, err := features.Chain{Steps: steps[first:]}.New()
			if err != nil {
				t.Fatal(err)
			}
			have := make([]float32, n*out)
			m.Apply(have, x, n)
			if want := oneByOne(t, steps[first:], x, n); !slices.Equal(have, want) {
				t.Errorf("from step %d, %d rows: differs from the steps one by one", first+1, n)
			}
			if !slices.Equal(x, kept) {
				t.Errorf("from step %d: the rows were written to", first+1)
			}
			if i, o := m.Dims(); i != in || o != out {
				t.Errorf("dims %d, %d", i, o)
			}
		}
	}
}

func TestChainIsGriddedIfItsLastMapIs(t *testing.T) {
	const n = 9
	x := sample(n)
	m, err := features.Chain{Steps: steps}.New()
	if err != nil {
		t.Fatal(err)
	}
	g, ok := m.(features.Gridded)
	if !ok {
		t.Fatal("a chain that ends in Fourier features is not Gridded")
	}
	last, err := steps[3].New()
	if err != nil {
		t.Fatal(err)
	}
	have, want := features.NewGrid(out, features.ByteSteps), features.NewGrid(out, features.ByteSteps)
	g.Quantize(have, x, n, 1)
	last.(features.Gridded).Quantize(want, oneByOne(t, steps[:3], x, n), n, 1)
	for i := range n {
		for j := range out {
			if have.At(i, j) != want.At(i, j) {
				t.Fatalf("byte %d,%d: have %d, want %d", i, j, have.At(i, j), want.At(i, j))
			}
		}
	}
	if g.Step() != last.(features.Gridded).Step() {
		t.Errorf("step %v", g.Step())
	}
	m, err = features.Chain{Steps: steps[:3]}.New()
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := m.(features.Gridded); ok {
		t.Error("a chain of scalings is Gridded")
	}
}

func TestChainIsSafeForConcurrentUse(t *testing.T) {
	const n = 40
	x := sample(n)
	m, err := features.Chain{Steps: steps}.New()
	if err != nil {
		t.Fatal(err)
	}
	want := oneByOne(t, steps, x, n)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			rows := 1 + worker // scratch of different sizes in one pool
			dst := make([]float32, rows*out)
			for lo := 0; lo+rows <= n; lo += rows {
				m.Apply(dst, x[lo*in:], rows)
				if !slices.Equal(dst, want[lo*out:(lo+rows)*out]) {
					t.Errorf("worker %d, row %d: features differ", worker, lo)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestChainKernelMatchesTheLastStepOnScaledRows(t *testing.T) {
	x := sample(2)
	y := oneByOne(t, steps[:3], x, 2)
	want := kerneltest.Kernel(steps[3])(y[:in], y[in:])
	if have := kerneltest.Kernel(features.Chain{Steps: steps})(x[:in], x[in:]); have != want || want <= 0 || want >= 1 {
		t.Errorf("have %v, want %v", have, want)
	}
	for name, c := range map[string]features.Chain{
		"no steps": {}, "an invalid step": {Steps: []features.Recipe{preprocess.Divide{In: in}, steps[3]}},
	} {
		if _, err := features.Kernel(c); err == nil {
			t.Errorf("a chain of %s has a kernel", name)
		}
	}
}

func TestChainErrorsNameTheStep(t *testing.T) {
	for _, c := range []struct {
		steps []features.Recipe
		want  string
	}{
		{nil, "chain: no steps; give at least one recipe"},
		{[]features.Recipe{steps[1], nil}, "chain: step 2: the recipe is missing"},
		{[]features.Recipe{steps[3], steps[1]}, "chain: step 1: fourier.Gaussian is random; only the last step may be"},
		{[]features.Recipe{steps[1], features.Chain{Steps: steps}}, "chain: step 2: a chain inside a chain"},
		{[]features.Recipe{steps[1], preprocess.Divide{In: in}}, "chain: step 2: scale: Divide: by must be"},
		{[]features.Recipe{steps[1], preprocess.Unit{In: 7}}, "chain: step 2: takes rows of 7 values, but step 1 returns 6"},
	} {
		_, err := features.Chain{Steps: c.steps}.New()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("have %v, want %q", err, c.want)
		}
	}
}

func TestChainPanicsOnShortSlices(t *testing.T) {
	m, err := features.Chain{Steps: steps}.New()
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func(){
		"x":   func() { m.Apply(make([]float32, 2*out), make([]float32, 2*in-1), 2) },
		"dst": func() { m.Apply(make([]float32, 2*out-1), make([]float32, 2*in), 2) },
		"n":   func() { m.Apply(nil, nil, -1) },
		"Quantize": func() {
			m.(features.Gridded).Quantize(features.NewGrid(out, features.ByteSteps), make([]float32, in), 2, 1)
		},
		"Kernel": func() { kerneltest.Kernel(features.Chain{Steps: steps})(make([]float32, in), nil) },
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

// reverse reverses rows. Unlike a scaling, its map cannot work in place.
type reverse struct{ D int }

func (r reverse) New() (features.Map, error) { return r, nil }
func (r reverse) Dims() (in, out int)        { return r.D, r.D }
func (r reverse) Validate() error            { return nil }
func (r reverse) Apply(dst, x []float32, n int) {
	for i := range n {
		for j := range r.D {
			dst[i*r.D+j] = x[i*r.D+r.D-1-j]
		}
	}
}

func TestChainNeverAppliesAStepInPlace(t *testing.T) {
	x := sample(3)
	for count := range 6 {
		m, err := features.Chain{Steps: slices.Repeat([]features.Recipe{reverse{in}}, count+1)}.New()
		if err != nil {
			t.Fatal(err)
		}
		once, have := make([]float32, 3*in), make([]float32, 3*in)
		reverse{in}.Apply(once, x, 3)
		want := [][]float32{once, x}[count%2]
		if m.Apply(have, x, 3); !slices.Equal(have, want) {
			t.Errorf("reversed %d times: %v, want %v", count+1, have[:in], want[:in])
		}
	}
}
