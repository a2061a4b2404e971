package stream

import "math"

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
