package stream

import (
	"math"
	"math/bits"
)

// Purpose separates the uses of one seed: streams of different purposes are
// independent.
type Purpose uint32

// PurposeOf returns the purpose of that name: the 32-bit FNV-1a hash of its bytes.
func PurposeOf(name string) Purpose {
	const offset, prime = 0x811C9DC5, 0x01000193
	h := uint32(offset)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * prime
	}
	return Purpose(h)
}

// Stream is a sequence of random numbers, 2³³ words long. Make one with New;
// it is not safe for concurrent use, but cheap enough for each row to have its own.
// A *Stream is a rand.Source of math/rand/v2.
type Stream struct {
	k0, k1     uint32
	c1, c2, c3 uint32
	block      uint64 // the next block; the stream is exhausted at 2³²
	second     uint64 // the block's second word, if it is still unused
	half       bool
}

// New returns the stream of a seed, a purpose and an index, at its first word.
func New(seed uint64, purpose Purpose, index uint64) *Stream {
	return &Stream{
		k0: uint32(seed), k1: uint32(seed >> 32),
		c1: uint32(purpose), c2: uint32(index), c3: uint32(index >> 32),
	}
}

// Uint64 returns the next word. It panics after 2³³ words.
func (s *Stream) Uint64() uint64 {
	if s.half {
		s.half = false
		return s.second
	}
	if s.block>>32 != 0 {
		panic("stream: more than 2³³ words drawn from one stream")
	}
	x0, x1, x2, x3 := philox(uint32(s.block), s.c1, s.c2, s.c3, s.k0, s.k1)
	s.block++
	s.second, s.half = uint64(x2)|uint64(x3)<<32, true
	return uint64(x0) | uint64(x1)<<32
}

// Below returns an integer uniform in [0, n). It panics if n is 0.
func (s *Stream) Below(n uint64) uint64 {
	if n == 0 {
		panic("stream: Below(0)")
	}
	hi, lo := bits.Mul64(s.Uint64(), n)
	if lo < n { // otherwise lo cannot be below 2⁶⁴ mod n
		for least := -n % n; lo < least; {
			hi, lo = bits.Mul64(s.Uint64(), n)
		}
	}
	return hi
}

// philox is Philox4x32-10 of Salmon et al. (2011).
func philox(c0, c1, c2, c3, k0, k1 uint32) (uint32, uint32, uint32, uint32) {
	const (
		m0, m1 = 0xD2511F53, 0xCD9E8D57
		w0, w1 = 0x9E3779B9, 0xBB67AE85
		rounds = 10
	)
	for range rounds {
		p0, p1 := m0*uint64(c0), m1*uint64(c2)
		c0, c1, c2, c3 = uint32(p1>>32)^c1^k0, uint32(p1), uint32(p0>>32)^c3^k1, uint32(p0)
		k0 += w0
		k1 += w1
	}
	return c0, c1, c2, c3
}

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

// Gamma returns a number of the gamma distribution with the given shape and scale 1,
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

// log returns the natural logarithm of a positive normal number, by the method
// of fdlibm's e_log.c: x = 2ᵏ(1+f) with √½ ≤ 1+f < √2, and a polynomial in
// s = f/(2+f). Its error is below 1 ulp.
//
// Here and below, explicit conversions keep the compiler from fusing a product
// with a sum, so that all platforms return the same bits. A product passed as an
// argument needs one too: inlining can carry it to a sum inside.
func log(x float64) float64 {
	const (
		ln2Hi = 6.93147180369123816490e-01
		ln2Lo = 1.90821492927058770002e-10
		l1    = 6.666666666666735130e-01
		l2    = 3.999999999940941908e-01
		l3    = 2.857142874366239149e-01
		l4    = 2.222219843214978396e-01
		l5    = 1.818357216161805012e-01
		l6    = 1.531383769920937332e-01
		l7    = 1.479819860511658591e-01
	)
	b := math.Float64bits(x)
	k := float64(int(b>>52) - 1022)
	f := math.Float64frombits(b&(1<<52-1) | 1022<<52) // in [½, 1)
	if f < math.Sqrt2/2 {
		f *= 2
		k--
	}
	f--
	s := f / (2 + f)
	s2 := s * s
	s4 := s2 * s2
	t1 := float64(s2 * (l1 + float64(s4*(l3+float64(s4*(l5+float64(s4*l7)))))))
	t2 := float64(s4 * (l2 + float64(s4*(l4+float64(s4*l6)))))
	half := float64(0.5 * f * f)
	tail := float64(s*(half+(t1+t2))) + float64(k*ln2Lo)
	return float64(k*ln2Hi) - ((half - tail) - f)
}

