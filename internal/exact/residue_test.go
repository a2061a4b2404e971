package exact

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

var prime = big.NewInt(Prime)

// drawWhole returns a whole number of a magnitude up to 2⁵³, often an extreme one.
func drawWhole(r *rand.Rand) int64 {
	v := r.Int64N(1<<53+1) >> r.IntN(54)
	if r.IntN(8) == 0 {
		v = 1 << 53
	}
	return v * int64(1-2*r.IntN(2))
}

// drawResidue returns a residue, often an extreme one.
func drawResidue(r *rand.Rand) uint64 {
	return [4]uint64{r.Uint64N(Prime), 0, 1, Prime - 1}[r.IntN(8)/2%4]
}

// Sums, products and combinations modulo the prime equal the results of package big.
func TestResiduesMatchBigIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	of := func(v uint64) *big.Int { return new(big.Int).SetUint64(v) }
	same := func(what string, got uint64, want *big.Int) {
		t.Helper()
		if want.Mod(want, prime); got != want.Uint64() || got >= Prime {
			t.Fatalf("%s: %d, want %d", what, got, want)
		}
	}
	for range 2000 {
		a, b := drawResidue(r), drawResidue(r)
		v := int64(r.Uint64()) >> r.IntN(64)
		same("residue", Residue(v), big.NewInt(v))
		same("sum", AddResidues(a, b), new(big.Int).Add(of(a), of(b)))
		same("difference", SubResidues(a, b), new(big.Int).Sub(of(a), of(b)))
		same("product", MulResidues(a, b), new(big.Int).Mul(of(a), of(b)))
	}
	for i, v := range RandomResidues(100) {
		if v >= Prime || i > 0 && v < 1<<20 {
			t.Errorf("random residue %d is %d", i, v)
		}
	}
	for _, extreme := range []bool{true, false} {
		const n, rows = termsAtOnce + 3000, termsAtOnce
		values, residues := make([]float64, n), make([]uint64, n)
		want := new(big.Int)
		for i := range values {
			v, u := drawWhole(r), drawResidue(r)
			if extreme {
				v, u = -1<<53, Prime-1
			}
			values[i], residues[i] = float64(v), u
			want.Add(want, new(big.Int).Mul(big.NewInt(v), of(u)))
		}
		same("inner product", DotResidues(values, residues), want)
		sum, wants := NewCombination(3), [3]*big.Int{{}, {}, {}}
		for i := range rows {
			AddRow(sum, residues[i], values[i:i+3])
			for c := range wants {
				wants[c].Add(wants[c], new(big.Int).Mul(of(residues[i]), big.NewInt(int64(values[i+c]))))
			}
		}
		for c := range wants {
			same("combination", sum.At(c), wants[c])
		}
	}
}

func BenchmarkDotResidues(b *testing.B) {
	row, r := make([]int16, 4096), make([]uint64, 4096)
	for i := range row {
		row[i], r[i] = int16(i*7919), uint64(i)<<40
	}
	for b.Loop() {
		DotResidues(row, r)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4096, "ns/term")
}

func BenchmarkAddRow(b *testing.B) {
	row, s := make([]int16, 4096), NewCombination(4096)
	for i := range row {
		row[i] = int16(i * 7919)
	}
	for b.Loop() {
		AddRow(s, 1<<60+12345, row)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4096, "ns/term")
}
