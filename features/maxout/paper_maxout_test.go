package maxout

import (
	"fmt"
	"math"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/testing/campaign"

	"github.com/bochner-ml/bochner/internal/testing/stattest"
)

// The statements of Y. Mroueh, S. Rennie and V. Goel, "Random Maxout Features",
// 2015, in their order.

// at returns two rows of d numbers, of the lengths a and b, whose angle has the cosine rho.
func at(d int, rho, a, b float64) (x []float32) {
	x = make([]float32, 2*d)
	u, v := normals(d, 21), normals(d, 22)
	uu, uv := dot(u, u), dot(u, v)
	var ww float64
	for i := range v {
		v[i] -= float32(uv / uu * float64(u[i]))
		ww += float64(v[i]) * float64(v[i])
	}
	for i := range u {
		e, f := float64(u[i])/math.Sqrt(uu), float64(v[i])/math.Sqrt(ww)
		x[i] = float32(a * e)
		x[d+i] = float32(b * (rho*e + math.Sqrt(1-rho*rho)*f))
	}
	return x
}

// Theorem 1: "K(x, z) = E(h(x)h(z)) = σ²(q)⟨x, z⟩κ_q(x, z)". The mean of φ(x)·φ(z) over seeds is Kernel, with
// separate projections and with a shared pool (Table 3), and is not the theorem's unless q = 1 or x = z.
func TestMeanOfProductsIsTheKernelAndNotTheoremOne(t *testing.T) {
	if testing.Short() {
		t.Skip("slow test")
	}
	const d, m = 6, 128
	seeds := campaign.Pick(400, 600)
	rhos := []float64{-1, -0.5, 0, 0.5, 0.9, 1}
	var x []float32
	for _, rho := range rhos {
		x = append(x, at(d, rho, 1.5, 0.8)...)
	}
	for _, q := range []int{1, 2, 4, 8, 16} {
		for _, pool := range []int{0, 48} {
			r := Maxout{In: d, Out: m, Q: q, Pool: pool, Bound: 8}
			products := make([][]float64, len(rhos))
			h := make([]float32, 2*len(rhos)*m)
			for seed := range uint64(seeds) {
				r.Seed = seed
				mustNew(t, r).Apply(h, x, 2*len(rhos))
				for i := range rhos {
					products[i] = append(products[i], dot(h[2*i*m:(2*i+1)*m], h[(2*i+1)*m:]))
				}
			}
			for i, rho := range rhos {
				mean, a, b := stattest.MeanOf(products[i]), x[2*i*d:][:d], x[(2*i+1)*d:][:d]
				what := fmt.Sprintf("q = %d, pool %d, ρ = %v", q, pool, rho)
				mean.Near(t, what, r.Kernel(a, b), 1e-6)
				off := math.Abs(mean.Value-r.paperKernel(a, b)) / mean.SE
				if q == 1 || rho == 1 || q == 2 && rho == -1 {
					if off > 4.5 {
						t.Errorf("%s: %.1f standard errors from Theorem 1, which holds here", what, off)
					}
				} else if off < 10 {
					t.Errorf("%s: only %.1f standard errors from Theorem 1", what, off)
				}
			}
		}
	}
}

// The mean of products is Kernel on the grid of bytes too. Rounding moves each value by half a step at most.
func TestMeanOfProductsOnTheGridIsTheKernel(t *testing.T) {
	const d, m, seeds = 6, 128, 300
	for _, q := range []int{1, 4} {
		x := at(d, 0.5, 1, 1)
		r := Maxout{In: d, Out: m, Q: q, Bound: Bound(1, q, 1e-9)}
		mean := stattest.Over(seeds, func(seed uint64) float64 {
			r.Seed = seed
			made, grid := mustNew(t, r), features.NewGrid(m, features.ByteSteps)
			if saturated := made.Quantize(grid, x, 2, 1); saturated != 0 {
				t.Fatalf("%d values cut", saturated)
			}
			var sum int
			for j := range m {
				sum += int(grid.At(0, j)) * int(grid.At(1, j))
			}
			return float64(sum) * made.Step() * made.Step()
		})
		step := r.Bound / 127
		mean.Near(t, fmt.Sprintf("q = %d", q), r.Kernel(x[:d], x[d:]), step*step)
	}
}