// Log returns the natural logarithm of a positive normal number, with an error below 1 ulp
// and the same bits on all platforms.
func Log(x float64) float64 { return log(x) }

// Quantile returns the standard normal quantile of p in (0, 1), with a relative error of about
// 1e-16 and the same bits on all platforms.
func Quantile(p float64) float64 { return quantile(p, p-0.5) }

// tan returns the tangent of x in [0, π/4] (Moshier, Cephes, tan.c).
func tan(x float64) float64 {
	const (
		p0 = -1.30936939181383777646e4
		p1 = 1.15351664838587416140e6
		p2 = -1.79565251976484877988e7
		q1 = 1.36812963470692954678e4
		q2 = -1.32089234440210967447e6
		q3 = 2.50083801823357915839e7
		q4 = -5.38695755929454629881e7
	)
	z := float64(x * x)
	p := float64((float64((float64(p0*z)+p1)*z) + p2) * z)
	q := float64((float64((float64((z+q1)*z)+q2)*z)+q3)*z) + q4
	return x + float64(x*(p/q))
}

// sinPi returns the sine of πx for x in (0, 1).
func sinPi(x float64) float64 {
	t := tan(float64(math.Pi / 2 * min(x, 1-x)))
	return 2 * t / (1 + float64(t*t))
}

// quantile returns the standard normal quantile of ½ + q, for |q| < ½
// (Wichura 1988, AS 241, PPND16; relative error about 1e-16). u is ½ + q.
func quantile(u, q float64) float64 {
	if math.Abs(q) <= 0.425 {
		r := 0.180625 - float64(q*q)
		num, den := ratio(&centre, r)
		return float64(num*q) / den
	}
	r := u
	if q > 0 {
		r = 1 - u
	}
	r = math.Sqrt(-log(r))
	var num, den float64
	if r <= 5 {
		num, den = ratio(&middle, r-1.6)
	} else {
		num, den = ratio(&far, r-5)
	}
	return math.Copysign(num/den, q)
}

// ratio evaluates the two polynomials with the coefficients c side by side, by
// Horner's rule from the highest power.
func ratio(c *[8][2]float64, r float64) (num, den float64) {
	num, den = c[0][0], c[0][1]
	num, den = float64(num*r)+c[1][0], float64(den*r)+c[1][1]
	num, den = float64(num*r)+c[2][0], float64(den*r)+c[2][1]
	num, den = float64(num*r)+c[3][0], float64(den*r)+c[3][1]
	num, den = float64(num*r)+c[4][0], float64(den*r)+c[4][1]
	num, den = float64(num*r)+c[5][0], float64(den*r)+c[5][1]
	num, den = float64(num*r)+c[6][0], float64(den*r)+c[6][1]
	return float64(num*r) + c[7][0], float64(den*r) + c[7][1]
}

// The coefficients of PPND16, numerator and denominator, highest power first:
// for |q| ≤ 0.425, for √(−log tail) ≤ 5, and beyond.
var (
	centre = [8][2]float64{
		{2.5090809287301226727e+3, 5.2264952788528545610e+3},
		{3.3430575583588128105e+4, 2.8729085735721942674e+4},
		{6.7265770927008700853e+4, 3.9307895800092710610e+4},
		{4.5921953931549871457e+4, 2.1213794301586595867e+4},
		{1.3731693765509461125e+4, 5.3941960214247511077e+3},
		{1.9715909503065514427e+3, 6.8718700749205790830e+2},
		{1.3314166789178437745e+2, 4.2313330701600911252e+1},
		{3.3871328727963666080e+0, 1},
	}
	middle = [8][2]float64{
		{7.7454501427834140764e-4, 1.05075007164441684324e-9},
		{2.27238449892691845833e-2, 5.47593808499534494600e-4},
		{2.41780725177450611770e-1, 1.51986665636164571966e-2},
		{1.27045825245236838258e+0, 1.48103976427480074590e-1},
		{3.64784832476320460504e+0, 6.89767334985100004550e-1},
		{5.76949722146069140550e+0, 1.67638483018380384940e+0},
		{4.63033784615654529590e+0, 2.05319162663775882187e+0},
		{1.42343711074968357734e+0, 1},
	}
	far = [8][2]float64{
		{2.01033439929228813265e-7, 2.04426310338993978564e-15},
		{2.71155556874348757815e-5, 1.42151175831644588870e-7},
		{1.24266094738807843860e-3, 1.84631831751005468180e-5},
		{2.65321895265761230930e-2, 7.86869131145613259100e-4},
		{2.96560571828504891230e-1, 1.48753612908506148525e-2},
		{1.78482653991729133580e+0, 1.36929880922735805310e-1},
		{5.46378491116411436990e+0, 5.99832206555887937690e-1},
		{6.65790464350110377720e+0, 1},
	}
)
