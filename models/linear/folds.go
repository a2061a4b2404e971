package linear

import (
	"fmt"

	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models/profile"
)

// FoldHashes returns for each row the hash whose remainder modulo k is its fold: by content, or by Groups.
// They are the same as in training on a file of the rows, unless it has few different rows. It fails if
// there are fewer groups than folds.
func (d *Data) FoldHashes(seed uint64, k int) (hashes []uint64, err error) {
	in, _ := d.Map.Dims()
	b := &rows.Block{N: d.Rows(), D: in, X: d.X}
	var rule *profile.FoldRule
	if d.Groups != nil && k > 1 {
		for _, group := range d.Groups {
			b.Keys = append(b.Keys, schema.GroupKey([]byte(group)))
		}
		counts := new(profile.FoldKeys)
		used := &rows.Block{} // rows of weight 0 are ignored
		for i, key := range b.Keys {
			if d.Weight(i) > 0 {
				used.Keys = append(used.Keys, key)
			}
		}
		counts.AddBlock(used, make([]uint64, len(used.Keys)))
		if rule, err = counts.Rule(profile.ByGroup, []string{"group"}, k, 0, seed); err != nil {
			return nil, fmt.Errorf("linear: %w", err)
		}
	}
	return profile.NewAssigner(seed, rule, nil, profile.FoldLabels{}).Hashes(nil, profile.FoldPlace{}, b)
}