// Proof of Theorem 1: "It is easy to see that the second term in this sum is zero since
// the gaussians are independent and zero centered: E{⟨w_D(x), x⟩⟨w_D(z), z⟩ | D(x) ≠ D(z)} = 0". At a
// right angle it is h_1²(q), since there the maxima do not depend on each other nor on the indices.
func TestTermThatTheProofDropsIsNotZero(t *testing.T) {
	const d, m = 2, 40000
	x := []float32{1, 0, 0, 1}
	for _, q := range []int{2, 4, 16} {
		made := mustNew(t, Maxout{In: d, Out: m, Q: q, Bound: 8, Seed: 6})
		h, codes := make([]float32, 2*m), make([]uint8, 2*m)
		made.Apply(h, x, 2)
		made.codes(codes, x, 2)
		var products []float64
		for l := range m {
			if codes[l] != codes[m+l] {
				products = append(products, float64(h[l])*float64(h[m+l])*m)
			}
		}
		mean := hermite(1, q)
		stattest.MeanOf(products).Near(t, fmt.Sprintf("q = %d, different indices", q), mean*mean, 1e-6)
		if share := float64(len(products)) / m; math.Abs(share-(1-1/float64(q))) > 4*math.Sqrt(0.25/m) {
			t.Errorf("q = %d: %v of the units have different indices", q, share)
		}
	}
}

// "κ_q = 1 at ρ = 1", "κ_q = a_0(q) = 1/q at ρ = 0", "κ_q = 0 at ρ = −1", 0 ≤ κ_q ≤ 1.
func TestKappaAtItsThreePoints(t *testing.T) {
	for _, q := range []int{2, 3, 4, 8, 16, 100} {
		for _, c := range []struct{ rho, want float64 }{{1, 1}, {0, 1 / float64(q)}, {-1, 0}} {
			if have := kappa(q, c.rho); !(math.Abs(have-c.want) < 1e-11) {
				t.Errorf("κ_%d(%v) = %v, want %v", q, c.rho, have, c.want)
			}
		}
		for i := range 201 {
			if k := kappa(q, float64(i)/100-1); !(k >= 0 && k <= 1) {
				t.Errorf("κ_%d = %v", q, k)
			}
		}
	}
}

// coefficient returns a_i(q) of κ_q(ρ) = Σ a_i(q)·ρⁱ for i = 0, 1 and 2:
//
//	a_0 = 1/q,   a_1 = h_1²(q)/(q−1),   a_2 = q·h_2²(q)/((q−1)(q−2))
//
// as Theorem 1 gives them (after Frieze & Jerrum 1995). κ_1 is 1, and a_2(2) is 0.
func coefficient(i, q int) float64 {
	f, h := float64(q), hermite(i, q)
	switch {
	case i == 0:
		return 1 / f
	case q == 1 || q == 2 && i == 2:
		return 0
	case i == 1:
		return h * h / (f - 1)
	}
	return f * h * h / ((f - 1) * (f - 2))
}

// "κ_q = Σ a_i(q) ρⁱ, where the first 3 coefficients are …". The derivatives at 0 of the
// table's polynomial in θ = arccos ρ: dκ/dρ = −dκ/dθ and d²κ/dρ² = d²κ/dθ² there.
func TestFirstCoefficientsMatchTheSeries(t *testing.T) {
	const h = 1e-3
	for _, q := range []int{2, 3, 4, 8, 16, 64} {
		c := tableOf(q).kappa
		f := func(k int) float64 { return evaluate(c, math.Pi/2-float64(k)*h) }
		// Differences of fourth order.
		first := (8*(f(1)-f(-1)) - (f(2) - f(-2))) / (12 * h)
		second := (16*(f(1)+f(-1)) - (f(2) + f(-2)) - 30*f(0)) / (12 * h * h)
		for i, have := range []float64{f(0), first, second / 2} {
			if want := coefficient(i, q); !(math.Abs(have-want) < 1e-8) {
				t.Errorf("a_%d(%d) = %.10f, the table has %.10f", i, q, want, have)
			}
		}
	}
	if a := coefficient(0, 1) + coefficient(1, 1) + coefficient(2, 1); a != 1 {
		t.Errorf("κ_1 is not 1 but %v", a)
	}
}

