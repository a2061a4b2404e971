package preprocess

import (
	"bufio"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/stream"
)

// Histograms equal those that testdata/hog.py computed with scikit-image 0.26.0. Its images have integer
// values, so many gradients lie exactly on a bound between bins.
func TestHoGEqualsScikitImage(t *testing.T) {
	f, err := os.Open("testdata/hog.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cases := 0
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		cases++
		var v []float64
		for _, field := range strings.Fields(lines.Text()) {
			number, err := strconv.ParseFloat(field, 64)
			if err != nil {
				t.Fatal(err)
			}
			v = append(v, number)
		}
		r := HoG{Shape: ImageShape{Height: int(v[0]), Width: int(v[1]), Channels: 1}, Cell: int(v[2]),
			Orientations: int(v[3])}
		image, scale, want := make([]float32, 0, r.Shape.Len()), v[4], v[5:]
		for y := range r.Shape.Height {
			for x := range r.Shape.Width {
				k := (7*x*x + 13*y*y + 5*x*y + (31*x*x*y+17*y*y)%97) % 256
				image = append(image, float32(float64(k)*scale))
			}
		}
		have := applyImage(t, r, image, 1)
		if len(have) != len(want) {
			t.Fatalf("%+v: %d features, want %d", r, len(have), len(want))
		}
		for i := range have {
			if !(math.Abs(float64(have[i])-want[i]) <= 1e-6) {
				t.Errorf("%+v: feature %d: have %v, want %v", r, i, have[i], want[i])
			}
		}
	}
	if err := lines.Err(); err != nil || cases != 7 {
		t.Fatalf("%d cases, %v", cases, err)
	}
}

// The naive reference: the arc tangent, and a loop over all pixels for every bin of every cell.
func twin(r HoG, x []float32) []float64 {
	h, w := r.Shape.Height, r.Shape.Width
	v := func(i, j int) float64 { return float64(x[i*w+j]) }
	angle, length := make([]float64, h*w), make([]float64, h*w)
	for i := range h {
		for j := range w {
			var gx, gy float64
			if 0 < i && i < h-1 {
				gy = v(i+1, j) - v(i-1, j)
			}
			if 0 < j && j < w-1 {
				gx = v(i, j+1) - v(i, j-1)
			}
			length[i*w+j] = math.Hypot(gx, gy)
			angle[i*w+j] = math.Mod(math.Atan2(gy, gx)*180/math.Pi+180, 180)
		}
	}
	var all []float64
	for ci := range h / r.Cell {
		for cj := range w / r.Cell {
			histogram := make([]float64, r.Orientations)
			for k := range histogram {
				low, high := 180*float64(k)/float64(r.Orientations), 180*float64(k+1)/float64(r.Orientations)
				for i := range h {
					for j := range w {
						if a := angle[i*w+j]; i/r.Cell == ci && j/r.Cell == cj && low <= a && a < high {
							histogram[k] += length[i*w+j] / float64(r.Cell*r.Cell)
						}
					}
				}
			}
			for _, most := range []float64{0.2, 1} { // L2-Hys
				sum := 1e-10
				for _, v := range histogram {
					sum += v * v
				}
				for k, v := range histogram {
					histogram[k] = min(v/math.Sqrt(sum), most)
				}
			}
			all = append(all, histogram...)
		}
	}
	return all
}

func TestHoGEqualsItsDefinition(t *testing.T) {
	s := stream.New(2, stream.PurposeOf("test/hog"), 0)
	for range 60 {
		r := HoG{
			Shape:        ImageShape{Height: 1 + int(s.Below(14)), Width: 1 + int(s.Below(14)), Channels: 1},
			Orientations: 1 + int(s.Below(20)),
		}
		r.Cell = 1 + int(s.Below(uint64(min(r.Shape.Height, r.Shape.Width))))
		x := make([]float32, r.Shape.Len())
		for i := range x {
			x[i] = float32(s.Uniform())
		}
		want := twin(r, x)
		for i, v := range applyImage(t, r, x, 1) {
			if !(math.Abs(float64(v)-want[i]) <= 1e-6) {
				t.Fatalf("%+v: feature %d: have %v, want %v", r, i, v, want[i])
			}
		}
	}
}

