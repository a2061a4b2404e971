package patches

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/io/rowio"
)

// bars returns n images, each with a bright bar over a noisy ground, and the number of flat ones
// first.
func bars(s preprocess.ImageShape, n, flat int) []float32 {
	r := stream.New(3, stream.PurposeOf("test/bars"), 0)
	x := make([]float32, n*s.Len())
	for i := flat; i < n; i++ {
		image, upright, at := x[i*s.Len():(i+1)*s.Len()], r.Below(2) == 0, int(r.Below(uint64(min(s.Height, s.Width))))
		for y := range s.Height {
			for c := range s.Width {
				for k := range s.Channels {
					v := 0.2 * r.Uniform()
					if upright && c == at || !upright && y == at {
						v += 0.5 + 0.2*float64(k)
					}
					image[s.At(y, c, k)] = float32(v)
				}
			}
		}
	}
	return x
}

func data(s preprocess.ImageShape, x []float32, seed uint64) *kernel.Data {
	return &kernel.Data{In: s.Len(), Rows: int64(len(x) / s.Len()), Seed: seed, Image: rowio.Image(s),
		Sample: func() ([]float32, int, error) { return x, len(x) / s.Len(), nil }}
}

func choose(t *testing.T, o Options, d *kernel.Data) Recipe {
	t.Helper()
	c, err := o.Choose(d)
	if err != nil {
		t.Fatal(err)
	}
	return c.Recipe.(Recipe)
}

func apply(t *testing.T, r Recipe, x []float32) []float32 {
	t.Helper()
	m, err := r.New()
	if err != nil {
		t.Fatal(err)
	}
	in, out := m.Dims()
	dst := make([]float32, len(x)/in*out)
	m.Apply(dst, x, len(x)/in)
	return dst
}

// reference computes the features of an image by their definition, in float64.
func reference(r Recipe, x []float32) []float64 {
	k, length := len(r.Bias), r.Patch*r.Patch*r.Shape.Channels
	down, across := r.Shape.Height-r.Patch+1, r.Shape.Width-r.Patch+1
	var features []float64
	for i := range r.Cells {
		for j := range r.Cells {
			positive, negative, places := make([]float64, k), make([]float64, k), 0.0
			for y := i * down / r.Cells; y < (i+1)*down/r.Cells; y++ {
				for c := j * across / r.Cells; c < (j+1)*across/r.Cells; c++ {
					var p []float64
					var mean, variance float64
					for u := range r.Patch {
						for v := range r.Patch {
							for h := range r.Shape.Channels {
								p = append(p, float64(x[r.Shape.At(y+u, c+v, h)]))
								mean += p[len(p)-1] / float64(length)
							}
						}
					}
					for _, v := range p {
						variance += (v - mean) * (v - mean) / float64(length)
					}
					for f := range k {
						response := float64(r.Bias[f])
						for l, v := range p {
							response += float64(r.Filters[f*length+l]) * (v - mean) / math.Sqrt(variance+r.Floor)
						}
						positive[f] += max(0, response-r.Threshold)
						negative[f] += max(0, -response-r.Threshold)
					}
					places++
				}
			}
			for _, v := range slices.Concat(positive, negative) {
				features = append(features, v/places/math.Sqrt(float64(k)))
			}
		}
	}
	return features
}

func TestFeaturesEqualTheirDefinition(t *testing.T) {
	for _, c := range []struct {
		shape preprocess.ImageShape
		o     Options
	}{
		{preprocess.ImageShape{Height: 9, Width: 11, Channels: 1}, Options{Patch: 4, Cells: 2, Features: 8 * 5}},
		{preprocess.ImageShape{Height: 8, Width: 7, Channels: 3}, Options{Patch: 3, Cells: 3, Features: 18*17 + 5}},
		{preprocess.ImageShape{Height: 14, Width: 13, Channels: 2, Planar: true}, Options{Patch: 2, Cells: 1, Features: 2 * 1500}},
		{preprocess.ImageShape{Height: 6, Width: 6, Channels: 1}, Options{Patch: 6, Cells: 1, Features: 2}},
	} {
		x := bars(c.shape, 30, 2)
		r := choose(t, c.o, data(c.shape, x, 5))
		in, out := r.Dims()
		if want := c.o.Size(in).Features; out != want || out > c.o.Features || out <= c.o.Features-c.o.perFilter() {
			t.Errorf("%+v: %d features, planned were %d", c.o, out, want)
		}
		for i := range 4 {
			image := x[i*in : (i+1)*in]
			have, want := apply(t, r, image), reference(r, image)
			for j := range want {
				if math.Abs(float64(have[j])-want[j]) > 1e-5*(1+r.featureBound()) {
					t.Fatalf("%+v: image %d, feature %d: have %v, want %v", c, i, j, have[j], want[j])
				}
			}
			if i > 1 && len(r.Bias) > 1 && slices.Max(have) == 0 {
				t.Errorf("%+v: all features of image %d are 0", c, i)
			}
		}
	}
}

