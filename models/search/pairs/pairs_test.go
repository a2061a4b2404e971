package pairs

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

// needle returns n rows of d columns. The label depends on the last two or three of them, and only
// together.
func needle(n, d int, seed uint64, kind string) (Rows, []float32) {
	rng := rand.New(rand.NewPCG(seed, uint64(d)))
	r, y := Rows{D: d}, make([]float32, n)
	for i := range n {
		for range d {
			v := float32(2*rng.Float64() - 1)
			if kind == "parity" {
				v = float32(1 - 2*rng.IntN(2))
			}
			r.X = append(r.X, v)
		}
		x := r.X[i*d:]
		switch r.Indices = append(r.Indices, i); kind {
		case "two", "parity":
			y[i] = x[d-1] * x[d-2]
		case "three":
			y[i] = x[d-1] * x[d-2] * x[d-3]
		}
		y[i] += float32(0.3 * rng.NormFloat64())
	}
	return r, y
}

// The columns of a needle usually have the largest weights. With BOCHNER_LONG=1 and -v it prints
// how often, the table of docs/decisions/52-differences-of-columns.md.
func TestNeedlesAreFound(t *testing.T) {
	type size struct{ n, d, least int } // least is the least number of 10
	sizes := map[string][]size{
		"two":    {{500, 20, 9}, {1000, 100, 9}},
		"three":  {{2000, 20, 9}, {600, 60, 8}},
		"parity": {{500, 100, 10}},
	}
	if campaign.Pick(0, 1) == 1 {
		for kind := range sizes {
			for _, n := range []int{500, 5000} {
				for _, d := range []int{20, 100, 1000} {
					sizes[kind] = append(sizes[kind], size{n, d, 0})
				}
			}
		}
	}
	for kind, of := range sizes {
		for _, s := range of {
			count := 0
			for seed := range uint64(10) {
				r, y := needle(min(s.n, MaxRows), s.d, seed, kind)
				w := Weights(r, [][]float32{y}, 2)
				if w == nil {
					continue
				}
				columns := 2
				if kind == "three" {
					columns = 3
				}
				if slices.Max(w[:s.d-columns]) < slices.Min(w[s.d-columns:]) {
					count++
				}
			}
			t.Logf("| %s | %d | %d | %d of 10 |", kind, s.d, s.n, count)
			if count < s.least {
				t.Errorf("%s: %d rows of %d: found %d of 10", kind, s.n, s.d, count)
			}
		}
	}
}

// Labels that are noise have no weights, except if the largest of all products exceeds the bound by
// chance.
func TestNoiseHasNoNeedles(t *testing.T) {
	found := 0
	for seed := range uint64(20) {
		r, y := needle(600, 20, seed, "")
		if Weights(r, [][]float32{y}, 1) != nil {
			found++
		}
	}
	if found > 6 { // twice the bound's probability of 14%
		t.Errorf("%d of 20", found)
	}
}

// Best returns the two columns of a needle. Frequencies returns their frequencies first: the sum and the
// difference of two waves, or the frequency of a single column.
func TestBestAndFrequenciesFindNeedles(t *testing.T) {
	const n, d = 1000, 20
	for seed := range uint64(3) {
		r, y := needle(n, d, seed, "two")
		if best, ok := Best(r, [][]float32{slices.Clone(y)}, 2); !ok || best != [2]int{d - 2, d - 1} {
			t.Errorf("seed %d: the best pair is %v, %v", seed, best, ok)
		}
		w := Frequencies(r, [][]float32{slices.Clone(y)}, 7, 2)
		if len(w) == 0 || len(w) > 7*d {
			t.Fatalf("seed %d: %d numbers", seed, len(w))
		}
		a, b := w[:d], w[d:2*d]
		if !(a[d-2] > 0 && a[d-2] == b[d-2] && a[d-1] == -b[d-1] && a[d-1] != 0) || slices.Max(a[:d-2]) != 0 {
			t.Errorf("seed %d: the first frequencies are %v and %v", seed, a, b)
		}
		for i := range y {
			y[i] = float32(math.Sin(3 * float64(r.X[i*d+4])))
		}
		w = Frequencies(r, [][]float32{y}, 1, 1)
		radians := 2 * math.Pi * float64(w[4])
		if len(w) != d || slices.Max(w) != w[4] || !(math.Abs(radians/3-1) < 0.5) {
			t.Errorf("seed %d: the frequency of one column is %v, %.2f radians", seed, w, radians)
		}
	}
}
