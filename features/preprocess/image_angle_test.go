package preprocess

import (
	"math"
	"math/big"
	"testing"

	"github.com/bochner-ml/bochner/features/stream"
)

func TestAngleBoundsAreCosineAndSine(t *testing.T) {
	for n := 1; n <= 180; n++ {
		b := bounds(n)
		if len(b) != n-1 {
			t.Fatalf("%d bounds of %d bins", len(b), n)
		}
		for i, d := range b {
			// math.Sincos of the angle to the nearer horizontal, whose own rounding is half as large.
			k := i + 1
			sin, cos := math.Sincos(math.Pi * float64(min(k, n-k)) / float64(n))
			if k > n-k {
				cos = -cos
			}
			if math.Abs(d.sin-sin) > 4e-16 || math.Abs(d.cos-cos) > 4e-16 {
				t.Errorf("bound %d of %d: %v, want %v, %v", i+1, n, d, cos, sin)
			}
		}
	}
}

// Integer gradients are in the bin of their arc tangent away from the bounds, and in the bin that integer
// comparison gives at 45°, 90° and 135°.
func TestAngleBinsOfIntegerGradientsAreExact(t *testing.T) {
	for n := 1; n <= 180; n++ {
		b := bounds(n)
		for x := -12; x <= 12; x++ {
			for y := -12; y <= 12; y++ {
				if x == 0 && y == 0 {
					continue
				}
				var want int
				switch turns := float64(n) / 4; {
				case y == 0:
					want = 0
				case x == y:
					want = int(turns)
				case x == 0:
					want = int(2 * turns)
				case x == -y:
					want = int(3 * turns)
				default:
					want = int(math.Mod(math.Atan2(float64(y), float64(x))/math.Pi+1, 1) * float64(n))
				}
				if k := bin(b, float64(x), float64(y)); k != want {
					t.Errorf("%d bins: (%d, %d) is in %d, want %d", n, x, y, k, want)
				}
			}
		}
	}
}

// A gradient and its opposite share a bin.
func TestOppositeGradientsShareABin(t *testing.T) {
	s := stream.New(3, stream.PurposeOf("test/bins"), 0)
	for _, n := range []int{1, 2, 3, 8, 9, 180} {
		b := bounds(n)
		for range 10000 {
			x, y := s.Normal(), s.Normal()
			if k := bin(b, x, y); k != bin(b, -x, -y) || k < 0 || k >= n {
				t.Fatalf("%d bins: (%v, %v) is in %d and %d", n, x, y, k, bin(b, -x, -y))
			}
		}
	}
}

// Gradients of bytes are never so near a bound that rounding could decide: the
// cross product with a bound is 0 on the axes and diagonals, and beyond them at
// least 10⁻⁸, while its error is below 10⁻¹³.
func TestBytesAreFarFromTheBounds(t *testing.T) {
	for _, n := range []int{8, 9, 12} {
		for _, d := range bounds(n) {
			for x := -255; x <= 255; x++ {
				for y := 1; y <= 255; y++ {
					if x == 0 || x == y || x == -y {
						continue
					}
					if c := math.Abs(d.cos*float64(y) - d.sin*float64(x)); c < 1e-8 {
						t.Fatalf("%d bins: (%d, %d) is %v from a bound", n, x, y, c)
					}
				}
			}
		}
	}
}

// The cosine of π/8 is √(2+√2)/2 rounded correctly, and the sine is within one unit in the last place of
// √(2−√2)/2.
func TestCosAndSinOfPiOver8AreWithinOneUlp(t *testing.T) {
	root := func(x *big.Float) *big.Float { return new(big.Float).SetPrec(200).Sqrt(x) }
	two := new(big.Float).SetPrec(200).SetInt64(2)
	want := func(sign int64) float64 {
		r := root(two)
		r.Mul(r, big.NewFloat(float64(sign))).Add(r, two)
		f, _ := root(r).Float64()
		return f / 2
	}
	d := bounds(8)[0]
	if d.cos != want(1) || math.Abs(d.sin-want(-1)) > 0x1p-54 {
		t.Errorf("have %v, want %v, %v", d, want(1), want(-1))
	}
}
