package learned

import "math"

// number returns N(d,ℓ), the number of harmonics of degree ℓ on S^{d−1},
//
//	N(d,ℓ) = C(d−1+ℓ, ℓ) − C(d−3+ℓ, ℓ−2).
//
// It returns math.MaxInt for numbers above 2⁵⁰ or so. Beyond maxDegree smaller numbers may be
// math.MaxInt, too. It panics unless d ≥ 2 and ℓ ≥ 0.
func number(d, degree int) int {
	if d < 2 || degree < 0 {
		panic("harmonic: number: want d ≥ 2 and degree ≥ 0")
	}
	switch {
	case degree == 0:
		return 1
	case d == 2:
		return 2
	}
	// N(d,ℓ) = (2ℓ+d−2)/ℓ · C(ℓ+d−3, ℓ−1). A floating-point estimate shows whether it fits an int.
	n := degree + d - 3
	k := min(degree-1, d-2)
	approx := float64(2*degree+d-2) / float64(degree)
	for i := range k {
		approx *= float64(n-i) / float64(i+1)
		if approx > 1<<60 {
			return math.MaxInt
		}
	}
	if approx > 1<<50 {
		return math.MaxInt
	}
	choose := 1
	for i := range k {
		choose = choose * (n - i) / (i + 1)
	}
	// The product is N·ℓ with N ≤ 2⁵⁰, so it overflows only for very large ℓ. ℓ divides it.
	if choose > math.MaxInt/(2*degree+d-2) {
		return math.MaxInt
	}
	return choose * (2*degree + d - 2) / degree
}

// First returns the first n harmonics on S^{d−1}, in the order of degree and number, each with
// Count 1. It panics if d < 2.
func First(d, n int) []Term {
	out := make([]Term, 0, max(n, 0))
	for degree := 0; len(out) < n; degree++ {
		for i := range min(number(d, degree), n-len(out)) {
			out = append(out, Term{Degree: degree, Index: i, Count: 1})
		}
	}
	return out
}

// path describes a harmonic as a product of factors; see the package comment.
type path struct {
	m       int      // ℓ_2, the degree in the first two coordinates
	sine    bool     // B is √2 Im z^m, not √2 Re z^m
	factors []factor // P_k with n > 0, from the last coordinate down
	scale   float64  // product of the constants: √2 of B, and each P_k with n = 0
}

// factor is P_k of degree n = ℓ_k − ℓ_{k−1}, where below is ℓ_{k−1}.
type factor struct{ k, below, n int }

// pathOf returns the harmonic on S^{d−1} of a degree, by its number among the harmonics of that
// degree.
func pathOf(d, degree, index int) path {
	p := path{scale: 1}
	for k := d; k > 2; k-- {
		below := 0
		for ; ; below++ {
			if n := number(k-1, below); index >= n {
				index -= n
				continue
			}
			break
		}
		if n := degree - below; n > 0 {
			p.factors = append(p.factors, factor{k, below, n})
		} else {
			p.scale *= p0(k, below)
		}
		degree = below
		if degree == 0 {
			break // all remaining factors are 1
		}
	}
	p.m, p.sine = degree, degree > 0 && index == 1
	if degree > 0 {
		p.scale *= math.Sqrt2
	}
	return p
}

// p0 returns the constant P_0 of coordinate k, where below is ℓ_{k−1}.
func p0(k, below int) float64 {
	square := 1.0
	for i := range below {
		square *= float64(k+2*i) / float64(k-1+2*i)
	}
	return math.Sqrt(square)
}
