package preprocess

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/identity"
	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/testing/kerneltest"
)

// pixels returns n images with integer values from 0 to 255.
func pixels(s ImageShape, n int) []float32 {
	r := stream.New(1, stream.PurposeOf("test/pixels"), 0)
	x := make([]float32, n*s.Len())
	for i := range x {
		x[i] = float32(r.Below(256))
	}
	return x
}

func mustNew(t testing.TB, r features.Recipe) features.Map {
	t.Helper()
	m, err := r.New()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func applyImage(t testing.TB, r features.Recipe, x []float32, n int) []float32 {
	t.Helper()
	m := mustNew(t, r)
	_, out := m.Dims()
	dst := make([]float32, n*out)
	m.Apply(dst, x, n)
	return dst
}

// planar returns the images of x, which have the channels side by side, in planes.
func planar(x []float32, s ImageShape) []float32 {
	y := make([]float32, 0, len(x))
	for ; len(x) > 0; x = x[s.Len():] {
		for c := range s.Channels {
			for p := range s.Height * s.Width {
				y = append(y, x[p*s.Channels+c])
			}
		}
	}
	return y
}

// at is the index of a number of an image with the channels side by side.
func at(s ImageShape, y, x, c int) int { return (y*s.Width+x)*s.Channels + c }

// valid returns recipes for images of that
// shape.
func valid(t testing.TB, s ImageShape) map[string]features.Recipe {
	t.Helper()
	interleaved := s
	interleaved.Planar = false
	fit, err := FitPatchPCA(pixels(interleaved, 3), 3, PatchFit{Shape: interleaved, Patch: 3, Stride: 2, Out: 5})
	if err != nil {
		t.Fatal(err)
	}
	fit.Shape = s
	return map[string]features.Recipe{
		"crop": Crop{Shape: s, Size: 6}, "gray": Gray{Shape: s}, "whiten": Whiten{Shape: s},
		"hog": HoG{Shape: s, Cell: 3, Orientations: 7}, "patchpca": fit, "unitpixels": UnitPixels{Shape: s},
	}
}

func TestAtIndexesPixelsInBothLayouts(t *testing.T) {
	s := ImageShape{Height: 2, Width: 3, Channels: 2}
	if s.Len() != 12 || s.At(1, 2, 1) != 11 || s.At(1, 0, 1) != 7 {
		t.Errorf("side by side: %d, %d, %d", s.Len(), s.At(1, 2, 1), s.At(1, 0, 1))
	}
	s.Planar = true
	if s.At(1, 2, 1) != 11 || s.At(1, 0, 1) != 9 || s.At(1, 0, 0) != 3 {
		t.Errorf("in planes: %d, %d, %d", s.At(1, 2, 1), s.At(1, 0, 1), s.At(1, 0, 0))
	}
}

func TestLayoutsAgreeToTheBit(t *testing.T) {
	s, p := ImageShape{Height: 9, Width: 8, Channels: 3}, ImageShape{Height: 9, Width: 8, Channels: 3, Planar: true}
	const n = 4
	x := pixels(s, n)
	for i := range x {
		x[i] /= 7 // so that sums round
	}
	inPlanes := valid(t, p)
	for name, r := range valid(t, s) {
		want, have := applyImage(t, r, x, n), applyImage(t, inPlanes[name], planar(x, s), n)
		if shaped, ok := r.(interface{ Result() ImageShape }); ok {
			want = planar(want, shaped.Result())
			if to := inPlanes[name].(interface{ Result() ImageShape }).Result(); !to.Planar {
				t.Errorf("%s: the result is not in planes", name)
			}
		}
		if !slices.Equal(have, want) {
			t.Errorf("%s: the planar layout gives different values", name)
		}
	}
}

func TestRowsDoNotDependOnTheirBlock(t *testing.T) {
	s := ImageShape{Height: 9, Width: 8, Channels: 3}
	x := pixels(s, 5)
	for name, r := range valid(t, s) {
		together := applyImage(t, r, x, 5)
		in, out := mustNew(t, r).Dims()
		for i := range 5 {
			if one := applyImage(t, r, x[i*in:(i+1)*in], 1); !slices.Equal(one, together[i*out:(i+1)*out]) {
				t.Errorf("%s: row %d alone has different values", name, i)
			}
		}
	}
}

func TestRecipesSealAndOpen(t *testing.T) {
	s := ImageShape{Height: 9, Width: 8, Channels: 3, Planar: true}
	for name, r := range valid(t, s) {
		sealed, err := features.Seal(r)
		if err != nil {
			t.Fatal(err)
		}
		if sealed.Kind != "image."+name {
			t.Errorf("kind %q", sealed.Kind)
		}
		data, err := json.Marshal(sealed)
		if err != nil {
			t.Fatal(err)
		}
		var back features.Sealed
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		again, err := back.Open()
		if err != nil || !reflect.DeepEqual(again, features.Recipe(r)) {
			t.Errorf("%s: have %v, %v, want %v", name, again, err, r)
		}
		in, out, err := features.Dims(r)
		if i, o := mustNew(t, r).Dims(); err != nil || in != i || out != o || in != s.Len() {
			t.Errorf("%s: recipe %d→%d, map %d→%d, %v", name, in, out, i, o, err)
		}
	}
	for _, c := range []struct{ kind, data, want string }{
		{"image.crop", `{"shape":{"height":3,"width":3,"channels":1,"planar":false,"depth":1},"size":1}`,
			`unknown field "depth"`},
		{"image.crop", `{"shape":{"height":3,"width":3,"channels":1},"size":"1"}`, `field "size"`},
		{"image.hog", `{"shape":{"height":3.5,"width":3,"channels":1},"cell":1,"orientations":1}`, `field "shape.height"`},
		{"image.gray", `{}`, "shape.height must be 1 to 1048576 (have 0)"},
		{"image.whiten", `{"shape":{"height":1,"width":1,"channels":1}} 1`, "unexpected data after the JSON object"},
	} {
		_, err := features.Sealed{Kind: c.kind, JSON: json.RawMessage(c.data)}.Open()
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.kind) {
			t.Errorf("%s: have %v, want %q", c.data, err, c.want)
		}
	}
}

