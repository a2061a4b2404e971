package maxout

import (
	"math"
	"sync"
)

// Kernel returns the kernel that maxout features estimate,
//
//	K(x, z) = E[h(x)·h(z)] = ‖x‖·‖z‖·K_q(ρ),   ρ = x·z/‖x‖‖z‖,
//
// where K_q(ρ) is the kernel of rows of length 1; see the package comment.
func (r Maxout) Kernel(x, z []float32) float64 {
	scale, rho := angle(x, z)
	if scale == 0 || r.Q < 1 || r.Q > MaxQ {
		return scale * rho // 0, or NaN
	}
	return scale * unitKernel(r.Q, rho)
}

// angle returns ‖x‖‖z‖ and ρ, 0 and 0 if a row is zero.
func angle(x, z []float32) (scale, rho float64) {
	if len(x) != len(z) {
		panic("maxout: Kernel of rows of different lengths")
	}
	var xx, zz, xz float64
	for i, v := range x {
		a, b := float64(v), float64(z[i])
		xx += a * a
		zz += b * b
		xz += a * b
	}
	scale = math.Sqrt(xx) * math.Sqrt(zz)
	if scale == 0 {
		return 0, 0
	}
	return scale, max(-1, min(1, xz/scale))
}

// unitKernel returns K_q(ρ) = E[M·M'], the kernel of rows of length 1: M the maximum of
// q standard normals and M' the maximum of q others, each with correlation ρ to its own.
//
//	K_1 = ρ,   K_2 = ρ/2 + (√(1−ρ²) + ρ·arcsin ρ)/π,   K_q = h_1²(q) + ∫₀^ρ κ_q
//
// The first two are exact up to rounding, the others to 1e-10. It returns NaN unless −1 ≤ ρ ≤ 1,
// and panics unless 1 ≤ q ≤ MaxQ.
func unitKernel(q int, rho float64) float64 {
	checkQ(q)
	switch {
	case !(rho >= -1 && rho <= 1):
		return math.NaN()
	case q == 1:
		return rho
	case q == 2:
		return rho/2 + (math.Sqrt((1-rho)*(1+rho))+rho*math.Asin(rho))/math.Pi
	}
	return evaluate(tableOf(q).kernel, math.Acos(rho))
}

// kappa returns κ_q(ρ), the probability that the maximum is at the same index for
// two rows at the angle arccos ρ:
//
//	κ_1 = 1,   κ_2 = 1 − arccos(ρ)/π,   κ_q(−1) = 0 for q > 1,   κ_q(0) = 1/q,   κ_q(1) = 1
//
// κ_q is the slope of the kernel, dK_q/dρ: for normals of correlation ρ, d/dρ E[f(U)·g(V)] =
// E[∇f(U)·∇g(V)] (Price 1958), and the gradient of the maximum is the unit vector of its index. The
// first two are exact up to rounding, the others to 1e-10 in κ; near ρ = 1, κ falls as √(1−ρ), so an
// error in ρ matters much more there. It returns NaN unless −1 ≤ ρ ≤ 1, and panics unless 1 ≤ q ≤ MaxQ.
func kappa(q int, rho float64) float64 {
	checkQ(q)
	switch {
	case !(rho >= -1 && rho <= 1):
		return math.NaN()
	case q == 1:
		return 1
	case q == 2:
		return 1 - math.Acos(rho)/math.Pi
	}
	return max(0, min(1, evaluate(tableOf(q).kappa, math.Acos(rho))))
}

// MaxQ is the largest number of projections of a unit.
const MaxQ = 256

// density is φ, the standard normal density.
func density(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }

