package align

import (
	"sync"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
)

const (
	blockRows = 1024     // largest number of rows in a block, and of terms in a float32 sum
	chainRun  = 96       // largest number of frequencies in a work item
	held      = 16 << 20 // largest number of cosines and sines in a work item: 64 MiB
)

// Field computes Fourier potentials and their gradients over its rows. It stores the rows in the
// two layouts that this needs. It serves any weightings, and is safe for concurrent use.
type Field struct {
	n, d    int
	blocks  []fieldBlock
	scratch sync.Pool // of *fieldScratch
}

// fieldScratch is the memory of one work item.
type fieldScratch struct {
	angles, coefficients, products []float32
	p, q                           []float32
	sums                           []float64
}

// fieldBlock is a block of rows, packed as the weight matrices of two products.
type fieldBlock struct {
	row, rows int           // first row and number of rows
	along     *blas.Weights // rows×d: turns frequencies into angles
	across    *blas.Weights // d×rows: turns coefficients of rows into gradients
}

// NewField returns the Field of the n rows of x (n×d, row-major). It copies them twice, into 8·n·d bytes.
func NewField(x []float32, n, d int) *Field {
	f := &Field{n: n, d: d, scratch: sync.Pool{New: func() any { return new(fieldScratch) }}}
	turned := make([]float32, min(n, blockRows)*d)
	for row := 0; row < n; row += blockRows {
		rows := min(blockRows, n-row)
		xb := x[row*d : (row+rows)*d]
		for i := range rows {
			for j, v := range xb[i*d : (i+1)*d] {
				turned[j*rows+i] = v
			}
		}
		f.blocks = append(f.blocks, fieldBlock{row: row, rows: rows,
			along: blas.Pack(xb, nil, rows, d), across: blas.Pack(turned, nil, d, rows)})
	}
	return f
}

// Weightings are K weights of each of n rows.
type Weightings struct {
	A []float32 // K×n
	K int
}

// Sums stores in cs (m×k×2) the sums
//
//	c_jl = Σ_i a_li cos 2π w_j·x_i,   s_jl = Σ_i a_li sin 2π w_j·x_i
//
// for the m frequencies w (m×d, in turns) and the k weightings a. It adds in float32 within a block of 1,024 rows and
// in float64 over the blocks in order, so the sums of a frequency do not depend on other frequencies or on threads.
func (f *Field) Sums(cs []float64, w []float32, m int, a Weightings, threads int) {
	f.items(m, threads, 1, func(lo, hi int) {
		mem := f.scratch.Get().(*fieldScratch)
		defer f.scratch.Put(mem)
		buf := blas.Grow(&mem.angles, (hi-lo)*2*min(f.n, blockRows))
		clear(cs[lo*a.K*2 : hi*a.K*2])
		for _, b := range f.blocks {
			b.along.CosSin(buf, w[lo*f.d:hi*f.d], hi-lo, 1, 1)
			b.addSums(cs[lo*a.K*2:hi*a.K*2], buf, hi-lo, a, f.n)
		}
	})
}

// gradients stores in v (length m) the potentials
//
//	v_j = Σ_l (c_jl² + s_jl²)/n²
//
// of the m frequencies w (m×d, in turns) under the k weightings a, with c and s as in Sums.
// It stores in grad (m×d) the gradients with respect to the frequency ω = 2πw in radians,
//
//	∇v_j = (2/n²) Σ_l Σ_i a_li (s_jl cos 2πw_j·x_i − c_jl sin 2πw_j·x_i) x_i      (Bullins, Zhang & Zhang 2018, §3.1)
//
// Both depend on no other frequency and not on threads.
func (f *Field) gradients(v, grad []float64, w []float32, a Weightings, threads int) {
	f.items(len(v), threads, f.n, func(lo, hi int) { f.gradient(v[lo:hi], grad[lo*f.d:hi*f.d], w[lo*f.d:hi*f.d], a) })
}

// gradient is gradients for the frequencies of one work item, on one thread.
func (f *Field) gradient(v, grad []float64, w []float32, a Weightings) {
	m, k, most := len(v), a.K, min(f.n, blockRows)
	mem := f.scratch.Get().(*fieldScratch)
	defer f.scratch.Put(mem)
	angles, cs := blas.Grow(&mem.angles, m*2*f.n), blas.Grow(&mem.sums, m*k*2)
	clear(cs)
	for _, b := range f.blocks {
		buf := angles[m*2*b.row:]
		b.along.CosSin(buf, w, m, 1, 1)
		b.addSums(cs, buf, m, a, f.n)
	}
	perRow := 1 / float64(f.n)
	for j := range v {
		v[j] = 0
		for l := range k {
			c, s := cs[(j*k+l)*2]*perRow, cs[(j*k+l)*2+1]*perRow
			v[j] += float64(c*c) + float64(s*s)
		}
	}
	clear(grad)
	t, part := blas.Grow(&mem.coefficients, m*most), blas.Grow(&mem.products, m*f.d)
	for _, b := range f.blocks {
		p, q := blas.Grow(&mem.p, b.rows), blas.Grow(&mem.q, b.rows)
		for j := range m {
			cos := angles[m*2*b.row+j*2*b.rows:][:2*b.rows]
			cos, sin := cos[:b.rows], cos[b.rows:]
			clear(p)
			clear(q)
			for l := range k {
				al := a.A[l*f.n+b.row:][:b.rows]
				c, s := cs[(j*k+l)*2]*perRow, cs[(j*k+l)*2+1]*perRow
				blas.Axpy(float32(s), al, p)
				blas.Axpy(float32(-c), al, q)
			}
			tj := t[j*b.rows:][:b.rows]
			blas.Affine(tj, cos, p, nil, 1)
			blas.Affine(tj, sin, q, tj, 1)
		}
		b.across.Mul(part, t, m, 1)
		for i, g := range part {
			grad[i] += float64(g)
		}
	}
	for i := range grad {
		grad[i] *= 2 * perRow
	}
}

// addSums adds the block's rows to the sums cs (m×k×2). angles has m rows of b.rows cosines followed by b.rows sines.
func (b *fieldBlock) addSums(cs []float64, angles []float32, m int, a Weightings, n int) {
	k := a.K
	for j := range m {
		cos := angles[j*2*b.rows:][:b.rows]
		sin := angles[(j*2+1)*b.rows:][:b.rows]
		for l := range k {
			al := a.A[l*n+b.row:][:b.rows]
			cs[(j*k+l)*2] += float64(blas.Dot(cos, al))
			cs[(j*k+l)*2+1] += float64(blas.Dot(sin, al))
		}
	}
}

// items divides m frequencies into work items of nearly equal size and calls g for each range lo … hi−1, on the given
// number of threads. rows is the number of rows whose cosines and sines an item holds.
func (f *Field) items(m, threads, rows int, g func(lo, hi int)) {
	if m == 0 {
		return
	}
	threads = max(threads, 1)
	run := max(1, min(chainRun, held/(2*max(rows, 1))))
	rounds := (m + run*threads - 1) / (run * threads)
	step := (m + rounds*threads - 1) / (rounds * threads)
	step = min((step+7)/8*8, run) // matrix products take eight frequencies at a time
	if threads == 1 {
		// parallel.Ranges would pass all frequencies at once to a single goroutine.
		for lo := 0; lo < m; lo += step {
			g(lo, min(m, lo+step))
		}
		return
	}
	parallel.Ranges(m, step, threads, g)
}