// "a_i(q) are non negative and Σ a_i(q) = 1", "Σ a_2i = Σ a_2i+1 = ½": all differences
// of κ_q on ρ ≥ 0 are positive, and κ_q(1) ± κ_q(−1) = 1.
func TestSeriesHasNoNegativeCoefficients(t *testing.T) {
	const h = 0.05
	for _, q := range []int{2, 3, 4, 8, 16} {
		v := make([]float64, 20)
		for i := range v {
			v[i] = kappa(q, h*float64(i))
		}
		for order := range 5 {
			for i, d := range v {
				// The series of κ_2 is arcsin's, with zeros at the even places.
				if !(d > -1e-10) {
					t.Errorf("q = %d: difference %d of order %d is %g", q, i, order, d)
				}
			}
			for i := range len(v) - 1 {
				v[i] = v[i+1] - v[i]
			}
			v = v[:len(v)-1]
		}
		if even, odd := (kappa(q, 1)+kappa(q, -1))/2, (kappa(q, 1)-kappa(q, -1))/2; math.Abs(even-0.5) > 1e-11 ||
			math.Abs(odd-0.5) > 1e-11 {
			t.Errorf("q = %d: coefficients add up to %v and %v", q, even, odd)
		}
	}
}

// "h_1(q) ∼ √(2 log q)": the ratio rises towards 1, as slowly as log log q/log q falls.
func TestMeanOfTheMaximumGrowsAsRootLog(t *testing.T) {
	before := 0.0
	for q := 2; q <= 256; q *= 2 {
		ratio := hermite(1, q) / math.Sqrt(2*math.Log(float64(q)))
		if !(ratio > before && ratio < 1) {
			t.Errorf("q = %d: %v of √(2 log q), after %v", q, ratio, before)
		}
		before = ratio
	}
	if before < 0.84 {
		t.Errorf("h_1(256) is %v of √(2 log q)", before)
	}
}

// "the radius of the locality of κ_q shrinks as q increases": κ_q falls with q at every
// angle but 0.
func TestLocalityShrinksWithQ(t *testing.T) {
	if testing.Short() {
		t.Skip("slow test")
	}
	for _, rho := range []float64{-0.5, 0, 0.5, 0.9, 0.99} {
		for q, a := 1, kappa(1, rho); q <= 128; q *= 2 {
			b := kappa(2*q, rho)
			if !(b < a) {
				t.Errorf("ρ = %v: κ is %v at q = %d and %v at %d", rho, a, q, b, 2*q)
			}
			a = b
		}
	}
}

// Remark 1: "E(1/m Σ 1[C_i(x) ≠ C_i(z)]) = 1 − κ_q(x, z)", which does not depend on the lengths.
func TestHammingDistanceOfCodesIsOneMinusKappa(t *testing.T) {
	if testing.Short() {
		t.Skip("slow test")
	}
	const d, m = 6, 100
	seeds := campaign.Pick(200, 400)
	rhos := []float64{-1, -0.5, 0, 0.5, 0.9, 1}
	var x []float32
	for _, rho := range rhos {
		x = append(x, at(d, rho, 0.3, 2)...)
	}
	for _, q := range []int{1, 2, 3, 4, 8, 16} {
		for _, pool := range []int{0, 64} {
			distances := make([][]float64, len(rhos))
			codes := make([]uint8, 2*len(rhos)*m)
			for seed := range uint64(seeds) {
				mustNew(t, Maxout{In: d, Out: m, Q: q, Pool: pool, Bound: 1, Seed: seed}).codes(codes, x, 2*len(rhos))
				for i := range rhos {
					differ := 0
					for l, c := range codes[2*i*m : (2*i+1)*m] {
						if c != codes[(2*i+1)*m+l] {
							differ++
						}
					}
					distances[i] = append(distances[i], float64(differ)/m)
				}
			}
			for i, rho := range rhos {
				// Rows in one direction differ by rounding, by which an argmax may turn once in a million.
				stattest.MeanOf(distances[i]).Near(t, fmt.Sprintf("q = %d, pool %d, ρ = %v", q, pool, rho), 1-kappa(q, rho), 1e-4)
			}
		}
	}
}

