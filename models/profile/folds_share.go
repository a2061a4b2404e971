package profile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// shareSalt separates the order in which groups are held out from the order in which they are placed in
// folds.
const shareSalt = 0x7368617265

// Groups chooses whole groups with about the given share of the rows, in an order that depends on
// the seed. It returns their keys, ascending; nil if there are more groups than are counted, so
// that hashes of keys should decide. The error says that there is only one group.
func (k *FoldKeys) Groups(share float64, seed uint64) ([]uint64, error) {
	if k.many {
		return nil, nil
	}
	if len(k.counts) < 2 {
		return nil, fmt.Errorf("there is one group, which cannot be both held out and learned from")
	}
	total := int64(0)
	for _, n := range k.counts {
		total += n
	}
	order := slices.SortedFunc(maps.Keys(k.counts), func(a, b uint64) int {
		return cmp.Compare(mix(a^seed^shareSalt), mix(b^seed^shareSalt))
	})
	var held []uint64
	rows := 0.0
	for _, key := range order {
		if n := float64(k.counts[key]); rows+n/2 <= share*float64(total) && len(held) < len(order)-1 {
			held = append(held, key)
			rows += n
		}
	}
	if len(held) == 0 {
		held = append(held, slices.MinFunc(order, func(a, b uint64) int { return cmp.Compare(k.counts[a], k.counts[b]) }))
	}
	slices.Sort(held)
	return held, nil
}

// Since returns a time such that about the given share of the rows are from then or later. The
// error says that all rows have the same time.
func (k *FoldKeys) Since(share float64) (uint64, error) {
	times := make([]uint64, len(k.times))
	for i, t := range k.times {
		times[i] = t.key
	}
	slices.Sort(times)
	n := len(times)
	if n == 0 || times[0] == times[n-1] {
		return 0, fmt.Errorf("all rows have the same time, so none is the latest")
	}
	at := times[min(n-1, int(float64(n)*(1-share)))]
	if at == times[0] { // some rows must be earlier
		at = times[slices.IndexFunc(times, func(t uint64) bool { return t > at })]
	}
	return at, nil
}
