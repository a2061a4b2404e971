package preprocess

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/testing/stattest"
)

func number(i int) uint64 { return uint64(i) }

// augmented is the naive reference: the image of the round, pixel by pixel, with
// channels side by side.
func augmented(a Augment, x []float32, row uint64, epoch int) []float32 {
	seed := stream.New(a.Seed, stream.PurposeOf("image/augment/epoch"), uint64(epoch)).Uint64()
	s := stream.New(seed, stream.PurposeOf("image/augment"), row)
	to := a.Result()
	top, left := int(s.Below(uint64(a.Shape.Height-to.Height+1))), int(s.Below(uint64(a.Shape.Width-to.Width+1)))
	flipped := s.Below(2) == 1
	f := [3]float64{}
	for i, jitter := range []float64{a.Brightness, a.Contrast, a.Saturation} {
		f[i] = 1 - jitter + 2*jitter*s.Uniform()
	}
	y := make([]float64, to.Len())
	for i := range to.Height {
		for j := range to.Width {
			from := j
			if flipped && a.Flip {
				from = to.Width - 1 - j
			}
			for c := range to.Channels {
				y[at(to, i, j, c)] = f[0] * float64(x[at(a.Shape, top+i, left+from, c)])
			}
		}
	}
	light := func(p int) float64 {
		if to.Channels != 3 {
			return meanOf(y[p*to.Channels : (p+1)*to.Channels])
		}
		return 0.299*y[3*p] + 0.587*y[3*p+1] + 0.114*y[3*p+2]
	}
	lights := make([]float64, to.Height*to.Width)
	for p := range lights {
		lights[p] = light(p)
	}
	m := meanOf(lights)
	for i := range y {
		y[i] = m + f[1]*(y[i]-m)
	}
	z := make([]float32, len(y))
	for p := range lights {
		l := light(p)
		for c := range to.Channels {
			z[p*to.Channels+c] = float32(l + f[2]*(y[p*to.Channels+c]-l))
		}
	}
	return z
}

