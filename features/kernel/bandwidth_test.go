package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The naive reference: all ordered pairs, textbook distances, a plain median.
func median(sample []float32, n, d int, distance Distance) float64 {
	var all []float64
	for i := range n {
		for j := range i {
			var sum float64
			for k := range d {
				v := math.Abs(float64(sample[i*d+k]) - float64(sample[j*d+k]))
				if distance == Euclidean {
					v *= v
				}
				sum += v
			}
			if distance == Euclidean {
				sum = math.Sqrt(sum)
			}
			if sum > 0 {
				all = append(all, sum)
			}
		}
	}
	slices.Sort(all)
	if m := len(all); m%2 == 0 {
		return (all[m/2-1] + all[m/2]) / 2
	}
	return all[len(all)/2]
}

func TestMedianEqualsTheNaiveReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for n := 2; n < 12; n++ { // 1 to 55 distances, odd and even
		for d := 1; d < 10; d++ {
			x := make([]float32, n*d)
			for i := range x {
				x[i] = float32(rng.NormFloat64())
			}
			if n > 5 {
				copy(x[:d], x[d:2*d]) // a duplicate, ignored
			}
			for _, distance := range []Distance{Euclidean, L1} {
				have, err := MedianWidth(x, n, d, distance)
				want := median(x, n, d, distance)
				if err != nil || math.Abs(have-want) > 1e-14*want {
					t.Errorf("n=%d d=%d distance %d: have %v (%v), want %v", n, d, distance, have, err, want)
				}
			}
		}
	}
}

// The median of the distances between 0, 1, 3 on a line, 1, 2, 3, is 2; with the point 7 it is the mean of 3
// and 4, the middle two of 1, 2, 3, 4, 6, 7.
func TestMedianOfAFewPoints(t *testing.T) {
	for _, c := range []struct {
		x    []float32
		want float64
	}{{[]float32{0, 1, 3}, 2}, {[]float32{0, 1, 3, 7}, 3.5}, {[]float32{5, 5, 5, 5, 8}, 3}} {
		for _, distance := range []Distance{Euclidean, L1} {
			if m, err := MedianWidth(c.x, len(c.x), 1, distance); m != c.want || err != nil {
				t.Errorf("%v: have %v (%v), want %v", c.x, m, err, c.want)
			}
		}
	}
}

func TestMedianDoesNotDependOnTheOrderOfRows(t *testing.T) {
	const n, d = 100, 13
	rng := rand.New(rand.NewPCG(2, 2))
	rows := make([][]float32, n)
	for i := range rows {
		for range d {
			rows[i] = append(rows[i], float32(rng.ExpFloat64()))
		}
	}
	for _, distance := range []Distance{Euclidean, L1} {
		want, err := MedianWidth(slices.Concat(rows...), n, d, distance)
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			rng.Shuffle(n, func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			if m, err := MedianWidth(slices.Concat(rows...), n, d, distance); m != want || err != nil {
				t.Errorf("have %x (%v), want %x", m, err, want)
			}
		}
	}
}

func TestMedianRejectsBadSamples(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		x    []float32
		n, d int
		want string
	}{
		{nil, 0, 1, "all rows of the sample are equal"},
		{[]float32{1}, 1, 1, "all rows"},
		{[]float32{1, 2, 1, 2, 1, 2}, 3, 2, "so the median distance is undefined; give the width as a number"},
		{[]float32{1, nan, 3}, 3, 1, "contains NaN or an infinity"},
		{[]float32{1, inf, 3}, 3, 1, "contains NaN or an infinity"},
		{[]float32{1, inf, inf}, 3, 1, "contains NaN or an infinity"},
		{make([]float32, MaxSample+1), MaxSample + 1, 1, "median of 4097 rows; take a sample of at most 4096"},
	} {
		if m, err := MedianWidth(c.x, c.n, c.d, Euclidean); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d rows: %v, %v, want %q", c.n, m, err, c.want)
		}
	}
	// The largest numbers of float32 have a finite distance.
	if m, err := MedianWidth([]float32{-math.MaxFloat32, math.MaxFloat32}, 2, 1, Euclidean); err != nil ||
		m != 2*math.MaxFloat32 {
		t.Errorf("%v, %v", m, err)
	}
}

// The last bit of a width, which is part of a model, never changes: sums over every fourth column, checked with
// a Python program. Plain sums differ in the last digits.
func TestMedianIsGolden(t *testing.T) {
	const d = 67
	x := make([]float32, 2*d)
	for i := range x {
		x[i] = float32(float64(uint64(1)<<(i*7%41)) / float64(3+i))
	}
	for distance, want := range []float64{Euclidean: 0x1.356dedd5637b4p+35, L1: 0x1.cc0ba04640722p+36} {
		if m, err := MedianWidth(x, 2, d, Distance(distance)); m != want || err != nil {
			t.Errorf("distance %d: have %x (%v), want %x", distance, m, err, want)
		}
	}
}

func TestGammaAndWidthAreInverse(t *testing.T) {
	for _, distance := range []Distance{Euclidean, L1} {
		for _, gamma := range []float64{1e-9, 0.03, 0.5, 7, 1e9} {
			w, err := FromGamma(gamma, distance)
			back := 1 / w
			if distance == Euclidean {
				back = 1 / (2 * w * w)
			}
			if err != nil || math.Abs(back/gamma-1) > 1e-15 {
				t.Errorf("γ=%v: width %v (%v), back %v", gamma, w, err, back)
			}
		}
		for _, gamma := range []float64{0, -1, math.NaN(), math.Inf(1)} {
			if w, err := FromGamma(gamma, distance); err == nil {
				t.Errorf("γ=%v: width %v", gamma, w)
			}
		}
	}
	// exp(−γr²) = exp(−r²/2σ²) and exp(−γr) = exp(−r/σ) at γ = 2.
	if e, _ := FromGamma(2, Euclidean); e != 0.5 {
		t.Errorf("euclidean: %v", e)
	}
	if l, _ := FromGamma(2, L1); l != 0.5 {
		t.Errorf("l1: %v", l)
	}
	if e, _ := FromGamma(8, Euclidean); e != 0.25 {
		t.Errorf("euclidean: %v", e)
	}
}

// γ = 1/(d·Var X), scikit-learn's "scale".
func TestScaleMatchesScikitLearnsGamma(t *testing.T) {
	w, err := ScaleWidth(784, 0.0949)
	if err != nil || math.Abs(1/(2*w*w)-1/(784*0.0949)) > 1e-15 {
		t.Errorf("%v, %v", w, err)
	}
	for _, v := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if w, err := ScaleWidth(3, v); err == nil {
			t.Errorf("variance %v: width %v", v, w)
		}
	}
}

func BenchmarkMedian(b *testing.B) {
	const n, d = 1000, 784
	rng := rand.New(rand.NewPCG(3, 3))
	x := make([]float32, n*d)
	for i := range x {
		x[i] = rng.Float32()
	}
	for b.Loop() {
		if _, err := MedianWidth(x, n, d, Euclidean); err != nil {
			b.Fatal(err)
		}
	}
}
