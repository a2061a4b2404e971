package blas

import (
	"sync"
	"sync/atomic"
)

// MaxRows is the number of rows of a block: few enough that sums of products of
// 8-bit features stay below 2²⁴.
const MaxRows = 1024

const panelBytes = MaxRows * lanes

// Bytes is a block of up to MaxRows rows of D features on a grid, in the layout
// that Gram reads: panels of 16 columns, in which 4 rows of a column lie side by
// side ([row/4][column][row%4]).
//
// A feature is a whole number of steps, at most MaxSteps. Those up to 127 take one
// byte. Where a block has larger ones, they are split in two limbs (splitGo).
type Bytes struct {
	n, d int
	most int    // steps from 0 to the bound
	data []int8 // whole groups of panels; rows up to a multiple of 4 and columns beyond d are zero
	high limb

	parts  map[[2]int]*Bytes // of Columns, by first column and number
	within bool              // data is in the memory of another block
}

// NewGrid returns an empty block of d columns on a grid with most steps from 0 to
// the bound, 1 to MaxSteps.
func NewGrid(d, most int) *Bytes {
	if d < 0 {
		panic("blas: negative number of columns")
	}
	if most < 1 || most > MaxSteps {
		panic("blas: steps of a grid out of range")
	}
	panels := (d + width - 1) / width * group
	return &Bytes{d: d, most: most, data: Make[int8](panels * panelBytes)}
}

// Most returns the number of steps from 0 to the bound: 127 on a grid of 8 bits.
func (b *Bytes) Most() int { return b.most }

// Reset makes b a block of n rows of zeros.
func (b *Bytes) Reset(n int) {
	b.setRows(n)
	clear(b.data)
}

// N returns the number of rows.
func (b *Bytes) N() int { return b.n }

// D returns the number of columns.
func (b *Bytes) D() int { return b.d }

// At returns the feature in row i and column j, in steps.
func (b *Bytes) At(i, j int) int {
	if uint(i) >= uint(b.n) || uint(j) >= uint(b.d) {
		panic("blas: index out of the block")
	}
	at := j/lanes*panelBytes + i/4*64 + j%lanes*4 + i%4
	v := int(b.data[at])
	if b.high.used.Load() {
		v += limbBase * int(b.high.data[at])
	}
	return v
}

// Row stores the features of row i, in steps, in dst, of length D.
func (b *Bytes) Row(dst []int16, i int) {
	if uint(i) >= uint(b.n) || len(dst) != b.d {
		panic("blas: row out of the block")
	}
	high := b.high.used.Load()
	for p := 0; p*lanes < b.d; p++ {
		at := p*panelBytes + i/4*64 + i%4
		to := dst[p*lanes : min(b.d, (p+1)*lanes)]
		for c := range to {
			to[c] = int16(b.data[at+4*c])
		}
		if high {
			for c := range to {
				to[c] += limbBase * int16(b.high.data[at+4*c])
			}
		}
	}
}

// Resize makes b a block of n rows with unspecified content, for QuantizeRows to fill.
func (b *Bytes) Resize(n int) { b.setRows(n) }

// Quantize fills b with the n ≤ MaxRows rows of z (n×D): round(z·f), ties to even, where f =
// Most()/bound and the product are rounded to float32. Numbers beyond the bound are as exact as others,
// up to MaxSteps, to which larger ones are clipped. It returns how many were clipped; NaN gives 0 and
// counts, too. It panics unless bound is positive and finite.
func (b *Bytes) Quantize(z []float32, n int, bound float32, threads int) (saturated int64) {
	b.setRows(n)
	if len(z) < n*b.d {
		panic("blas: source too short")
	}
	cuts := make([]int64, (n+quantizeRun-1)/quantizeRun)
	parallel(threads, len(cuts), func(item int, _ *scratch) {
		row := item * quantizeRun
		cuts[item] = b.QuantizeRows(row, z[row*b.d:], min(quantizeRun, n-row), bound)
	})
	for _, c := range cuts {
		saturated += c
	}
	return saturated
}

// quantizeRun is a number of rows small enough that a cache line shared by two panels
// is still in the cache for the second panel.
const quantizeRun = 32

// QuantizeRows stores the rows of z (rows×D) as rows first to first+rows−1 of the
// block, as Quantize does. Rows come in fours: it panics unless first is a multiple
// of 4, and so is rows if others follow. Calls for different rows may run at once.
func (b *Bytes) QuantizeRows(first int, z []float32, rows int, bound float32) (saturated int64) {
	f := float32(float64(b.most) / float64(bound))
	switch {
	case !(bound > 0) || !(f > 0) || f > maxFloat32:
		panic("blas: bound must be positive, and the steps in one unit a float32")
	case first < 0 || rows < 0 || first+rows > b.n:
		panic("blas: rows outside of the block")
	case first%4 != 0 || rows%4 != 0 && first+rows < b.n:
		panic("blas: the rows are not a multiple of four")
	case len(z) < rows*b.d:
		panic("blas: source too short")
	}
	l := active()
	if b.most == MaxByte && b.eachQuad(first, z, rows, func(panel, q, quads int, from []float32, ss int) int64 {
		return l.quantize(b.quads(panel, q, quads), from, ss, quads, f)
	}) == 0 {
		return 0
	}
	b.high.use(len(b.data))
	return b.eachQuad(first, z, rows, func(panel, q, quads int, from []float32, ss int) int64 {
		return l.split(b.quads(panel, q, quads), b.quads(panel+b.panels(), q, quads), from, ss, quads, f)
	})
}

