package preprocess

import (
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/stream"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// smooth returns n images whose neighbouring pixels and channels are similar,
// as in photographs.
func smooth(s ImageShape, n int) []float32 {
	r := stream.New(4, stream.PurposeOf("test/smooth"), 0)
	x := make([]float32, 0, n*s.Len())
	for range n {
		a, b, c, light := r.Normal(), r.Normal(), r.Uniform(), 100*r.Uniform()
		for y := range s.Height {
			for j := range s.Width {
				for k := range s.Channels {
					x = append(x, float32(light+30*math.Sin(a*float64(y)+b*float64(j)+c*float64(k))+5*r.Normal()))
				}
			}
		}
	}
	return x
}

// patches returns all patches of the images, one per row, by plain
// loops.
func patches(x []float32, n int, s ImageShape, size, stride int) *mat.Dense {
	var rows int
	var all []float64
	for i := range n {
		for top := 0; top+size <= s.Height; top += stride {
			for left := 0; left+size <= s.Width; left += stride {
				rows++
				for y := range size {
					for j := range size {
						for c := range s.Channels {
							all = append(all, float64(x[i*s.Len()+at(s, top+y, left+j, c)]))
						}
					}
				}
			}
		}
	}
	return mat.NewDense(rows, size*size*s.Channels, all)
}

func TestPatchesAreProjected(t *testing.T) {
	r := stream.New(5, stream.PurposeOf("test/basis"), 0)
	for _, c := range []struct {
		shape             ImageShape
		size, stride, out int
	}{
		{ImageShape{Height: 7, Width: 9, Channels: 3}, 3, 1, 4},
		{ImageShape{Height: 7, Width: 9, Channels: 3}, 3, 4, 50},
		{ImageShape{Height: 8, Width: 5, Channels: 2}, 5, 100, 1},
		{ImageShape{Height: 40, Width: 41, Channels: 1}, 2, 1, 3}, // more patches than fit in one run
		{ImageShape{Height: 3, Width: 3, Channels: 4}, 1, 2, 4},
	} {
		const n = 2
		p := PatchPCA{Shape: c.shape, Patch: c.size, Stride: c.stride, Out: c.out}
		length := c.size * c.size * c.shape.Channels
		for range length {
			p.Mean = append(p.Mean, float32(r.Normal()))
		}
		for range c.out * length {
			p.Basis = append(p.Basis, float32(r.Normal()))
		}
		x := smooth(c.shape, n)
		all := patches(x, n, c.shape, c.size, c.stride)
		count, _ := all.Dims()
		have := applyImage(t, p, x, n)
		if len(have) != count*c.out {
			t.Fatalf("%+v: %d numbers of %d patches", c, len(have), count)
		}
		p.Shape.Planar = true
		if inPlanes := applyImage(t, p, planar(x, c.shape), n); !slices.Equal(inPlanes,
			planar(have, projected(c.shape, c.size, c.stride, c.out))) {
			t.Errorf("%+v: the planar layout gives different values", c)
		}
		for i := range count {
			for k := range c.out {
				var want, size float64
				for j := range length {
					term := float64(p.Basis[k*length+j]) * (all.At(i, j) - float64(p.Mean[j]))
					want += term
					size += math.Abs(term)
				}
				if v := float64(have[i*c.out+k]); !(math.Abs(v-want) <= float64(length+1)*0x1p-24*size) {
					t.Fatalf("%+v: patch %d direction %d: have %v, want %v", c, i, k, v, want)
				}
			}
		}
	}
}

// The directions equal the principal components by singular values.
func TestFitFindsThePrincipalDirections(t *testing.T) {
	f := PatchFit{Shape: ImageShape{Height: 12, Width: 10, Channels: 3}, Patch: 3, Stride: 2, Out: 27}
	const n = 30
	x := smooth(f.Shape, n)
	r, err := FitPatchPCA(x, n, f)
	if err != nil {
		t.Fatal(err)
	}
	all := patches(x, n, f.Shape, f.Patch, f.Stride)
	var pc stat.PC
	if !pc.PrincipalComponents(all, nil) {
		t.Fatal("gonum found no principal components")
	}
	var want mat.Dense
	pc.VectorsTo(&want)
	for j, m := range r.Mean {
		if v := stat.Mean(mat.Col(nil, j, all), nil); m != float32(v) {
			t.Errorf("mean %d: have %v, want %v", j, m, v)
		}
	}
	for k := range f.Out {
		row := r.Basis[k*27 : (k+1)*27]
		var product, squares, most float64
		for j, v := range row {
			product += float64(v) * want.At(j, k)
			squares += float64(v) * float64(v)
			if math.Abs(float64(v)) > math.Abs(most) {
				most = float64(v)
			}
		}
		if math.Abs(math.Abs(product)-1) > 1e-6 || math.Abs(squares-1) > 1e-6 {
			t.Errorf("direction %d: product with the singular vector %v, length² %v", k, product, squares)
		}
		if most <= 0 {
			t.Errorf("direction %d: the component of largest magnitude is %v", k, most)
		}
	}
}

func TestProjectionsOfTheSampleAreUncorrelated(t *testing.T) {
	f := PatchFit{Shape: ImageShape{Height: 12, Width: 10, Channels: 3}, Patch: 2, Stride: 1, Out: 6}
	const n = 20
	x := smooth(f.Shape, n)
	for _, whiten := range []bool{false, true} {
		f.Whiten = whiten
		r, err := FitPatchPCA(x, n, f)
		if err != nil {
			t.Fatal(err)
		}
		y := applyImage(t, r, x, n)
		z := make([]float64, len(y))
		for i, v := range y {
			z[i] = float64(v)
		}
		var cov mat.SymDense
		stat.CovarianceMatrix(&cov, mat.NewDense(len(z)/f.Out, f.Out, z), nil)
		for i := range f.Out {
			for j := range i {
				if c := cov.At(i, j) / math.Sqrt(cov.At(i, i)*cov.At(j, j)); math.Abs(c) > 1e-5 {
					t.Errorf("correlation of %d and %d: %v", i, j, c)
				}
			}
			if i > 0 && !whiten && cov.At(i, i) > cov.At(i-1, i-1) {
				t.Errorf("variance %d is larger than the one before", i)
			}
			// The sample's variance divides by count−1, the fit's by count.
			if v := cov.At(i, i); whiten && math.Abs(v-1) > 1e-3 {
				t.Errorf("variance %d of whitened projections: %v", i, v)
			}
		}
	}
}

// With variance v and Epsilon e the projection is divided by √(v+e).
func TestEpsilonIsAddedToTheVariance(t *testing.T) {
	f := PatchFit{Shape: ImageShape{Height: 1, Width: 2, Channels: 1}, Patch: 1, Stride: 1, Out: 1, Whiten: true,
		Epsilon: 5}
	r, err := FitPatchPCA([]float32{-2, 2}, 1, f)
	if err != nil {
		t.Fatal(err)
	}
	if want := float32(1.0 / 3); r.Basis[0] != want || r.Mean[0] != 0 {
		t.Errorf("basis %v, mean %v, want %v, 0", r.Basis, r.Mean, want)
	}
}

func TestFitDoesNotDependOnThreadsOrLayout(t *testing.T) {
	s := ImageShape{Height: 16, Width: 16, Channels: 3}
	const n = 10
	x := smooth(s, n)
	f := PatchFit{Shape: s, Patch: 6, Stride: 3, Out: 40, Whiten: true, Epsilon: 1}
	want, err := FitPatchPCA(x, n, f)
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, threads := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(threads)
		f.Shape.Planar = threads == 2
		y := x
		if f.Shape.Planar {
			y = planar(x, s)
		}
		r, err := FitPatchPCA(y, n, f)
		if err != nil || !slices.Equal(r.Basis, want.Basis) || !slices.Equal(r.Mean, want.Mean) {
			t.Errorf("%d threads, planes %t: the basis differs, %v", threads, f.Shape.Planar, err)
		}
	}
}

