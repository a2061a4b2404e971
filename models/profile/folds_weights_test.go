package profile

import (
	"maps"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/io/rowio"
)

// Rows with other weights are other contents, so that the weights of a fold do not depend on the order of the
// rows.
func TestWeightIsPartOfTheContent(t *testing.T) {
	one := func(w float64) *rowio.Block {
		return &rowio.Block{N: 1, D: 1, X: []float32{7}, Y: []float64{0}, Weights: []float64{w}}
	}
	weights := []float64{1, 3, 1, 2, 3, 3, 1, 2, 2, 1}
	at := ShardStart{}
	assign := func(order []int) map[[2]uint64]int {
		row := RowHash(1, []float32{7})
		var contents []uint64
		for _, w := range []float64{1, 2, 3} {
			contents = append(contents, FoldLabels{}.contentOf(one(w), 0, row))
		}
		c := &Copies{
			FrequentHashes: FrequentHashes{Rows: HashSet{row}, Contents: slices.Sorted(slices.Values(contents))},
			Shards:         []PrecedingCopies{{at, []byte{0, 0, 0}}},
		}
		a, got := NewAssigner(1, nil, c, FoldLabels{}), map[[2]uint64]int{}
		for _, i := range order {
			hashes, err := a.Hashes(nil, at, one(weights[i]))
			if err != nil {
				t.Fatal(err)
			}
			got[[2]uint64{uint64(weights[i]), hashes[0]}]++
		}
		return got
	}
	a, b := assign([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), assign([]int{9, 5, 7, 1, 0, 2, 4, 8, 3, 6})
	if !maps.Equal(a, b) || len(a) != len(weights) {
		t.Errorf("%v in one order, %v in another", a, b)
	}
}