// eachQuad cuts the rows of z (rows×D), which are rows first and on of the block, into calls of
// store, one or two for each panel. A call is for quads quads of rows of a panel, from quad q of the
// block on. from has their numbers: row i starts at i·ss and has 16 columns, zero outside of z. from
// is z or scratch memory, so store must not change or retain it. eachQuad returns the sum of the
// results of store.
func (b *Bytes) eachQuad(first int, z []float32, rows int,
	store func(panel, q, quads int, from []float32, ss int) int64) (sum int64) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	for p := range (b.d + lanes - 1) / lanes {
		cols := min(lanes, b.d-p*lanes)
		whole := rows / 4
		if cols < lanes {
			whole = 0
		}
		if whole > 0 {
			sum += store(p, first/4, whole, z[p*lanes:], b.d)
		}
		// Rows that do not fill a quad, and columns that do not fill a panel, are copied
		// to memory that is padded with zeros.
		if rest := rows - 4*whole; rest > 0 {
			quads := (rest + 3) / 4
			t := Grow(&s.f32, quads*4*lanes)
			clear(t)
			for i := range rest {
				copy(t[i*lanes:(i+1)*lanes], z[(4*whole+i)*b.d+p*lanes:][:cols])
			}
			sum += store(p, first/4+whole, quads, t, lanes)
		}
	}
	return sum
}

const maxFloat32 = 0x1p127 * (1 + (1 - 0x1p-23))

func (b *Bytes) setRows(n int) {
	if n < 0 || n > MaxRows {
		panic("blas: a block has at most MaxRows rows")
	}
	b.n = n
	b.high.reset()
}

// quads returns the memory of n quads of rows of a panel, from quad q on. The panels
// of the high limbs, if there are any, follow the low ones.
func (b *Bytes) quads(panel, q, n int) []int8 {
	at, data := panel*panelBytes+q*64, b.data
	if at >= len(data) && n > 0 {
		at -= len(data)
		data = b.high.data
	}
	return data[at : at+n*64]
}

// panels returns how many panels a limb has.
func (b *Bytes) panels() int { return len(b.data) / panelBytes }

// scatter moves the first cols columns of a panel t to the columns from col on,
// which need not be a panel's first.
func (b *Bytes) scatter(t []int8, quad, quads, col, cols int) {
	for c := range cols {
		to := b.data[(col+c)/lanes*panelBytes+quad*64+(col+c)%lanes*4:]
		for q := range quads {
			*(*[4]int8)(to[q*64:]) = *(*[4]int8)(t[q*64+c*4:])
		}
	}
}

// clearPadding zeroes the rows that fill up the last quad and the columns that
// fill up the last panel.
func (b *Bytes) clearPadding() {
	panels := (b.d + lanes - 1) / lanes
	if r := b.n % 4; r != 0 {
		for p := range panels {
			q := b.quads(p, b.n/4, 1)
			for i := range q {
				if i%4 >= r {
					q[i] = 0
				}
			}
		}
	}
	if c := b.d % lanes; c != 0 {
		for q := range (b.n + 3) / 4 {
			clear(b.quads(panels-1, q, 1)[c*4:])
		}
	}
}

// A feature of more than 127 steps is z = 254·h + l with |h|, |l| ≤ 127, so that
// sums of products of such features are sums of products of bytes, as exact as
// those:
//
//	zz' = 254²·hh' + 254·(hl' + lh') + ll'
//
// Features of at most 127 steps have h = 0. A split block takes four times as long, but
// its sums are the same.

const (
	// MaxByte is the largest number of steps that takes one byte.
	MaxByte = 127
	// MaxSteps is the largest number of steps of a feature.
	MaxSteps = limbBase*MaxByte + limbBase/2 - 1

	limbBase = 254
)

// limb holds the high limbs of a block in which there are some.
type limb struct {
	mu   sync.Mutex
	data []int8 // as Bytes.data, or nil
	used atomic.Bool
}

// reset makes all of them 0.
func (h *limb) reset() {
	if h.used.Load() {
		clear(h.data)
		h.used.Store(false)
	}
}

// limbs returns how many limbs the features of the block have.
func (b *Bytes) limbs() int {
	if b.high.used.Load() {
		return 2
	}
	return 1
}

// use returns the memory of the limbs, zero where it was not used yet.
func (h *limb) use(size int) []int8 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.data == nil {
		h.data = Make[int8](size)
	}
	h.used.Store(true)
	return h.data
}

// splitGo is the twin of the kernels for split.
func splitGo(low, high []int8, src []float32, ss, quads int, f float32) (cut int64) {
	for i := range 4 * quads {
		lo, hi := low[i/4*64+i%4:], high[i/4*64+i%4:]
		for c, x := range src[i*ss:][:lanes] {
			v := float32(x * f)
			if !(abs32(v) < MaxSteps+0.5) {
				cut++
				// Comparisons, not min and max, which differ on NaN.
				switch {
				case v > 0:
					v = MaxSteps
				case v < 0:
					v = -MaxSteps
				default:
					v = 0
				}
			}
			const toEven = 0x1.8p52
			i := int32(float64(v) + toEven - toEven)
			h := int32(uint32(i+limbBase*128+limbBase/2)/limbBase) - 128
			lo[4*c], hi[4*c] = int8(i-limbBase*h), int8(h)
		}
	}
	return cut
}

func scaleBy(t []float64, f float64) {
	for i := range t {
		t[i] *= f
	}
}
