package align

import (
	"math"

	"github.com/bochner-ml/bochner/internal/blas"
)

// Dual holds the dual weights of some rows. With two classes there is one weighting, class 1 (y =
// 1) against class 0. With more there is one for each class, against all others.
type Dual struct {
	N, K  int       // number of rows, and of weightings
	Alpha []float64 // K×N, in [0, 1] after a projection
	Y     []float32 // K×N: labels ±1
}

// newDual returns the dual weights of rows of the given classes, 0 … classes−1, all with the value
// start. It panics if classes is less than 2.
func newDual(class []int32, classes int, start float64) *Dual {
	if classes < 2 {
		panic("align: fewer than two classes")
	}
	d := &Dual{N: len(class), K: weightings(classes)}
	d.Alpha, d.Y = make([]float64, d.K*d.N), make([]float32, d.K*d.N)
	for k := range d.K {
		positive := int32(k)
		if classes == 2 {
			positive = 1
		}
		for i, c := range class {
			d.Alpha[k*d.N+i], d.Y[k*d.N+i] = start, -1
			if c == positive {
				d.Y[k*d.N+i] = 1
			}
		}
	}
	return d
}

// weightings returns the number of weightings, K.
func weightings(classes int) int {
	if classes == 2 {
		return 1
	}
	return classes
}

// Weightings returns y_i α_i.
func (d *Dual) Weightings() Weightings {
	a := make([]float32, len(d.Y))
	for i, v := range d.Alpha {
		a[i] = float32(v) * d.Y[i]
	}
	return Weightings{a, d.K}
}

// Row returns the dual weights and labels of weighting k (length N). They share memory with d.
func (d *Dual) Row(k int) (alpha []float64, y []float32) {
	return d.Alpha[k*d.N : (k+1)*d.N], d.Y[k*d.N : (k+1)*d.N]
}

// addSums adds Σ_i α_i y_i φ(x_i) over the rows from first on to sums (K×r), for each weighting. phi (n×r) has the
// features of these rows. They are summed in float32, and the result is added in float64.
func (d *Dual) addSums(sums []float64, phi []float32, first int) {
	r := len(sums) / d.K
	part, a := make([]float32, r), make([]float32, len(phi)/r)
	for k := range d.K {
		clear(part)
		for i := range a {
			at := k*d.N + first + i
			a[i] = float32(d.Alpha[at]) * d.Y[at]
			blas.Axpy(a[i], phi[i*r:(i+1)*r], part)
		}
		for j, v := range part {
			sums[k*r+j] += float64(v)
		}
	}
}

// ascend moves the dual weights of the rows from first on along the gradient g of F times the number of all rows:
//
//	α_i ← α_i + η g_i,    g_i = 1 − y_i u·φ(x_i).
//
// phi (n×r) has the features of these rows. u (K×r) is the direction that game.answer returns. The
// result is Σ g_i² over these rows and all weightings.
func (d *Dual) ascend(eta float64, u, phi []float32, first int) (squares float64) {
	r := len(u) / d.K
	for k := range d.K {
		for i := range len(phi) / r {
			at := k*d.N + first + i
			g := 1 - float64(d.Y[at]*blas.Dot(u[k*r:(k+1)*r], phi[i*r:(i+1)*r]))
			d.Alpha[at] += float64(eta * g)
			squares += float64(g * g)
		}
	}
	return squares
}

// project replaces the dual weights by the nearest point of K. The rows must be all rows; for rows
// in several partitions see census.
func (d *Dual) project() {
	for k := range d.K {
		alpha, y := d.Row(k)
		clipRows(alpha, y, multiplier(alpha, y))
	}
}

// mean returns Σ_k Σ_i α_ki divided by the number of rows; 0 without rows.
func (d *Dual) mean() float64 {
	var sum float64
	for _, v := range d.Alpha {
		sum += v
	}
	return sum / float64(max(d.N, 1))
}

// cells is the number of equal cells into which a census divides its bracket.
const cells = 1024

// bracket is an interval that holds the multiplier μ of a projection.
type bracket struct{ Lo, Hi float64 }

// census summarises the rows of one weighting, to find the multiplier μ of their projection onto
//
//	K = {0 ≤ α ≤ 1, Σ_i y_i α_i = 0}:    α_i = clip(a_i − μ y_i, 0, 1).
//
// μ is the zero of h(μ) = Σ_i y_i clip(a_i − μ y_i, 0, 1). Each row makes h fall with slope −1 while μ is in [b_i,
// b_i+1], where b_i = a_i − 1 for y_i = 1 and b_i = −a_i for y_i = −1. These two numbers are the breakpoints of the
// row. Sums of breakpoints by cell of a bracket give h at all edges of cells.
//
// Censuses of different rows for the same bracket add up. From the total, every worker computes the
// same narrower bracket. Three censuses narrow a bracket of width 4 to a width of 4·10⁻⁹.
type census struct {
	Positive int64 // rows with y = 1
	// Element 0 of each array is for breakpoints below the bracket, element j for those in cell j−1.
	// Net is the number of breakpoints b_i minus the number of breakpoints b_i+1. Sum is the sum of
	// the breakpoints with these signs.
	Net [cells + 1]int64
	Sum [cells + 1]float64
	// Ends is the number of breakpoints of both kinds in a cell; element 0 is not used.
	Ends [cells + 1]int64
}

