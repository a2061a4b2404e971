package blas

// Max stores in dst (n×out/q) the largest of every q outputs that follow one
// another, of X·Wᵀ + bias for the n rows of x: maxout. A group with a NaN gives
// NaN, one whose largest number is ±0 gives +0. It panics unless q > 0 divides
// the number of outputs.
func (p *Weights) Max(dst, x []float32, n, q, threads int) {
	if q <= 0 || p.out%q != 0 {
		panic("blas: outputs are not whole groups")
	}
	if p.row > p.in {
		panic("blas: Max of rows with hot columns")
	}
	groups := p.out / q
	p.check(len(dst), x, n, groups)
	if n == 0 || groups == 0 {
		return
	}
	l := active()
	// A work item is a run of groups that fits in a strip wherever it begins, or a
	// group that is cut into strips.
	per := max(1, (pitch-lanes+1)/q)
	if pitch%q == 0 {
		per = pitch / q
	}
	items := (groups + per - 1) / per
	all := (n + rowRun - 1) / rowRun * items
	if threads < 2 || all < 2 {
		s := scratches.Get().(*scratch)
		for item := range all {
			p.max(l, dst, x, n, q, per, item, s)
		}
		scratches.Put(s)
		return
	}
	parallel(threads, all, func(item int, s *scratch) { p.max(l, dst, x, n, q, per, item, s) })
}

// max is a work item of Max: a run of rows and of per groups.
func (p *Weights) max(l *isa, dst, x []float32, n, q, per, item int, s *scratch) {
	groups := p.out / q
	items := (groups + per - 1) / per
	row := item / items * rowRun
	rows := min(rowRun, n-row)
	first := item % items * per
	last := min(groups, first+per)
	// What a slide reads after the last row counts for nothing, but is read.
	c := Grow(&s.f32, rowRun*pitch+pitch)
	for col := first * q; col < last*q; {
		panel, off := col/lanes, col%lanes
		end := min(last*q, panel*lanes+pitch)
		p.strip(l, c, pitch, x[row*p.in:(row+rows)*p.in], rows, panel, (end+lanes-1)/lanes)
		window := min(q, end-col)
		vecs := (end - panel*lanes + lanes - 1) / lanes
		for have := 1; have < window; {
			// Windows of twice the width, or such as overlap to give the last one.
			shift := min(have, window-have)
			l.slide(c, pitch, shift, rows, vecs)
			have += shift
		}
		for i := range rows {
			to := dst[(row+i)*groups+first:][:last-first]
			for g := range to {
				v := c[i*pitch+off+g*window]
				if col > first*q {
					v = larger(to[g], v)
				}
				to[g] = v + 0
			}
		}
		col = end
	}
}

// larger returns the larger of a and b, NaN if either is, and b of two zeros.
func larger(a, b float32) float32 {
	if a > b || a != a {
		return a
	}
	return b
}

// slideGo is the twin of the kernels for slide.
func slideGo(x []float32, xs, shift, rows, vecs int) {
	for i := range rows {
		r := x[i*xs:]
		for j := range vecs * lanes {
			r[j] = larger(r[j], r[j+shift])
		}
	}
}
