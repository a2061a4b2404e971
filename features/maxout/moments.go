package maxout

import "math"

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
