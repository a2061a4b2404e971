package blas

import "math/bits"

// Hadamard replaces each of the n rows of x, of d numbers, by its Walsh–Hadamard
// transform in the natural (Hadamard) order, without a factor: entry i of a row
// becomes Σ_j (-1)^popcount(i&j)·x_j. The sums are in the order of the fast transform,
// log₂ d stages of butterflies (a, b) → (a+b, a-b), between neighbours first and
// between the halves of the row last. It panics unless d is a power of two.
func Hadamard(x []float32, n, d, threads int) {
	if d <= 0 || d&(d-1) != 0 {
		panic("blas: length of a transform is not a power of two")
	}
	if n < 0 || len(x) < n*d {
		panic("blas: fewer than n rows to transform")
	}
	l := active()
	rows := max(1, 1<<14/d)
	if threads < 2 || n <= rows {
		l.transform(x, d, 0, n)
		return
	}
	parallel(threads, (n+rows-1)/rows, func(item int, _ *scratch) {
		l.transform(x, d, item*rows, min(n, (item+1)*rows))
	})
}

// transform is Hadamard of the rows from first to before end.
func (l *isa) transform(x []float32, d, first, end int) {
	for i := first; i < end; i++ {
		l.hadamard(x[i*d : (i+1)*d])
	}
}

// hadamardStages makes the butterflies at distances from h to half of x.
func hadamardStages(x []float32, h int) {
	for ; h < len(x); h *= 2 {
		for i := 0; i < len(x); i += 2 * h {
			a, b := x[i:i+h], x[i+h:i+2*h]
			for j, v := range a {
				w := b[j]
				a[j], b[j] = v+w, v-w
			}
		}
	}
}

func hadamardGo(x []float32) { hadamardStages(x, 1) }

// Affine stores x_ij·s_j + b_j in dst for the n rows of x, of d = len(s) numbers,
// by a fused multiply-add; x_ij·s_j, if b is nil. dst may be x.
func Affine(dst, x, s, b []float32, n int) {
	d := len(s)
	if b != nil && len(b) != d {
		panic("blas: vectors of different length")
	}
	if n < 0 || len(x) < n*d || len(dst) < n*d {
		panic("blas: fewer than n rows")
	}
	l := active()
	for i := range n {
		l.affine(dst[i*d:(i+1)*d], x[i*d:(i+1)*d], s, b)
	}
}

// affineGo does a row, of any length.
func affineGo(dst, x, s, b []float32) {
	if b == nil {
		for j, v := range s {
			dst[j] = float32(x[j] * v)
		}
		return
	}
	for j, v := range s {
		dst[j] = fma32(x[j], v, b[j])
	}
}

// CosTurns stores scale·cos 2πx_i in dst for all of x, as Weights.Cos does. dst
// may be x.
func CosTurns(dst, x []float32, scale float32) {
	if len(dst) < len(x) {
		panic("blas: destination too short")
	}
	l := active()
	whole := len(x) / lanes
	if whole > 0 {
		l.cos(dst, whole*lanes, x, whole*lanes, 1, whole, scale, false)
	}
	if rest := x[whole*lanes:]; len(rest) > 0 {
		var t [lanes]float32
		copy(t[:], rest)
		l.cos(t[:], lanes, t[:], lanes, 1, 1, scale, false)
		copy(dst[whole*lanes:], t[:len(rest)])
	}
}

// CosSinTurns stores scale·cos 2πx_i in cos and scale·sin 2πx_i in sin, as
// Weights.CosSin does. Either may be x.
func CosSinTurns(cos, sin, x []float32, scale float32) {
	if len(cos) < len(x) || len(sin) < len(x) {
		panic("blas: destination too short")
	}
	l := active()
	const run = 16 * lanes
	var t [2 * run]float32
	for len(x) > 0 {
		n := min(run, len(x))
		from, vecs := x, n/lanes
		if n < run {
			// The last piece is moved to where it may be read beyond its end.
			copy(t[:run], x)
			from, vecs = t[:run], (n+lanes-1)/lanes
		}
		l.cosSin(t[:], 2*run, run, from, run, 1, vecs, scale, false)
		copy(cos, t[:n])
		copy(sin, t[run:run+n])
		cos, sin, x = cos[n:], sin[n:], x[n:]
	}
}

// passes calls stages for the butterflies of x from distance h on: three stages
// at once as long as there are three.
func passes(x []float32, h int, stages func(x []float32, h, factor int)) {
	for left := bits.Len(uint(len(x)/h)) - 1; left > 0; {
		s := min(3, left)
		for i := 0; i < len(x); i += h << s {
			stages(x[i:i+h<<s], h, 1<<s)
		}
		h, left = h<<s, left-s
	}
}
