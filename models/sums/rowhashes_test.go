package sums

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// hashesOf returns n hashes, at most some of which differ.
func hashesOf(r *rand.Rand, n, some int) (all []uint64) {
	for range n {
		all = append(all, rand.New(rand.NewPCG(r.Uint64N(uint64(some)), 1)).Uint64())
	}
	return all
}

// RowHashes depend on the rows only: not on their order, how they are divided, or what was added and subtracted
// before.
func TestRowHashesDependOnlyOnRows(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 7))
	for _, c := range []struct{ n, some int }{{0, 1}, {1, 1}, {300, 40}, {5000, 1 << 40}, {20_000, 2}, {10_000, 1}} {
		kept, gone := hashesOf(r, c.n, c.some), hashesOf(r, c.n/2, c.some)
		want := slices.Sorted(slices.Values(kept))
		var bytes []byte
		for _, h := range kept {
			bytes = binary.LittleEndian.AppendUint64(bytes, h)
		}
		cut := len(bytes) / 16 * 8
		if got := DecodeRowHashes(bytes[cut:], nil, bytes[:cut]); !slices.Equal(got, want) {
			t.Errorf("%d rows: %d hashes, or not ascending", c.n, len(got))
		}
		all := slices.Concat(kept, gone)
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		got, err := CombineRowHashes(all, slices.Clone(gone))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%d rows: other hashes after rows were added and subtracted: %v", c.n, err)
		}
	}
}

// A row can be subtracted as often as it occurs, and no more.
func TestRowIsSubtractedAtMostAsOftenAsItOccurs(t *testing.T) {
	others := hashesOf(rand.New(rand.NewPCG(1, 1)), 1000, 1<<40)
	for _, row := range []uint64{0, 0x0123456789abcdef, 1<<64 - 1} { // below, between and above the others
		for there := range 4 {
			for gone := range 5 {
				plus := slices.Concat(others, slices.Repeat([]uint64{row}, there))
				left, err := CombineRowHashes(plus, slices.Repeat([]uint64{row}, gone))
				if gone > there != (err != nil) || err == nil && len(left) != len(others)+there-gone {
					t.Errorf("%x: %d rows without %d: %d left, %v", row, there, gone, len(left), err)
				}
			}
		}
	}
}
