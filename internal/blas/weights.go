package blas

const (
	lanes  = 16 // columns of a packed panel
	group  = 3  // panels that a kernel takes at once
	width  = lanes * group
	rowRun = 96  // rows between two uses of the same weights; a multiple of every kernel's rows
	kRun   = 768 // steps of a chain before the weights would leave the cache
	strip  = 24  // panels of a work item, so that an ending writes long pieces of rows
	pitch  = strip * lanes
)

// Weights is an out×in matrix W with an optional bias, packed into panels of 16 outputs, so that X·Wᵀ
// reads it sequentially. It does not change after Pack and is safe for concurrent use.
type Weights struct {
	in, out, panels int
	row             int       // length of a row that goes in
	w               []float32 // panels×in×16, the last panel padded with zeros
	bias            []float32 // panels×16, padded with zeros

	hot      []float32 // see PackHot
	gathered []float32 // their weights, strip by strip
}

// Pack packs w (out×in, one output's weights contiguous) and bias (out numbers,
// or nil for zeros). Neither is kept.
func Pack(w, bias []float32, out, in int) *Weights { return pack(w, bias, out, in, in) }

// pack is Pack for the first in of the columns of w, which are ws apart.
func pack(w, bias []float32, out, in, ws int) *Weights {
	if out < 0 || in < 0 {
		panic("blas: negative size of weights")
	}
	if len(w) < out*ws {
		panic("blas: weights shorter than out×in")
	}
	if bias != nil && len(bias) < out {
		panic("blas: bias shorter than out")
	}
	p := &Weights{in: in, out: out, row: in, panels: (out + lanes - 1) / lanes}
	p.w = Make[float32](p.panels * lanes * in)
	p.bias = Make[float32](p.panels * lanes)
	for j := range out {
		at := j/lanes*lanes*in + j%lanes
		for k, v := range w[j*ws : j*ws+in] {
			p.w[at+k*lanes] = v
		}
		if bias != nil {
			p.bias[j] = bias[j]
		}
	}
	return p
}

// Dims returns the length of a row that goes in and of a row that comes out.
func (p *Weights) Dims() (in, out int) { return p.row, p.out }

// Mul stores X·Wᵀ + bias in dst (n×out) for the n rows of x (n×in).
func (p *Weights) Mul(dst, x []float32, n, threads int) {
	p.check(len(dst), x, n, p.out)
	p.each(x, n, threads, dst, ending{store: storeSums, dst: dst})
}

func storeSums(p *Weights, _ *level, e ending, b block, c []float32, _ *scratch) {
	for i := range b.rows {
		copy(e.dst[(b.row+i)*p.out+b.col:][:b.cols], c[i*pitch:])
	}
}

// streamed is the number of features, 4 MiB of them, from which they are stored past
// the caches: they do not stay there until they are read, and a cache would fetch
// each line before it is overwritten, which takes as long as computing it.
const streamed = 1 << 20

// Cos stores scale·cos 2π(x·w_j + b_j) in dst (n×out) for the n rows of x: the
// weights and the bias are in turns. The error is below 2e-7·scale for the
// angle as the chain rounded it. Angles of 2²³ turns and more count as whole
// turns; a NaN or infinite angle gives NaN.
func (p *Weights) Cos(dst, x []float32, n int, scale float32, threads int) {
	p.check(len(dst), x, n, p.out)
	p.each(x, n, threads, nil, ending{store: storeCos, dst: dst, scale: scale, stream: n*p.out >= streamed})
}

func storeCos(p *Weights, l *level, e ending, b block, c []float32, _ *scratch) {
	full := b.cols / lanes
	if full > 0 {
		l.cos(e.dst[b.row*p.out+b.col:], p.out, c, pitch, b.rows, full, e.scale, e.stream)
	}
	if rest := b.cols % lanes; rest > 0 {
		c = c[full*lanes:]
		l.cos(c, pitch, c, pitch, b.rows, 1, e.scale, false)
		for i := range b.rows {
			copy(e.dst[(b.row+i)*p.out+b.col+full*lanes:][:rest], c[i*pitch:])
		}
	}
}

// CosSin stores scale·[cos 2π(x·w_j + b_j) for all j | sin 2π(x·w_j + b_j) for
// all j] in dst (n×2out); otherwise as Cos.
func (p *Weights) CosSin(dst, x []float32, n int, scale float32, threads int) {
	p.check(len(dst), x, n, 2*p.out)
	p.each(x, n, threads, nil, ending{store: storeCosSin, dst: dst, scale: scale, stream: n*2*p.out >= streamed})
}