func TestFitPatchPCARejectsInvalidInput(t *testing.T) {
	s := ImageShape{Height: 2, Width: 2, Channels: 1}
	good := PatchFit{Shape: s, Patch: 1, Stride: 1, Out: 1}
	with := func(change func(*PatchFit)) PatchFit { f := good; change(&f); return f }
	x := []float32{1, 2, 3, 4}
	for _, c := range []struct {
		x    []float32
		n    int
		f    PatchFit
		want string
	}{
		{x, 1, with(func(f *PatchFit) { f.Shape.Width = 0 }), "image: PatchFit: shape.width"},
		{x, 1, with(func(f *PatchFit) { f.Patch = 3 }), "image: PatchFit: patch must be 1 to 2 (have 3)"},
		{x, 1, with(func(f *PatchFit) { f.Stride = 0 }), "image: PatchFit: stride"},
		{x, 1, with(func(f *PatchFit) { f.Out = 2 }), "image: PatchFit: out must be 1 to 1, the length of a patch (have 2)"},
		{x, 1, with(func(f *PatchFit) { f.Epsilon = -1 }), "image: PatchFit: epsilon must be ≥ 0 and finite (have -1)"},
		{x, 1, with(func(f *PatchFit) { f.Epsilon = math.NaN() }), "epsilon"},
		{nil, 0, good, "image: FitPatchPCA: no images"},
		{[]float32{1, 2, 3, 4, 1, 2, float32(math.Inf(-1)), 4}, 2, good, "image: FitPatchPCA: image 2: value 3 is -Inf"},
		{[]float32{3, 3, 3, 3}, 1, with(func(f *PatchFit) { f.Whiten = true }), "direction 1 of the patches has variance 0"},
		// Two columns that are the same have one direction only.
		{[]float32{1, 1, 2, 2}, 1, PatchFit{Shape: ImageShape{Height: 2, Width: 1, Channels: 2}, Patch: 1, Stride: 1, Out: 2,
			Whiten: true}, "direction 2 of the patches has variance"},
	} {
		if _, err := FitPatchPCA(c.x, c.n, c.f); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: have %v, want %q", c.f, err, c.want)
		}
	}
	if _, err := FitPatchPCA([]float32{3, 3, 3, 3}, 1, good); err != nil {
		t.Errorf("equal pixels, not whitened: %v", err)
	}
}

func BenchmarkPatchPCA(b *testing.B) {
	for _, planes := range []bool{false, true} {
		s := ImageShape{Height: 32, Width: 32, Channels: 3, Planar: planes}
		r := PatchPCA{Shape: s, Patch: 6, Stride: 2, Out: 16, Mean: make([]float32, 108), Basis: make([]float32, 16*108)}
		benchmark(b, layoutName(planes), r)
	}
}

func BenchmarkFitPatchPCA(b *testing.B) {
	s := ImageShape{Height: 32, Width: 32, Channels: 3}
	x := smooth(s, 50)
	for b.Loop() {
		if _, err := FitPatchPCA(x, 50, PatchFit{Shape: s, Patch: 6, Stride: 1, Out: 16}); err != nil {
			b.Fatal(err)
		}
	}
}
