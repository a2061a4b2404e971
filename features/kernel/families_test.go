package kernel_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/identity"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/features/maxout"
	"github.com/bochner-ml/bochner/features/patches"
	"github.com/bochner-ml/bochner/features/skeleton"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/rowio"
)

const columns = 4

var small = []byte("image: {height: 2, width: 2, channels: 1}\nspace: {circle: 2}\nlayers:\n  - {full: true, activation: {exponential: 1}}\n")

// families returns the options of all families, zero except for required fields.
func families(t *testing.T) map[string]kernel.Options {
	t.Helper()
	s := &skeleton.Options{Skeleton: parsed(t)}
	return map[string]kernel.Options{
		"gaussian": &fourier.GaussianOptions{}, "laplace": &fourier.LaplaceOptions{}, "cauchy": &fourier.CauchyOptions{},
		"matern": &fourier.MaternOptions{}, "exponential": &fourier.ExponentialOptions{},
		"maxout": &maxout.Options{}, "skeleton": s, "linear": &identity.Options{}, "learned": &learned.Options{},
		"harmonic": &learned.HarmonicOptions{}, "patches": &patches.Options{Patch: 2, Cells: 1},
	}
}

func parsed(t *testing.T) *skeleton.Skeleton {
	t.Helper()
	s, err := skeleton.Parse(small)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// data are 50 rows of normal numbers, or images of 2×2 pixels.
func data() *kernel.Data {
	rng := rand.New(rand.NewPCG(1, 2))
	x := make([]float32, 50*columns)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	d := slice(x, 50, columns, 7)
	d.Image = rowio.Image{Height: 2, Width: 2, Channels: 1}
	return d
}

// slice returns the Data of the n rows of x (n×in, row-major).
func slice(x []float32, n, in int, seed uint64) *kernel.Data {
	d := &kernel.Data{In: in, Rows: int64(n), Seed: seed,
		Sample: func() ([]float32, int, error) { return x, min(n, kernel.MaxSample), nil }}
	var sum, squares float64
	low, high := append([]float32(nil), x[:in]...), append([]float32(nil), x[:in]...)
	for i := range n {
		var norm float64
		for j, v := range x[i*in : (i+1)*in] {
			low[j], high[j] = min(low[j], v), max(high[j], v)
			sum += float64(v)
			norm += float64(v) * float64(v)
		}
		d.Norm = max(d.Norm, math.Sqrt(norm))
		squares += norm
	}
	d.Ranges = func() ([]float32, []float32, error) { return low, high, nil }
	mean := sum / float64(n*in)
	d.Variance = squares/float64(n*in) - float64(mean*mean)
	return d
}

func TestAllFamiliesAreRegistered(t *testing.T) {
	want := families(t)
	if got := kernel.Names(); len(got) != len(want) {
		t.Errorf("families %q, want %d", got, len(want))
	}
	for name, o := range want {
		f := kernel.FamilyOf(o)
		if f.Name != name || f.Summary == "" || reflect.TypeOf(f.New()) != reflect.TypeOf(o) {
			t.Errorf("%T are of %+v, want %s", o, f, name)
		}
	}
}

func TestDefaultsMatchTheZeroValue(t *testing.T) {
	for name, zero := range families(t) {
		f, err := kernel.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		full := f.New()
		switch o := full.(type) {
		case *skeleton.Options:
			o.Skeleton = zero.(*skeleton.Options).Skeleton
		case *patches.Options:
			o.Patch, o.Cells = 2, 1
		}
		if err := full.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		a, err := zero.Choose(data())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		b, err := full.Choose(data())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(a.Recipe, b.Recipe) || a.Summary != b.Summary || zero.Size(columns) != full.Size(columns) {
			t.Errorf("%s: the zero value makes %+v (%s), the defaults %+v (%s)", name, a.Recipe, a.Summary, b.Recipe, b.Summary)
		}
	}
}

// Families share one flag for options of the same name, with one help text, default and type.
func TestSharedFlagsHaveOneHelpDefaultAndType(t *testing.T) {
	type flag struct{ help, value, kind, family string }
	seen := map[string]flag{}
	for _, f := range kernel.Names() {
		f, err := kernel.Lookup(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range option.List(f.New()) {
			now := flag{o.Help, o.Default, o.Type(), f.Name}
			was, ok := seen[o.Name]
			seen[o.Name] = now
			if o.Help == "" {
				t.Errorf("--%s of %s has no help", o.Name, f.Name)
			}
			if ok && (was.help != now.help || was.value != now.value || was.kind != now.kind) {
				t.Errorf("--%s: %+v and %+v", o.Name, was, now)
			}
		}
	}
	for _, name := range []string{"width", "gamma", "nu", "features", "draw", "q", "pool", "skeleton", "hybrid",
		"frequencies", "form", "patch", "cells"} {
		if seen[name].family == "" {
			t.Errorf("no family has --%s", name)
		}
	}
}

func TestRecipeHasThePlannedSize(t *testing.T) {
	for name, o := range families(t) {
		c, err := o.Choose(data())
		if err != nil {
			t.Fatal(err)
		}
		in, out, err := features.Dims(c.Recipe)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if size := o.Size(columns); in != columns || out != size.Features {
			t.Errorf("%s: a map from %d numbers to %d features, planned were %d and %d", name, in, out, columns, size.Features)
		}
		if _, found := o.(kernel.Learned); !found && !strings.HasPrefix(c.Summary, name+" kernel") {
			t.Errorf("%s: summary %q", name, c.Summary)
		}
		if c.Draw == nil {
			if name != "linear" {
				t.Errorf("%s: Draw is nil", name)
			}
			continue
		}
		drawn := c.Draw(64, 9)
		if in, out, err := features.Dims(drawn); err != nil || in != columns || out != 64 {
			t.Errorf("%s: Draw(64) maps %d numbers to %d features: %v", name, in, out, err)
		}
		if same := c.Draw(out, 7); !reflect.DeepEqual(same, c.Recipe) {
			t.Errorf("%s: Draw with its own number and seed is %+v, not %+v", name, same, c.Recipe)
		}
	}
}

func TestWidthsAreChosenFromTheData(t *testing.T) {
	d := data()
	x, n, err := d.Sample()
	if err != nil {
		t.Fatal(err)
	}
	median, err := kernel.MedianWidth(x, n, columns, kernel.Euclidean)
	if err != nil {
		t.Fatal(err)
	}
	absolute, err := kernel.MedianWidth(x, n, columns, kernel.L1)
	if err != nil {
		t.Fatal(err)
	}
	var sum, squares float64
	for _, v := range x {
		sum, squares = sum+float64(v), squares+float64(v)*float64(v)
	}
	mean := sum / float64(len(x))
	scale, err := kernel.ScaleWidth(columns, squares/float64(len(x))-mean*mean)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		o       kernel.Options
		width   float64
		summary string
	}{
		{&fourier.GaussianOptions{}, median, fmt.Sprintf("gaussian kernel, width %.4g (median distance)", median)},
		{&fourier.LaplaceOptions{}, absolute, fmt.Sprintf("laplace kernel, width %.4g (median distance)", absolute)},
		{&fourier.GaussianOptions{Width: kernel.Scale}, scale, fmt.Sprintf("gaussian kernel, width %.4g (scale)", scale)},
		{&fourier.CauchyOptions{Width: 7}, 7, "cauchy kernel, width 7"},
		{&fourier.MaternOptions{Width: 0.5, Nu: 2.5}, 0.5, "matern kernel, nu 2.5, width 0.5"},
		{&fourier.GaussianOptions{Gamma: 2}, 0.5, "gaussian kernel, width 0.5 (γ = 2)"},
		{&fourier.LaplaceOptions{Gamma: 2}, 0.5, "laplace kernel, width 0.5 (γ = 2)"},
		{&fourier.GaussianOptions{Width: 7, Draw: fourier.Orthogonal}, 7, "gaussian kernel, width 7, orthogonal"},
	} {
		c, err := test.o.Choose(d)
		if err != nil {
			t.Errorf("%s: %v", test.summary, err)
			continue
		}
		if math.Abs(c.Width-test.width) > 1e-6*test.width || c.Summary != test.summary {
			t.Errorf("width %v, %q; want %v, %q", c.Width, c.Summary, test.width, test.summary)
		}
	}
}

func TestErrorsNameTheOption(t *testing.T) {
	mixed := data()
	mixed.Variance = math.NaN()
	choose := func(o kernel.Options, d *kernel.Data) error { _, err := o.Choose(d); return err }
	for want, err := range map[string]error{
		"width must be median, scale or a number > 0 (have -2)":              (&fourier.GaussianOptions{Width: -2}).Validate(),
		"gamma must be a number > 0 (have -1)":                               (&fourier.LaplaceOptions{Gamma: -1}).Validate(),
		"features must be at least 1 (have -4)":                              (&fourier.CauchyOptions{Features: -4}).Validate(),
		"features must be even in the paired form":                           (&fourier.GaussianOptions{Features: 5}).Validate(),
		"width scale needs statistics of the columns":                        choose(&fourier.GaussianOptions{Width: kernel.Scale}, mixed),
		"features must be at least 1 (have -1)":                              (&maxout.Options{Features: -1}).Validate(),
		"skeleton is missing: it names the file of the computation skeleton": (&skeleton.Options{}).Validate(),
		"features must be at least 1 (have -7)": (&skeleton.Options{Skeleton: parsed(t),
			Features: -7}).Validate(),
		"features must be even in the paired form, which has two for each freque": (&learned.Options{Features: 5}).Validate(),
		"features must be at least 1 (have -3)":                                   (&learned.HarmonicOptions{Features: -3}).Validate(),
	} {
		if _, ok := errors.AsType[*option.Error](err); !ok || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	// Errors about the data name no option.
	same := slice(make([]float32, 10*columns), 10, columns, 1)
	long := slice(make([]float32, 10), 2, 5, 1)
	for want, err := range map[string]error{
		"of the sample are equal":       choose(&fourier.GaussianOptions{}, same),
		"are zero":                      choose(&maxout.Options{}, same),
		"the variance of the data":      choose(&fourier.GaussianOptions{Width: kernel.Scale}, same),
		"takes rows of 4 numbers, the ": choose(&skeleton.Options{Skeleton: parsed(t)}, long),
	} {
		if _, ok := errors.AsType[*option.Error](err); err == nil || ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	// A smoothness, a number of projections that the recipe refuses.
	for _, o := range []kernel.Options{&fourier.MaternOptions{Nu: 0.1}, &maxout.Options{Q: 1 << 20},
		&maxout.Options{Pool: 2}} {
		if o.Validate() == nil {
			t.Errorf("%+v validates", o)
		}
	}
}

func TestMaxoutFeaturesOfTheSampleAreWithinTheirBound(t *testing.T) {
	d := data()
	c, err := (&maxout.Options{Features: 128}).Choose(d)
	if err != nil {
		t.Fatal(err)
	}
	r := c.Recipe.(maxout.Recipe)
	m, err := r.New()
	if err != nil {
		t.Fatal(err)
	}
	x, n, _ := d.Sample()
	phi := make([]float32, n*r.Out)
	m.Apply(phi, x, n)
	largest := float64(max(slices.Max(phi), -slices.Min(phi))) * math.Sqrt(float64(r.Out)) // h = φ·√m
	if ratio := r.Bound / largest; ratio < 1.2 || ratio > 1.3 {
		t.Errorf("bound %g, largest %g on the sample", r.Bound, largest)
	}
	if c.Reach <= 1 || c.Reach >= kernel.RangeSlack {
		t.Errorf("reach %g of rows whose length is known", c.Reach)
	}
	d.Norm = math.Inf(1)
	if c, err = (&maxout.Options{Features: 128}).Choose(d); err != nil || c.Reach != kernel.RangeSlack {
		t.Errorf("reach %g of rows whose length is not known: %v", c.Reach, err)
	}
}

func TestVariantsDifferOnlyInTheDraw(t *testing.T) {
	for want, o := range map[string]kernel.Varied{
		"iid, orthogonal, structured": &fourier.GaussianOptions{Width: 7, Features: 10, Form: fourier.Offset,
			Draw: fourier.Orthogonal},
		"algorithm 1, hybrid baseline": &skeleton.Options{
			Skeleton: parsed(t), Features: 10, Hybrid: true},
	} {
		var names []string
		for _, v := range o.Variants() {
			names = append(names, v.Name)
			back := v.Options
			switch b := back.(type) {
			case *fourier.GaussianOptions:
				b.Draw = fourier.Orthogonal
			case *skeleton.Options:
				b.Hybrid = true
			}
			if !reflect.DeepEqual(back, kernel.Options(o)) {
				t.Errorf("%s: %+v differs from %+v in more than the draw", v.Name, back, o)
			}
		}
		if got := strings.Join(names, ", "); got != want {
			t.Errorf("variants %s, want %s", got, want)
		}
	}
}

func TestLearnedKernelsStartFromAGaussian(t *testing.T) {
	for _, o := range []kernel.Learned{&learned.Options{Width: 3, Features: 20, Form: fourier.Offset,
		Frequencies: "dir"}, &learned.HarmonicOptions{Width: 3, Features: 20, Frequencies: "dir"}} {
		want := &fourier.GaussianOptions{Width: 3, Features: 20, Form: fourier.Offset}
		if got := o.Start(); !reflect.DeepEqual(got, kernel.Options(want)) || o.Directory() != "dir" {
			t.Errorf("%T starts from %+v; directory %q", o, got, o.Directory())
		}
	}
}

func TestSkeletonIsLoadedFromItsFile(t *testing.T) {
	o := &skeleton.Options{File: "s.yaml", Features: 10}
	loaded, err := o.Load(func(name string, most int64) ([]byte, error) {
		if name != "s.yaml" || most < 1<<20 {
			t.Errorf("asked for %d bytes of %s", most, name)
		}
		return small, nil
	})
	if err != nil || loaded.Validate() != nil {
		t.Fatal(err, loaded)
	}
	if o.Skeleton != nil {
		t.Error("the options changed")
	}
	if _, err := o.Load(func(string, int64) ([]byte, error) { return []byte("layers: 7"), nil }); err == nil ||
		!strings.HasPrefix(err.Error(), "skeleton s.yaml: ") {
		t.Errorf("%v, want the name of the file", err)
	}
}
