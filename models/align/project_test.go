package align

import (
	"math"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/features/stream"
)

func labels(n int, share float64, seed uint64) []float32 {
	s := stream.New(seed, stream.PurposeOf("align/test/labels"), 0)
	y := make([]float32, n)
	for i := range y {
		y[i] = -1
		if s.Uniform() < share {
			y[i] = 1
		}
	}
	return y
}

func wide(x []float32) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

// nearest projects onto K by brute force: it tries every assignment of rows to 0, to 1 and in
// between, and returns the one that satisfies the KKT conditions. It does not use the equation for
// the multiplier.
func nearest(a []float64, y []float32) (best []float64) {
	n := len(a)
	all := 1
	for range n {
		all *= 3
	}
	least := math.Inf(1)
	for code := range all {
		var fixed, free, count float64
		for i, c := 0, code; i < n; i, c = i+1, c/3 {
			switch c % 3 {
			case 1:
				fixed += float64(y[i])
			case 2:
				free += float64(y[i]) * a[i]
				count++
			}
		}
		mu := 0.0
		if count > 0 {
			mu = (fixed + free) / count
		} else if fixed != 0 {
			continue
		}
		p, distance, ok := make([]float64, n), 0.0, true
		for i, c := 0, code; i < n; i, c = i+1, c/3 {
			switch c % 3 {
			case 1:
				p[i] = 1
			case 2:
				p[i] = a[i] - mu*float64(y[i])
				ok = ok && p[i] >= -1e-12 && p[i] <= 1+1e-12
			}
			distance += (p[i] - a[i]) * (p[i] - a[i])
		}
		if ok && distance < least {
			least, best = distance, p
		}
	}
	return best
}

func TestProjectionIsTheNearestPoint(t *testing.T) {
	for seed := range uint64(60) {
		n := 1 + int(seed%8)
		a, y := wide(normals(n, 1.5, seed)), labels(n, 0.5, seed)
		if seed%5 == 0 { // ties
			for i := range a {
				a[i] = math.Round(a[i])
			}
		}
		want := nearest(a, y)
		got := slices.Clone(a)
		clipRows(got, y, multiplier(a, y))
		for i := range got {
			if math.Abs(got[i]-want[i]) > 1e-9 {
				t.Errorf("seed %d: a = %v, y = %v: projection %v, want %v", seed, a, y, got, want)
				break
			}
		}
	}
}

func residual(a []float64, y []float32) (sum float64) {
	for i, v := range a {
		sum += v * float64(y[i])
	}
	return sum
}

func TestProjectionLiesInK(t *testing.T) {
	for _, c := range []struct {
		n           int
		share, size float64
	}{{1000, 0.5, 1}, {50000, 0.1, 0.3}, {300, 0, 2}, {300, 1, 2}, {10000, 0.01, 1e4}, {10000, 0.3, 1e-6}} {
		a, y := wide(normals(c.n, c.size, 3)), labels(c.n, c.share, 4)
		p := slices.Clone(a)
		clipRows(p, y, multiplier(a, y))
		if r := residual(p, y); math.Abs(r) > 1e-9*float64(c.n)*max(1, c.size) {
			t.Errorf("%+v: Σ y α = %g", c, r)
		}
		if slices.Min(p) < 0 || slices.Max(p) > 1 {
			t.Errorf("%+v: α from %g to %g", c, slices.Min(p), slices.Max(p))
		}
	}
}

func TestMergedCensusesFindTheMultiplierOfAllRows(t *testing.T) {
	const n = 20000
	a, y := wide(normals(n, 1, 5)), labels(n, 0.3, 6)
	in := around(slices.Min(a), slices.Max(a))
	mu := 0.0
	for range 3 {
		var sum census
		for _, cut := range [][2]int{{0, 1}, {1, 7000}, {7000, 7000}, {7000, n}} {
			var part census
			part.count(a[cut[0]:cut[1]], y[cut[0]:cut[1]], in)
			sum.Merge(&part)
		}
		in, mu, _ = sum.narrow(in)
	}
	if want := multiplier(a, y); math.Abs(mu-want) > 1e-9 {
		t.Errorf("three censuses give %v, want %v", mu, want)
	}
	clipRows(a, y, mu)
	if r := residual(a, y); math.Abs(r) > 1e-6 {
		t.Errorf("Σ y α = %g after three censuses", r)
	}
}

func TestAlternatingProjectionsEndInK(t *testing.T) {
	a, y := wide(normals(2000, 0.5, 7)), labels(2000, 0.4, 8)
	for i := range a {
		a[i] += 0.5
	}
	exact := slices.Clone(a)
	clipRows(exact, y, multiplier(a, y))
	alternate(a, y, 200)
	if r := residual(a, y); math.Abs(r) > 1e-6 {
		t.Errorf("Σ y α = %g", r)
	}
	if lo, hi := slices.Min(a), slices.Max(a); lo < -1e-6 || hi > 1+1e-6 {
		t.Errorf("α from %g to %g", lo, hi)
	}
	var apart float64
	for i := range a {
		apart = max(apart, math.Abs(a[i]-exact[i]))
	}
	t.Logf("alternating projections end %.2g from the nearest point", apart)
}

func BenchmarkMultiplier(b *testing.B) {
	a, y := wide(normals(100000, 1, 1)), labels(100000, 0.1, 2)
	for b.Loop() {
		multiplier(a, y)
	}
}
