package preprocess

import (
	"bytes"
	"io"
	"math"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/testing/realdata"
	"github.com/bochner-ml/bochner/io/imageio"
)

var cifarShape = ImageShape{Height: 32, Width: 32, Channels: 3, Planar: true}

// cifar returns 4,000 images of CIFAR-10 and their classes.
func cifar(t testing.TB) (x []float32, class []int) {
	t.Helper()
	data := realdata.Read(t, "cifar10", "first4000.bin.gz")
	var err error
	r := imageio.NewCIFARReader(bytes.NewReader(data), imageio.CIFAR10, 0, -1)
	for {
		var label []byte
		x, label, err = r.Append(x)
		if err == io.EOF {
			return x, class
		}
		if err != nil {
			t.Fatal(err)
		}
		class = append(class, int(label[0]-'0'))
	}
}

func TestHoGOfCIFAREqualsItsDefinition(t *testing.T) {
	x, _ := cifar(t)
	g := Gray{Shape: cifarShape}
	r := HoG{Shape: g.Result(), Cell: 4, Orientations: 8}
	const n = 40
	grey := applyImage(t, g, x, n)
	for i, v := range grey {
		// Skip gradients near the bounds, which the reference's arc tangent rounds to either side.
		grey[i] = v + float32(stream.New(1, stream.PurposeOf("test/noise"), uint64(i)).Uniform()/1024)
	}
	have := applyImage(t, r, grey, n)
	for i := range n {
		want := twin(r, grey[i*1024:(i+1)*1024])
		for j, v := range have[i*512 : (i+1)*512] {
			if !(math.Abs(float64(v)-want[j]) <= 1e-6) {
				t.Fatalf("image %d feature %d: have %v, want %v", i, j, v, want[j])
			}
		}
	}
}

// correct returns the share of the last quarter of the rows that lie nearest to
// the mean of their class over the others.
func correct(x []float32, class []int) float64 {
	n := len(class)
	d, train := len(x)/n, n*3/4
	mean, count := make([]float64, 10*d), make([]float64, 10)
	for i, c := range class[:train] {
		count[c]++
		for j, v := range x[i*d : (i+1)*d] {
			mean[c*d+j] += float64(v)
		}
	}
	right := 0
	for i := train; i < n; i++ {
		best, nearest := math.Inf(1), 0
		for c := range 10 {
			var distance float64
			for j, v := range x[i*d : (i+1)*d] {
				e := float64(v) - mean[c*d+j]/count[c]
				distance += e * e
			}
			if distance < best {
				best, nearest = distance, c
			}
		}
		if nearest == class[i] {
			right++
		}
	}
	return float64(right) / float64(n-train)
}

// Histograms separate the classes better than pixels do, and whitened images
// better than raw ones.
func TestFeaturesOfCIFARSeparateTheClasses(t *testing.T) {
	x, class := cifar(t)
	n := len(class)
	share := map[string]float64{"pixels": correct(x, class)}
	for name, r := range map[string]features.Recipe{
		"whitened": Whiten{Shape: cifarShape},
		"HoG":      HoG{Shape: cifarShape, Cell: 4, Orientations: 8},
	} {
		share[name] = correct(applyImage(t, r, x, n), class)
	}
	t.Logf("nearest class mean, %d rows to learn from: %v", n*3/4, share)
	// The standard error of a share of 1,000 is at most 0.016.
	if !(share["HoG"] > share["pixels"]+0.064) {
		t.Errorf("correct: %v", share)
	}
}

// The first principal direction of patches of photographs is their brightness: its components are equal, and it
// has more than half of the variance.
func TestFirstDirectionOfCIFARPatchesIsBrightness(t *testing.T) {
	x, _ := cifar(t)
	f := PatchFit{Shape: cifarShape, Patch: 4, Stride: 4, Out: 48}
	const n = 500
	r, err := FitPatchPCA(x, n, f)
	if err != nil {
		t.Fatal(err)
	}
	for j, v := range r.Basis[:48] {
		if math.Abs(float64(v)-1/math.Sqrt(48)) > 0.03 {
			t.Errorf("component %d of the first direction is %v, want about %v", j, v, 1/math.Sqrt(48))
		}
	}
	var first, all float64
	for i, v := range applyImage(t, r, x, n) {
		square := float64(v) * float64(v)
		all += square
		if i%(48*64) < 64 { // the first plane
			first += square
		}
	}
	t.Logf("share of the first direction: %.3f", first/all)
	if !(first > 0.5*all) {
		t.Errorf("the first direction has %.3f of the variance", first/all)
	}
}
