package maxout

import (
	"math"
	"sync"
)

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

// agreementBy computes agreement by rules with that many steps per unit of length.
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
