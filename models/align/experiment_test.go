package align

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/synthetic"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/realdata"
)

// The experiments of Bullins, Zhang & Zhang (2018), Section 5, with fewer chains and
// steps than theirs, so that they end in seconds on a free machine.

// long skips an experiment in short test runs.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("an experiment; run without -short")
	}
}

// generated returns rows of a generated data set with two classes.
func generated(t *testing.T, name string, n int64, seed uint64) (x []float32, class []int32, y []float32) {
	t.Helper()
	set, ok := synthetic.Find(name)
	if !ok {
		t.Fatalf("no set %s", name)
	}
	var b bytes.Buffer
	if err := set.WriteCSV(t.Context(), &b, n, seed, set.Noise); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n")[1:] {
		fields := strings.Split(line, ",")
		for i, f := range fields {
			v, err := strconv.ParseFloat(f, 32)
			if err != nil {
				t.Fatal(err)
			}
			if i < len(fields)-1 {
				x = append(x, float32(v))
				continue
			}
			y, class = append(y, float32(v)), append(class, int32(v+1)/2)
		}
	}
	return x, class, y
}

func medianDistance(x []float32, n, d int) float64 {
	var all []float64
	for i := range min(n, 300) {
		for j := range i {
			var s float64
			for k := range d {
				v := float64(x[i*d+k]) - float64(x[j*d+k])
				s += v * v
			}
			all = append(all, math.Sqrt(s))
		}
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// Learned frequencies have an accuracy of at least 96%, and 5 points more than drawn ones. On its own windmill
// data the paper has 92.1% with RBF features and 98.6% with T = 100 learned frequencies. On the data here, a
// support vector machine with the exact Gaussian kernel of median width has 88.4% at C = 100 and 90.6% at C =
// 1,000. With the best width and C of a wide grid it has 98.9% (scikit-learn 1.9.1, SVC, 2,000 training rows,
// 20,000 test rows).
func TestLearnedFrequenciesBeatDrawnOnesOnWindmill(t *testing.T) {
	long(t)
	x, class, y := generated(t, "windmill", 2000, 1)
	xt, _, yt := generated(t, "windmill", 10000, 2)
	width := medianDistance(x, len(y), 2)
	accuracyOf := func(w []float32, m int) float64 {
		n, nt := len(y), len(yt)
		u, b := hinge(pairedFeatures(w, m, 2, x, n), n, 2*m, y, float64(m), 300)
		return accuracy(u, b, pairedFeatures(w, m, 2, xt, nt), nt, 2*m, yt)
	}
	drawn := accuracyOf(gaussianTurns(100, 2, width, 5), 100)
	for name, o := range map[string]Options{
		"paper": PaperOptions(1./2000, width, 100, 1),
		"demo":  DemoOptions(1./2000, width, 100, 1),
	} {
		if name == "paper" && !campaign.Whole() {
			continue
		}
		o.Search.Chains, o.Search.Steps = 50, 40
		r, err := Learn(Rows{x, 2, class, 2}, o, 2, nil)
		if err != nil {
			t.Fatal(err)
		}
		learned := accuracyOf(r.W, 100)
		t.Logf("%s: accuracy with 100 frequencies: learned %.2f%%, drawn %.2f%%", name, learned, drawn)
		if learned < 96 || learned < drawn+5 {
			t.Errorf("%s: accuracy %.2f%% learned, %.2f%% drawn", name, learned, drawn)
		}
	}
}

// Accuracy is at least 99% with at most 40 harmonics. The paper has 99.1% with 29 of the first 1,000.
func TestLearnedHarmonicsSeparateCheckerboard(t *testing.T) {
	x, class, y := generated(t, "checkerboard", 2000, 1)
	xt, _, yt := generated(t, "checkerboard", 20000, 2)
	chosen, _, err := Harmonics(Rows{x, 3, class, 2}, 1000, HarmonicOptions(1./2000, 100), nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := chosen.New()
	if err != nil {
		t.Fatal(err)
	}
	k := len(chosen.Terms)
	z, zt := make([]float32, len(y)*k), make([]float32, len(yt)*k)
	m.Apply(z, x, len(y))
	m.Apply(zt, xt, len(yt))
	w, b := hinge(z, len(y), k, y, 100, 200)
	got := accuracy(w, b, zt, len(yt), k, yt)
	t.Logf("accuracy %.2f%% with %d harmonics", got, k)
	if got < 99 || k > 40 {
		t.Errorf("accuracy %.2f%% with %d harmonics", got, k)
	}
}

// Learned features are at least as accurate as drawn ones, and nearly as accurate as in the paper. With 100
// features, RBF and learned, the paper has 97.42% and 99.05% for 1 against 7, and 87.72% and 93.02% for 4
// against 9.
func TestLearnedFrequenciesBeatDrawnOnesOnMNISTPairs(t *testing.T) {
	long(t)
	for _, c := range []struct {
		one, two byte
		least    float64
	}{{4, 9, 92}, {1, 7, 98.9}} {
		const d = 784
		x, class, y := digits(t, "train", c.one, c.two)
		xt, _, yt := digits(t, "t10k", c.one, c.two)
		centre(x, xt, d)
		n, nt := len(y), len(yt)
		width := medianDistance(x, n, d)
		lambda := 1 / float64(n)
		w, q := weighed(t, x, y, d, width)
		u, b := hinge(pairedFeatures(w, 50, d, x, n), n, 100, y, 1, 40)
		t.Logf("%d against %d: accuracy with the 50 of 1,000 drawn frequencies of largest weight: %.2f%%; weights from %.2g to %.2g",
			c.one, c.two, accuracy(u, b, pairedFeatures(w, 50, d, xt, nt), nt, 100, yt), slices.Min(q), slices.Max(q))
		paper, demo := PaperOptions(lambda, width, 50, 1), DemoOptions(lambda, width, 100, 1)
		for name, o := range map[string]*Options{"paper": &paper, "demo": &demo} {
			o.Search.Chains, o.Search.Steps, o.Sample = 30, 30, 1024
			r, err := Learn(Rows{x, d, class, 2}, *o, 2, nil)
			if err != nil {
				t.Fatal(err)
			}
			// 100 features are 50 pairs or, as in the demonstration, 100 cosines with offsets.
			features := func(w, x []float32, n int) []float32 {
				if name == "paper" {
					return pairedFeatures(w, 50, d, x, n)
				}
				return offsetFeatures(w, 100, d, x, n)
			}
			score := func(w []float32) float64 {
				u, b := hinge(features(w, x, n), n, 100, y, 1, 40)
				return accuracy(u, b, features(w, xt, nt), nt, 100, yt)
			}
			learned, drawn := score(r.W), score(gaussianTurns(len(r.W)/d, d, width, 7))
			t.Logf("%d against %d, %s: accuracy with 100 features: learned %.2f%%, drawn %.2f%%", c.one, c.two, name,
				learned, drawn)
			if learned < c.least || learned < drawn {
				t.Errorf("%d against %d, %s: accuracy %.2f%% learned, %.2f%% drawn", c.one, c.two, name, learned, drawn)
			}
		}
	}
}

// weighed returns the 50 of 1,000 drawn frequencies with the largest weights (Sinha & Duchi 2016).
func weighed(t *testing.T, x, y []float32, d int, width float64) (w []float32, weight []float64) {
	t.Helper()
	const m = 1000
	all, n := gaussianTurns(m, d, width, 7), len(y)
	sums := make([]float64, 2*m)
	NewField(x, n, d).Sums(sums, all, m, Weightings{y, 1}, 2)
	v := make([]float64, m)
	for j := range v {
		c, s := sums[2*j]/float64(n), sums[2*j+1]/float64(n)
		v[j] = c*c + s*s
	}
	q, err := Weigh(v, 10)
	if err != nil {
		t.Fatal(err)
	}
	index, weight := Top(q, 50)
	for _, j := range index {
		w = append(w, all[j*d:(j+1)*d]...)
	}
	return w, weight
}

// digits returns the images of two digits with pixels in [0, 1]; class 1 is the first digit.
func digits(t *testing.T, set string, one, two byte) (x []float32, class []int32, y []float32) {
	t.Helper()
	pixels := realdata.Read(t, "mnist", set+"-images-idx3-ubyte.gz")[16:]
	for i, l := range realdata.Read(t, "mnist", set+"-labels-idx1-ubyte.gz")[8:] {
		switch l {
		case one:
			class, y = append(class, 1), append(y, 1)
		case two:
			class, y = append(class, 0), append(y, -1)
		default:
			continue
		}
		for _, p := range pixels[i*784 : (i+1)*784] {
			x = append(x, float32(p)/255)
		}
	}
	return x, class, y
}

// centre subtracts the column means of x from x and z.
func centre(x, z []float32, d int) {
	mean := make([]float64, d)
	for i, v := range x {
		mean[i%d] += float64(v) / float64(len(x)/d)
	}
	for i := range x {
		x[i] -= float32(mean[i%d])
	}
	for i := range z {
		z[i] -= float32(mean[i%d])
	}
}
