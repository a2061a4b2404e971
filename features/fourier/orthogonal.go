package fourier

import (
	"math"

	"github.com/bochner-ml/bochner/features/stream"
)

// maxOrthogonal bounds the row length of orthogonal draws: a block of 4,096 takes
// 64 MiB and half a minute.
const maxOrthogonal = 4096

var norm = stream.PurposeOf("fourier/norm")

// orthogonalTurns implements turns for the orthogonal draw. A block is a Haar-orthogonal
// matrix times χ norms (Yu, Suresh, Choromanski, Holtmann-Rice and Kumar, "Orthogonal
// random features", NIPS 2016, ORF).
//
// The matrix is Q of A = QR, A of independent normals and R of positive diagonal,
// by Householder reflections. Below the diagonal the columns of A that are not
// yet reduced remain independent normals after every reflection, so they need not be
// computed and fresh ones are drawn instead (Stewart, SIAM J. Numer. Anal. 17,
// 1980): column k is H_0 … H_{k−1} x_k/‖x_k‖ of x_k with k zeros and then d−k normals,
// H_i the reflection that takes x_i to the axis i. It depends only on the x of the columns
// before it, and is the same whether or not other columns are computed with it.
func (d *draw) orthogonalTurns(w []float32, first, n int) {
	perTurn := 1 / float64(2*math.Pi*d.width)
	for done := 0; done < n; {
		block, from := (first+done)/d.in, (first+done)%d.in
		to := min(d.in, from+n-done)
		q := d.reflections(block, to)
		columns := (to - from + 3) / 4
		each(columns, 1<<14, func(lo, hi int) { // one item at a time: each takes milliseconds
			y := make([]float64, 4*d.in)
			for c := lo; c < hi; c++ {
				k := from + 4*c
				count := min(4, to-k)
				q.columns(y, k, count)
				for i := range count {
					g := stream.New(d.seed, norm, uint64(block)*uint64(d.in)+uint64(k+i)).Gamma(float64(d.in) / 2)
					length := math.Sqrt(2 * g) // 2·Gamma(d/2) is χ² of d degrees of freedom
					row := w[(done+k-from+i)*d.in:][:d.in]
					for e := range row {
						row[e] = float32(y[i*d.in+e] * length * perTurn)
					}
				}
			}
		})
		done += to - from
	}
}

// reflections holds the reflections H_i for the first columns of a block.
type reflections struct {
	d     int
	start []int     // index of v_i in v; v_i has d−i numbers, from column i on
	v     []float64 // x_i with sign(x_i0)·‖x_i‖ added to its first number
	first []float64 // the first number of x_i
	size  []float64 // ‖x_i‖
	beta  []float64 // 2/‖v_i‖²
}

// reflections draws the reflections for columns 0 … n−1 of the block.
func (d *draw) reflections(block, n int) *reflections {
	q := &reflections{d: d.in, start: make([]int, n+1),
		first: make([]float64, n), size: make([]float64, n), beta: make([]float64, n)}
	for i := range n {
		q.start[i+1] = q.start[i] + d.in - i
	}
	q.v = make([]float64, q.start[n])
	each(n, d.in, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			v := q.v[q.start[i]:q.start[i+1]]
			s := stream.New(d.seed, frequency, uint64(block)*uint64(d.in)+uint64(i))
			var squares float64
			for e := range v {
				v[e] = s.Normal() // never 0
				squares += float64(v[e] * v[e])
			}
			size := math.Sqrt(squares)
			q.first[i], q.size[i] = v[0], size
			q.beta[i] = 1 / (squares + float64(math.Abs(v[0])*size))
			v[0] += math.Copysign(size, v[0])
		}
	})
	return q
}

// columns stores columns k … k+count−1 of the orthogonal matrix in y, d numbers each; count is at most 4.
//
// Four columns together are four independent chains of sums, which the processor runs in parallel. Each
// chain has the same bits as if computed separately.
func (r *reflections) columns(y []float64, k, count int) {
	for c := range count {
		i := k + c
		col := y[c*r.d : (c+1)*r.d]
		clear(col)
		copy(col[i:], r.v[r.start[i]:r.start[i+1]])
		col[i] = r.first[i]
		for e := i; e < r.d; e++ {
			col[e] /= r.size[i]
		}
		for i--; i >= k; i-- {
			r.reflect(i, col)
		}
	}
	if count < 4 {
		for c := range count {
			for i := k - 1; i >= 0; i-- {
				r.reflect(i, y[c*r.d:(c+1)*r.d])
			}
		}
		return
	}
	for i := k - 1; i >= 0; i-- {
		r.reflect4(i, y)
	}
}

// reflect applies H_i to the column.
func (r *reflections) reflect(i int, y []float64) {
	v := r.v[r.start[i]:r.start[i+1]]
	y = y[i:][:len(v)]
	var dot float64
	for e, a := range v {
		dot += float64(a * y[e])
	}
	dot *= r.beta[i]
	for e, a := range v {
		y[e] -= float64(dot * a)
	}
}

// reflect4 applies reflect to four consecutive columns.
func (r *reflections) reflect4(i int, y []float64) {
	v := r.v[r.start[i]:r.start[i+1]]
	n := len(v)
	y0, y1, y2, y3 := y[i:][:n], y[r.d+i:][:n], y[2*r.d+i:][:n], y[3*r.d+i:][:n]
	var d0, d1, d2, d3 float64
	for e, a := range v {
		d0 += float64(a * y0[e])
		d1 += float64(a * y1[e])
		d2 += float64(a * y2[e])
		d3 += float64(a * y3[e])
	}
	b := r.beta[i]
	d0, d1, d2, d3 = d0*b, d1*b, d2*b, d3*b
	for e, a := range v {
		y0[e] -= float64(d0 * a)
		y1[e] -= float64(d1 * a)
		y2[e] -= float64(d2 * a)
		y3[e] -= float64(d3 * a)
	}
}
