package folds

import (
	"slices"

	"github.com/bochner-ml/bochner/io/wire"
)

// Summary finds the frequent hashes in a stream of any length with a bounded number of
// counters (Misra and Gries, "Finding repeated elements", 1982; merged as by Agarwal et
// al., "Mergeable summaries", 2012). A hash that finds no free counter lowers all
// counters by one, and is itself not recorded.
//
// Let n be the number of hashes added and m the number of counters. Each lowering takes
// m+1 from the total of the counters, one for each of m+1 hashes, so lost ≤ n/(m+1) for
// the number of lowerings, and
//
//	count − lost ≤ counter ≤ count   for every hash, the counter of an absent one being 0.
//
// So a hash that was added more than n/(m+1) times has a counter, whatever the order of
// the hashes and of the merges. Which other hashes have one depends on the order;
// Candidates must therefore be counted again, exactly.
//
// Create it with NewSummary. It takes up to 128 bytes per counter.
type Summary struct {
	limit int // counters
	n     int64
	lost  int64
	used  int
	slots []counter // open addressing; their number is a power of two, at most half are used
	spare []counter // memory for the next table, zero
}

type counter struct {
	hash  uint64
	count int64 // 0 where the slot is free
}

// Numbers of counters. n/(m+1) is below Frequent(n) and below counted(n).
const (
	rowCounters     = 2 * frequentShare
	contentCounters = countedShare
)

// NewSummary returns an empty summary of the rows of a data set.
func NewSummary() *Summary { return newSummary(rowCounters) }

func newSummary(limit int) *Summary { return &Summary{limit: limit} }

// Add adds a hash.
func (s *Summary) Add(hash uint64) {
	s.n++
	if 2*s.used >= len(s.slots) && s.used < s.limit {
		s.rebuild(max(64, 4*s.used), 0)
	}
	c := s.slot(hash)
	switch {
	case c.count > 0:
		c.count++
	case s.used < s.limit:
		*c = counter{hash, 1}
		s.used++
	default:
		s.lost++
		s.rebuild(len(s.slots), 1)
	}
}

// slot returns the slot that holds, or would hold, the counter of a hash.
func (s *Summary) slot(hash uint64) *counter {
	mask := uint64(len(s.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		if c := &s.slots[i]; c.count == 0 || c.hash == hash {
			return c
		}
	}
}

// rebuild makes a table of at least that many slots, with all counters lowered.
func (s *Summary) rebuild(slots int, less int64) {
	size := 64
	for size < slots {
		size *= 2
	}
	if len(s.spare) != size {
		s.spare = make([]counter, size)
	}
	old := s.slots
	s.slots, s.spare, s.used = s.spare, nil, 0
	for _, c := range old {
		if c.count > less {
			s.set(c.hash, c.count-less)
		}
	}
	if len(old) == size {
		clear(old)
		s.spare = old
	}
}

// set creates the counter of a hash that has none; there must be a free slot.
func (s *Summary) set(hash uint64, count int64) {
	*s.slot(hash) = counter{hash, count}
	s.used++
}

// Merge adds the hashes of t, which must have the same number of counters.
func (s *Summary) Merge(t *Summary) {
	if s.limit != t.limit {
		panic("folds: summaries of different sizes")
	}
	all := map[uint64]int64{}
	for _, u := range []*Summary{s, t} {
		for _, c := range u.slots {
			if c.count > 0 {
				all[c.hash] += c.count
			}
		}
	}
	var less int64
	if len(all) > s.limit {
		counts := make([]int64, 0, len(all))
		for _, c := range all {
			counts = append(counts, c)
		}
		slices.Sort(counts)
		less = counts[len(counts)-1-s.limit] // the largest count without a counter
	}
	s.n, s.lost = s.n+t.n, s.lost+t.lost+less
	s.slots, s.spare = nil, nil
	s.rebuild(2*min(len(all), s.limit), 0)
	for h, c := range all {
		if c > less {
			s.set(h, c-less)
		}
	}
}

// Candidates returns the hashes that may have been added at least that often.
func (s *Summary) Candidates(often int64) Set {
	var out []uint64
	for _, c := range s.slots {
		if c.count > 0 && c.count+s.lost >= often {
			out = append(out, c.hash)
		}
	}
	return newSet(out)
}

// maxRows bounds the counts that are accepted.
const maxRows = 1 << 40

// Code codes the counters in the order of their hashes.
func (s *Summary) Code(c *wire.Coder) {
	s.limit = int(c.Uvarint(uint64(s.limit), contentCounters))
	s.n, s.lost = int64(c.Uvarint(uint64(s.n), maxRows)), int64(c.Uvarint(uint64(s.lost), maxRows))
	var used []uint64
	for _, e := range s.slots {
		if e.count > 0 {
			used = append(used, e.hash)
		}
	}
	slices.Sort(used)
	n := int(c.Uvarint(uint64(len(used)), uint64(s.limit)))
	if c.Check(s.limit > 0 && n <= c.Left()/9); c.Reading() {
		used = make([]uint64, n)
		s.rebuild(2*n, 0)
	}
	sum, last := int64(0), uint64(0)
	for i, h := range used {
		count := uint64(0)
		if c.Uint64(&h); !c.Reading() {
			count = uint64(s.slot(h).count)
		}
		count = c.Uvarint(count, maxRows)
		sum += int64(count)
		if c.Check(count > 0 && (i == 0 || h > last) && sum <= s.n); c.Reading() {
			s.set(h, int64(count))
		}
		last = h
	}
	c.Check(s.lost <= (s.n-sum)/int64(s.limit+1))
}
