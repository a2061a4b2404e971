package align

import "math"

// Cells is how many equal cells a Census cuts its bracket into.
const Cells = 1024

// bracket is an interval that holds the multiplier μ of a projection.
type Bracket struct{ Lo, Hi float64 }

// Census summarises rows for the multiplier of their projection onto
//
//	K = {0 ≤ α ≤ 1, Σ_i y_i α_i = 0}:    α_i = clip(a_i − μ y_i, 0, 1)
//
// where h(μ) = Σ_i y_i clip(a_i − μ y_i, 0, 1) is zero. h falls with slope −1 for
// each row while μ is in [b_i, b_i+1], b_i = a_i − 1 for y_i = 1 and −a_i for y_i = −1; so
// sums of these ends by cell of a bracket give h on all edges of cells. Censuses of the
// same bracket add up; from the sum every worker computes the same narrower bracket, and three
// censuses take a bracket of width 4 to one of 4·10⁻⁹.
type Census struct {
	Positive int64 // rows with y = 1
	// Of each cell, and of what lies below the bracket (first element): how many
	// begin less how many end, and the sum of the places with these signs.
	Net [Cells + 1]int64
	Sum [Cells + 1]float64
	// Ends counts the beginnings and ends in each cell of the bracket.
	Ends [Cells + 1]int64
}

// count adds rows to the census: a_i are numbers before the projection, y_i > 0
// means a label 1 and others −1. It panics if the lengths differ.
func (c *Census) count(a []float64, y []float32, in Bracket) {
	if len(a) != len(y) {
		panic("align: Census: slices of different length")
	}
	perWidth := Cells / (in.Hi - in.Lo)
	for i, v := range a {
		begin := -v
		if y[i] > 0 {
			begin = v - 1
			c.Positive++
		}
		c.end(begin, 1, in, perWidth)
		c.end(begin+1, -1, in, perWidth)
	}
}

func (c *Census) end(at float64, sign int64, in Bracket, perWidth float64) {
	cell := 0
	switch {
	case at >= in.Hi:
		return
	case at >= in.Lo:
		cell = min(1+int(float64((at-in.Lo)*perWidth)), Cells)
		c.Ends[cell]++
	}
	c.Net[cell] += sign
	c.Sum[cell] += float64(float64(sign) * at)
}

// Merge adds the census of other rows of the same bracket.
func (c *Census) Merge(o *Census) {
	c.Positive += o.Positive
	for i := range c.Net {
		c.Net[i] += o.Net[i]
		c.Sum[i] += o.Sum[i]
		c.Ends[i] += o.Ends[i]
	}
}

// narrow returns the cell of the bracket in which h passes through zero, and an
// estimate of where: exact, up to rounding, if no row has an end in the cell
// (exact is true then), else off by at most the cell's width.
func (c *Census) narrow(in Bracket) (cell Bracket, mu float64, exact bool) {
	width := (in.Hi - in.Lo) / Cells
	edge := func(j int) float64 { return in.Lo + float64(float64(j)*width) }
	net, sum := c.Net[0], c.Sum[0]
	at := func(mu float64) float64 { return float64(c.Positive) - (float64(float64(net)*mu) - sum) }
	left := at(edge(0))
	for j := range Cells {
		inside := c.Ends[j+1]
		// What begins in the cell counts at its right edge.
		net += c.Net[j+1]
		sum += c.Sum[j+1]
		right := at(edge(j + 1))
		if right > 0 && j < Cells-1 {
			left = right
			continue
		}
		cell = Bracket{edge(j), edge(j + 1)}
		// Where h is zero all along the cell its left edge serves.
		mu = cell.Lo
		if left > right {
			mu += float64(width * min(1, max(0, left/(left-right))))
		}
		return cell, mu, inside == 0
	}
	panic("align: unreachable")
}

// around returns a bracket that holds the multiplier for numbers a between lo and hi.
func around(lo, hi float64) Bracket {
	// h ≥ 0 where all of y = −1 are clipped to 0, which is at μ ≤ −hi, and h ≤ 0 where
	// all of y = 1 are, at μ ≥ hi. Where hi < 0 all are clipped to 0 at μ = 0 as well.
	r := max(math.Abs(lo), math.Abs(hi), 1) * (1 + 1e-9)
	return Bracket{-r, r}
}

// multiplier returns the multiplier μ of the projection of a onto K for rows in
// memory: y_i > 0 means a label 1 and others −1. It is exact up to the rounding of
// sums. It panics if the lengths differ.
func multiplier(a []float64, y []float32) float64 {
	var lo, hi float64
	for _, v := range a {
		lo, hi = min(lo, v), max(hi, v)
	}
	in := around(lo, hi)
	for range 8 {
		var c Census
		c.count(a, y, in)
		cell, mu, exact := c.narrow(in)
		if exact || cell.Hi-cell.Lo < 1e-15*in.Hi || cell == in {
			return mu
		}
		in = cell
	}
	return (in.Lo + in.Hi) / 2
}

// Clip stores clip(a_i − μ y_i, 0, 1) in a: with the multiplier of all rows, these
// rows of the projection onto K. It panics if the lengths differ.
func Clip(a []float64, y []float32, mu float64) {
	if len(a) != len(y) {
		panic("align: Clip: slices of different length")
	}
	for i, v := range a {
		if y[i] > 0 {
			v -= mu
		} else {
			v += mu
		}
		a[i] = min(1, max(0, v))
	}
}

// alternate takes a towards K as the paper does, by rounds of clipping to [0, 1] and
// of the projection onto Σ_i y_i a_i = 0 (Algorithm 3). What it ends in is a point of
// K, up to an error that shrinks with every round and numbers outside [0, 1] by as much, but
// not the nearest one to a.
func alternate(a []float64, y []float32, rounds int) {
	if len(a) != len(y) {
		panic("align: Alternate: slices of different length")
	}
	for range rounds {
		var sum float64
		for i, v := range a {
			a[i] = min(1, max(0, v))
			if y[i] > 0 {
				sum += a[i]
			} else {
				sum -= a[i]
			}
		}
		shift := sum / float64(len(a))
		for i := range a {
			if y[i] > 0 {
				a[i] -= shift
			} else {
				a[i] += shift
			}
		}
	}
}
