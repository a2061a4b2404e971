package exact

import (
	"bytes"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// anyFloat returns a finite float32 with uniform bits: every exponent,
// subnormals and both zeros.
func anyFloat(r *rand.Rand) float32 {
	for {
		b := r.Uint32()
		switch r.IntN(16) {
		case 0: // subnormal
			b &= 1<<31 | 1<<23 - 1
		case 1:
			b &= 1 << 31 // ±0
		case 2: // the largest exponent
			b = b&^(0xff<<23) | 254<<23
		}
		if x := math.Float32frombits(b); !math.IsInf(float64(x), 0) && x == x {
			return x
		}
	}
}

// units returns x in units of 2⁻²⁹⁸, by math/big only.
func units(x float32) *big.Int {
	f := new(big.Float).SetFloat64(float64(x))
	f.SetMantExp(f, unitBits)
	z, acc := f.Int(nil)
	if acc != big.Exact {
		panic("not an integer")
	}
	return z
}

// product returns a·b in units of 2⁻²⁹⁸.
func product(a, b float32) *big.Int {
	f := new(big.Float).SetPrec(64).Mul(big.NewFloat(float64(a)), big.NewFloat(float64(b)))
	z, acc := f.SetMantExp(f, unitBits).Int(nil)
	if acc != big.Exact {
		panic("not an integer")
	}
	return z
}

func nearest(units *big.Int) float64 {
	f := new(big.Float).SetInt(units)
	f.SetMantExp(f, -unitBits)
	x, _ := f.Float64()
	return x
}

func TestSumEqualsBigArithmetic(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var s Sum
		want := new(big.Int)
		var back []float32
		for range 1 + r.IntN(60) {
			a, b := anyFloat(r), anyFloat(r)
			switch r.IntN(4) {
			case 0:
				s.Add(a)
				want.Add(want, units(a))
			case 1:
				s.AddProduct(a, b)
				want.Add(want, product(a, b))
			case 2:
				s.AddSquare(a)
				want.Add(want, product(a, a))
			case 3: // cancels later
				s.Add(a)
				want.Add(want, units(a))
				back = append(back, a)
			}
			if got := s.Big(); got.Cmp(want) != 0 {
				t.Fatalf("sum is %v units, want %v", got, want)
			}
			if s.Sign() != want.Sign() || s.IsZero() != (want.Sign() == 0) {
				t.Fatalf("sign of %v: %d, zero %v", want, s.Sign(), s.IsZero())
			}
			if got := s.Float64(); got != nearest(want) {
				t.Fatalf("Float64 %x, want %x", got, nearest(want))
			}
		}
		for _, a := range back {
			s.Add(-a)
			want.Sub(want, units(a))
		}
		if got := s.Big(); got.Cmp(want) != 0 {
			t.Fatalf("after cancellation %v units, want %v", got, want)
		}
	}
}

func TestTermsCancelToZero(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	terms := make([]float32, 1000)
	var s Sum
	for i := range terms {
		terms[i] = anyFloat(r)
		s.Add(terms[i])
		s.AddProduct(terms[i], 3)
	}
	r.Shuffle(len(terms), func(i, j int) { terms[i], terms[j] = terms[j], terms[i] })
	for _, x := range terms {
		s.AddProduct(x, -3)
		s.Add(-x)
	}
	if !s.IsZero() || s.Float64() != 0 {
		t.Fatalf("left over: %v", s.Big())
	}
}

func TestSumDoesNotDependOnOrderOrGrouping(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	terms := make([]float32, 500)
	for i := range terms {
		terms[i] = anyFloat(r)
	}
	var want Sum
	for _, x := range terms {
		want.Add(x)
		want.AddSquare(x)
	}
	for range 50 {
		r.Shuffle(len(terms), func(i, j int) { terms[i], terms[j] = terms[j], terms[i] })
		parts := make([]Sum, 1+r.IntN(20))
		for _, x := range terms {
			parts[r.IntN(len(parts))].Add(x)
			parts[r.IntN(len(parts))].AddSquare(x)
		}
		for len(parts) > 1 { // a random tree
			i := r.IntN(len(parts) - 1)
			last := len(parts) - 1
			parts[i].Merge(&parts[last])
			parts = parts[:last]
		}
		if parts[0] != want {
			t.Fatal("another cut gives other bits")
		}
		a, _ := parts[0].AppendBinary(nil)
		b, _ := want.AppendBinary(nil)
		if !bytes.Equal(a, b) {
			t.Fatal("equal sums, different encodings")
		}
	}
}

func TestSubUndoesMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		var a, b Sum
		a.Add(anyFloat(r))
		b.AddProduct(anyFloat(r), anyFloat(r))
		c := a // a copy is a sum of its own
		c.Merge(&b)
		c.Sub(&b)
		if c != a {
			t.Fatal("a + b - b differs from a")
		}
	}
}

func TestFloat64RoundsHalvesToEven(t *testing.T) {
	p := func(e int) float32 { return float32(math.Ldexp(1, e)) }
	for _, c := range []struct {
		name  string
		terms []float32
		want  float64
	}{
		{"half above even stays", []float32{1, p(-53)}, 1},
		{"half above odd rises", []float32{1, p(-52), p(-53)}, 1 + 2*0x1p-52},
		{"a unit over half rises", []float32{1, p(-53), p(-149)}, 1 + 0x1p-52},
		{"a unit under half stays", []float32{1, p(-52), p(-53), -p(-149)}, 1 + 0x1p-52},
		{"below a power of two", []float32{1, -p(-54)}, 1},
		{"below a power of two, past half", []float32{1, -p(-54), -p(-149)}, 1 - 0x1p-53},
		{"all ones carry over", []float32{2, -p(-60)}, 2},
		{"far apart", []float32{p(127), p(-149)}, 0x1p127},
		{"negative half", []float32{-1, -p(-52), -p(-53)}, -1 - 2*0x1p-52},
		{"smallest", []float32{p(-149)}, 0x1p-149},
		{"limb boundary", []float32{p(22), p(-31), p(-32)}, 0x1p22 + 0x1p-30}, // 2⁻³⁰ steps at 2²²
	} {
		var s Sum
		for _, x := range c.terms {
			s.Add(x)
		}
		if got := s.Float64(); got != c.want {
			t.Errorf("%s: %x, want %x", c.name, got, c.want)
		}
	}
	var s Sum
	s.AddSquare(p(-149))
	if got := s.Float64(); got != 0x1p-298 {
		t.Errorf("smallest product: %x", got)
	}
}

// Halves at every place in the limbs, and numbers just above and below them, are rounded correctly.
func TestFloat64RoundsCorrectlyEverywhere(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	pow := func(s *Sum, e int, sign float32) { // adds ±2ᵉ
		s.AddProduct(float32(math.Ldexp(1, e/2)), sign*float32(math.Ldexp(1, e-e/2)))
	}
	for top := 220; top >= -240; top-- {
		for range 20 {
			var s Sum
			sign := float32(1 - 2*r.IntN(2))
			pow(&s, top, sign)
			pow(&s, top-1-r.IntN(51), sign)
			if r.IntN(2) == 0 {
				pow(&s, top-52, sign) // the last bit
			}
			pow(&s, top-53, sign) // half
			if hair := top - 54 - r.IntN(150); hair >= -2*149 && r.IntN(4) > 0 {
				pow(&s, hair, float32(1-2*r.IntN(2)))
			}
			if got, want := s.Float64(), nearest(s.Big()); got != want {
				t.Fatalf("2^%d…: %x, want %x", top, got, want)
			}
		}
	}
}

// The largest terms, doubled until they stand for 2⁸⁴ of them, still fit.
func TestSumHoldsMoreTermsThanCanBeCounted(t *testing.T) {
	for _, sign := range []float32{1, -1} {
		var s Sum
		s.AddProduct(math.MaxFloat32, sign*math.MaxFloat32)
		want := product(math.MaxFloat32, sign*math.MaxFloat32)
		for range 84 {
			c := s
			s.Merge(&c)
			want.Add(want, want)
		}
		if s.Big().Cmp(want) != 0 {
			t.Errorf("overflow at sign %v", sign)
		}
	}
}

