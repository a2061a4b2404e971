package blas

// Plain Go multiplies features three at a time, as fields of 64-bit integers: with
//
//	x = a₀ + 2²¹a₁ + 2⁴²a₂,   y = b₂ + 2²¹b₁ + 2⁴²b₀
//
// bits 42 to 62 of x·y are a₀b₀ + a₁b₁ + a₂b₂, for as many products as fit in 21 bits. What the fields
// below borrow from it is less than a half, and bit 63 is left out.
const (
	fieldBits = 21
	packRun   = 20                         // integers whose products fit: 20·3·127² < 2²⁰
	runQuads  = packRun * 3 / 4            // and the quads of rows that they hold
	packRuns  = 1 + (MaxRows/4-1)/runQuads // of a panel
)

// packed holds the features of 2 columns in the rows of a run.
type packed [packRun / 4][4][2]int64

// packs are the columns of a panel in a run.
type packs [lanes / 2]packed

// packPanel packs the columns of a panel, in runs, with the order of x in the formula above (forward), or of y.
func packPanel(dst []packs, panel []int8, d direction) {
	var zeros [64]int8
	three := func(a, b, c int8) int64 {
		if d == backward {
			a, c = c, a
		}
		return int64(a) + int64(b)<<fieldBits + int64(c)<<(2*fieldBits)
	}
	quad := func(at int) *[64]int8 {
		if at < len(panel) {
			return (*[64]int8)(panel[at:])
		}
		return &zeros
	}
	for from := 0; from < len(panel); from += runQuads * 64 {
		to := &dst[from/(runQuads*64)]
		for i := range packRun / 4 {
			// Three quads make four integers.
			at := from + i*3*64
			p, q, r := quad(at), quad(at+64), quad(at+128)
			for c := range lanes {
				x, y, z := (*[4]int8)(p[4*c:]), (*[4]int8)(q[4*c:]), (*[4]int8)(r[4*c:])
				d, e := &to[c/2][i], c%2
				d[0][e] = three(x[0], x[1], x[2])
				d[1][e] = three(y[0], y[1], y[2])
				d[2][e] = three(z[0], z[1], z[2])
				d[3][e] = three(x[3], y[3], z[3])
			}
		}
	}
}

func expandGo(z *operand, p int) { packPanel(z.packs[p*packRuns:][:packRuns], z.panel(p), backward) }

// gramGo is the twin of the kernels for gram.
func gramGo(g []float64, gs int, z *operand, a, b int) {
	var left [packRuns]packs
	packPanel(left[:], z.panel(a), forward)
	var sums [width][lanes]int32
	for run := range (z.quads + runQuads - 1) / runQuads {
		for c := 0; c < width; c += 2 {
			right := &z.packs[(b+c/lanes)*packRuns+run][c%lanes/2]
			s0, s1 := &sums[c], &sums[c+1]
			for i := range left[run] {
				s00, s01, s10, s11 := gramFour(&left[run][i], right)
				s0[2*i] += field(s00)
				s1[2*i] += field(s01)
				s0[2*i+1] += field(s10)
				s1[2*i+1] += field(s11)
			}
		}
	}
	for c := range sums {
		for i, s := range sums[c] {
			g[i*gs+c] += float64(s)
		}
	}
}

// gramFour returns the sums of products of two columns with two others.
func gramFour(x, y *packed) (s00, s01, s10, s11 int64) {
	for i := range x {
		x, y := &x[i], &y[i]
		x0, x1, y0, y1 := x[0][0], x[0][1], y[0][0], y[0][1]
		s00, s01, s10, s11 = s00+x0*y0, s01+x0*y1, s10+x1*y0, s11+x1*y1
		x0, x1, y0, y1 = x[1][0], x[1][1], y[1][0], y[1][1]
		s00, s01, s10, s11 = s00+x0*y0, s01+x0*y1, s10+x1*y0, s11+x1*y1
		x0, x1, y0, y1 = x[2][0], x[2][1], y[2][0], y[2][1]
		s00, s01, s10, s11 = s00+x0*y0, s01+x0*y1, s10+x1*y0, s11+x1*y1
		x0, x1, y0, y1 = x[3][0], x[3][1], y[3][0], y[3][1]
		s00, s01, s10, s11 = s00+x0*y0, s01+x0*y1, s10+x1*y0, s11+x1*y1
	}
	return s00, s01, s10, s11
}

// field returns the highest whole field of a sum.
func field(s int64) int32 {
	const below = 2 * fieldBits
	return int32((s + 1<<(below-1)) << 1 >> (below + 1))
}
