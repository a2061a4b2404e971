package preprocess_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/identity"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/testing/kerneltest"
)

const d = 4

// parts returns a part of each sort, some with sizes that no panel of the grid divides.
func parts() []features.Recipe {
	return []features.Recipe{
		fourier.Gaussian{In: d, Out: 32, Width: 2, Seed: 1},
		features.Chain{Steps: []features.Recipe{preprocess.DiagonalMetric{A: features.Floats{1, 2, 0, 1}},
			fourier.Gaussian{In: d, Out: 10, Width: 1, Seed: 2}}},
		preprocess.Bins{In: d, Columns: []preprocess.BinColumn{{Index: 0, Cuts: features.Floats{-1, 0, 1}},
			{Index: 2, Cuts: features.Floats{0.5}}}, Weight: 0.3},
		identity.Identity{In: d, Low: []float32{-4, -4, -4, -6}, High: []float32{4, 4, 5, 9}},
	}
}

func rowsOf(n int) []float32 {
	r := rand.New(rand.NewPCG(1, 1))
	x := make([]float32, n*d)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func draw(t *testing.T, r features.Recipe) features.Map {
	t.Helper()
	m, err := r.New()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Features of the parts are side by side, the kernel is the sum of their kernels, and each part has the same
// numbers on its grid as it has without the others, at 8 and at 16 bits.
func TestJoinedPartsMatchSeparatePreprocessing(t *testing.T) {
	const n = 333
	x := rowsOf(n)
	for count := 1; count <= len(parts()); count++ {
		r := preprocess.Join{Parts: parts()[len(parts())-count:]}
		if count == 2 {
			r.Parts = parts()[:2]
		}
		m := draw(t, r).(features.Ranged)
		_, out := m.Dims()
		z := make([]float32, n*out)
		m.Apply(z, x, n)
		centre, half := m.Ranges()
		if _, dim := r.Dims(); dim != out || len(centre) != out || len(half) != out {
			t.Fatalf("%d features, %d of the recipe, %d ranges", out, dim, len(half))
		}
		var kernel float64
		for _, p := range r.Parts {
			kernel += kerneltest.Kernel(p)(x[:d], x[d:2*d])
		}
		if have := r.Kernel(x[:d], x[d:2*d]); have != kernel {
			t.Errorf("kernel %v, want %v", have, kernel)
		}
		for _, steps := range []int{features.ByteSteps, 27720} {
			grid := features.NewGrid(out, steps)
			for range 2 { // the second time in memory that the first has used
				saturated, first := m.Quantize(grid, x, n, 2), 0
				var alone int64
				for k, p := range r.Parts {
					g := draw(t, p).(features.Gridded)
					_, dim := g.Dims()
					own, phi := features.NewGrid(dim, steps), make([]float32, n*dim)
					alone += g.Quantize(own, x, n, 1)
					g.Apply(phi, x, n)
					for i := range n {
						for j := range dim {
							if have, want := grid.At(i, first+j), own.At(i, j); have != want {
								t.Fatalf("%d parts: part %d, %d steps: feature %d of row %d is %d on the grid, alone %d", count, k, steps, j, i,
									have, want)
							}
							if have, want := z[i*out+first+j], phi[i*dim+j]; have != want {
								t.Fatalf("%d parts: part %d: feature %d of row %d is %v, alone %v", count, k, j, i, have, want)
							}
							on := centre[first+j] + half[first+j]/float64(steps)*float64(grid.At(i, first+j))
							if off := math.Abs(on-float64(z[i*out+first+j])) / half[first+j] * float64(steps); off > 0.51 {
								t.Fatalf("%d parts: part %d: feature %d of row %d is %v steps from its grid", count, k, j, i, off)
							}
						}
					}
					first += dim
				}
				if saturated != alone {
					t.Errorf("%d features set aside, %d alone", saturated, alone)
				}
			}
		}
	}
}

// A wide part does not make the whole wide, and the step is the largest that rounds.
func TestJoinIsWideIfAllPartsAre(t *testing.T) {
	all := draw(t, preprocess.Join{Parts: parts()}).(features.Ranged)
	if all.Wide() {
		t.Error("a join with Fourier features is wide")
	}
	if !draw(t, preprocess.Join{Parts: parts()[3:]}).(features.Ranged).Wide() {
		t.Error("a join of plain columns is not wide")
	}
	fourierAndBins := draw(t, preprocess.Join{Parts: []features.Recipe{parts()[0], parts()[2]}}).(features.Ranged)
	if have, want := fourierAndBins.Step(), draw(t, parts()[0]).(features.Gridded).Step(); have != want {
		t.Errorf("step %v beside bins, alone %v", have, want)
	}
}

// After an encoding with a short form of rows, all parts have the numbers that they have for whole rows.
func TestJoinTakesTheShortForm(t *testing.T) {
	const levels, n = 40, 400
	encode := preprocess.Columns{Slots: []preprocess.Slot{{Number: &preprocess.Number{}},
		{OneHot: &preprocess.OneHot{Values: levels, Weight: 0.7}}}}
	at := slices.Repeat([]float32{0}, levels+1)
	at[0] = 1
	a := slices.Repeat(features.Floats{0.5}, levels+1)
	r := rand.New(rand.NewPCG(2, 2))
	var x []float32
	for range n {
		x = append(x, float32(2*r.NormFloat64()), float32(r.IntN(levels+1)))
	}
	parts := []features.Recipe{
		features.Chain{Steps: []features.Recipe{preprocess.DiagonalMetric{A: a},
			fourier.Gaussian{In: levels + 1, Out: 64, Width: 1, Seed: 1}}},
		preprocess.Bins{In: levels + 1, Columns: []preprocess.BinColumn{{Index: 0, Cuts: features.Floats{-1, 0, 1}},
			{Index: 7, Cuts: features.Floats{0.5}}}, Weight: 1},
		preprocess.Bins{In: levels + 1, Columns: []preprocess.BinColumn{{Index: 7, Cuts: features.Floats{0, 1}}}, Weight: 1,
			PiecewiseLinear: true},
	}
	whole := draw(t, features.Chain{Steps: []features.Recipe{encode, preprocess.Clip{At: at}}})
	y := make([]float32, n*(levels+1))
	whole.Apply(y, x, n)
	plain := draw(t, preprocess.Join{Parts: parts}).(features.Gridded)
	gathered := draw(t, features.Chain{Steps: []features.Recipe{encode, preprocess.Clip{At: at},
		preprocess.Join{Parts: parts}}}).(features.Ranged)
	_, out := gathered.Dims()
	have, want := make([]float32, n*out), make([]float32, n*out)
	gathered.Apply(have, x, n)
	plain.Apply(want, y, n)
	if !slices.Equal(have, want) {
		t.Error("features differ from the features of whole rows")
	}
	g, h := features.NewGrid(out, features.ByteSteps), features.NewGrid(out, features.ByteSteps)
	gathered.Quantize(g, x, n, 1)
	plain.Quantize(h, y, n, 1)
	for i := range n {
		for j := range out {
			if g.At(i, j) != h.At(i, j) {
				t.Fatalf("feature %d of row %d is %d on the grid, of the whole row %d", j, i, g.At(i, j), h.At(i, j))
			}
		}
	}
	compact := &features.ShortForm{Dense: 1, Groups: 1, Hot: slices.Repeat([]float32{0.7}, levels)}
	if m, err := (preprocess.Join{Parts: parts}).NewShort(compact); err != nil || m == nil {
		t.Errorf("no map of the short form: %v", err)
	}
	if m, err := (preprocess.Join{Parts: parts[1:]}).NewShort(compact); err != nil || m != nil {
		t.Errorf("a map of the short form of bins alone: %v, %v", m, err)
	}
}

func TestInvalidJoinsAreRejected(t *testing.T) {
	inside := preprocess.Join{Parts: parts()[:1]}
	for want, r := range map[string]preprocess.Join{
		"parts must be 1 to 16":           {},
		"parts must be 1 to 16 (have 17)": {Parts: slices.Repeat(parts()[:1], 17)},
		"part 2: takes rows of 3 values, part 1 rows of 4": {Parts: []features.Recipe{parts()[0],
			identity.Identity{In: 3, Bound: 1}}},
		"part 2: the recipe is missing":                     {Parts: []features.Recipe{parts()[0], nil}},
		"part 1: a join inside a join; list its parts here": {Parts: []features.Recipe{inside}},
		"part 2: a join inside a join; list its parts here": {Parts: []features.Recipe{parts()[0],
			features.Chain{Steps: []features.Recipe{inside}}}},
		"part 1: fourier: Gaussian: width must be > 0":         {Parts: []features.Recipe{fourier.Gaussian{In: 1, Out: 2}}},
		"part 1: chain: no steps; give at least one recipe":    {Parts: []features.Recipe{features.Chain{}}},
		"part 1: linear: Identity: 0 lows and 0 highs for 1 c": {Parts: []features.Recipe{identity.Identity{In: 1}}},
	} {
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for want, text := range map[string]string{
		`unknown field "prats"`:          `{"prats":[]}`,
		"part 1: a join inside a join":   `{"parts":[{"kind":"join","recipe":{"parts":[]}}]}`,
		"part 2: a join inside a join":   `{"parts":[{"kind":"scale.unit","recipe":{"in":4}},{"kind":"chain","recipe":{"steps":[{"kind":"join","recipe":{}}]}}]}`,
		"part 1: features: scale.unit: ": `{"parts":[{"kind":"scale.unit","recipe":{"in":0}}]}`,
	} {
		_, err := features.Sealed{Kind: "join", JSON: []byte(text)}.Open()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for k := 1; k <= len(parts()); k++ {
		s, err := features.Seal(preprocess.Join{Parts: parts()[:k]})
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(s.JSON))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := features.Sealed{Kind: "join", JSON: data}.Open()
		if err != nil {
			return
		}
		s, err := features.Seal(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Open(); err != nil {
			t.Fatal(err)
		}
	})
}
