package profile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/wire"
)

// FoldKeys counts the keys of rows, up to 128 different ones, and samples them, to make a FoldRule.
// The zero value is empty. The result does not depend on the order of the rows.
type FoldKeys struct {
	keys  counts[uint64] // up to maxCounted
	times []timedRow     // of the rows with the smallest hashes, ascending
}

// timedRow is a row of the sample, with its key as time.
type timedRow struct{ hash, key uint64 }

func compareTimed(a, b timedRow) int {
	return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.key, b.key))
}

// AddBlock counts the keys of a block, given the hashes of its rows. It does nothing for a block without keys.
func (k *FoldKeys) AddBlock(b *rowio.Block, hashes []uint64) {
	for i, key := range b.Keys {
		k.keys.add(key, 1, maxCounted)
		k.offer(timedRow{mix(hashes[i] + mix(key)), key})
	}
}

func (k *FoldKeys) offer(t timedRow) {
	if n := len(k.times); n == timed && compareTimed(t, k.times[n-1]) >= 0 {
		return
	}
	i, found := slices.BinarySearchFunc(k.times, t, compareTimed)
	if found {
		return
	}
	if len(k.times) == timed {
		k.times = k.times[:timed-1]
	}
	k.times = slices.Insert(k.times, i, t)
}

// Merge adds the keys of another part of the data.
func (k *FoldKeys) Merge(l *FoldKeys) {
	k.keys.merge(&l.keys, maxCounted)
	for _, t := range l.times {
		k.offer(t)
	}
}

// Code implements wire.Coded. It writes the counts in the order of the keys, then the times.
func (k *FoldKeys) Code(c *wire.Coder) {
	k.keys.code(c, maxCounted, func(key *uint64, n *int64) {
		c.Uint64(key)
		*n = int64(c.Uvarint(uint64(*n), maxShardRows))
	})
	wire.List(c, &k.times, timed, func(t *timedRow) { c.Uint64(&t.hash, &t.key) })
	c.Check(slices.IsSortedFunc(k.times, compareTimed))
}

// Rule returns the rule for these rows. folds is the number of folds; by ByFold the rows' own numbers
// decide it. gap is for ByTime, in the unit of the times: rows up to gap before a fold are not judged, and not
// fitted to while the fold is held out; 0 for no gap. It returns an error if the rows cannot be divided that way.
func (k *FoldKeys) Rule(by FoldBy, columns []string, folds int, gap float64, seed uint64) (*FoldRule, error) {
	r := &FoldRule{By: by, Columns: columns, Folds: folds}
	switch by {
	case ByFold:
		return r, k.givenFolds(r)
	case ByTime:
		return r, k.cutTime(r, gap)
	}
	n := len(k.keys.Rows)
	switch {
	case k.keys.Many:
	case n < 2:
		return nil, errors.New("all rows are of one group, so none can be held out; name another column")
	case n < folds:
		return nil, fmt.Errorf("there are %d different groups, fewer than %d folds; use fewer --folds, or other groups",
			n, folds)
	}
	// Few groups are placed one after the other, in the order of their hashes, in the fold with the fewest
	// rows. With hashes alone some folds would be empty.
	order := k.order(seed)
	sizes, foldOf := make([]int64, folds), map[uint64]int{}
	for _, key := range order {
		least := slices.Index(sizes, slices.Min(sizes))
		foldOf[key] = least
		sizes[least] += k.keys.Rows[key]
	}
	r.Keys = slices.Sorted(maps.Keys(foldOf))
	for _, key := range r.Keys {
		r.FoldOfKey = append(r.FoldOfKey, foldOf[key])
	}
	return r, nil
}

// order returns the keys in an order that depends on the seed.
func (k *FoldKeys) order(seed uint64) []uint64 {
	return slices.SortedFunc(maps.Keys(k.keys.Rows), func(a, b uint64) int { return cmp.Compare(mix(a^seed), mix(b^seed)) })
}

// givenFolds makes each key a fold, in the order of the keys.
func (k *FoldKeys) givenFolds(r *FoldRule) error {
	if n := len(k.keys.Rows); k.keys.Many || n < 2 || n > maxFolds {
		what := fmt.Sprint(n)
		if k.keys.Many {
			what = fmt.Sprintf("more than %d", maxCounted)
		}
		return fmt.Errorf("the column has %s different folds; want 2 to %d", what, maxFolds)
	}
	r.Folds, r.Keys = len(k.keys.Rows), slices.Sorted(maps.Keys(k.keys.Rows))
	for i := range r.Keys {
		r.FoldOfKey = append(r.FoldOfKey, i)
	}
	return nil
}

