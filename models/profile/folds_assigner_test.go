package profile

import (
	"math"
	"testing"

	"github.com/bochner-ml/bochner/io/rowio"
)

// Rows have equal hashes if and only if they have the same numbers, labels, weight and key, in any block.
func TestRowHashDependsOnContentOnly(t *testing.T) {
	nan := float32(math.NaN())
	block := func(x []float32, y, weight float64, key uint64) *rowio.Block {
		return &rowio.Block{N: 1, D: 2, X: x, Y: []float64{y}, Weights: []float64{weight}, Keys: []uint64{key}}
	}
	d := NewAssigner(1, &FoldRule{}, nil, FoldLabelsOf([]string{"a", "b"}))
	different := []*rowio.Block{
		block([]float32{1, 2}, 0, 1, 5), block([]float32{2, 1}, 0, 1, 5), block([]float32{1, nan}, 0, 1,
			5), block([]float32{1, 0}, 0, 1, 5),
		block([]float32{1, 2}, 1, 1, 5), block([]float32{1, 2}, 0, 2, 5), block([]float32{1, 2}, 0, 1, 6),
	}
	seen := map[string]int{}
	for i, b := range different {
		seen[string(d.AppendRowHashes(nil, b))] = i
	}
	if len(seen) != len(different) {
		t.Errorf("%d of %d rows are told apart", len(seen), len(different))
	}
	all := &rowio.Block{
		N: 2, D: 2, X: []float32{1, float32(math.Copysign(0, -1)), 1, 2}, Y: []float64{0, 0}, Weights: []float64{1,
			1}, Keys: []uint64{5, 5},
	}
	got := string(d.AppendRowHashes([]byte("before"), all))
	if want := "before" + string(d.AppendRowHashes(nil, different[3])) + string(d.AppendRowHashes(nil, different[0])); got != want {
		t.Errorf("%x, want %x", got, want)
	}
}
