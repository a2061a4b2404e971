package blas

// Hot describes one-hot columns, the last ones of a row: column i of them is Values[i] or 0, and
// few are not 0. Instead of these columns, a row ends in Groups ascending indices of the columns
// that are not 0. An index out of range stands for no column.
type Hot struct {
	Values []float32
	Groups int
}

// PackHot packs w (out×in) and bias like Pack, for rows whose last len(hot.Values) columns are
// given by their indices: a row has in−len(hot.Values)+hot.Groups numbers. Products then take a
// fused multiply-add for each index, and have the same bits as with all of the zeros, but for the
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