// Over patches of the sample, the responses of filters have mean square 1.
func TestResponsesHaveMeanSquareOne(t *testing.T) {
	s := preprocess.ImageShape{Height: 12, Width: 12, Channels: 1}
	x := bars(s, 200, 0)
	r := choose(t, Options{Patch: 4, Cells: 1, Features: 64}, data(s, x, 1))
	var squares, n float64
	p := make([]float32, 16)
	for i := range 200 {
		for y := range 9 {
			for c := range 9 {
				s.Patch(p, x[i*s.Len():(i+1)*s.Len()], y, c, 4)
				contrast(p, r.Floor)
				for k, b := range r.Bias {
					v := float64(b)
					for l, f := range r.Filters[k*16 : (k+1)*16] {
						v += float64(f) * float64(p[l])
					}
					squares, n = squares+v*v, n+1
				}
			}
		}
	}
	if mean := squares / n; math.Abs(mean-1) > 0.03 {
		t.Errorf("mean square response %v", mean)
	}
}

// Brightness and contrast of an image hardly change its features, for any unit of its pixels.
func TestUnitsOfPixelsDoNotMatter(t *testing.T) {
	s := preprocess.ImageShape{Height: 10, Width: 10, Channels: 3, Planar: true}
	x := bars(s, 60, 0)
	bright := slices.Clone(x)
	for i := range bright {
		bright[i] = 256 * (bright[i] + 1)
	}
	o := Options{Patch: 3, Cells: 2, Features: 80}
	a, b := choose(t, o, data(s, x, 1)), choose(t, o, data(s, bright, 1))
	have, want := apply(t, b, bright), apply(t, a, x)
	for j := range want {
		if math.Abs(float64(have[j]-want[j])) > 2e-3 {
			t.Fatalf("feature %d: %v and %v", j, have[j], want[j])
		}
	}
}

func TestSameFeaturesOnAllLevelsThreadsAndBlocks(t *testing.T) {
	s := preprocess.ImageShape{Height: 13, Width: 12, Channels: 3}
	const n = 23
	x := bars(s, n, 1)
	r := choose(t, Options{Patch: 5, Cells: 2, Features: 8 * 37}, data(s, x, 9))
	in, out := r.Dims()
	want := apply(t, r, x)
	m, _ := r.New()
	g, one := features.NewGrid(out, features.ByteSteps), features.NewGrid(out, features.ByteSteps)
	if saturated := m.(features.Gridded).Quantize(g, x, n, 1); saturated != 0 {
		t.Errorf("%d features beyond the grid", saturated)
	}
	defer blas.SetISA(blas.ISA())
	for _, level := range blas.ISAs() {
		if err := blas.SetISA(level); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(apply(t, r, x), want) {
			t.Errorf("%s: other features", level)
		}
		if again := choose(t, Options{Patch: 5, Cells: 2, Features: 8 * 37}, data(s, x, 9)); !reflect.DeepEqual(again, r) {
			t.Errorf("%s: another recipe", level)
		}
		m.(features.Gridded).Quantize(one, x, n, 3)
		for i := range n {
			if !slices.Equal(apply(t, r, x[i*in:(i+1)*in]), want[i*out:(i+1)*out]) {
				t.Errorf("%s: image %d alone has other features", level, i)
			}
			for j := range out {
				if steps := float64(want[i*out+j]) / r.Bound * 127; one.At(i, j) != g.At(i, j) ||
					math.Abs(steps-float64(g.At(i, j))) > 0.51 {
					t.Fatalf("%s: %v steps became %d and %d", level, steps, g.At(i, j), one.At(i, j))
				}
			}
		}
	}
}

// Features of any image are within the bound that Choose states.
func TestFeaturesStayWithinTheirBound(t *testing.T) {
	s := preprocess.ImageShape{Height: 8, Width: 8, Channels: 1}
	x := bars(s, 50, 0)
	c, err := (&Options{Patch: 3, Cells: 2, Features: 64}).Choose(data(s, x, 2))
	if err != nil {
		t.Fatal(err)
	}
	r := c.Recipe.(Recipe)
	noise := stream.New(1, stream.PurposeOf("test/noise"), 0)
	z := make([]float32, 300*s.Len())
	for i := range z {
		z[i] = float32(1e6 * noise.Normal())
	}
	if largest := float64(slices.Max(apply(t, r, z))); largest > min(r.featureBound(), c.Reach*r.Bound) ||
		largest < 0.1*r.featureBound() {
		t.Errorf("largest feature %v, bound %v, reach %v of %v", largest, r.featureBound(), c.Reach, r.Bound)
	}
	sealed, err := features.Seal(r)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := sealed.Open(); err != nil || !reflect.DeepEqual(back, features.Recipe(r)) {
		t.Errorf("opened: %v, %v", back, err)
	}
	z[5] = float32(math.Inf(1))
	for _, v := range apply(t, r, z[:s.Len()]) {
		if v == v {
			t.Fatal("an infinity left a feature")
		}
	}
}

