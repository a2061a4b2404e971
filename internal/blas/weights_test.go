package blas

import (
	"fmt"
	"math"
	"testing"
)

// chains is X·Wᵀ + bias as the contract says it.
func chains(x, w, bias []float32, n, in, out int) []float32 {
	c := make([]float32, n*out)
	for i := range n {
		for j := range out {
			var s float32
			if bias != nil {
				s = bias[j]
			}
			for k := range in {
				s = fma32(x[i*in+k], w[j*in+k], s)
			}
			c[i*out+j] = s
		}
	}
	return c
}

// Sizes on either side of every kernel's rows, columns, unrolling and runs.
var mulSizes = []struct{ n, in, out int }{
	{0, 3, 5}, {1, 0, 1}, {3, 0, 50}, {1, 1, 1}, {1, 7, 48}, {2, 2, 15}, {3, 3, 16}, {4, 4, 17}, {5, 5, 31}, {6, 6,
		32}, {7, 7, 33},
	{8, 8, 47}, {9, 9, 48}, {10, 1, 49}, {11, 12, 63}, {12, 13, 64}, {13, 20, 65}, {15, 31, 95}, {16, 33, 96}, {17, 5, 97},
	{95, 3, 20}, {96, 4, 20}, {97, 5, 50}, {193, 2, 17}, {3, 11, 383}, {2, 12, 384}, {9, 10, 385}, {1, 5, 433},
	{1, 767, 3}, {2, 768, 3}, {3, 1023, 17}, {9, 1024, 20}, {9, 1025, 20}, {7, 1537, 49}, {2, 2305, 1},
}

func TestMulIsOneChainForEachElement(t *testing.T) {
	for _, s := range mulSizes {
		r := random(uint64(s.n + 1000*s.in))
		w, bias := normals[float32](r, s.out*s.in), normals[float32](r, s.out)
		if s.n%3 == 0 {
			bias = nil
		}
		x, checkX := guarded[float32](t, s.n*s.in)
		normal(r, x)
		want := chains(x, w, bias, s.n, s.in, s.out)
		p := Pack(w, bias, s.out, s.in)
		if in, out := p.Dims(); in != s.in || out != s.out {
			t.Fatalf("Dims() = %d, %d, want %d, %d", in, out, s.in, s.out)
		}
		eachISA(t, func(t *testing.T) {
			for _, threads := range []int{1, 3} {
				dst, check := guarded[float32](t, s.n*s.out)
				p.Mul(dst, x, s.n, threads)
				check()
				checkX()
				mustSame32(t, fmt.Sprintf("%+v, %d threads", s, threads), dst, want)
			}
		})
	}
}

// Sums close to midpoints of float32, and sums below its normal numbers of factors that are not, are rounded
// once.
func TestMulRoundsOnce(t *testing.T) {
	const in, out = 40, 80
	for _, n := range []int{1, 2, 7} {
		for _, kind := range []string{"midpoints", "small sums", "small factors"} {
			r := random(uint64(n))
			draw := func(len int) []float32 {
				s := make([]float32, len)
				for i := range s {
					s[i] = float32(1-2*r.IntN(2)) * (1 + float32(1-2*r.IntN(2))*float32(math.Ldexp(1, -r.IntN(9)-15)))
					switch kind {
					case "small factors":
						s[i] *= 0x1p-75
					case "small sums":
						s[i] = float32(math.Ldexp(r.NormFloat64(), -65+r.IntN(2)))
					}
				}
				return s
			}
			x, w, bias := draw(n*in), draw(out*in), make([]float32, out)
			for j := range bias {
				bias[j] = float32(1<<24 + 2*r.IntN(1<<20))
				if kind != "midpoints" && r.IntN(4) == 0 {
					bias[j] = math.Float32frombits(r.Uint32N(1 << 23))
				}
			}
			want := chains(x, w, bias, n, in, out)
			wrong := 0
			for i, v := range want {
				s := bias[i%out]
				for k := range in {
					s = float32(float64(x[i/out*in+k])*float64(w[i%out*in+k]) + float64(s))
				}
				if s != v {
					wrong++
				}
			}
			if kind == "midpoints" && wrong < n*out/3 {
				t.Errorf("rounding twice is wrong for only %d of %d sums", wrong, n*out)
			}
			p := Pack(w, bias, out, in)
			eachISA(t, func(t *testing.T) {
				dst := make([]float32, n*out)
				p.Mul(dst, x, n, 1)
				mustSame32(t, fmt.Sprint(kind, " ", n), dst, want)
			})
			c := make([]float32, n*lanes) // also where Go fuses
			for i := range n {
				copy(c[i*lanes:][:lanes], p.bias)
			}
			mulExact(c, lanes, x, in, p.w, in, n)
			for i := range n {
				mustSame32(t, fmt.Sprint("exact, ", kind, " ", n), c[i*lanes:][:lanes], want[i*out:][:lanes])
			}
		}
	}
}

