package exact

import "math/bits"

// Prime is the Mersenne prime 2⁶¹ − 1. A residue is a number of 0 to Prime − 1.
const Prime = 1<<61 - 1

// Whole is a type that holds whole numbers.
type Whole interface {
	int16 | int32 | int64 | float64
}

// Residue returns v modulo Prime.
func Residue(v int64) uint64 { return residue(uint64(v>>63), uint64(v)) }

// AddResidues returns a + b modulo Prime.
func AddResidues(a, b uint64) uint64 { return residue(0, a+b) }

// SubResidues returns a − b modulo Prime.
func SubResidues(a, b uint64) uint64 { return residue(0, a+(Prime-b)) }

// MulResidues returns a·b modulo Prime.
func MulResidues(a, b uint64) uint64 { return residue(bits.Mul64(a, b)) }

// residue returns hi·2⁶⁴ + lo in two's complement modulo Prime: as 2⁶¹ ≡ 1, it adds up the digits to the
// base 2⁶¹. The last, of 6 bits, has the sign, whose value is −2¹²⁷ ≡ −2⁵.
func residue(hi, lo uint64) uint64 {
	v := lo&Prime + (hi<<3|lo>>61)&Prime + Prime + uint64(int64(hi)>>58)
	if v = v&Prime + v>>61; v >= Prime {
		v -= Prime
	}
	return v
}

// termsAtOnce is how many products of a residue and a number below 2⁵⁵ fit in 128 bits with their sign.
const termsAtOnce = 1 << 11

// DotResidues returns Σ a_i·r_i modulo Prime, for whole numbers |a_i| ≤ 2⁵⁵ and as many residues r_i.
func DotResidues[T Whole](a []T, r []uint64) (sum uint64) {
	for len(a) > 0 {
		n := min(len(a), termsAtOnce)
		var hi, lo, c, less uint64 // less·2⁶⁴ is what negative numbers are too large by
		part := r[:n]
		for i, v := range a[:n] {
			h, l := bits.Mul64(part[i], uint64(int64(v)))
			lo, c = bits.Add64(lo, l, 0)
			hi, _ = bits.Add64(hi, h, c)
			less += part[i] & uint64(int64(v)>>63)
		}
		sum = AddResidues(sum, residue(hi-less, lo))
		a, r = a[n:], r[n:]
	}
	return sum
}

// Combination is a linear combination of up to 2,048 rows of whole numbers of a magnitude ≤ 2⁵⁵, with
// residues as coefficients. Create it with NewCombination.
type Combination struct{ hi, lo []uint64 }

// NewCombination returns the combination of no rows of n numbers.
func NewCombination(n int) *Combination {
	return &Combination{make([]uint64, n), make([]uint64, n)}
}

// AddRow adds u times a row to the combination.
func AddRow[T Whole](s *Combination, u uint64, row []T) {
	hi, lo := s.hi[:len(row)], s.lo[:len(row)]
	for i, v := range row {
		h, l := bits.Mul64(u, uint64(int64(v)))
		to, less := hi[i], u&uint64(int64(v)>>63)
		l, c := bits.Add64(lo[i], l, 0)
		h, _ = bits.Add64(to, h, c)
		lo[i], hi[i] = l, h-less
	}
}

// Residues returns the combination modulo Prime.
func (s *Combination) Residues() []uint64 {
	out := make([]uint64, len(s.lo))
	for i := range out {
		out[i] = residue(s.hi[i], s.lo[i])
	}
	return out
}
