package loss

import "math"

// The functions here are those of package math, but give the same bits on every platform:
// math.Exp is assembly on some, and uses fused multiply-adds where the processor has
// them.

// Exp returns eˣ with an error below 2 ulp, and 0 below −708, where eˣ is not a normal
// number.
//
// With x = k·log 2 + r, |r| ≤ ½·log 2: eʳ = 1 + 2r/(R − r), R = r·coth(r/2) =
// 2 + Σ 2B₂ₙ r²ⁿ/(2n)!, of which six terms leave 2·10⁻¹⁷ (Abramowitz and Stegun
// 1964, 4.5.67).
func Exp(x float64) float64 {
	const (
		ln2Hi = 6.93147180369123816490e-01 // its last 20 bits are 0, so k·ln2Hi is exact
		ln2Lo = 1.90821492927058770002e-10
	)
	switch {
	case x < -708:
		return 0
	case x > 709.7827:
		return math.Inf(1)
	case x != x:
		return x
	}
	k := math.Floor(float64(x*math.Log2E) + 0.5)
	hi, lo := x-float64(k*ln2Hi), float64(k*ln2Lo)
	r := hi - lo
	t := float64(r * r)
	c := float64(t * (1.0/6 - float64(t*(1.0/360-float64(t*(1.0/15120-float64(t*(1.0/604800-float64(t*(1.0/23950080-float64(t*(691.0/653837184000))))))))))))
	// 2r/(2+c−r) = r + r(r−c)/(2+c−r), which rounds less.
	y := 1 + (hi - (lo - float64(r*(r-c))/(2+(c-r))))
	// In two steps, because 2¹⁰²⁴ is not a float64.
	half := int(k) / 2
	return y * math.Float64frombits(uint64(half+1023)<<52) * math.Float64frombits(uint64(int(k)-half+1023)<<52)
}

// Log returns the natural logarithm of a positive normal number, with an error
// below 2 ulp.
//
// x = 2ᵏm with √½ ≤ m < √2, and log m = 2 artanh z = 2(z + z³/3 + z⁵/5 + …),
// z = (m−1)/(m+1) (4.1.27); eleven terms leave 10⁻¹⁸.
func Log(x float64) float64 {
	b := math.Float64bits(x)
	k := float64(int(b>>52) - 1022)
	m := math.Float64frombits(b&(1<<52-1) | 1022<<52)
	if m < math.Sqrt2/2 {
		m *= 2
		k--
	}
	f := m - 1
	z := f / (2 + f)
	t := float64(z * z)
	p := 1.0 / 21
	for n := 19.0; n >= 3; n -= 2 {
		p = 1/n + float64(t*p)
	}
	const (
		ln2Hi = 6.93147180369123816490e-01
		ln2Lo = 1.90821492927058770002e-10
	)
	// 2z = f − z·f, so that f itself enters unrounded.
	tail := float64(float64(2*z*t)*p) + float64(k*ln2Lo)
	return float64(k*ln2Hi) + (f - (float64(z*f) - tail))
}

// Softplus returns log(1 + eˣ), without overflow.
func Softplus(x float64) float64 {
	e := Exp(-math.Abs(x))
	u := 1 + e
	// The rounding error of u is corrected to first order.
	return max(x, 0) + (Log(u) + (e-(u-1))/u)
}

// Sigmoid returns 1/(1 + e⁻ˣ).
func Sigmoid(x float64) float64 {
	e := Exp(-math.Abs(x))
	if x >= 0 {
		return 1 / (1 + e)
	}
	return e / (1 + e)
}

// entropy returns x·log x, 0 at 0.
func entropy(x float64) float64 {
	if x <= 0 {
		return 0
	}
	return float64(x * Log(x))
}
