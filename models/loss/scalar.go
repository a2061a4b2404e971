package loss

import "math"

// Scalar is a loss ℓ(y, s) of one score s, convex in s. For classes y is the code 1 or −1, for targets a number. With
//
//	ℓ*(y, u) = sup_s (u·s − ℓ(y, s))
//
// its conjugate, ℓ(y, s) + ℓ*(y, u) ≥ u·s for all s and u (Fenchel and Young), with equality for u = Slope(y, s).
type Scalar interface {
	// Value returns ℓ(y, s) ≥ 0.
	Value(y, s float64) float64
	// Slope returns ∂ℓ/∂s; at a kink, one of the subgradients.
	Slope(y, s float64) float64
	// Conjugate returns ℓ*(y, u), which is +Inf where the supremum is not finite.
	Conjugate(y, u float64) float64
	// Step returns the dual variable a' that maximises
	//
	//	−ℓ*(y, −a') − (a' − a)·s − ½q·(a' − a)²,   q ≥ 0,
	//
	// the step of dual coordinate ascent from a at the score s (Shalev-Shwartz and Zhang 2013, §4). −a' is
	// in the domain of ℓ*. At the optimum a = −Slope(y, s).
	Step(y, s, a, q float64) float64
	// Smooth returns the Lipschitz constant of Slope in s, +Inf if there is none.
	Smooth() float64
}

// squared is ½(s − y)².
type squared struct{}

func (squared) Value(y, s float64) float64     { return float64(0.5 * (s - y) * (s - y)) }
func (squared) Slope(y, s float64) float64     { return s - y }
func (squared) Conjugate(y, u float64) float64 { return float64(u*y) + float64(0.5*u*u) }
func (squared) Step(y, s, a, q float64) float64 {
	return a + (y-s-a)/(1+q)
}
func (squared) Smooth() float64 { return 1 }

// logistic is log(1 + exp(−ys)), for classes.
type logistic struct{}

func (logistic) Value(y, s float64) float64 { return Softplus(float64(-y * s)) }
func (logistic) Slope(y, s float64) float64 { return float64(-y * Sigmoid(float64(-y*s))) }
func (logistic) Conjugate(y, u float64) float64 {
	b := float64(-y * u)
	if !(b >= 0 && b <= 1) {
		return math.Inf(1)
	}
	return entropy(b) + entropy(1-b)
}

// Step solves for the margin t that the step leads to: b' = Sigmoid(−t) with
// t = ys + q(b' − b). The equation t − ys − q(Sigmoid(−t) − b) = 0 has a slope
// between 1 and 1 + q/4, so Newton's method, kept within bounds, needs few steps.
func (logistic) Step(y, s, a, q float64) float64 {
	b, m := float64(y*a), float64(y*s)
	lo, hi := m-float64(q*b), m+float64(q*(1-b))
	t := m
	for range 60 {
		p := Sigmoid(-t)
		g := t - m - float64(q*(p-b))
		if g > 0 {
			hi = t
		} else {
			lo = t
		}
		next := t - g/(1+float64(q*float64(p*(1-p))))
		if !(next > lo && next < hi) {
			next = lo + float64((hi-lo)/2)
		}
		if d := math.Abs(next - t); d <= 1e-9*(1+math.Abs(t)) {
			// Convergence is quadratic, so this is the last step.
			t = next
			break
		}
		t = next
	}
	return float64(y * Sigmoid(-t))
}
func (logistic) Smooth() float64 { return 0.25 }

// hinge is max(0, 1 − ys), for classes.
type hinge struct{}

func (hinge) Value(y, s float64) float64 { return max(0, 1-float64(y*s)) }
func (hinge) Slope(y, s float64) float64 {
	if float64(y*s) < 1 {
		return -y
	}
	return 0
}
func (hinge) Conjugate(y, u float64) float64 {
	b := float64(-y * u)
	if !(b >= 0 && b <= 1) {
		return math.Inf(1)
	}
	return -b
}
func (hinge) Step(y, s, a, q float64) float64 {
	return float64(y * min(max(move(float64(y*a), 1-float64(y*s), q), 0), 1))
}
func (hinge) Smooth() float64 { return math.Inf(1) }

// squaredHinge is max(0, 1 − ys)², for classes. It has no factor ½, as in LIBLINEAR, whose parameter C is
// then 1/(λn).
type squaredHinge struct{}

func (squaredHinge) Value(y, s float64) float64 {
	r := max(0, 1-float64(y*s))
	return float64(r * r)
}
func (squaredHinge) Slope(y, s float64) float64 { return float64(-2 * y * max(0, 1-float64(y*s))) }
func (squaredHinge) Conjugate(y, u float64) float64 {
	b := float64(-y * u)
	if !(b >= 0) {
		return math.Inf(1)
	}
	return float64(0.25*b*b) - b
}
func (squaredHinge) Step(y, s, a, q float64) float64 {
	b := float64(y * a)
	return float64(y * max(0, b+(1-float64(y*s)-float64(0.5*b))/(q+0.5)))
}
func (squaredHinge) Smooth() float64 { return 2 }

// huber is ½r² for |r| ≤ Delta and Delta·|r| − ½Delta² beyond, r = s − y, for
// targets (Huber 1964). Delta > 0 is in units of the targets.
type huber struct{ Delta float64 }

func (h huber) Value(y, s float64) float64 {
	r := math.Abs(s - y)
	if r <= h.Delta {
		return float64(0.5 * r * r)
	}
	return float64(h.Delta * (r - float64(0.5*h.Delta)))
}
func (h huber) Slope(y, s float64) float64 { return min(max(s-y, -h.Delta), h.Delta) }
func (h huber) Conjugate(y, u float64) float64 {
	if !(math.Abs(u) <= h.Delta) {
		return math.Inf(1)
	}
	return squared{}.Conjugate(y, u)
}
func (h huber) Step(y, s, a, q float64) float64 {
	return min(max(squared{}.Step(y, s, a, q), -h.Delta), h.Delta)
}
func (huber) Smooth() float64 { return 1 }

// insensitive is max(0, |s − y| − Epsilon), for targets (Vapnik 1995). Epsilon ≥ 0 is in units of the targets.
type insensitive struct{ Epsilon float64 }

func (l insensitive) Value(y, s float64) float64 { return max(0, math.Abs(s-y)-l.Epsilon) }
func (l insensitive) Slope(y, s float64) float64 {
	switch r := s - y; {
	case r > l.Epsilon:
		return 1
	case r < -l.Epsilon:
		return -1
	}
	return 0
}
func (l insensitive) Conjugate(y, u float64) float64 {
	if !(math.Abs(u) <= 1) {
		return math.Inf(1)
	}
	return float64(u*y) + float64(l.Epsilon*math.Abs(u))
}

// Step considers three cases: the objective has a kink at a' = 0, and the optimum is to the right of it, to
// the left, or at it.
func (l insensitive) Step(y, s, a, q float64) float64 {
	r := y - s
	up, down := move(a, r-l.Epsilon, q), move(a, r+l.Epsilon, q)
	switch {
	case up > 0:
		return min(up, 1)
	case down < 0:
		return max(down, -1)
	}
	return 0
}
func (insensitive) Smooth() float64 { return math.Inf(1) }

// move returns a + g/q, the maximiser of g·(a'−a) − ½q(a'−a)² over a'. It is infinite for q = 0, unless g is 0.
func move(a, g, q float64) float64 {
	if g == 0 {
		return a
	}
	return a + g/q
}
