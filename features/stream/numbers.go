package stream

import "math"

// Uniform returns a number uniform in the open interval (0, 1): an odd multiple
// of 2⁻⁵³.
func (s *Stream) Uniform() float64 {
	return float64((float64(s.Uint64()>>12) + 0.5) * (1.0 / (1 << 52)))
}

// Normal returns a standard normal number. Its magnitude is at most 8.21.
func (s *Stream) Normal() float64 {
	u := s.Uniform()
	return quantile(u, u-0.5)
}

// Cauchy returns a number with density 1/(π(1+x²)). Its magnitude is between
// 3.4·10⁻¹⁶ and 2.9·10¹⁵.
func (s *Stream) Cauchy() float64 {
	q := s.Uniform() - 0.5
	a := math.Abs(q)
	if a <= 0.25 {
		return math.Copysign(tan(float64(math.Pi*a)), q)
	}
	return math.Copysign(1/tan(float64(math.Pi*(0.5-a))), q)
}

// Laplace returns a number with density exp(−|x|)/2. Its magnitude is at most 36.1.
func (s *Stream) Laplace() float64 {
	q := s.Uniform() - 0.5
	return math.Copysign(-log(1-float64(2*math.Abs(q))), q)
}

// LogStable returns the logarithm of a positive stable number S of that index, 0 < index < 1, whose
// Laplace transform E exp(−tS) is exp(−t^index) (Kanter 1975). It takes two uniform numbers.
func (s *Stream) LogStable(index float64) float64 {
	u, e := s.Uniform(), -log(s.Uniform())
	return log(sinPi(float64(index*u))) - log(sinPi(u))/index +
		float64((1-index)/index*(log(sinPi(float64((1-index)*u)))-log(e)))
}

// Gamma returns a number of the gamma distribution with that shape and scale 1,
// density x^(shape−1)·exp(−x)/Γ(shape). It panics unless shape ≥ ½.
//
// The accepted set is the same for every shape above 1/3; the share of accepted draws
// falls only below 1, to 76% at ½, so the usual detour through shape+1 and a power is not needed.
func (s *Stream) Gamma(shape float64) float64 {
	if !(shape >= 0.5) {
		panic("stream: Gamma of a shape below 1/2")
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x, u := s.Normal(), s.Uniform()
		y := 1 + float64(c*x)
		if y <= 0 {
			continue
		}
		v := y * y * y
		dv := float64(d * v)
		if log(u) < float64(0.5*x*x)+((d-dv)+float64(d*log(v))) {
			return dv
		}
	}
}