func TestImageChainEqualsItsSteps(t *testing.T) {
	s := ImageShape{Height: 32, Width: 32, Channels: 3, Planar: true}
	cropped := Crop{Shape: s, Size: 24}
	gray := Gray{Shape: cropped.Result()}
	white := Whiten{Shape: gray.Result()}
	hog := HoG{Shape: white.Result(), Cell: 4, Orientations: 8}
	chain := features.Chain{Steps: []features.Recipe{cropped, gray, white, hog, identity.Identity{In: 288, Bound: 1}}}
	x := pixels(s, 3)
	want := applyImage(t, hog, applyImage(t, white, applyImage(t, gray, applyImage(t, cropped, x, 3), 3), 3), 3)
	have := applyImage(t, chain, x, 3)
	if !slices.Equal(have, want) {
		t.Error("the chain differs from its steps")
	}
	sealed, err := features.Seal(chain)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := sealed.Open(); err != nil || !reflect.DeepEqual(again, features.Recipe(chain)) {
		t.Errorf("%v, %v", again, err)
	}
}

func TestKernelIsTheInnerProductOfResults(t *testing.T) {
	s := ImageShape{Height: 9, Width: 8, Channels: 3}
	x := pixels(s, 2)
	for name, r := range valid(t, s) {
		y := applyImage(t, r, x, 2)
		var want float64
		for i := range y[:len(y)/2] {
			want += float64(y[i]) * float64(y[len(y)/2+i])
		}
		if k := kerneltest.Kernel(r)(x[:s.Len()], x[s.Len():]); k != want {
			t.Errorf("%s: kernel %v, inner product %v", name, k, want)
		}
	}
	if _, err := features.Kernel(Gray{}); err == nil {
		t.Error("an invalid recipe has a kernel")
	}
}