// cutTime divides time into folds of about equally many rows, with a gap before each fold except the earliest.
func (k *FoldKeys) cutTime(r *FoldRule, gap float64) error {
	times, err := k.sortedTimes()
	if err != nil {
		return err
	}
	folds := r.Folds
	for i := 1; i < folds; i++ {
		at := timeAt(times, len(times)*i/folds)
		if len(r.Cuts) > 0 && at <= r.Cuts[len(r.Cuts)-1] && gap == 0 {
			continue // many rows have this time
		}
		if gap > 0 {
			from := rowio.OrderedKey(rowio.KeyNumber(at) - gap)
			if len(r.Cuts) > 0 && from <= r.Cuts[len(r.Cuts)-1] {
				if i < folds-1 {
					continue
				}
				r.Cuts = nil // the latest fold matters most
			}
			r.Cuts = append(r.Cuts, from)
		}
		r.Cuts = append(r.Cuts, at)
	}
	first, _ := slices.BinarySearch(times, r.Cuts[len(r.Cuts)-1])
	if latest := times[first:]; latest[0] < latest[len(latest)-1] {
		r.Middle = HashSet{timeAt(latest, len(latest)/2)}
	}
	r.Folds, r.Gap = len(r.Cuts)+1, gap > 0
	if gap > 0 && r.Cuts[0] <= times[0] {
		return errGap
	}
	return nil
}

// Cluster returns the mean over n rows of the number of rows with the same key, estimated from pairs of
// rows in a sample.
func (k *FoldKeys) Cluster(n int64) float64 {
	same := map[uint64]float64{}
	var pairs float64
	for _, t := range k.times {
		pairs += same[t.key]
		same[t.key]++
	}
	m := float64(len(k.times))
	return 1 + float64(max(0, n-1))*pairs/max(1, m*(m-1)/2)
}

// shareSalt separates the order in which groups are held out from the order in which they are placed in folds.
const shareSalt = 0x7368617265

// Groups chooses whole groups with about the given share of the rows, in an order that depends on
// the seed. It returns their keys, ascending; nil if there are more groups than are counted, so
// that hashes of keys should decide. It fails if there is only one group.
func (k *FoldKeys) Groups(share float64, seed uint64) ([]uint64, error) {
	if k.keys.Many {
		return nil, nil
	}
	if len(k.keys.Rows) < 2 {
		return nil, errors.New("there is one group, which cannot be both held out and learned from")
	}
	total := int64(0)
	for _, n := range k.keys.Rows {
		total += n
	}
	order := k.order(seed ^ shareSalt)
	var held []uint64
	taken := 0.0
	for _, key := range order {
		if n := float64(k.keys.Rows[key]); taken+n/2 <= share*float64(total) && len(held) < len(order)-1 {
			held = append(held, key)
			taken += n
		}
	}
	if len(held) == 0 {
		held = append(held, slices.MinFunc(order, func(a, b uint64) int { return cmp.Compare(k.keys.Rows[a], k.keys.Rows[b]) }))
	}
	slices.Sort(held)
	return held, nil
}

// Since returns a time such that about the given share of the rows are from then or later, and the time that is
// earlier by gap, 0 if gap is 0. It fails if all rows have the same time, or if none is before the gap.
func (k *FoldKeys) Since(share, gap float64) (since, before uint64, err error) {
	times, err := k.sortedTimes()
	if err != nil {
		return 0, 0, err
	}
	since = timeAt(times, int(float64(len(times))*(1-share)))
	if gap > 0 {
		before = rowio.OrderedKey(rowio.KeyNumber(since) - gap)
		if before <= times[0] {
			return 0, 0, errGap
		}
	}
	return since, before, nil
}

var errGap = errors.New("the gap leaves no rows before it to learn from; use a shorter one")

// sortedTimes returns the times of the sample, ascending.
func (k *FoldKeys) sortedTimes() ([]uint64, error) {
	times := make([]uint64, len(k.times))
	for i, t := range k.times {
		times[i] = t.key
	}
	slices.Sort(times)
	if n := len(times); n == 0 || times[0] == times[n-1] {
		return nil, errors.New("all rows have the same time, so none is the latest")
	}
	return times, nil
}

// timeAt returns the time at an index, but a later one than the first, so that some rows are earlier.
func timeAt(times []uint64, i int) uint64 {
	at := times[min(i, len(times)-1)]
	if at == times[0] {
		at = times[slices.IndexFunc(times, func(t uint64) bool { return t > at })]
	}
	return at
}
