package maxout

import "math"

// Kernel returns the kernel that maxout features estimate,
//
//	K(x, z) = E[h(x)·h(z)] = ‖x‖·‖z‖·K_q(ρ),   ρ = x·z/‖x‖‖z‖,
//
// where unitKernel returns K_q.
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
		xx, zz, xz = xx+a*a, zz+b*b, xz+a*b
	}
	if scale = math.Sqrt(xx) * math.Sqrt(zz); scale == 0 {
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
// κ_q is the slope of the kernel, dK_q/dρ: for normals of correlation ρ,
// d/dρ E[f(U)·g(V)] = E[∇f(U)·∇g(V)] (Price 1958), and the gradient of the maximum is the
// unit vector of its index. The first two are exact up to rounding, the others to 1e-10 in κ; near
// ρ = 1, κ falls as √(1−ρ), so an error in ρ matters much more there. It returns NaN unless −1 ≤ ρ ≤ 1, and
// panics unless 1 ≤ q ≤ MaxQ.
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