func TestImageErrorsNameTheField(t *testing.T) {
	s := ImageShape{Height: 6, Width: 5, Channels: 3}
	with := func(height, width, channels int) ImageShape {
		return ImageShape{Height: height, Width: width, Channels: channels}
	}
	nan := float32(math.NaN())
	zeros := func(n int) []float32 { return make([]float32, n) }
	for _, c := range []struct {
		r    features.Recipe
		want string
	}{
		{Crop{Size: 1}, "image: Crop: shape.height must be 1 to 1048576 (have 0)"},
		{Gray{Shape: with(1, -1, 3)}, "image: Gray: shape.width must be 1 to 1048576 (have -1)"},
		{Whiten{Shape: with(1, 1, 0)}, "image: Whiten: shape.channels must be 1 to 1048576 (have 0)"},
		{HoG{Shape: with(1<<20+1, 1, 1)}, "image: HoG: shape.height must be 1 to 1048576 (have 1048577)"},
		{Whiten{Shape: with(1<<20, 2, 1)},
			"image: Whiten: shape: an image of 1048576×2×1 exceeds the longest row, 1048576 values"},
		{Whiten{Shape: with(1<<20, 1<<20, 1<<20)}, "exceeds the longest row"},
		{Whiten{Shape: with(1<<10, 1<<10, 2)}, "exceeds the longest row"},
		{Crop{Shape: s}, "image: Crop: size must be 1 to 5 (have 0)"},
		{Crop{Shape: s, Size: 6}, "image: Crop: size must be 1 to 5 (have 6)"},
		{Gray{Shape: with(2, 2, 1)}, "image: Gray: shape.channels must be 3"},
		{HoG{Shape: with(5, 5, 2), Cell: 1, Orientations: 8}, "image: HoG: shape.channels must be 1 or 3 (have 2)"},
		{HoG{Shape: s, Orientations: 8}, "image: HoG: cell must be 1 to 5 (have 0)"},
		{HoG{Shape: s, Cell: 6, Orientations: 8}, "(have 6)"},
		{HoG{Shape: s, Cell: 1}, "image: HoG: orientations must be 1 to 180 (have 0)"},
		{HoG{Shape: s, Cell: 1, Orientations: 181}, "(have 181)"},
		{HoG{Shape: with(512, 512, 1), Cell: 1, Orientations: 5}, "image: HoG: 1310720 features; the limit is"},
		{PatchPCA{}, "image: PatchPCA: shape.height"},
		{PatchPCA{Shape: s, Patch: 6, Stride: 1, Out: 1}, "image: PatchPCA: patch must be 1 to 5 (have 6)"},
		{PatchPCA{Shape: with(500, 500, 4), Patch: 30, Stride: 1, Out: 1},
			"patch: 30×30 pixels of 4 channels exceed the limit of 2048 values"},
		{PatchPCA{Shape: with(1<<20, 1, 1), Patch: 1, Stride: 0, Out: 1},
			"image: PatchPCA: stride must be 1 to 1048576 (have 0)"},
		{PatchPCA{Shape: s, Patch: 5, Stride: 1}, "image: PatchPCA: out must be 1 to 1048576 (have 0)"},
		{PatchPCA{Shape: with(1024, 1024, 1), Patch: 1, Stride: 1, Out: 2},
			"image: PatchPCA: out: 1024×1024 patches of 2 values exceed"},
		{PatchPCA{Shape: s, Patch: 1, Stride: 1, Out: 2, Mean: zeros(2)},
			"image: PatchPCA: mean must have 3 values, the length of a patch (have 2)"},
		{PatchPCA{Shape: s, Patch: 1, Stride: 1, Out: 2, Mean: zeros(3), Basis: zeros(5)},
			"image: PatchPCA: basis must have 2×3 values (have 5)"},
		{PatchPCA{Shape: s, Patch: 1, Stride: 1, Out: 2, Mean: zeros(3), Basis: zeros(9)}, "(have 9)"},
		{PatchPCA{Shape: s, Patch: 1, Stride: 1, Out: 1, Mean: []float32{0, nan, 0}, Basis: zeros(3)},
			"value 2 of mean must be finite"},
		{PatchPCA{Shape: s, Patch: 1, Stride: 1, Out: 2, Mean: zeros(3), Basis: []float32{0, 0, 0, 0, 0, nan}},
			"value 3 of direction 2 of basis must be finite"},
	} {
		if _, err := c.r.New(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: have %v, want %q", c.r, err, c.want)
		}
		if _, err := features.Seal(c.r); err == nil {
			t.Errorf("%+v seals", c.r)
		}
	}
}

func TestImagesPanicOnShortSlices(t *testing.T) {
	s := ImageShape{Height: 1, Width: 3, Channels: 1}
	m := mustNew(t, Whiten{Shape: s})
	for name, f := range map[string]func(){
		"x":      func() { m.Apply(make([]float32, 6), make([]float32, 5), 2) },
		"dst":    func() { m.Apply(make([]float32, 5), make([]float32, 6), 2) },
		"n":      func() { m.Apply(nil, nil, -1) },
		"Kernel": func() { kerneltest.Kernel(Whiten{Shape: s})(make([]float32, 3), make([]float32, 2)) },
		"Fit": func() {
			FitPatchPCA(make([]float32, 5), 2, PatchFit{Shape: s, Patch: 1, Stride: 1, Out: 1})
		},
		"Augment": func() {
			Augment{Shape: s}.Apply(make([]float32, 3), make([]float32, 2), 1, number, 0)
		},
		"Augment of no shape": func() { Augment{}.Apply(nil, nil, 0, number, 0) },
	} {
		func() {
			defer func() {
				if p := fmt.Sprint(recover()); !strings.HasPrefix(p, "image: ") && !strings.HasPrefix(p, "features: ") {
					t.Errorf("%s: %v", name, p)
				}
			}()
			f()
		}()
	}
}