// endings computes all the fused endings, laid out as one slice of numbers.
func endings(t *testing.T, p *Weights, x []float32, n, threads int) []float32 {
	t.Helper()
	_, out := p.Dims()
	var all []float32
	dst, check := guarded[float32](t, n*out)
	p.Cos(dst, x, n, 0.3, threads)
	check()
	all = append(all, dst...)
	dst, check = guarded[float32](t, 2*n*out)
	p.CosSin(dst, x, n, 0.3, threads)
	check()
	all = append(all, dst...)
	for sides := 1; sides <= 2; sides++ {
		b := NewGrid(sides*out, MaxByte)
		b.Reset(MaxRows)
		for i := range b.data {
			b.data[i] = 55
		}
		clear(b.data[(sides*out+lanes-1)/lanes*panelBytes:])
		if sides == 1 {
			p.CosBytes(b, x, n, threads)
		} else {
			p.CosSinBytes(b, x, n, threads)
		}
		for i := range n {
			for j := range sides * out {
				all = append(all, float32(b.At(i, j)))
			}
		}
		mustBePadded(t, b)
	}
	return all
}

// mustBePadded checks that Gram reads zeros around the block.
func mustBePadded(t *testing.T, b *Bytes) {
	t.Helper()
	for j := range len(b.data) / panelBytes * lanes {
		for i := range (b.n + 3) / 4 * 4 {
			if v := b.data[j/lanes*panelBytes+i/4*64+j%lanes*4+i%4]; v != 0 && (i >= b.n || j >= b.d) {
				t.Fatalf("%d×%d: padding at (%d, %d) is %d", b.n, b.d, i, j, v)
			}
		}
	}
}

func TestCosineEpiloguesMatchTheReference(t *testing.T) {
	for _, s := range mulSizes {
		r := random(uint64(s.n + 1000*s.in))
		w, bias := normals[float32](r, s.out*s.in), normals[float32](r, s.out)
		x, checkX := guarded[float32](t, s.n*s.in)
		normal(r, x)
		angles := chains(x, w, bias, s.n, s.in, s.out)
		var cos, both, cosBytes, bothBytes []float32
		for i := range s.n {
			row := angles[i*s.out : (i+1)*s.out]
			var sines, sineBytes []float32
			for _, a := range row {
				c, s := cosReduced(reduce(a)), sinReduced(reduce(a))
				cos = append(cos, c*0.3)
				sines = append(sines, s*0.3)
				cosBytes = append(cosBytes, float32(toByte(c*127)))
				sineBytes = append(sineBytes, float32(toByte(s*127)))
			}
			both = append(append(both, cos[i*s.out:]...), sines...)
			bothBytes = append(append(bothBytes, cosBytes[i*s.out:]...), sineBytes...)
		}
		want := append(append(append(cos, both...), cosBytes...), bothBytes...)
		p := Pack(w, bias, s.out, s.in)
		eachISA(t, func(t *testing.T) {
			for _, threads := range []int{1, 3} {
				got := endings(t, p, x, s.n, threads)
				checkX()
				mustSame32(t, fmt.Sprintf("%+v, %d threads", s, threads), got, want)
			}
		})
	}
}

