package blas

import "math"

// Exp returns eˣ with an error below 2 ulp, and 0 below −708, where eˣ is not a normal number. It
// gives the same bits on every platform: math.Exp is assembly on some, and uses fused multiply-adds
// where the processor has them.
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

// ExpEach replaces each element of x by its Exp.
func ExpEach(x []float64) { active().exp(x) }

func expGo(x []float64) {
	for i, v := range x {
		x[i] = Exp(v)
	}
}
