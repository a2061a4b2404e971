package blas

import (
	"math"
	"sync"
)

const (
	depth   = 256 // steps of a chain between two accesses to the result
	spread  = 768 // columns of the result packed at once; a multiple of every kernel's columns
	tall    = 96  // rows of the result in a work item; a multiple of every kernel's rows
	aStride = depth + 8
	many    = 4       // work items of a thread between two barriers
	small   = 1 << 17 // multiply-adds below which a second thread does not pay
)

// product describes C -= A·Bᵀ, every element of C (m×n) continuing its chain
// over k steps. Rows of a and c are as and cs apart.
//
// Forward, b is n×k and the chain runs over k in order. With back, b is k×n and
// the chain runs from the last k to the first. With lower, what lies above the
// diagonal of C is neither read nor written.
type product[T real] struct {
	c, a, b     []T
	cs, as, bs  int
	m, n, k     int
	lower, back bool
}

// packs holds packed columns, shared by the workers of a product.
var packs64, packs32 = packsOf[float64](), packsOf[float32]()

func packsOf[T real]() *sync.Pool {
	return &sync.Pool{New: func() any {
		s := Make[T](spread * depth)
		return &s
	}}
}

// gemm computes the product in blocks of depth steps and spread columns. It packs the columns of b for a block, and
// then threads compute runs of tall rows. Each element continues one chain in a fixed order, so the result does not
// depend on the threads.
func gemm[T real](p product[T], threads int) {
	if p.m*p.n*p.k < small {
		threads = 1
	}
	l := denseOf[T](active())
	packs := packs64
	if _, ok := any(T(0)).(float32); ok {
		packs = packs32
	}
	for k := 0; k < p.k; k += depth {
		kn := min(depth, p.k-k)
		for col := 0; col < p.n; col += spread {
			cols := min(spread, p.n-col)
			panels := (cols + l.nr - 1) / l.nr
			packed := packs.Get().(*[]T)
			parallel(threads, panels, func(q int, _ *scratch) {
				p.packB((*packed)[q*l.nr*kn:][:l.nr*kn], l.nr, k, kn, col+q*l.nr)
			})
			first := 0
			if p.lower {
				first = col / tall
			}
			// Columns are cut too where rows alone would leave threads idle at the end.
			runs := 1
			if rows := (p.m+tall-1)/tall - first; threads > 1 && rows < many*threads {
				runs = min((many*threads+rows-1)/rows, max(1, panels/4))
			}
			parallel(threads, ((p.m+tall-1)/tall-first)*runs, func(item int, s *scratch) {
				row := (item/runs + first) * tall
				from, to := item%runs*panels/runs, (item%runs+1)*panels/runs
				p.rows(l, s, *packed, row, min(tall, p.m-row), k, kn, col, from, to)
			})
			packs.Put(packed)
		}
	}
}

// rows computes the panels [from, to) of the columns packed from col on, for some
// rows of the result and kn steps from k on.
func (p *product[T]) rows(l *dense[T], s *scratch, packed []T, row, rows, k, kn, col, from, to int) {
	// The rows are copied because rows of a large matrix lie a power of two apart, and would share
	// a few lines of the cache. Rows of tiles do not.
	left, edge := tilesOf[T](s)
	var a []T
	as := aStride
	if !p.back && rows%l.mr == 0 && p.as == TileDim {
		a, as = p.a[row*p.as+k:], p.as
	} else {
		a = Grow(left, tall*aStride)
		for i := range rows {
			p.packA(a[i*aStride:][:kn], row+i, k)
		}
		// Rows that fill up a tile are computed and dropped; they must not be slow
		// numbers.
		for i := rows; i%l.mr != 0; i++ {
			clear(a[i*aStride:][:kn])
		}
	}
	t := Grow(edge, l.mr*l.nr)
	for q := from; q < to; q++ {
		j := col + q*l.nr
		b := packed[q*l.nr*kn:][:l.nr*kn]
		cols := min(l.nr, p.n-j)
		for i := row; i < row+rows; i += l.mr {
			if p.lower && i+l.mr <= j {
				continue
			}
			ai := a[(i-row)*as:]
			c := p.c[i*p.cs+j:]
			high := min(l.mr, row+rows-i)
			if high == l.mr && cols == l.nr && (!p.lower || j+l.nr <= i+1) {
				l.tile(c, p.cs, ai, as, b, kn)
				continue
			}
			clear(t)
			for r := range high {
				copy(t[r*l.nr:], c[r*p.cs:][:p.cols(i+r, j, cols)])
			}
			l.tile(t, l.nr, ai, as, b, kn)
			for r := range high {
				copy(c[r*p.cs:][:p.cols(i+r, j, cols)], t[r*l.nr:])
			}
		}
	}
}