func TestRowsDoNotDependOnTheirNeighbours(t *testing.T) {
	const n, in, out = 50, 40, 70
	r := random(2)
	p := Pack(normals[float32](r, in*out), normals[float32](r, out), out, in)
	x := normals[float32](r, n*in)
	eachISA(t, func(t *testing.T) {
		all, part := make([]float32, n*out), make([]float32, n*out)
		p.Cos(all, x, n, 1, 1)
		for i := 0; i < n; {
			m := min(1+i%11, n-i)
			p.Cos(part[i*out:], x[i*in:], m, 1, 1)
			i += m
		}
		mustSame32(t, "cut into calls", part, all)
	})
}

func TestHugeAnglesGiveTheSameWithEveryISA(t *testing.T) {
	wild := []float32{
		0, float32(math.Copysign(0, -1)), 1e-45, -1e-45, 1e-38, 0.25, -0.25, 0.5, -0.5, 0.75, 1, -1, 1.5, 2.5, -2.5,
		1 << 22, 1<<22 + 0.5, 1<<23 - 0.5, 1 << 23, 1<<24 + 2, 1e10, -1e30, math.MaxFloat32, -math.MaxFloat32,
		float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()),
	}
	p := Pack([]float32{1}, nil, 1, 1)
	var want []float32
	for i := len(ISAs()) - 1; i >= 0; i-- {
		was := ISA()
		if err := SetISA(ISAs()[i]); err != nil {
			t.Fatal(err)
		}
		got := endings(t, p, wild, len(wild), 1)
		if want == nil {
			want = got
		}
		mustSame32(t, ISAs()[i], got, want)
		if err := SetISA(was); err != nil {
			t.Fatal(err)
		}
	}
	n := len(wild)
	for i := n - 3; i < n; i++ {
		if v := want[i]; v == v {
			t.Errorf("cosine of %g turns is %g, want NaN", wild[i], v)
		}
		if v := want[3*n+i]; v != 0 {
			t.Errorf("byte of the cosine of %g turns is %g, want 0", wild[i], v)
		}
	}
}

func TestProductsPanicOnInvalidShapes(t *testing.T) {
	p := Pack(make([]float32, 6), nil, 2, 3)
	f := make([]float32, 100)
	mustPanic(t, "short weights", func() { Pack(f[:5], nil, 2, 3) })
	mustPanic(t, "short bias", func() { Pack(f, f[:1], 2, 3) })
	mustPanic(t, "negative size", func() { Pack(f, nil, -1, 3) })
	mustPanic(t, "short destination", func() { p.Mul(f[:7], f, 4, 1) })
	mustPanic(t, "short source", func() { p.Cos(f, f[:11], 4, 1, 1) })
	mustPanic(t, "short pair", func() { p.CosSin(f[:15], f, 4, 1, 1) })
	mustPanic(t, "negative rows", func() { p.Mul(f, f, -1, 1) })
	mustPanic(t, "bytes of another width", func() { p.CosBytes(NewGrid(3, MaxByte), f, 4, 1) })
	mustPanic(t, "bytes of another width", func() { p.CosSinBytes(NewGrid(2, MaxByte), f, 4, 1) })
	mustPanic(t, "too many rows", func() { p.CosBytes(NewGrid(2, MaxByte), make([]float32, 3*1025), 1025, 1) })
	mustPanic(t, "bound 0", func() { NewGrid(2, MaxByte).Quantize(f, 2, 0, 1) })
	mustPanic(t, "bound NaN", func() { NewGrid(2, MaxByte).Quantize(f, 2, float32(math.NaN()), 1) })
	mustPanic(t, "bound Inf", func() { NewGrid(2, MaxByte).Quantize(f, 2, float32(math.Inf(1)), 1) })
	mustPanic(t, "tiny bound", func() { NewGrid(2, MaxByte).Quantize(f, 2, 1e-40, 1) })
	mustPanic(t, "Dot", func() { Dot(f[:1], f[:2]) })
	mustPanic(t, "Axpy", func() { Axpy(1, f[:2], f[:1]) })
}
