package lines

import (
	"errors"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

// nearest is the twin: strconv, which is proven to round correctly.
func nearest(s string) float32 {
	f, err := strconv.ParseFloat(s, 32)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		panic(err)
	}
	return float32(f)
}

func check(t *testing.T, s string) {
	t.Helper()
	v, ok := ParseNumber([]byte(s))
	if want := nearest(s); !ok || math.Float32bits(v) != math.Float32bits(want) {
		t.Fatalf("Parse(%q) = %v (%#x), %v; want %v (%#x)", s, v, math.Float32bits(v), ok, want, math.Float32bits(want))
	}
}

func TestParseRoundsToNearestOnRandomText(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	digits := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = '0' + byte(rnd.IntN(10))
		}
		return string(b)
	}
	n := campaign.Pick(300_000, 2_000_000)
	for i := range n {
		var s string
		switch i % 8 {
		case 0: // plain
			s = digits(1+rnd.IntN(6)) + "." + digits(rnd.IntN(12))
		case 1: // any shape and range
			s = digits(rnd.IntN(25)) + "." + digits(1+rnd.IntN(25)) + "e" + strconv.Itoa(rnd.IntN(120)-60)
		case 2: // as float32 and float64 are printed
			s = strconv.FormatFloat(rnd.NormFloat64(), 'g', -1, 64)
		case 3:
			s = strconv.FormatFloat(float64(math.Float32frombits(rnd.Uint32()&0x7f7fffff)), 'e', -1, 32)
		case 4: // at midpoints of two float32, and as close as float64 can say
			d := midpoint(rnd)
			s = strconv.FormatFloat(step(d, rnd.IntN(13)-6), 'g', 17, 64)
		case 5: // exactly at midpoints, written in full, and a hair off
			s = strconv.FormatFloat(midpoint(rnd), 'f', -1, 64)
			if strings.Contains(s, ".") {
				s += []string{"", "0000000000000000", "000000000000000000000001"}[rnd.IntN(3)]
			}
		case 6: // integers, where midpoints are common
			s = strconv.FormatUint(rnd.Uint64()>>rnd.IntN(64), 10)
		case 7: // subnormal and at the ends of the range
			s = digits(1+rnd.IntN(20)) + "e" + strconv.Itoa([]int{-40, -45, -50, -60, 20, 30, 38}[rnd.IntN(7)]-rnd.IntN(10))
		}
		if rnd.IntN(4) == 0 {
			s = "-" + strings.TrimPrefix(s, "-")
		}
		check(t, s)
	}
}

func midpoint(rnd *rand.Rand) float64 {
	f := math.Float32frombits(uint32(rnd.IntN(254)+1)<<23 | rnd.Uint32()>>9)
	return math.Float64frombits(math.Float64bits(float64(f)) | 1<<28)
}

func step(d float64, n int) float64 {
	return math.Float64frombits(math.Float64bits(d) + uint64(n))
}

func TestParseRoundsAtTheLimitsOfFloat32(t *testing.T) {
	for _, s := range []string{
		"0", "-0", "+0", "0e999999999999999999999", "-0.000e-5", ".5", "5.", "+5", "007",
		"16777216", "16777217", "16777218", "16777219", "16777217.0000000000000000000000001",
		"3.4028235e38", "3.4028235677973362e38", "3.4028235677973366e38", "3.4028236e38", "1e39", "-1e400",
		"1e999999999999999999",
		"1.1754943508222875e-38", "1.17549428e-38", "1.4e-45", "7e-46", "7.1e-46", "1e-400", "1E5", "1e+5", "1e-0",
		"18446744073709551615", "18446744073709551616", "9999999999999999999", "10000000000000000000",
		"0.00000000000000000000000000000000000000000000001e47", strings.Repeat("9", 400), "0." + strings.Repeat("0", 400) +
			"1e400",
		"1" + strings.Repeat("0", 400) + "e-400",
	} {
		check(t, s)
	}
}

var shape = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?`)

func TestPrefixStopsWhereTheNumberDoes(t *testing.T) {
	for _, s := range []string{
		"", "-", "+", ".", "-.", "e5", ".e5", "1e", "1e+", "1e-x", "1.2.3", "1,5", "0x10", "0x1p4", "1_000", "inf", "NaN",
		"--1", "1 ", " 1", "1:2", "1e5e5", "12abc", "1.e5", "5\x00", "٣",
	} {
		if _, n := NumberPrefix([]byte(s)); n != len(shape.FindString(s)) {
			t.Errorf("Prefix(%q) has length %d, want %d", s, n, len(shape.FindString(s)))
		}
	}
}

func FuzzPrefix(f *testing.F) {
	f.Add([]byte("1.5e3,x"))
	f.Add([]byte("16777217"))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, n := NumberPrefix(b)
		s := shape.FindString(string(b))
		if n != len(s) {
			t.Fatalf("length %d, want %d", n, len(s))
		}
		if n > 0 && math.Float32bits(v) != math.Float32bits(nearest(s)) {
			t.Fatalf("%q is %v, want %v", s, v, nearest(s))
		}
	})
}

func BenchmarkPrefix(b *testing.B) {
	for _, s := range []string{"0", "255", "0.123456", "-1.2345678e-05", "0.12345678901234567"} {
		text := []byte(s)
		b.Run("decimal/"+s, func(b *testing.B) {
			for b.Loop() {
				NumberPrefix(text)
			}
		})
		b.Run("strconv/"+s, func(b *testing.B) {
			for b.Loop() {
				strconv.ParseFloat(s, 32)
			}
		})
	}
}
