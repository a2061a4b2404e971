package learned

import "math"

// Number returns N(d,ℓ), the number of harmonics of degree ℓ on S^{d−1},
//
//	N(d,ℓ) = C(d−1+ℓ, ℓ) − C(d−3+ℓ, ℓ−2),
//
// or math.MaxInt if there are that many or more. It panics unless d ≥ 2 and ℓ ≥ 0.
func Number(d, degree int) int {
	if d < 2 || degree < 0 {
		panic("harmonic: Number: want d ≥ 2 and degree ≥ 0")
	}
	switch {
	case degree == 0:
		return 1
	case d == 2:
		return 2
	}
	// N(d,ℓ) = (2ℓ+d−2)/ℓ · C(ℓ+d−3, ℓ−1), in floating point first to see that it fits.
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
	// (2ℓ+d−2)·C/ℓ is whole, and the product fits since the quotient is below 2⁵⁰.
	if choose > math.MaxInt/(2*degree+d-2) {
		return math.MaxInt
	}
	return choose * (2*degree + d - 2) / degree
}

// First returns the first n harmonics on S^{d−1}, by degree and then by number. It
// panics unless d ≥ 2 and n ≥ 0.
func First(d, n int) []Term {
	out := make([]Term, 0, max(n, 0))
	for degree := 0; len(out) < n; degree++ {
		for i := range min(Number(d, degree), n-len(out)) {
			out = append(out, Term{Degree: degree, Index: i, Count: 1})
		}
	}
	return out
}

// path is a harmonic as a product of factors.
type path struct {
	m       int // degree in two coordinates
	sine    bool
	factors []factor // from the last coordinate down, only those with n > 0
	scale   float64  // √2 of the base, and P_0 of all coordinates with n = 0
}

// factor is P_k of degree n, over a harmonic of degree `below` in k−1 coordinates.
type factor struct{ k, below, n int }

// pathOf returns the harmonic of that degree and number on S^{d−1}.
func pathOf(d, degree, index int) path {
	p := path{scale: 1}
	for k := d; k > 2; k-- {
		below := 0
		for ; ; below++ {
			if n := Number(k-1, below); index >= n {
				index -= n
				continue
			}
			break
		}
		if n := degree - below; n > 0 {
			p.factors = append(p.factors, factor{k, below, n})
		} else {
			p.scale *= first(k, below)
		}
		degree = below
		if degree == 0 {
			break // 1 in all coordinates below
		}
	}
	p.m, p.sine = degree, degree > 0 && index == 1
	if degree > 0 {
		p.scale *= math.Sqrt2
	}
	return p
}

// first returns P_0 in k coordinates over a harmonic of degree `below`.
func first(k, below int) float64 {
	square := 1.0
	for i := range below {
		square *= float64(k+2*i) / float64(k-1+2*i)
	}
	return math.Sqrt(square)
}
