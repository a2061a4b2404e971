package blas

// MaxRows is the number of rows of a block: few enough that sums of products of
// 8-bit features stay below 2²⁴.
const MaxRows = 1024

const panelBytes = MaxRows * lanes

// Bytes is a block of up to MaxRows rows of D features of 8 bits, in the layout
// that Gram reads: panels of 16 columns, in which 4 rows of a column lie side by
// side ([row/4][column][row%4]). Features are in [-127, 127].
type Bytes struct {
	n, d int
	data []int8 // whole groups of panels; rows up to a multiple of 4 and columns beyond d are zero
}

// NewBytes returns an empty block of d columns.
func NewBytes(d int) *Bytes {
	if d < 0 {
		panic("blas: negative number of columns")
	}
	panels := (d + width - 1) / width * group
	return &Bytes{d: d, data: Make[int8](panels * panelBytes)}
}

// Reset makes it a block of n rows of zeros.
func (b *Bytes) Reset(n int) {
	b.setRows(n)
	clear(b.data)
}

// N returns the number of rows.
func (b *Bytes) N() int { return b.n }

// D returns the number of columns.
func (b *Bytes) D() int { return b.d }

// At returns the feature in row i and column j.
func (b *Bytes) At(i, j int) int8 {
	if uint(i) >= uint(b.n) || uint(j) >= uint(b.d) {
		panic("blas: index out of the block")
	}
	return b.data[j/lanes*panelBytes+i/4*64+j%lanes*4+i%4]
}

// Resize makes it a block of n rows that hold anything until QuantizeRows has
// stored them.
func (b *Bytes) Resize(n int) { b.setRows(n) }

// Quantize makes it the block of the n ≤ MaxRows rows of z (n×D): round(z·f),
// ties to even, cut to ±127, where f = 127/bound and the product are rounded to
// float32. It returns how many were cut. NaN gives 0 and counts as cut. It
// panics unless bound is positive and finite.
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

// quantizeRun is few enough rows for a line of memory that two panels share to be
// still in the cache for the second.
const quantizeRun = 32

// QuantizeRows stores the rows of z (rows×D) as rows first to first+rows−1 of the
// block, as Quantize does. Rows come in fours: it panics unless first is a multiple
// of 4, and so is rows if others follow. Calls for different rows may run at once.
func (b *Bytes) QuantizeRows(first int, z []float32, rows int, bound float32) (saturated int64) {
	f := float32(127 / float64(bound))
	switch {
	case !(bound > 0) || !(f > 0) || f > maxFloat32:
		panic("blas: bound must be positive, and 127/bound a float32")
	case first < 0 || rows < 0 || first+rows > b.n:
		panic("blas: rows outside of the block")
	case first%4 != 0 || rows%4 != 0 && first+rows < b.n:
		panic("blas: rows that are no whole fours")
	case len(z) < rows*b.d:
		panic("blas: source too short")
	}
	l := active()
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	for p := range (b.d + lanes - 1) / lanes {
		cols := min(lanes, b.d-p*lanes)
		whole := rows / 4
		if cols < lanes {
			whole = 0
		}
		if whole > 0 {
			saturated += l.quantize(b.quads(p, first/4, whole), z[p*lanes:], b.d, whole, f)
		}
		// What does not fill a quad of rows or a panel of columns is moved to
		// where zeros lie around it.
		if rest := rows - 4*whole; rest > 0 {
			quads := (rest + 3) / 4
			t := grow(&s.f32, quads*4*lanes)
			clear(t)
			for i := range rest {
				copy(t[i*lanes:(i+1)*lanes], z[(4*whole+i)*b.d+p*lanes:][:cols])
			}
			saturated += l.quantize(b.quads(p, first/4+whole, quads), t, lanes, quads, f)
		}
	}
	return saturated
}

const maxFloat32 = 0x1p127 * (1 + (1 - 0x1p-23))

func (b *Bytes) setRows(n int) {
	if n < 0 || n > MaxRows {
		panic("blas: a block has at most MaxRows rows")
	}
	b.n = n
}

// quads returns the memory of n quads of rows of a panel, from quad q on.
func (b *Bytes) quads(panel, q, n int) []int8 {
	at := panel*panelBytes + q*64
	return b.data[at : at+n*64]
}

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