// cols returns how many of the cols columns from j on belong to row i of C.
func (p *product[T]) cols(i, j, cols int) int {
	if p.lower {
		return max(0, min(cols, i-j+1))
	}
	return cols
}

func (p *product[T]) packA(dst []T, i, k int) {
	if !p.back {
		copy(dst, p.a[i*p.as+k:])
		return
	}
	for s := range dst {
		dst[s] = p.a[i*p.as+p.k-1-k-s]
	}
}

// packB lays nr columns of Bᵀ side by side for each of kn steps from k on;
// columns that are not there are zeros.
func (p *product[T]) packB(dst []T, nr, k, kn, j int) {
	cols := min(nr, p.n-j)
	if cols < nr {
		clear(dst)
	}
	if p.back {
		for s := range kn {
			copy(dst[s*nr:], p.b[(p.k-1-k-s)*p.bs+j:][:cols])
		}
		return
	}
	transpose(dst, nr, p.b[j*p.bs+k:], p.bs, cols, kn)
}

// Transpose stores in dst (n×m) the transpose of src (m×n).
func Transpose[T float32 | float64](dst, src []T, m, n int) { transpose(dst, m, src, n, m, n) }

// transpose stores in dst (n×m, rows ds apart) the transpose of the m×n matrix
// src, rows ss apart.
func transpose[T real](dst []T, ds int, src []T, ss, m, n int) {
	columns := denseOf[T](active()).columns
	i := 0
	for ; i+8 <= m; i += 8 { // a line of the cache, of float64
		for j := columns(dst[i:], ds, src[i*ss:], ss, n); j < n; j++ {
			for r := range 8 {
				dst[j*ds+i+r] = src[(i+r)*ss+j]
			}
		}
	}
	for ; i+4 <= m; i += 4 {
		s := src[i*ss:]
		s0, s1, s2, s3 := s[:n], s[ss:][:n], s[2*ss:][:n], s[3*ss:][:n]
		for j, v := range s0 {
			to := (*[4]T)(dst[j*ds+i:])
			to[0], to[1], to[2], to[3] = v, s1[j], s2[j], s3[j]
		}
	}
	for ; i < m; i++ {
		for j, v := range src[i*ss:][:n] {
			dst[j*ds+i] = v
		}
	}
}

// columnsGo is columns for all n.
func columnsGo[T real](dst []T, ds int, src []T, ss, n int) int {
	s0, s1, s2, s3 := src[:n], src[ss:][:n], src[2*ss:][:n], src[3*ss:][:n]
	src = src[4*ss:]
	s4, s5, s6, s7 := src[:n], src[ss:][:n], src[2*ss:][:n], src[3*ss:][:n]
	for j, v := range s0 {
		to := (*[8]T)(dst[j*ds:])
		to[0], to[1], to[2], to[3] = v, s1[j], s2[j], s3[j]
		to[4], to[5], to[6], to[7] = s4[j], s5[j], s6[j], s7[j]
	}
	return n
}

// tilesOf returns the scratch for packed rows and for a tile at the edge.
func tilesOf[T real](s *scratch) (left, edge *[]T) {
	l, e := any(&s.a64), any(&s.f64)
	if _, ok := any(T(0)).(float32); ok {
		l, e = &s.a32, &s.f32
	}
	return l.(*[]T), e.(*[]T)
}

// tileGo is the twin of the kernels for tile: 4×4.
func tileGo(c []float64, cs int, a []float64, as int, b []float64, k int) {
	for i := range 4 {
		ci := c[i*cs:][:4]
		c0, c1, c2, c3 := ci[0], ci[1], ci[2], ci[3]
		for p, v := range a[i*as:][:k] {
			q := (*[4]float64)(b[p*4:])
			c0 = math.FMA(-v, q[0], c0)
			c1 = math.FMA(-v, q[1], c1)
			c2 = math.FMA(-v, q[2], c2)
			c3 = math.FMA(-v, q[3], c3)
		}
		ci[0], ci[1], ci[2], ci[3] = c0, c1, c2, c3
	}
}

// tile32Go is tileGo in float32: 4×16, as a product with -a.
func tile32Go(c []float32, cs int, a []float32, as int, b []float32, k int) {
	var negative [4 * depth]float32
	for i := range 4 {
		for p, v := range a[i*as:][:k] {
			negative[i*k+p] = -v
		}
	}
	mulGo(c, cs, c, cs, negative[:], k, b, 0, k, 4, 1)
}
