package rowio

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cespare/xxhash/v2"
)

var negZero = float32(math.Copysign(0, -1))

// hashTwin writes out all bytes and hashes them at once.
func hashTwin(seed uint64, row []float32) uint64 {
	var b []byte
	for i, x := range row {
		if x != 0 {
			b = binary.LittleEndian.AppendUint32(b, uint32(i))
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	d := xxhash.NewWithSeed(seed)
	d.Write(b)
	return d.Sum64()
}

// sparseRow returns n values, about that share of them nonzero.
func sparseRow(r *rand.Rand, n int, share float64) []float32 {
	row := make([]float32, n)
	for i := range row {
		if r.Float64() < share {
			row[i] = float32(r.NormFloat64())
		} else if r.IntN(4) == 0 {
			row[i] = negZero
		}
	}
	return row
}

// Hashes never change, because folds, samples and so models depend on them. The values were also computed with
// the reference implementation of XXH64.
func TestHashStreamNeverChanges(t *testing.T) {
	long := make([]float32, 1000)
	for i := range long {
		if i%3 != 0 {
			long[i] = float32(i) / 8
		}
	}
	for _, c := range []struct {
		seed uint64
		row  []float32
		want uint64
	}{
		{0, nil, 0xef46db3751d8e999},
		{1, nil, 0xd5afba1336a3be4b},
		{0, []float32{1}, 0x8c190a1bb6d1f12e},
		{0, []float32{0, 1}, 0x1bd8eef1a5ac7a5f},
		{1, []float32{1, -2.5, 0, 0.1}, 0xf770a6a83331350c},
		{1<<64 - 1, []float32{math.MaxFloat32, math.SmallestNonzeroFloat32}, 0xa1f155fd29950102},
		{7, long, 0x28c78f4e0c41707d},
	} {
		if got := Hash(c.seed, c.row); got != c.want {
			t.Errorf("Hash(%d, %v…) = %#x, want %#x", c.seed, c.row[:min(4, len(c.row))], got, c.want)
		}
	}
}

func TestHashIsXXH64OfTheNonzeroValues(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for n := range 600 {
		row := sparseRow(r, n, []float64{0, 0.02, 0.2, 0.8, 1}[n%5])
		seed := r.Uint64()
		if got, want := Hash(seed, row), hashTwin(seed, row); got != want {
			t.Fatalf("%d values: %#x, want %#x", n, got, want)
		}
	}
}

func TestHashIgnoresZerosOnly(t *testing.T) {
	row := []float32{0, 3, 0, 0, -1, 5}
	h := Hash(9, row)
	if Hash(9, append(slices.Clone(row), 0, negZero, 0)) != h {
		t.Error("trailing zeros change the hash")
	}
	if Hash(9, []float32{negZero, 3, 0, negZero, -1, 5}) != h {
		t.Error("the sign of a zero changes the hash")
	}
	for name, other := range map[string][]float32{
		"moved value":   {3, 0, 0, 0, -1, 5},
		"other sign":    {0, 3, 0, 0, 1, 5},
		"swapped":       {0, 3, 0, 0, 5, -1},
		"last bit":      {0, math.Nextafter32(3, 4), 0, 0, -1, 5},
		"value missing": {0, 3, 0, 0, -1},
	} {
		if Hash(9, other) == h {
			t.Errorf("%s: same hash", name)
		}
	}
	if Hash(10, row) == h {
		t.Error("the seed does not change the hash")
	}
}

// Changing one bit of a value changes each bit of the hash in half of the cases.
func TestHashMixesEveryBit(t *testing.T) {
	const trials = 4000
	r := rand.New(rand.NewPCG(2, 2))
	var flips [64]int
	total := 0
	for range trials {
		row := sparseRow(r, 1+r.IntN(40), 0.5)
		i := r.IntN(len(row))
		row[i] = 1
		a := Hash(3, row)
		row[i] = math.Float32frombits(math.Float32bits(1) ^ 1<<r.IntN(32))
		diff := a ^ Hash(3, row)
		total += bits.OnesCount64(diff)
		for b := range flips {
			flips[b] += int(diff >> b & 1)
		}
	}
	// A binomial of n fair trials has standard error √n/2.
	if se := math.Sqrt(64*trials) / 2; math.Abs(float64(total)-32*trials) > 4*se {
		t.Errorf("%d bits flipped, want %d ± %.0f", total, 32*trials, se)
	}
	for b, n := range flips {
		if se := math.Sqrt(trials) / 2; math.Abs(float64(n)-trials/2) > 5*se {
			t.Errorf("bit %d flipped %d times in %d", b, n, trials)
		}
	}
}

func TestHashBlockHashesRows(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	b := &Block{N: 5, D: 7, X: sparseRow(r, 35, 0.5)}
	got := HashBlock(make([]uint64, 2), 11, b)
	if len(got) != 5 {
		t.Fatalf("%d hashes", len(got))
	}
	for i, h := range got {
		if h != Hash(11, b.Row(i)) {
			t.Errorf("row %d: %#x", i, h)
		}
	}
}

func TestHashDoesNotAllocate(t *testing.T) {
	row := sparseRow(rand.New(rand.NewPCG(5, 5)), 784, 0.2)
	if n := testing.AllocsPerRun(100, func() { Hash(1, row) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkHash(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, d := range []int{4, 20, 100, 784, 3072} {
		for _, share := range []float64{0.2, 1} {
			row := sparseRow(r, d, share)
			b.Run(fmt.Sprintf("d=%d/nonzero=%v", d, share), func(b *testing.B) {
				b.SetBytes(int64(4 * d))
				for b.Loop() {
					Hash(1, row)
				}
			})
		}
	}
}
