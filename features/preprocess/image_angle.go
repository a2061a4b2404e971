package preprocess

import "math"

// The bin of a gradient is decided by the sign of cross products with directions.
// An arc tangent would give different bits on different platforms.

// direction is a vector of about unit length.
type direction struct{ cos, sin float64 }

// bounds returns the directions of the angles kπ/n, k = 1 … n−1, which separate n
// bins of the half circle. Those of 45°, 90° and 135° are exact in direction:
// no other bound can have a gradient with integer components (Niven's theorem: no
// other tangent of a rational part of π is rational).
func bounds(n int) []direction {
	b := make([]direction, n-1)
	for i := range b {
		k := i + 1
		m := min(k, n-k) // the angle to the horizontal is mπ/n, in (0, π/2]
		var d direction
		if 4*m <= n {
			d.cos, d.sin = cosSin(2*m, 2*n)
		} else {
			d.sin, d.cos = cosSin(n-2*m, 2*n)
		}
		if m != k {
			d.cos = -d.cos
		}
		b[i] = d
	}
	return b
}

// cosSin returns cosine and sine of mπ/n, 0 ≤ 4m ≤ n, by their Taylor series,
// whose next terms are below 2⁻⁶⁰; of π/4 twice the same number.
func cosSin(m, n int) (cos, sin float64) {
	const (
		pi       = 3.14159265358979323846
		halfRoot = 0.707106781186547524401
	)
	if 4*m == n {
		return halfRoot, halfRoot
	}
	x := float64(pi*float64(m)) / float64(n)
	y := float64(x * x)
	// Horner's rule: cos = 1 − y/(1·2)·(1 − y/(3·4)·(…)), and so the sine.
	cos, sin = 1, 1
	for k := 18; k >= 2; k -= 2 {
		cos = 1 - float64(y/float64(k*(k-1))*cos)
		sin = 1 - float64(y/float64(k*(k+1))*sin)
	}
	return cos, float64(x * sin)
}

// bin returns the bin, between the bounds, of the line along (x, y), rotated
// by half a turn if it points below the horizontal axis. A line on a bound belongs to
// the bin that begins there.
func bin(bounds []direction, x, y float64) int {
	// Half of the gradients are rotated, unpredictably, so this avoids a branch.
	sense := math.Float64bits(y)
	if y == 0 {
		sense = math.Float64bits(x)
	}
	sense &= 1 << 63
	x, y = math.Float64frombits(math.Float64bits(x)^sense), math.Float64frombits(math.Float64bits(y)^sense)
	n := 0
	for _, d := range bounds {
		// d is at or clockwise of (x, y).
		at := 0
		if float64(d.cos*y)-float64(d.sin*x) >= 0 {
			at = 1
		}
		n += at
	}
	return n
}