// storeCosSin stores the cosines and sines of a block of angles. It computes a last vector that is not full in
// scratch memory.
func storeCosSin(p *Weights, l *level, e ending, b block, c []float32, s *scratch) {
	d := e.dst[b.row*2*p.out+b.col:]
	full := b.cols / lanes
	if full > 0 {
		l.cosSin(d, 2*p.out, p.out, c, pitch, b.rows, full, e.scale, e.stream)
	}
	if rest := b.cols % lanes; rest > 0 {
		c = c[full*lanes:]
		t := Grow(&s.a32, 2*lanes)
		for i := range b.rows {
			l.cosSin(t, 2*lanes, lanes, c[i*pitch:], pitch, 1, 1, e.scale, false)
			copy(d[i*2*p.out+full*lanes:][:rest], t)
			copy(d[i*2*p.out+full*lanes+p.out:][:rest], t[lanes:])
		}
	}
}

// CosBytes stores round(127·cos 2π(x·w_j + b_j)), ties to even, for the
// n ≤ MaxRows rows of x in dst, which has D = out. The cosine and its product with 127 are as in
// Cos with scale 127. A NaN or infinite angle gives 0.
func (p *Weights) CosBytes(dst *Bytes, x []float32, n, threads int) {
	if dst.d != p.out {
		panic("blas: Bytes of another width than the weights' output")
	}
	p.check(n*p.out, x, n, p.out)
	dst.setRows(n)
	p.each(x, n, threads, nil, ending{store: storeCosBytes, bytes: dst})
	dst.clearPadding()
}

func storeCosBytes(_ *Weights, l *level, e ending, b block, c []float32, _ *scratch) {
	quads := (b.rows + 3) / 4
	for v := 0; v*lanes < b.cols; v++ {
		l.cosBytes(e.bytes.quads(b.col/lanes+v, b.row/4, quads), c[v*lanes:], pitch, quads)
	}
}

// CosSinBytes is CosBytes with D = 2·out: the cosines of all j, then the sines.
func (p *Weights) CosSinBytes(dst *Bytes, x []float32, n, threads int) {
	if dst.d != 2*p.out {
		panic("blas: Bytes of another width than twice the weights' output")
	}
	p.check(n*p.out, x, n, p.out)
	dst.setRows(n)
	p.each(x, n, threads, nil, ending{store: storeCosSinBytes, bytes: dst})
	dst.clearPadding()
}

// storeCosSinBytes stores the cosines and sines of a block of angles on the grid.
func storeCosSinBytes(p *Weights, l *level, e ending, b block, c []float32, _ *scratch) {
	quads, dst := (b.rows+3)/4, e.bytes
	for v := 0; v*lanes < b.cols; v++ {
		col := b.col + v*lanes
		if cols := min(lanes, b.cols-v*lanes); cols < lanes || p.out%lanes != 0 {
			// A panel of the block is shared by cosines and sines, or by the
			// sines of two panels of weights.
			var t [2][rowRun * lanes]int8
			l.cosSinBytes(t[0][:], t[1][:], c[v*lanes:], pitch, quads)
			dst.scatter(t[0][:], b.row/4, quads, col, cols)
			dst.scatter(t[1][:], b.row/4, quads, p.out+col, cols)
			continue
		}
		l.cosSinBytes(dst.quads(col/lanes, b.row/4, quads), dst.quads((p.out+col)/lanes, b.row/4, quads), c[v*lanes:],
			pitch, quads)
	}
}

func (p *Weights) check(have int, x []float32, n, out int) {
	switch {
	case n < 0:
		panic("blas: negative number of rows")
	case have < n*out:
		panic("blas: destination too short")
	case len(x) < n*p.row:
		panic("blas: source too short")
	}
}

// block is a part of the output: rows×cols from (row, col) on.
type block struct{ row, rows, col, cols int }

// ending is what happens to the blocks of X·Wᵀ + bias. It is not a closure, because a closure would be
// allocated in every call, even for a single row.
type ending struct {
	store  func(p *Weights, l *level, e ending, b block, c []float32, s *scratch)
	dst    []float32
	bytes  *Bytes
	scale  float32
	stream bool
}

// each computes X·Wᵀ + bias block by block and stores each; rows of c
// are pitch apart, and c has whole quads of rows and whole panels of columns,
// of which those outside the block hold anything. If dst is given, blocks of
// whole panels go straight there instead.
func (p *Weights) each(x []float32, n, threads int, dst []float32, e ending) {
	if n == 0 || p.out == 0 {
		return
	}
	l := active()
	items := (n + rowRun - 1) / rowRun * p.strips()
	if threads < 2 || items < 2 {
		s := scratches.Get().(*scratch)
		for item := range items {
			p.item(l, x, n, dst, e, item, s)
		}
		scratches.Put(s)
		return
	}
	parallel(threads, items, func(item int, s *scratch) { p.item(l, x, n, dst, e, item, s) })
}