// distribution is Φ, the standard normal distribution function.
func distribution(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// sigma2 returns σ²(q) = E[M²] of M, the maximum of q independent standard
// normals: K(x, x) of a row of length 1. σ²(1) = σ²(2) = 1. It panics unless 1 ≤ q ≤ MaxQ.
func sigma2(q int) float64 {
	return expect(q, func(m float64) float64 { return m * m })
}

// expect returns E[f(M)] for the maximum M of q normals, whose density is qφΦ^{q−1}. The
// trapezoidal rule is exact to rounding for an analytic integrand that dies out at both
// ends (Trefethen & Weideman, SIAM Review 56, 2014).
func expect(q int, f func(float64) float64) float64 {
	checkQ(q)
	const h, reach = 1.0 / 16, 160 // ±10
	var sum float64
	for i := -reach; i <= reach; i++ {
		x := float64(i) * h
		sum += f(x) * density(x) * math.Pow(distribution(x), float64(q-1))
	}
	return sum * h * float64(q)
}

func checkQ(q int) {
	if q < 1 || q > MaxQ {
		panic("maxout: q must be 1 to 256")
	}
}

// Bound returns the half-range s of the grid that units exceed with probability
// share, for rows of length norm: norm·t with 1 − Φ(t)^q + Φ(−t)^q = share. Use it
// for Maxout.Bound if the lengths of rows are known. It panics unless
// 1 ≤ q ≤ MaxQ, norm > 0 and 0 < share < 1.
func Bound(norm float64, q int, share float64) float64 {
	checkQ(q)
	if !(norm > 0) || !(share > 0 && share < 1) {
		panic("maxout: Bound needs a length > 0 and a share between 0 and 1")
	}
	beyond := func(t float64) float64 {
		tail := math.Erfc(t/math.Sqrt2) / 2
		return -math.Expm1(float64(q)*math.Log1p(-tail)) + math.Pow(tail, float64(q))
	}
	lo, hi := 0.0, 40.0
	for range 80 {
		if t := (lo + hi) / 2; beyond(t) > share {
			lo = t
		} else {
			hi = t
		}
	}
	return norm * hi
}

// table holds κ_q, and its integral, as functions of the angle θ = arccos ρ: Chebyshev
// series on [0, π], where both are analytic. (As functions of ρ they have a root at ρ = 1:
// 1 − κ_q grows as √(1−ρ).)
type table struct {
	kappa, kernel []float64
}

// terms is the length of the series. The truncation error is below 1e-11 for all q.
const terms = 48

var tables [MaxQ + 1]struct {
	once sync.Once
	table
}

// tableOf returns the table of q. The first call computes it, in 0.05 to 0.2 seconds.
func tableOf(q int) *table {
	t := &tables[q]
	t.once.Do(func() { t.table = newTable(q) })
	return &t.table
}

func newTable(q int) table {
	var kappa, slope [terms]float64
	for i := range terms {
		angle := node(i)
		kappa[i] = agreement(q, angle)
		slope[i] = -kappa[i] * math.Sin(angle)
	}
	t := table{kappa: series(kappa[:])}
	// dK/dρ = κ_q (see kappa), so dK/dθ = −κ_q·sin θ, and K = σ² at θ = 0.
	t.kernel = integral(series(slope[:]), math.Pi/2)
	t.kernel[0] += sigma2(q) - evaluate(t.kernel, 0)
	return t
}

// agreement returns κ_q at the angle θ:
//
//	κ_q = q ∫∫ φ₂(s, t) Φ₂(s, t)^{q−1} ds dt
//
// for the bivariate normal density and distribution function of correlation cos θ. A pair (s, t)
// is a point of the plane seen from two directions at the angle θ. In the
// coordinates a along their bisector and c across, s = a·cos ½θ + c·sin ½θ and
// t = a·cos ½θ − c·sin ½θ, so that φ₂ ds dt = φ(a)φ(c) da dc and
//
//	∂Φ₂/∂a = cos ½θ · [φ(s)·Φ(a·sin ½θ − c·cos ½θ) + φ(t)·Φ(a·sin ½θ + c·cos ½θ)].
//
// All of it is as smooth at every θ as the normal density: Gauss's rule gives Φ₂ from
// one a to the next, and the trapezoidal rule the outer integral.
func agreement(q int, angle float64) float64 {
	if q <= 16 {
		return agreementBy(q, angle, 4)
	}
	return agreementBy(q, angle, 8) // Φ₂^{q−1} rises within 1/√(2 log q)
}

// agreementBy computes agreement by rules with steps points per unit of length.
func agreementBy(q int, angle float64, steps int) float64 {
	const reach = 8.5 // φ(8.5) is 10⁻¹⁶
	h := 1 / float64(steps)
	sin, cos := math.Sincos(angle / 2)
	var sum float64
	for i := 0; float64(i)*h <= reach; i++ {
		c := float64(i) * h // and −c, which exchanges s and t
		var line, below float64
		for j := -int(reach * float64(steps)); float64(j)*h <= reach; j++ {
			a := float64(j) * h
			for g, x := range gauss.at {
				b := a - h/2 + h/2*x
				below += h / 2 * gauss.weight[g] * cos *
					(density(b*cos+c*sin)*distribution(b*sin-c*cos) + density(b*cos-c*sin)*distribution(b*sin+c*cos))
			}
			line += density(a) * math.Pow(below, float64(q-1))
		}
		if i > 0 {
			line *= 2
		}
		sum += density(c) * line
	}
	return sum * h * h * float64(q)
}

// gauss is the Gauss–Legendre rule of four points on [−1, 1].
var gauss = struct{ at, weight [4]float64 }{
	at:     [4]float64{-0.8611363115940526, -0.3399810435848563, 0.3399810435848563, 0.8611363115940526},
	weight: [4]float64{0.3478548451374538, 0.6521451548625461, 0.6521451548625461, 0.3478548451374538},
}

// node returns point i of the Chebyshev grid on [0, π].
func node(i int) float64 {
	return math.Pi / 2 * (1 + math.Cos(math.Pi*(float64(i)+0.5)/terms))
}

// series returns the coefficients of the Chebyshev series that takes the values v at the nodes.
func series(v []float64) []float64 {
	c := make([]float64, len(v))
	n := float64(len(v))
	for k := range c {
		for i, f := range v {
			c[k] += f * math.Cos(math.Pi*float64(k)*(float64(i)+0.5)/n) * 2 / n
		}
	}
	c[0] /= 2
	return c
}

// integral returns an integral of the series c of x on [−1, 1], times scale.
func integral(c []float64, scale float64) []float64 {
	at := func(k int) float64 {
		if k < len(c) {
			return c[k]
		}
		return 0
	}
	s := make([]float64, len(c)+1)
	s[1] = scale * (at(0) - at(2)/2)
	for k := 2; k < len(s); k++ {
		s[k] = scale * (at(k-1) - at(k+1)) / float64(2*k)
	}
	return s
}

// evaluate returns the value of the series at the angle, by Clenshaw's recurrence.
func evaluate(c []float64, angle float64) float64 {
	x := 2*angle/math.Pi - 1
	var b1, b2 float64
	for k := len(c) - 1; k > 0; k-- {
		b1, b2 = 2*x*b1-b2+c[k], b1
	}
	return x*b1 - b2 + c[0]
}