// count adds rows to the census: a has their numbers a_i before the projection, and y their labels,
// > 0 for 1 and otherwise −1.
func (c *census) count(a []float64, y []float32, in bracket) {
	perWidth := cells / (in.Hi - in.Lo)
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

// end adds one breakpoint, with sign 1 for b_i and −1 for b_i+1. perWidth is the number of cells per unit of length.
func (c *census) end(at float64, sign int64, in bracket, perWidth float64) {
	cell := 0
	switch {
	case at >= in.Hi:
		return
	case at >= in.Lo:
		cell = min(1+int(float64((at-in.Lo)*perWidth)), cells)
		c.Ends[cell]++
	}
	c.Net[cell] += sign
	c.Sum[cell] += float64(float64(sign) * at)
}

// Merge adds the census of other rows for the same bracket.
func (c *census) Merge(o *census) {
	c.Positive += o.Positive
	for i := range c.Net {
		c.Net[i] += o.Net[i]
		c.Sum[i] += o.Sum[i]
		c.Ends[i] += o.Ends[i]
	}
}

// narrow returns the cell of the bracket in which h passes through zero, and an estimate of the
// zero. If exact is true, no breakpoint is in the cell, and the estimate is exact up to rounding.
// Otherwise its error is at most the width of the cell.
func (c *census) narrow(in bracket) (cell bracket, mu float64, exact bool) {
	width := (in.Hi - in.Lo) / cells
	edge := func(j int) float64 { return in.Lo + float64(float64(j)*width) }
	net, sum := c.Net[0], c.Sum[0]
	at := func(mu float64) float64 { return float64(c.Positive) - (float64(float64(net)*mu) - sum) }
	left := at(edge(0))
	for j := range cells {
		inside := c.Ends[j+1]
		// Breakpoints in the cell count from its right edge on.
		net += c.Net[j+1]
		sum += c.Sum[j+1]
		right := at(edge(j + 1))
		if right > 0 && j < cells-1 {
			left = right
			continue
		}
		cell = bracket{edge(j), edge(j + 1)}
		// If h is zero throughout the cell, the left edge is as good as any point.
		mu = cell.Lo
		if left > right {
			mu += float64(width * min(1, max(0, left/(left-right))))
		}
		return cell, mu, inside == 0
	}
	panic("align: unreachable")
}

// around returns a bracket that holds the multiplier if all a_i are between lo and hi.
func around(lo, hi float64) bracket {
	// For μ ≤ −hi all rows with y = −1 are clipped to 0, so h ≥ 0. For μ ≥ hi all rows with y = 1
	// are, so h ≤ 0. If hi < 0, all rows are clipped to 0 at μ = 0.
	r := max(math.Abs(lo), math.Abs(hi), 1) * (1 + 1e-9)
	return bracket{-r, r}
}

// multiplier returns the multiplier μ of the projection of a onto K, for rows in memory. y has the
// labels, > 0 for 1 and otherwise −1. The result is exact up to the rounding of sums.
func multiplier(a []float64, y []float32) float64 {
	var lo, hi float64
	for _, v := range a {
		lo, hi = min(lo, v), max(hi, v)
	}
	in := around(lo, hi)
	for range 8 {
		var c census
		c.count(a, y, in)
		cell, mu, exact := c.narrow(in)
		if exact || cell.Hi-cell.Lo < 1e-15*in.Hi || cell == in {
			return mu
		}
		in = cell
	}
	return (in.Lo + in.Hi) / 2
}

// clipRows replaces each a_i by clip(a_i − μ y_i, 0, 1). If mu is the multiplier of all rows, this
// projects these rows onto K. y has the labels, > 0 for 1 and otherwise −1.
func clipRows(a []float64, y []float32, mu float64) {
	for i, v := range a {
		if y[i] > 0 {
			v -= mu
		} else {
			v += mu
		}
		a[i] = min(1, max(0, v))
	}
}

// alternate moves a towards K as the paper does (Algorithm 3): each round clips to [0, 1] and then
// projects onto Σ_i y_i a_i = 0. The result tends to a point of K, which is not the nearest one to
// a. After finitely many rounds numbers can still be slightly outside [0, 1].
func alternate(a []float64, y []float32, rounds int) {
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
