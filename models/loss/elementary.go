package loss

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/blas"
)

// These functions replace the functions of package math and give the same bits on every platform.

// SumExp returns Σ exp(β(s − most)), added in order.
func SumExp(scores []float32, most, beta float64) (sum float64) {
	var e [32]float64
	for chunk := range slices.Chunk(scores, len(e)) {
		for i, s := range chunk {
			e[i] = float64(beta * (float64(s) - most))
		}
		blas.ExpEach(e[:len(chunk)])
		for _, v := range e[:len(chunk)] {
			sum += v
		}
	}
	return sum
}

// Log returns the natural logarithm of a positive normal number, with an error below 2 ulp.
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
	// 2z = f − z·f, so that f is added without rounding.
	tail := float64(float64(2*z*t)*p) + float64(k*ln2Lo)
	return float64(k*ln2Hi) + (f - (float64(z*f) - tail))
}

// Softplus returns log(1 + eˣ), without overflow.
func Softplus(x float64) float64 {
	e := blas.Exp(-math.Abs(x))
	u := 1 + e
	// The rounding error of u is corrected to first order.
	return max(x, 0) + (Log(u) + (e-(u-1))/u)
}

// Sigmoid returns 1/(1 + e⁻ˣ).
func Sigmoid(x float64) float64 {
	e := blas.Exp(-math.Abs(x))
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