func (p *Weights) strips() int { return (p.panels + strip - 1) / strip }

// item is a work item of each: a strip of the outputs of a run of rows.
func (p *Weights) item(l *level, x []float32, n int, dst []float32, e ending, item int, s *scratch) {
	strips := p.strips()
	b := block{row: item / strips * rowRun, col: item % strips * pitch}
	b.rows, b.cols = min(rowRun, n-b.row), min(pitch, p.out-b.col)
	xb := x[b.row*p.row : (b.row+b.rows)*p.row]
	c, cs := Grow(&s.f32, rowRun*pitch), pitch
	direct := dst != nil && b.cols%lanes == 0
	if direct {
		c, cs = dst[b.row*p.out+b.col:], p.out
	}
	first := b.col / lanes
	p.strip(l, c, cs, xb, b.rows, first, min(first+strip, p.panels))
	if p.row > p.in {
		p.gather(l, c, cs, xb, b.rows, item%strips)
	}
	if !direct {
		e.store(p, l, e, b, c, s)
	}
}

// strip computes the panels [first, last) of X·Wᵀ + bias for the rows of x. Rows of
// c are cs apart.
func (p *Weights) strip(l *level, c []float32, cs int, x []float32, rows, first, last int) {
	// The chains are cut into equal runs of at most kRun steps, a single run
	// where they are little longer.
	runs := 1
	if p.in > kRun*4/3 {
		runs = (p.in + kRun - 1) / kRun
	}
	run := max(1, (p.in+runs-1)/runs)
	for v := first; v < last; v += group {
		vecs := min(group, last-v)
		cv, w := c[(v-first)*lanes:], p.w[v*lanes*p.in:]
		init, is := p.bias[v*lanes:], 0
		for k := 0; k < p.in || k == 0; k += run {
			l.mul(cv, cs, init, is, x[min(k, len(x)):], p.row, w[k*lanes:], lanes*p.in, min(run, p.in-k), rows, vecs)
			init, is = cv, cs
		}
	}
}

// Hot describes one-hot columns, the last ones of a row: column i of them is Values[i] or 0, and
// few are not 0. Instead of these columns, a row ends in Groups ascending indices of the columns
// that are not 0. An index out of range stands for no column.
type Hot struct {
	Values []float32
	Groups int
}

// PackHot packs w (out×in) and bias like Pack, for rows whose last len(hot.Values) columns are
// given by their indices: a row has in−len(hot.Values)+hot.Groups numbers. Products then take a
// fused multiply-add for each index, and have the same bits as with all of the zeros, except the
// sign of a zero.
func PackHot(w, bias []float32, out, in int, hot Hot) *Weights {
	n := len(hot.Values)
	if n > in || hot.Groups < 0 {
		panic("blas: more hot columns than columns, or a negative number of groups")
	}
	if out < 0 || len(w) < out*in {
		panic("blas: weights shorter than out×in")
	}
	p := pack(w, bias, out, in-n, in)
	p.row, p.hot = p.in+hot.Groups, append([]float32(nil), hot.Values...)
	p.gathered = Make[float32](p.panels * lanes * n)
	for j := range out {
		at, wide := p.hotStrip(j / pitch)
		at += j % pitch
		for _, v := range w[j*in+p.in : (j+1)*in] {
			p.gathered[at] = v
			at += wide
		}
	}
	return p
}

// hotStrip returns where the weights of the hot columns for a strip of outputs begin, and how many
// there are for each column: they lie side by side.
func (p *Weights) hotStrip(strip int) (at, wide int) {
	first := strip * pitch
	return first * len(p.hot), min(pitch, p.panels*lanes-first)
}

// gather continues the chains of a strip of outputs by the hot columns of the rows.
func (p *Weights) gather(l *level, c []float32, cs int, x []float32, rows, strip int) {
	at, wide := p.hotStrip(strip)
	for i := range rows {
		to := c[i*cs:][:wide]
		for _, v := range x[i*p.row+p.in : (i+1)*p.row] {
			if !(v >= 0 && v < float32(len(p.hot))) {
				continue
			}
			k := int(v)
			l.axpy(p.hot[k], p.gathered[at+k*wide:][:wide], to)
		}
	}
}