func TestHoGOfColourMatchesTheGrayImage(t *testing.T) {
	s := ImageShape{Height: 12, Width: 9, Channels: 3, Planar: true}
	x := pixels(s, 2)
	g := Gray{Shape: s}
	want := applyImage(t, HoG{Shape: g.Result(), Cell: 4, Orientations: 8}, applyImage(t, g, x, 2), 2)
	if have := applyImage(t, HoG{Shape: s, Cell: 4, Orientations: 8}, x, 2); !slices.Equal(have, want) {
		t.Error("features differ from the grey image's")
	}
}

// With 8 orientations and cells of 4×4 pixels there are the 512 features of Bullins et al. (2018).
func TestHoGOfCIFARHas512Features(t *testing.T) {
	r := HoG{Shape: ImageShape{Height: 32, Width: 32, Channels: 3, Planar: true}, Cell: 4, Orientations: 8}
	if in, out := r.Dims(); in != 3072 || out != 512 {
		t.Errorf("%d → %d", in, out)
	}
}

// The gradient of a ramp that rises or falls to the right is in bin 0; the gradient of a ramp down
// or up is in the middle, bin 4 of 8. The gradient is 0 in the corner pixels, and at the other
// edges only its component along the edge remains.
func TestRampsVoteForTheirDirection(t *testing.T) {
	r := HoG{Shape: ImageShape{Height: 4, Width: 4, Channels: 1}, Cell: 4, Orientations: 8}
	for _, c := range []struct {
		name       string
		down, over float32
		bin        int
	}{{"right", 0, 1, 0}, {"left", 0, -1, 0}, {"down", 1, 0, 4}, {"up", -1, 0, 4}} {
		x := make([]float32, 16)
		for i := range x {
			x[i] = c.down*float32(i/4) + c.over*float32(i%4)
		}
		for k, v := range applyImage(t, r, x, 1) {
			// One bin has all votes, so it is clipped to 0.2 and normalised back to 1.
			if want := float32(0); k == c.bin && math.Abs(float64(v)-1) > 1e-6 || k != c.bin && v != want {
				t.Errorf("ramp to the %s: bin %d is %v", c.name, k, v)
			}
		}
	}
}

func TestOnlyTheCellsThatNaNTouchesAreNaN(t *testing.T) {
	r := HoG{Shape: ImageShape{Height: 8, Width: 8, Channels: 1}, Cell: 2, Orientations: 4}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		x := pixels(r.Shape, 1)
		x[3*8+3] = float32(bad) // in cell (1, 1), at its lower right corner
		for i, v := range applyImage(t, r, x, 1) {
			cell := [2]int{i / 4 / 4, i / 4 % 4}
			// It is also a neighbour of pixels to its right and below.
			touched := cell == [2]int{1, 1} || cell == [2]int{1, 2} || cell == [2]int{2, 1}
			if cell == [2]int{1, 1} && v == v || touched != (v != v) {
				t.Errorf("%v: cell %v has %v", bad, cell, v)
			}
		}
	}
}

func TestFlatImagesHaveNoGradients(t *testing.T) {
	r := HoG{Shape: ImageShape{Height: 8, Width: 8, Channels: 1}, Cell: 4, Orientations: 8}
	x := make([]float32, 64)
	for i := range x {
		x[i] = 200
	}
	for _, v := range applyImage(t, r, x, 1) {
		if v != 0 {
			t.Fatalf("feature %v", v)
		}
	}
}

func BenchmarkHoG(b *testing.B) {
	for _, planes := range []bool{false, true} {
		s := ImageShape{Height: 32, Width: 32, Channels: 3, Planar: planes}
		benchmark(b, layoutName(planes), HoG{Shape: s, Cell: 4, Orientations: 8})
	}
	benchmark(b, "grey", HoG{Shape: ImageShape{Height: 32, Width: 32, Channels: 1}, Cell: 4, Orientations: 8})
}