func TestImagesWithoutContrastAreRejected(t *testing.T) {
	s := preprocess.ImageShape{Height: 8, Width: 8, Channels: 1}
	o := &Options{Features: 64}
	if _, err := o.Choose(data(s, make([]float32, 5*64), 1)); err == nil || !strings.Contains(err.Error(), "no contrast") {
		t.Errorf("flat images: %v", err)
	}
	if _, err := (Sample{Shape: s, Patch: 3}).Fit(1); err == nil || !strings.Contains(err.Error(), "at least one image") {
		t.Errorf("no rows: %v", err)
	}
	if _, err := o.Choose(&kernel.Data{In: 64}); err == nil || !strings.Contains(err.Error(), "are not images") {
		t.Errorf("no images: %v", err)
	}
	if _, err := (&Options{Patch: 7, Cells: 3}).Choose(data(s, bars(s, 5, 0), 1)); err == nil ||
		!strings.Contains(err.Error(), "cells must be 1 to 2, for there are 2×2 patches (have 3)") {
		t.Errorf("too many cells: %v", err)
	}
	// Mostly flat images, such as drawings: filters have contrast.
	r := choose(t, Options{Patch: 4, Cells: 1, Features: 128}, data(s, bars(s, 40, 35), 1))
	for k := range r.Bias {
		if f := r.Filters[k*16 : (k+1)*16]; k > 0 && slices.Equal(f, r.Filters[:16]) {
			t.Errorf("filter %d is filter 0: %v", k, f)
		}
	}
}

// Damaged recipes are rejected before anything is allocated for them.
func TestDamagedRecipesAreRejected(t *testing.T) {
	s := preprocess.ImageShape{Height: 8, Width: 8, Channels: 1}
	r := choose(t, Options{Patch: 3, Cells: 2, Features: 32}, data(s, bars(s, 20, 0), 2))
	good, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`"height":8`, `"height":0`, "patches: shape.height must be 1"},
		{`"height":8`, `"height":1048576`, "exceeds the longest row"},
		{`"patch":3`, `"patch":9`, "patch must be 1 to 8 (have 9)"},
		{`"patch":3`, `"patch":4`, "filters must have 4×16 values (have 36)"},
		{`"cells":2`, `"cells":7`, "cells must be 1 to 6, for there are 6×6 patches (have 7)"},
		{`"cells":2`, `"cells":4611686018427387904`, "cells must be 1 to 6"},
		{`"threshold":0.25`, `"threshold":-1`, "threshold must be ≥ 0"},
		{`"floor":`, `"floor":-`, "floor must be > 0"},
		{`"bias":"`, `"bias":"AAAAAAAAAAAAAAAA`, "filters must have 7×9 values"},
		{`"filters":"`, `"filters":"AAAAAAAAAAAAAAAA`, "filters must have 4×9 values (have 39)"},
		{`"filters":"`, `"filters":"!`, "illegal base64"},
		{`"bound":`, `"bound":-`, "bound must be a number > 0"},
		{`"cells"`, `"cellz"`, `unknown field "cellz"`},
	} {
		text := strings.Replace(string(good), c.old, c.new, 1)
		_, err := features.Sealed{Kind: "patches", JSON: json.RawMessage(text)}.Open()
		if text == string(good) || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s → %s: have %v, want %q", c.old, c.new, err, c.want)
		}
	}
	r.Filters = slices.Clone(r.Filters)
	r.Filters[10] = float32(math.NaN())
	if err := r.Validate(); err == nil || !strings.Contains(err.Error(), "value 2 of filter 2 must be finite") {
		t.Errorf("NaN: %v", err)
	}
}

func TestValidateRejectsInvalidOptions(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Patch: 1}, "must be 2 to 45 (have 1)"}, {Options{Patch: 46}, "(have 46)"},
		{Options{Cells: -1}, "must be 1 to 64 (have -1)"},
		{Options{Cells: 5, Features: 49}, "must be at least 50, the features of one filter (have 49)"},
	} {
		if err := c.o.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: have %v, want %q", c.o, err, c.want)
		}
	}
}

// BenchmarkApply maps images as in CIFAR: 729 patches of 108 numbers by 512 filters.
func BenchmarkApply(b *testing.B) {
	s := preprocess.ImageShape{Height: 32, Width: 32, Channels: 3, Planar: true}
	x := bars(s, 50, 0)
	c, err := (&Options{Features: 4096}).Choose(data(s, x, 1))
	if err != nil {
		b.Fatal(err)
	}
	m, err := c.Recipe.New()
	if err != nil {
		b.Fatal(err)
	}
	dst := make([]float32, 4096)
	for b.Loop() {
		m.Apply(dst, x, 1)
	}
}
