package blas

// Weighted is a block of features whose rows have weights, which are whole numbers. Its sums are exact,
// and equal the sums of a block in which each row is repeated as often as its weight says.
//
// The largest common factor of the weights multiplies the sums of the block, so rows of
// one weight cost what rows without weights do. Otherwise one side of each product is
// the features times the weights, whole numbers again, split into limbs of a byte:
//
//	w·z = v₀ + 254·v₁ + 254²·v₂ + …,   |vᵢ| ≤ 127,   Σ w·z·z' = Σ 254ⁱ Σ vᵢ·z'
//
// so weights of up to 255 cost two products of bytes for one, and weights of up to
// 64,770 three.
type Weighted struct {
	z     *Bytes
	scale float64 // the common factor
	limbs int     // of the features times what the factor leaves of the weights; 0 if that is 1
	data  []int8  // the limbs, each as Bytes.data
}

// Set makes w the block z with one weight for each row, from 0 to 2³²−1. z must not change
// while w is used. It panics if the number of weights differs, or if one is out of range.
func (w *Weighted) Set(z *Bytes, weights []int64, threads int) {
	if len(weights) != z.n {
		panic("blas: another number of weights than of rows")
	}
	var factor, most int64
	for _, v := range weights {
		if v < 0 || v >= 1<<32 {
			panic("blas: weight out of range")
		}
		factor, most = gcd(factor, v), max(most, v)
	}
	w.z, w.scale, w.limbs = z, float64(factor), 0
	equal := true
	for _, v := range weights {
		equal = equal && v == factor
	}
	if equal {
		return
	}
	// The largest feature times the largest weight must fit in the limbs.
	largest := most / factor * MaxByte
	if z.limbs() == 2 {
		largest = most / factor * MaxSteps
	}
	w.limbs = 1
	for reach := int64(MaxByte); reach < largest; reach = reach*limbBase + MaxByte {
		w.limbs++
	}
	size := len(z.data)
	if cap(w.data) < w.limbs*size {
		w.data = Make[int8](w.limbs * size)
	}
	w.data = w.data[:w.limbs*size]
	rows := make([]int64, (z.n+3)/4*4)
	for i, v := range weights {
		rows[i] = v / factor
	}
	parallel(threads, z.panels(), func(p int, _ *scratch) { w.multiply(p, rows) })
}

// all returns the limbs.
func (w *Weighted) all() [][]int8 {
	size := len(w.z.data)
	limbs := make([][]int8, w.limbs)
	for i := range limbs {
		limbs[i] = w.data[i*size:][:size]
	}
	return limbs
}

// multiply stores the limbs of panel p.
func (w *Weighted) multiply(p int, rows []int64) {
	quads, size, split := len(rows)/4, len(w.z.data), w.z.limbs() == 2
	low := w.z.quads(p, 0, quads)
	at := func(limb int) []int8 { return w.data[limb*size+p*panelBytes:][:64*quads] }
	switch {
	case !split && w.limbs == 2:
		multiply2(at(0), at(1), low, rows)
		return
	case !split && w.limbs == 3:
		multiply3(at(0), at(1), at(2), low, rows)
		return
	}
	var high []int8
	if split {
		high = w.z.quads(p+w.z.panels(), 0, quads)
	}
	var v [64]int64
	for q := range quads {
		four := (*[4]int64)(rows[4*q:])
		for i, x := range (*[64]int8)(low[64*q:]) {
			v[i] = int64(x) * four[i&3]
		}
		if split {
			for i, x := range (*[64]int8)(high[64*q:]) {
				v[i] += limbBase * int64(x) * four[i&3]
			}
		}
		for limb := range w.limbs {
			to := (*[64]int8)(at(limb)[64*q:])
			for i, x := range v {
				// The nearest multiple of the base, the one nearer to 0 of two, by
				// unsigned division, which is faster.
				const shift = limbBase << 48
				h := int64((uint64(x+shift+limbBase/2-1)+uint64(x)>>63)/limbBase) - 1<<48
				to[i] = int8(x - limbBase*h)
				v[i] = h
			}
		}
	}
}

// nearest returns a multiple of the base, divided by it, from which x is at most 127, for
// |x| < 2²³: the nearest, and the one nearer to 0 of two.
func nearest(x int64) int64 {
	const inverse = (1 << 32) / limbBase // its error times 2²³ is less than 1/254
	return (x*inverse + 1<<31) >> 32
}

func multiply2(v0, v1, z []int8, rows []int64) {
	for q := range len(rows) / 4 {
		four := (*[4]int64)(rows[4*q:])
		z, v0, v1 := (*[64]int8)(z[64*q:]), (*[64]int8)(v0[64*q:]), (*[64]int8)(v1[64*q:])
		for i, f := range z {
			x := int64(f) * four[i&3]
			h := nearest(x)
			v0[i], v1[i] = int8(x-limbBase*h), int8(h)
		}
	}
}

func multiply3(v0, v1, v2, z []int8, rows []int64) {
	for q := range len(rows) / 4 {
		four := (*[4]int64)(rows[4*q:])
		z, v0, v1, v2 := (*[64]int8)(z[64*q:]), (*[64]int8)(v0[64*q:]), (*[64]int8)(v1[64*q:]), (*[64]int8)(v2[64*q:])
		for i, f := range z {
			x := int64(f) * four[i&3]
			h := nearest(x)
			g := nearest(h)
			v0[i], v1[i], v2[i] = int8(x-limbBase*h), int8(h-limbBase*g), int8(g)
		}
	}
}

// Gram adds Σ w·z·zᵀ over the rows to the tiles, as Gram adds ZᵀZ.
func (w *Weighted) Gram(tiles [][]float64, threads int) { gram(tiles, w.z, w, threads) }

// ClassSums adds w·z of row i to column class[i] of r, as ClassSums adds z.
func (w *Weighted) ClassSums(r []float64, class []int32, k, threads int) {
	classSums(r, w.z, w, class, k, threads)
}

// Targets adds Σ w·z·yᵀ over the rows to r, as Targets adds ZᵀY.
func (w *Weighted) Targets(r []float64, y []int32, k, threads int) {
	targets(r, w.z, w, y, k, threads)
}

// gcd returns the greatest common divisor; gcd(a, 0) is a.
func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
