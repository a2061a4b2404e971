package blas

import "slices"

// MaxTarget bounds the integers that Targets takes.
const MaxTarget = 32767

// ClassSums adds row i of the block to column class[i] of r (D×k), in units of
// the grid: r = Zᵀ·Y for one-hot Y, exact. Classes are in [0, k).
func ClassSums(r []float64, z *Bytes, class []int32, k, threads int) {
	classSums(r, z, nil, class, k, threads)
}

// classSums adds to r (d×k) the sum of the features of the rows of each class, times the weights of w.
func classSums(r []float64, z *Bytes, w *Weighted, class []int32, k, threads int) {
	if len(class) < z.n {
		panic("blas: fewer classes than rows")
	}
	if k < 0 || len(r) < z.d*k {
		panic("blas: destination too short")
	}
	class = class[:z.n]
	if z.n == 0 || z.d == 0 {
		return
	}
	if slices.ContainsFunc(class, func(c int32) bool { return c < 0 || int(c) >= k }) {
		panic("blas: class out of range")
	}
	// The table of sums has a row for each class that occurs, however large k.
	present := slices.Clone(class)
	slices.Sort(present)
	present = slices.Compact(present)
	ranks := make([]int32, (z.n+3)/4*4) // the padding rows are zeros of any class
	for i, c := range class {
		rank, _ := slices.BinarySearch(present, c)
		ranks[i] = int32(rank)
	}
	l := active()
	z.eachLimb(w, threads, func(p int, panel []int8, weight float64, s *scratch) {
		acc := Grow(&s.i32, len(present)*lanes)
		clear(acc)
		l.classes(acc, panel[:(z.n+3)/4*64], ranks)
		const classesAtOnce = 64 // whose sums stay in the cache
		for q := 0; q < len(present); q += classesAtOnce {
			part := present[q:min(q+classesAtOnce, len(present))]
			for c := range min(lanes, z.d-p*lanes) {
				row := r[(p*lanes+c)*k:][:k]
				for i, class := range part {
					row[class] += weight * float64(acc[(q+i)*lanes+c])
				}
			}
		}
	})
}

// eachLimb calls f for each limb of each panel p of columns, on at most threads goroutines. If w
// has limbs, they are limbs of the rows times their weights, otherwise of the rows themselves. The
// sums of a limb count weight times. Limbs of one panel come one after another, the lowest first.
// f may use s until it returns, and must not change panel.
func (b *Bytes) eachLimb(w *Weighted, threads int, f func(p int, panel []int8, weight float64, s *scratch)) {
	data, scale := [][]int8{b.data}, 1.0
	if b.limbs() == 2 {
		data = append(data, b.high.data)
	}
	if w != nil {
		scale = w.scale
		if w.limbs > 0 {
			data = w.all()
		}
	}
	parallel(threads, (b.d+lanes-1)/lanes, func(p int, s *scratch) {
		weight := scale
		for _, limb := range data {
			f(p, limb[p*panelBytes:][:panelBytes], weight, s)
			weight *= limbBase
		}
	})
}

func classesGo(acc []int32, panel []int8, class []int32) {
	for i, c := range class {
		row := acc[c*lanes:][:lanes]
		from := panel[i/4*64+i%4:]
		for j := range row {
			row[j] += int32(from[j*4])
		}
	}
}

// Targets adds Zᵀ·Y to r (D×k), in units of both grids, for whole numbers y (n×k)
// of at most ±MaxTarget: exact.
func Targets(r []float64, z *Bytes, y []int32, k, threads int) {
	targets(r, z, nil, y, k, threads)
}

// targets adds to r (d×k) the products of the features with the k targets of each row, times the weights of w.
func targets(r []float64, z *Bytes, w *Weighted, y []int32, k, threads int) {
	if k < 0 || len(y) < z.n*k {
		panic("blas: fewer targets than rows")
	}
	if len(r) < z.d*k {
		panic("blas: destination too short")
	}
	y = y[:z.n*k]
	if slices.ContainsFunc(y, func(v int32) bool { return v < -MaxTarget || v > MaxTarget }) {
		panic("blas: target out of range")
	}
	if z.n == 0 || z.d == 0 || k == 0 {
		return
	}
	quads := (z.n + 3) / 4
	pairs := make([]int16, quads*4*k)
	for i := range z.n {
		for t, v := range y[i*k : (i+1)*k] {
			pairs[(i/4*k+t)*4+i%4/2+i%2*2] = int16(v)
		}
	}
	l := active()
	z.eachLimb(w, threads, func(p int, panel []int8, weight float64, s *scratch) {
		acc := Grow(&s.i32, k*lanes)
		for q := 0; q < quads; q += targetRows / 4 {
			n := min(targetRows/4, quads-q)
			l.targets(acc, panel[q*64:(q+n)*64], pairs[q*4*k:], 4*k, n, k)
			for c := range min(lanes, z.d-p*lanes) {
				row := r[(p*lanes+c)*k:][:k]
				for t := range row {
					row[t] += weight * float64(acc[t*lanes+c])
				}
			}
		}
	})
}

// targetRows is how many products of a feature and a target fit in 32 bits:
// 512·127·32767 < 2³¹.
const targetRows = 512

func targetsGo(acc []int32, panel []int8, y []int16, ys, quads, k int) {
	for t := range k {
		row := acc[t*lanes:][:lanes]
		clear(row)
		for q := range quads {
			v := (*[4]int16)(y[q*ys+4*t:])
			for c := range row {
				z := (*[4]int8)(panel[q*64+4*c:])
				row[c] += int32(z[0])*int32(v[0]) + int32(z[2])*int32(v[1]) + int32(z[1])*int32(v[2]) + int32(z[3])*int32(v[3])
			}
		}
	}
}
