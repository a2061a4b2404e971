package score

import "math"

// WilsonInterval returns the ends of the 95% interval of a rate, given k of n independent
// rows: the score interval (Wilson 1927),
//
//	(p + z²/2n ± z√(p(1−p)/n + z²/4n²)) / (1 + z²/n),   p = k/n, z = 1.96.
//
// It is within 0 and 1 and never has width 0: if none of n rows is wrong, the rate is at most z²/(n + z²),
// where p ± √(p(1−p)/n) would give 0. Without rows the interval is 0 to 1.
func WilsonInterval(k, n int64) (low, high float64) {
	return intervalOf(float64(k)/float64(max(n, 1)), float64(n))
}

// z is the 97.5% quantile of the normal distribution.
const z = 1.959963984540054

// intervalOf is WilsonInterval for a rate p of independent rows, whose number need not be whole.
func intervalOf(p, rows float64) (low, high float64) {
	if rows <= 0 {
		return 0, 1
	}
	square := float64(z * z / rows)
	centre := p + square/2
	half := math.Sqrt(float64(square*(p*(1-p))) + float64(square*square/4))
	low, high = (centre-half)/(1+square), (centre+half)/(1+square)
	if p == 0 {
		low = 0 // remove the rounding error
	}
	if p == 1 {
		high = 1
	}
	return low, high
}

// Bisect returns the point between out and in that is closest to out such that holds is true from there to
// in.
func Bisect(out, in float64, holds func(float64) bool) float64 {
	for range 60 {
		if middle := (out + in) / 2; holds(middle) {
			in = middle
		} else {
			out = middle
		}
	}
	return in
}