// Figure 1: points of the unit circle, m = 1000, q = 2³ and 2⁵: "for small distances we have a
// linear regime, followed by a saturation regime", which "arises earlier for q = 2⁵". By the true
// kernel, ‖φ(x) − φ(z)‖² = 2(σ²(q) − K_q(ρ)).
func TestDistancesSaturateEarlierWithLargerQ(t *testing.T) {
	const m, points = 1000, 101
	x := make([]float32, 2*points)
	for i := range points {
		sin, cos := math.Sincos(math.Pi * float64(i) / (points - 1))
		x[2*i], x[2*i+1] = float32(cos), float32(sin)
	}
	half := map[int]float64{} // the angle at which distances reach 90% of the last
	for _, q := range []int{8, 32} {
		mean := make([]float64, points)
		for seed := range uint64(20) {
			phi := make([]float32, points*m)
			mustNew(t, Maxout{In: 2, Out: m, Q: q, Bound: 8, Seed: seed}).Apply(phi, x, points)
			for i := range points {
				var squares float64
				for j := range m {
					d := float64(phi[j]) - float64(phi[i*m+j])
					squares += d * d
				}
				mean[i] += squares / 20
			}
		}
		for i := range points {
			want := 2 * (sigma2(q) - unitKernel(q, math.Cos(math.Pi*float64(i)/(points-1))))
			if math.Abs(mean[i]-want) > 0.05*want+1e-5 {
				t.Errorf("q = %d, angle %d%%: squared distance %v, want %v", q, i, mean[i], want)
			}
			if half[q] == 0 && mean[i] > 0.81*mean[points-1] {
				half[q] = float64(i) / (points - 1)
			}
		}
		// Linear: ‖φ(x) − φ(z)‖ ≈ ‖x − z‖ where rows are close, for the slope of K_q is
		// κ_q(1) = 1. By Theorem 1 it would be σ(q) times as much, and more.
		if near := mean[1] / math.Pow(math.Pi/(points-1), 2); math.Abs(near-1) > 0.1 {
			t.Errorf("q = %d: squared distance of neighbours is %v of what it was", q, near)
		}
	}
	if !(half[32] < 0.9*half[8]) {
		t.Errorf("distances are at 90%% of the last at %v of the half circle for q = 8, %v for q = 32", half[8], half[32])
	}
}

// Table 3: "to increase the number of features, projections are shared across random maxout
// units". m units of a pool of P < mq projections err more than with projections of their own. They gain
// functions, but estimate the kernel only about as well as P/q units do. (It is an average over q-sets
// of P projections, and nearly the sum of a function of each.)
func TestSharedPoolErrsAsFewerUnitsDo(t *testing.T) {
	if testing.Short() {
		t.Skip("slow test")
	}
	const d, m, q, pool = 6, 400, 4, 200
	seeds := campaign.Pick(600, 1500)
	x := at(d, 0.5, 1, 1)
	variance := func(r Maxout) float64 {
		r.In, r.Q, r.Bound = d, q, 8
		return stattest.Over(seeds, func(seed uint64) float64 {
			r.Seed = seed
			dst := make([]float32, 2*r.Out)
			mustNew(t, r).Apply(dst, x, 2)
			return dot(dst[:r.Out], dst[r.Out:])
		}).Variance()
	}
	own, shared, fewer := variance(Maxout{Out: m}), variance(Maxout{Out: m, Pool: pool}), variance(Maxout{Out: pool / q})
	// Variances of 600 values are known to 6%.
	if ratio := shared / fewer; !(own < 0.2*shared && ratio > 0.8 && ratio < 1.3) {
		t.Errorf("variance %.3g with %d projections, %.3g with a pool of %d, %.3g of %d units with their own", own, m*q,
			shared, pool, fewer, pool/q)
	}
}
