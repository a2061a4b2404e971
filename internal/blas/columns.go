package blas

// Columns calls fill with a block of d columns on the same grid. fill must give it as many rows as b has.
// Its columns then become the columns of b from first on. Columns panics if b has fewer columns, or if
// the number of rows differs.
//
// Whole panels are filled in place; other columns are copied, and so are high limbs.
func (b *Bytes) Columns(first, d int, fill func(part *Bytes)) {
	if first < 0 || d < 0 || first > b.d-d {
		panic("blas: columns outside of the block")
	}
	part, ok := b.parts[[2]int{first, d}]
	if !ok {
		if first%lanes == 0 && d%lanes == 0 {
			part = &Bytes{d: d, most: b.most, data: b.data[first/lanes*panelBytes : (first+d)/lanes*panelBytes], within: true}
		} else {
			part = NewGrid(d, b.most)
		}
		if b.parts == nil {
			b.parts = map[[2]int]*Bytes{}
		}
		b.parts[[2]int{first, d}] = part
	}
	fill(part)
	if part.n != b.n {
		panic("blas: columns of another number of rows")
	}
	if !part.within {
		b.place(first, d, b.data, part.data)
	}
	if part.high.used.Load() {
		b.place(first, d, b.high.use(len(b.data)), part.high.data)
	}
}

// place copies the columns of one limb of a part.
func (b *Bytes) place(first, d int, to, from []int8) {
	quads := (b.n + 3) / 4
	for c := range d {
		src := from[c/lanes*panelBytes+c%lanes*4:]
		dst := to[(first+c)/lanes*panelBytes+(first+c)%lanes*4:]
		for q := range quads {
			*(*[4]int8)(dst[q*64:]) = *(*[4]int8)(src[q*64:])
		}
	}
}