func TestNonFinitePanics(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for name, f := range map[string]func(*Sum){
		"Add Inf":            func(s *Sum) { s.Add(inf) },
		"Add -Inf":           func(s *Sum) { s.Add(-inf) },
		"Add NaN":            func(s *Sum) { s.Add(nan) },
		"AddSquare NaN":      func(s *Sum) { s.AddSquare(nan) },
		"AddProduct 0, Inf":  func(s *Sum) { s.AddProduct(0, inf) },
		"AddProduct NaN, 0":  func(s *Sum) { s.AddProduct(nan, 0) },
		"AddProduct 1, -Inf": func(s *Sum) { s.AddProduct(1, -inf) },
	} {
		func() {
			defer func() {
				if recover() != "exact: not finite" {
					t.Errorf("%s: no panic", name)
				}
			}()
			f(new(Sum))
		}()
	}
}

func BenchmarkAdd(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	x := make([]float32, 1024)
	for _, data := range []struct {
		name string
		next func() float32
	}{
		{"bytes", func() float32 { return float32(1 + r.IntN(255)) }},
		{"normal", func() float32 { return float32(r.NormFloat64()) }},
		{"any", func() float32 { return anyFloat(r) }},
	} {
		for i := range x {
			x[i] = data.next()
		}
		run := func(name string, f func(s *Sum, x float32)) {
			b.Run(data.name+"/"+name, func(b *testing.B) {
				var s Sum
				for b.Loop() {
					for _, v := range x {
						f(&s, v)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(x)), "ns/term")
			})
		}
		run("Add", (*Sum).Add)
		run("AddSquare", (*Sum).AddSquare)
	}
}

// A float64 is added exactly, and so is its square.
func TestFloat64AreAddedExactly(t *testing.T) {
	r := rand.New(rand.NewPCG(64, 1))
	var s, q Sum
	want, square := new(big.Rat), new(big.Rat)
	for range 200 {
		x := math.Ldexp(r.NormFloat64(), r.IntN(150)-75)
		s.Add64(x)
		q.AddSquare64(x)
		v := new(big.Rat).SetFloat64(x)
		want.Add(want, v)
		square.Add(square, new(big.Rat).Mul(v, v))
	}
	for _, c := range []struct {
		name string
		sum  *Sum
		want *big.Rat
	}{{"values", &s, want}, {"squares", &q, square}} {
		unit := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), unitBits))
		if got := unit.Mul(unit, new(big.Rat).SetInt(c.sum.Big())); got.Cmp(c.want) != 0 {
			t.Errorf("%s: the sum is off", c.name)
		}
	}
}

// Terms are w·x², truncated to the unit.
func TestWeightedSquaresEqualBigArithmetic(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for range 300 {
		var s Sum
		want := new(big.Int)
		for range 20 {
			x := anyFloat(r)
			w := float32(math.Ldexp(r.Float64(), r.IntN(200)-136))
			if r.IntN(4) == 0 {
				w = float32(r.IntN(6))
			}
			s.AddWeightedSquare(w, x)
			f := new(big.Float).SetPrec(200).SetFloat64(float64(x))
			f.Mul(f, f).Mul(f, new(big.Float).SetFloat64(float64(w)))
			term, _ := f.SetMantExp(f, unitBits).Int(nil)
			want.Add(want, term)
		}
		if s.Big().Cmp(want) != 0 {
			t.Fatalf("the sum is %v, want %v", s.Big(), want)
		}
	}
}

func TestWholeWeightsEqualRepeatedTerms(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 6))
	for range 200 {
		var weights, sum, squares, s, q Sum
		n := int64(0)
		for range 20 {
			x, w := anyFloat(r), r.IntN(6)
			weights.Add(float32(w))
			sum.AddProduct(float32(w), x)
			squares.AddWeightedSquare(float32(w), x)
			for range w {
				s.Add(x)
				q.AddSquare(x)
			}
			n += int64(w)
		}
		if sum != s || squares != q {
			t.Fatal("sums differ from the sums of repeated values")
		}
		mean, variance := WeightedMoments(&weights, &sum, &squares)
		if m, v := Moments(n, &s, &q); m != mean || v != variance {
			t.Fatalf("mean %g, variance %g, want %g, %g", mean, variance, m, v)
		}
	}
}
