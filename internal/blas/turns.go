package blas

import "math"

// sin 2πu = u·P(u²) for |u| ≤ ¼: a minimax fit (Lawson's algorithm), moved on
// the float32 grid until the chain below gave cos 0 = 1 exactly, nothing above
// 1, and the least error over all of it: 1.33e-7 for the cosine and 1.32e-7 for
// the sine, over every third float32 of a turn from 2⁻¹³ on.
const (
	sin0 = 0x40c90fda // 6.2831850
	sin1 = 0xc2255dda // -41.3416519
	sin2 = 0x42a333b5 // 81.6009903
	sin3 = 0xc299194b // -76.5494003
	sin4 = 0x421e20e6 // 39.5321274
)

var (
	turn0 = math.Float32frombits(sin0)
	turn1 = math.Float32frombits(sin1)
	turn2 = math.Float32frombits(sin2)
	turn3 = math.Float32frombits(sin3)
	turn4 = math.Float32frombits(sin4)
)

// reduce returns t minus the nearest integer, ties to even: exact, in [-½, ½].
func reduce(t float32) float32 {
	return t - float32(math.RoundToEven(float64(t)))
}

// sinQuarter returns sin 2πu for |u| ≤ ¼.
func sinQuarter(u float32) float32 {
	v := float32(u * u)
	p := fma32(turn4, v, turn3)
	p = fma32(p, v, turn2)
	p = fma32(p, v, turn1)
	p = fma32(p, v, turn0)
	return float32(p * u)
}

func abs32(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }

// cosReduced returns cos 2πr = sin 2π(¼ - |r|) for |r| ≤ ½.
func cosReduced(r float32) float32 { return sinQuarter(0.25 - abs32(r)) }

// sinReduced returns sin 2πr for |r| ≤ ½, by sin 2π|r| = sin 2π(½ - |r|).
func sinReduced(r float32) float32 {
	a := abs32(r)
	// The second operand is taken for NaN, as by VMINPS; all are NaN then.
	u := float32(0.5) - a
	if a < u {
		u = a
	}
	return sinQuarter(math.Float32frombits(math.Float32bits(u) | math.Float32bits(r)&(1<<31)))
}

func cosGo(dst []float32, ds int, src []float32, ss int, rows, vecs int, scale float32, _ bool) {
	for i := range rows {
		d := dst[i*ds:][:16*vecs]
		for j, t := range src[i*ss:][:16*vecs] {
			d[j] = float32(cosReduced(reduce(t)) * scale)
		}
	}
}

func cosSinGo(dst []float32, ds, sin int, src []float32, ss int, rows, vecs int, scale float32, _ bool) {
	for i := range rows {
		c := dst[i*ds:][:16*vecs]
		s := dst[i*ds+sin:][:16*vecs]
		for j, t := range src[i*ss:][:16*vecs] {
			r := reduce(t)
			c[j] = float32(cosReduced(r) * scale)
			s[j] = float32(sinReduced(r) * scale)
		}
	}
}

// toByte rounds v to the nearest integer, ties to even; NaN gives 0. |v| ≤ 127.
func toByte(v float32) int8 {
	if v != v {
		return 0
	}
	return int8(math.RoundToEven(float64(v)))
}

func cosBytesGo(dst []int8, src []float32, ss, quads int) {
	for i := range 4 * quads {
		d := dst[i/4*64+i%4:]
		for j, t := range src[i*ss:][:16] {
			d[4*j] = toByte(float32(cosReduced(reduce(t)) * 127))
		}
	}
}

func cosSinBytesGo(cos, sin []int8, src []float32, ss, quads int) {
	for i := range 4 * quads {
		c, s := cos[i/4*64+i%4:], sin[i/4*64+i%4:]
		for j, t := range src[i*ss:][:16] {
			r := reduce(t)
			c[4*j] = toByte(float32(cosReduced(r) * 127))
			s[4*j] = toByte(float32(sinReduced(r) * 127))
		}
	}
}

// quantizeGo is the twin of the kernels for quantize.
func quantizeGo(dst []int8, src []float32, ss, quads int, f float32) (cut int64) {
	for i := range 4 * quads {
		d := dst[i/4*64+i%4:]
		for j, x := range src[i*ss:][:16] {
			v := float32(x * f)
			if !(abs32(v) < 127.5) {
				cut++
			}
			// Comparisons, not min and max, which differ on NaN.
			if v > 127 {
				v = 127
			} else if v < -127 {
				v = -127
			}
			d[4*j] = toByte(v)
		}
	}
	return cut
}
