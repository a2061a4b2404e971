package align

import (
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
	d := &Dual{N: len(class), K: classes}
	if classes == 2 {
		d.K = 1
	}
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

// Signed stores y_i α_i in a (K×N), the weightings of Field's methods. It panics if a is too short.
func (d *Dual) Signed(a []float32) {
	for i, v := range d.Alpha {
		a[i] = float32(v) * d.Y[i]
	}
}

// Row returns the dual weights and labels of weighting k (length N). They share memory with d.
func (d *Dual) Row(k int) (alpha []float64, y []float32) {
	return d.Alpha[k*d.N : (k+1)*d.N], d.Y[k*d.N : (k+1)*d.N]
}

// addSums adds Σ_i α_i y_i φ(x_i) over the rows first … first+n−1 to sums (K×r), for each
// weighting. phi (n×r) has the features of these rows. The n rows are summed in float32, and the
// result is added in float64. It panics if a slice is too short.
func (d *Dual) addSums(sums []float64, phi []float32, r, first, n int) {
	part, a := make([]float32, r), make([]float32, n)
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

// ascend moves the dual weights of the rows first … first+n−1 along the gradient g of F times the
// number of all rows:
//
//	α_i ← α_i + η g_i,    g_i = 1 − y_i u·φ(x_i).
//
// phi (n×r) has the features of these rows. u (K×r) is the direction that game.answer returns. The
// result is Σ g_i² over these rows and all weightings. It panics if a slice is too short.
func (d *Dual) ascend(eta float64, u []float32, phi []float32, r, first, n int) (squares float64) {
	for k := range d.K {
		for i := range n {
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
