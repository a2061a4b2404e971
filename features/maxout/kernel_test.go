package maxout

import (
	"math"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

// hermite returns h_i(q) = E[φ_i(M)] of the normalised Hermite polynomial φ_i,
// φ_0 = 1, φ_1(x) = x, √(i+1)·φ_{i+1}(x) = x·φ_i(x) − √i·φ_{i−1}(x). So h_1(q) = E[M].
func hermite(i, q int) float64 {
	return expect(q, func(m float64) float64 {
		before, now := 0.0, 1.0
		for k := range i {
			before, now = now, (m*now-math.Sqrt(float64(k))*before)/math.Sqrt(float64(k+1))
		}
		return now
	})
}

// Moments equal values known in closed form (David & Nagaraja, Order Statistics, 3rd ed., §3.2 and exercises).
func TestMomentsMatchTheTables(t *testing.T) {
	third := math.Asin(1.0 / 3)
	for _, c := range []struct {
		name       string
		have, want float64
	}{
		{"h_1(1)", hermite(1, 1), 0},
		{"h_1(2)", hermite(1, 2), 1 / math.Sqrt(math.Pi)},
		{"h_1(3)", hermite(1, 3), 1.5 / math.Sqrt(math.Pi)},
		{"h_1(4)", hermite(1, 4), 1.5 / math.Sqrt(math.Pi) * (1 + 2/math.Pi*third)},
		{"h_1(5)", hermite(1, 5), 1.25 / math.Sqrt(math.Pi) * (1 + 6/math.Pi*third)},
		{"σ²(1)", sigma2(1), 1},
		{"σ²(2)", sigma2(2), 1},
		{"σ²(3)", sigma2(3), 1 + math.Sqrt(3)/2/math.Pi},
		{"σ²(4)", sigma2(4), 1 + math.Sqrt(3)/math.Pi},
		{"h_0(7)", hermite(0, 7), 1},
		{"h_2(7)", hermite(2, 7), (sigma2(7) - 1) / math.Sqrt2},
		{"h_3(1)", hermite(3, 1), 0},
	} {
		if !(math.Abs(c.have-c.want) < 1e-13) {
			t.Errorf("%s = %.15g, want %.15g", c.name, c.have, c.want)
		}
	}
}

// kappa3 is κ_3 in closed form: 3 Pr[u_1 > u_2, u_1 > u_3, v_1 > v_2, v_1 > v_3] is an orthant
// probability of four normals whose correlations are the products of ½ and ρ (Cheng, Ann.
// Math. Statist. 40, 1969; used for MAX-3-CUT by de Klerk, Pasechnik & Warners 2004).
func kappa3(rho float64) float64 {
	s := math.Asin
	return 3 * (1.0/16 + (s(0.5)+s(rho)+s(rho/2))/(4*math.Pi) +
		(s(0.5)*s(0.5)+s(rho)*s(rho)-s(rho/2)*s(rho/2))/(4*math.Pi*math.Pi))
}

func TestTablesEqualTheClosedForms(t *testing.T) {
	two, three := newTable(2), tableOf(3)
	for i := range 2001 {
		angle := math.Pi * float64(i) / 2000
		rho := math.Cos(angle)
		for _, c := range []struct {
			name       string
			have, want float64
		}{
			{"κ_2", evaluate(two.kappa, angle), 1 - angle/math.Pi},
			{"K_2", evaluate(two.kernel, angle), rho/2 + (math.Sin(angle)+rho*(math.Pi/2-angle))/math.Pi},
			{"κ_3", evaluate(three.kappa, angle), kappa3(rho)},
			{"UnitKernel(2)", unitKernel(2, rho), rho/2 + (math.Sin(angle)+rho*(math.Pi/2-angle))/math.Pi},
		} {
			if !(math.Abs(c.have-c.want) < 1e-12) {
				t.Fatalf("%s at %v: %v, want %v", c.name, rho, c.have, c.want)
			}
		}
	}
}

// The naive reference: Hoeffding's covariance formula,
//
//	K(ρ) = h_1² + ∫∫ [Φ₂(s, t; ρ)^q − Φ(s)^q Φ(t)^q] ds dt,
//
// with Φ₂ by Plackett's formula, Φ₂ = ΦΦ + (1/2π) ∫₀^{arcsin ρ} exp(−(s²+t²−2st·sin u)/(2cos² u)) du.
func TestKernelEqualsHoeffdingsFormula(t *testing.T) {
	if testing.Short() {
		t.Skip("slow test")
	}
	const h, reach, steps = 0.1, 80, 64
	qs := []int{1, 2, 3, 4, 8, 16, 17, 64, 256}
	for _, rho := range []float64{-0.95, 0.95, 0.3, -0.5, 0.8}[:campaign.Pick(2, 5)] {
		sums := make([]float64, len(qs))
		var sin, half, weight [steps + 1]float64 // of Simpson's rule
		for k := range sin {
			u := math.Asin(rho) * float64(k) / steps
			sin[k], half[k] = math.Sin(u), 1/(2*math.Cos(u)*math.Cos(u))
			weight[k] = float64(2+2*(k%2)) * math.Asin(rho) / steps / 3 / (2 * math.Pi)
		}
		weight[0], weight[steps] = weight[0]/2, weight[0]/2
		for i := -reach; i <= reach; i++ {
			for j := -reach; j <= i; j++ {
				s, v := float64(i)*h, float64(j)*h
				area := h * h
				if j < i {
					area *= 2 // the other half is the same
				}
				product := distribution(s) * distribution(v)
				joint := product
				for k, w := range weight {
					joint += w * math.Exp(-(s*s+v*v-2*s*v*sin[k])*half[k])
				}
				for n, q := range qs {
					sums[n] += area * (math.Pow(max(0, joint), float64(q)) - math.Pow(product, float64(q)))
				}
			}
		}
		for n, q := range qs {
			mean := hermite(1, q)
			if have, want := unitKernel(q, rho), mean*mean+sums[n]; !(math.Abs(have-want) < 1e-8) {
				t.Errorf("K_%d(%v) = %.12f, Hoeffding's formula gives %.12f", q, rho, have, want)
			}
		}
	}
}

// Rules with two and four times the points agree, and the last coefficients are negligible.
func TestTablesHaveConverged(t *testing.T) {
	for _, q := range []int{4, 16, 256} {
		tab := tableOf(q)
		for _, angle := range []float64{0, 0.01, 0.1, 0.33, 1, 2, 3, 3.14} {
			if have, want := evaluate(tab.kappa, angle), agreementBy(q, angle, 16); !(math.Abs(have-want) < 1e-11) {
				t.Errorf("q = %d: κ at the angle %v is %v, by a finer rule %v", q, angle, have, want)
			}
		}
		for _, c := range [][]float64{tab.kappa, tab.kernel} {
			for _, v := range c[terms-4:] {
				if math.Abs(v) > 1e-11 {
					t.Errorf("q = %d: the series ends with %g", q, c[terms-4:])
					break
				}
			}
		}
	}
}

// dK/dρ = κ_q, and K_q(0) = h_1², K_q(1) = σ², K_q(−1) = −E[max·min].
func TestSlopeOfTheKernelIsKappa(t *testing.T) {
	for _, q := range []int{1, 2, 3, 7, 16, 100} {
		const h = 1e-4
		for _, rho := range []float64{-0.9, -0.3, 0, 0.5, 0.9} {
			slope := (unitKernel(q, rho+h) - unitKernel(q, rho-h)) / (2 * h)
			if !(math.Abs(slope-kappa(q, rho)) < 1e-6) {
				t.Errorf("q = %d: slope %v at %v, κ = %v", q, slope, rho, kappa(q, rho))
			}
		}
		mean := hermite(1, q)
		for _, c := range []struct{ rho, want float64 }{{0, mean * mean}, {1, sigma2(q)}} {
			if have := unitKernel(q, c.rho); !(math.Abs(have-c.want) < 1e-11) {
				t.Errorf("K_%d(%v) = %v, want %v", q, c.rho, have, c.want)
			}
		}
	}
	// The least and the greatest of three: Σ over pairs and squares is E[(u+v+w)²] = 3 = Σ E[x_(i)x_(j)],
	// and the middle one has E[x²] = 1 − √3/π and, by symmetry, E[x·(sum)] = 1.
	middle := 1 - math.Sqrt(3)/math.Pi
	outer := (3 - 2*sigma2(3) - middle - 4*(1-middle)/2) / 2 // E[max·min]
	if have := unitKernel(3, -1); !(math.Abs(have+outer) < 1e-11) {
		t.Errorf("K_3(−1) = %v, want %v", have, -outer)
	}
}

// paperKernel returns the kernel of Theorem 1 of Mroueh, Rennie & Goel (2015),
//
//	σ²(q)·(x·z)·κ_q(ρ),
//
// which is not E[h(x)·h(z)]: see the package comment.
func (r Maxout) paperKernel(x, z []float32) float64 {
	scale, rho := angle(x, z)
	if scale == 0 || r.Q < 1 || r.Q > MaxQ {
		return scale * rho
	}
	return scale * paperUnitKernel(r.Q, rho)
}

// paperUnitKernel returns σ²(q)·ρ·κ_q(ρ), Theorem 1 of Mroueh, Rennie & Goel (2015) for
// rows of length 1. It returns NaN unless −1 ≤ ρ ≤ 1, and panics unless 1 ≤ q ≤ MaxQ.
func paperUnitKernel(q int, rho float64) float64 {
	return sigma2(q) * rho * kappa(q, rho)
}

func TestKernelScalesWithTheNorms(t *testing.T) {
	x, z := []float32{1, 2, 2}, []float32{-4, 0, 3}
	rho := 2.0 / 15
	for _, q := range []int{1, 2, 5} {
		r := Maxout{In: 3, Out: 1, Q: q, Bound: 1}
		for _, c := range []struct {
			name       string
			have, want float64
		}{
			{"K", r.Kernel(x, z), 15 * unitKernel(q, rho)},
			{"K(x, x)", r.Kernel(x, x), 9 * sigma2(q)},
			{"the paper's", r.paperKernel(x, z), 15 * sigma2(q) * rho * kappa(q, rho)},
			{"K(x, 0)", r.Kernel(x, make([]float32, 3)), 0},
		} {
			if !(math.Abs(c.have-c.want) < 1e-10) {
				t.Errorf("q = %d: %s = %v, want %v", q, c.name, c.have, c.want)
			}
		}
	}
	for _, rho := range []float64{-1.1, 1.1, math.NaN()} {
		if k, p, c := unitKernel(4, rho), paperUnitKernel(4, rho), kappa(4, rho); k == k || p == p || c == c {
			t.Errorf("at %v: %v, %v, %v", rho, k, p, c)
		}
	}
}

func BenchmarkUnitKernel(b *testing.B) {
	tableOf(4)
	for b.Loop() {
		unitKernel(4, 0.3)
	}
}

func BenchmarkTable(b *testing.B) {
	for b.Loop() {
		newTable(4)
	}
}
