package exact

import (
	"crypto/rand"
	"math/big"
	"math/bits"
)

// Prime is the Mersenne prime 2⁶¹ − 1. A residue is a number of 0 to Prime − 1.
const Prime = 1<<61 - 1

// RandomResidues returns n residues that are uniform, independent and not predictable.
func RandomResidues(n int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		v, _ := rand.Int(rand.Reader, big.NewInt(Prime)) // this reader does not fail
		out[i] = v.Uint64()
	}
	return out
}

// Residue returns v modulo Prime.
func Residue(v int64) uint64 { return residue(uint64(v>>63), uint64(v)) }

// AddResidues returns a + b modulo Prime; SubResidues a − b; MulResidues a·b.
func AddResidues(a, b uint64) uint64 { return residue(0, a+b) }
func SubResidues(a, b uint64) uint64 { return residue(0, a+(Prime-b)) }
func MulResidues(a, b uint64) uint64 { return residue(bits.Mul64(a, b)) }

// residue returns hi·2⁶⁴ + lo in two's complement modulo Prime: as 2⁶¹ ≡ 1, it adds up the digits
// to the base 2⁶¹, of which the last has the sign.
func residue(hi, lo uint64) uint64 {
	v := lo&Prime + (hi<<3|lo>>61)&Prime + Prime + uint64(int64(hi)>>58)
	v = v&Prime + v>>61
	if v >= Prime {
		v -= Prime
	}
	return v
}

// Whole is a type that holds whole numbers.
type Whole interface{ int16 | int32 | float64 }

// termsAtOnce is how many products of a residue and a number up to 2⁵³ fit in 128 bits with their
// sign.
const termsAtOnce = 1 << 13

// DotResidues returns Σ a_i·r_i modulo Prime, for whole numbers |a_i| ≤ 2⁵³ and as many residues.
func DotResidues[T Whole](a []T, r []uint64) (sum uint64) {
	for len(a) > 0 {
		n := min(len(a), termsAtOnce)
		var hi, lo, c, less uint64 // as unsigned numbers, the negative ones are too large by less·2⁶⁴ in all
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

// Combination is a linear combination of at most 8,192 rows of whole numbers up to 2⁵³, with
// residues as coefficients: the high and low halves of each number.
type Combination struct{ high, low []uint64 }

// NewCombination returns a combination of no rows of n numbers.
func NewCombination(n int) Combination { return Combination{make([]uint64, n), make([]uint64, n)} }

// AddRow adds u times a row to the beginning of the combination.
func AddRow[T Whole](s Combination, u uint64, row []T) {
	hi, lo := s.high[:len(row)], s.low[:len(row)]
	for i, v := range row {
		h, l := bits.Mul64(u, uint64(int64(v)))
		to, less := hi[i], u&uint64(int64(v)>>63)
		l, c := bits.Add64(lo[i], l, 0)
		h, _ = bits.Add64(to, h, c)
		lo[i], hi[i] = l, h-less
	}
}

// At returns number i modulo Prime.
func (s Combination) At(i int) uint64 { return residue(s.high[i], s.low[i]) }