// meanOf returns the mean.
func meanOf(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

func TestAugmentEqualsItsDefinition(t *testing.T) {
	colour, two := ImageShape{Height: 9, Width: 8, Channels: 3}, ImageShape{Height: 5, Width: 7, Channels: 2}
	for _, a := range []Augment{
		{Shape: colour},
		{Shape: colour, Crop: 6, Flip: true},
		{Shape: colour, Crop: 8, Flip: true, Brightness: 0.4, Contrast: 0.8, Saturation: 1, Seed: 7},
		{Shape: colour, Contrast: 1},
		{Shape: colour, Saturation: 0.5, Seed: 1 << 40},
		{Shape: two, Crop: 3, Flip: true, Brightness: 1, Contrast: 0.5},
	} {
		const n = 20
		x := pixels(a.Shape, n)
		_, out := a.Dims()
		dst, inPlanes := make([]float32, n*out), make([]float32, n*out)
		row := func(i int) uint64 { return uint64(i) * 0x9e3779b97f4a7c15 }
		a.Apply(dst, x, n, row, 3)
		p := a
		p.Shape.Planar = true
		p.Apply(inPlanes, planar(x, a.Shape), n, row, 3)
		if !slices.Equal(inPlanes, planar(dst, a.Result())) {
			t.Errorf("%+v: the planar layout gives different values", a)
		}
		for i := range n {
			want := augmented(a, x[i*a.Shape.Len():], row(i), 3)
			for j, v := range dst[i*out : (i+1)*out] {
				if !(math.Abs(float64(v-want[j])) <= 3e-4) {
					t.Fatalf("%+v: image %d number %d: have %v, want %v", a, i, j, v, want[j])
				}
			}
		}
	}
}

func TestAugmentDependsOnSeedRowAndRoundOnly(t *testing.T) {
	a := Augment{Shape: ImageShape{Height: 9, Width: 8, Channels: 3}, Crop: 4, Flip: true, Brightness: 0.5, Contrast: 0.5,
		Saturation: 0.5, Seed: 3}
	const n = 6
	in, out := a.Dims()
	x := pixels(a.Shape, n)
	image := x[:in]
	for i := 1; i < n; i++ {
		copy(x[i*in:], image) // the same image everywhere: only the row's number differs
	}
	together, alone := make([]float32, n*out), make([]float32, out)
	a.Apply(together, x, n, number, 5)
	for i := range n {
		a.Apply(alone, image, 1, func(int) uint64 { return uint64(i) }, 5)
		if !slices.Equal(alone, together[i*out:(i+1)*out]) {
			t.Errorf("row %d alone has different values", i)
		}
	}
	other := a
	other.Seed++
	seen := [][]float32{}
	for _, c := range []struct {
		a     Augment
		row   uint64
		epoch int
	}{{a, 0, 5}, {a, 1, 5}, {a, 0, 6}, {a, 0, -1}, {other, 0, 5}, {a, 1 << 32, 5}} {
		y := make([]float32, out)
		c.a.Apply(y, image, 1, func(int) uint64 { return c.row }, c.epoch)
		for _, z := range seen {
			if slices.Equal(y, z) {
				t.Errorf("seed %d row %d round %d: seen before", c.a.Seed, c.row, c.epoch)
			}
		}
		seen = append(seen, y)
	}
}

// The choice of the crop is the same with and without the other steps.
func TestSkippedStepsChangeNoOtherChoice(t *testing.T) {
	s := ImageShape{Height: 9, Width: 8, Channels: 3}
	x := pixels(s, 50)
	bare, flipped := Augment{Shape: s, Crop: 4}, Augment{Shape: s, Crop: 4, Flip: true}
	_, out := bare.Dims()
	y, z := make([]float32, 50*out), make([]float32, 50*out)
	bare.Apply(y, x, 50, number, 0)
	flipped.Apply(z, x, 50, number, 0)
	turned := 0
	for i := range 50 {
		a, b := y[i*out:(i+1)*out], z[i*out:(i+1)*out]
		if slices.Equal(a, b) {
			continue
		}
		turned++
		flip(a, bare.Result())
		if !slices.Equal(a, b) {
			t.Fatalf("image %d: another crop with flips than without", i)
		}
	}
	if turned == 0 || turned == 50 {
		t.Errorf("%d of 50 images were flipped", turned)
	}
}

// In images of 3×4 numbered pixels the first pixel and the step to the next determine crop
// and flip.
func TestCropsAndFlipsAreUniform(t *testing.T) {
	a := Augment{Shape: ImageShape{Height: 3, Width: 4, Channels: 1}, Crop: 2, Flip: true, Seed: 9}
	const n = 6000
	x := make([]float32, n*12)
	for i := range x {
		x[i] = float32(i % 12)
	}
	dst := make([]float32, n*4)
	count := map[[2]int]float64{}
	for epoch := range 2 {
		a.Apply(dst, x, n, number, epoch)
		for i := range n {
			first, step := int(dst[4*i]), int(dst[4*i+1]-dst[4*i])
			if step < 0 {
				first--
			}
			count[[2]int{first, step}]++
		}
	}
	var chi float64
	for _, c := range count {
		chi += (c - 1000) * (c - 1000) / 1000
	}
	if len(count) != 12 || chi > 31.3 { // 2·3 places and 2 senses; the 99.9% point for 11 degrees of freedom
		t.Errorf("χ² = %.1f, counts %v", chi, count)
	}
}

func TestBrightnessFactorsAreUniform(t *testing.T) {
	a := Augment{Shape: ImageShape{Height: 1, Width: 1, Channels: 1}, Brightness: 0.3, Seed: 2}
	const n = 20000
	x, dst := make([]float32, n), make([]float32, n)
	for i := range x {
		x[i] = 1
	}
	a.Apply(dst, x, n, number, 0)
	sample := make([]float64, n)
	for i, v := range dst {
		sample[i] = float64(v)
	}
	if ks := stattest.KS(sample, func(v float64) float64 { return min(1, max(0, (v-0.7)/0.6)) }); !(ks < 1.95) {
		t.Errorf("brightness: KS %.2f", ks)
	}
}

// The choices never change, like the numbers of a stream.
func TestAugmentIsGolden(t *testing.T) {
	a := Augment{Shape: ImageShape{Height: 5, Width: 5, Channels: 3}, Crop: 1, Flip: true, Brightness: 0.5, Contrast: 0.5,
		Saturation: 0.5, Seed: 1}
	x := make([]float32, 75)
	for i := range x {
		x[i] = float32(i)
	}
	have := make([]float32, 0, 9)
	for epoch := range 3 {
		y := make([]float32, 3)
		a.Apply(y, x, 1, func(int) uint64 { return 42 }, epoch)
		have = append(have, y...)
	}
	want := []float32{0.017359622, 0.80280745, 1.5882553, 39.99512, 40.756092, 41.517063, 15.46796, 16.11779, 16.76762}
	if !slices.Equal(have, want) {
		t.Errorf("have %v, want %v", have, want)
	}
}

func TestAugmentErrorsNameTheField(t *testing.T) {
	s := ImageShape{Height: 4, Width: 3, Channels: 3}
	for _, c := range []struct {
		a    Augment
		want string
	}{
		{Augment{}, "image: Augment: shape.height"},
		{Augment{Shape: s, Crop: 4}, "image: Augment: crop must be 1 to 3, or 0 for none (have 4)"},
		{Augment{Shape: s, Crop: -1}, "(have -1)"},
		{Augment{Shape: s, Brightness: 1.5}, "image: Augment: brightness must be 0 to 1 (have 1.5)"},
		{Augment{Shape: s, Contrast: -1}, "image: Augment: contrast must be 0 to 1 (have -1)"},
		{Augment{Shape: s, Saturation: math.NaN()}, "image: Augment: saturation must be 0 to 1 (have NaN)"},
		{Augment{Shape: ImageShape{Height: 1, Width: 1, Channels: 1}, Saturation: 0.1},
			"saturation takes images of 3 channels (have 1)"},
	} {
		if err := c.a.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: have %v, want %q", c.a, err, c.want)
		}
	}
}

func BenchmarkAugment(b *testing.B) {
	const n = 256
	for _, planes := range []bool{false, true} {
		a := Augment{Shape: ImageShape{Height: 32, Width: 32, Channels: 3, Planar: planes}, Crop: 24, Flip: true}
		jittered := a
		jittered.Brightness, jittered.Contrast, jittered.Saturation = 0.4, 0.4, 0.4
		for name, a := range map[string]Augment{"crop-flip": a, "all": jittered} {
			_, out := a.Dims()
			x, dst := pixels(a.Shape, n), make([]float32, n*out)
			b.Run(name+"/"+layoutName(planes), func(b *testing.B) {
				for b.Loop() {
					a.Apply(dst, x, n, number, 0)
				}
				b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "images/s")
			})
		}
	}
}
