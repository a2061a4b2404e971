package schema

import (
	"bytes"
	"cmp"
	"slices"
)

// levels counts texts: a hash table whose keys share one slice of bytes, so a known text costs no allocation.
type levels struct {
	index   []int32 // 1 + the index in entries, 0 where free; a power of two of them
	entries []level
	text    []byte
}

// level is a text and its count. Only the first maxLevelText bytes of a long text are stored;
// long texts with equal beginnings are distinguished by length and hash.
type level struct {
	hash uint64
	n    int64
	off  uint32 // of the stored bytes in levels.text
	size uint32 // bytes of the text
}

// stored returns the stored bytes of a level.
func (l *levels) stored(e *level) []byte {
	return l.text[e.off : e.off+min(e.size, maxLevelText)]
}

// add counts a text n times and reports whether it is new. stored is its first bytes.
func (l *levels) add(hash uint64, stored []byte, size uint32, n int64) (fresh bool) {
	if 2*len(l.entries) >= len(l.index) {
		l.rehash(max(16, 2*len(l.index)))
	}
	mask := uint64(len(l.index) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		i := l.index[at]
		if i == 0 {
			l.entries = append(l.entries, level{hash, n, uint32(len(l.text)), size})
			l.text = append(l.text, stored...)
			l.index[at] = int32(len(l.entries))
			return true
		}
		e := &l.entries[i-1]
		if e.hash == hash && e.size == size && bytes.Equal(l.stored(e), stored) {
			e.n += n
			return false
		}
	}
}

// rehash makes an index of size places.
func (l *levels) rehash(size int) {
	l.index = make([]int32, size)
	mask := uint64(size - 1)
	for i := range l.entries {
		at := l.entries[i].hash & mask
		for l.index[at] != 0 {
			at = (at + 1) & mask
		}
		l.index[at] = int32(i + 1)
	}
}

// filter keeps the levels for which keep is true.
func (l *levels) filter(keep func(e *level) bool) {
	var kept levels
	for i := range l.entries {
		e := &l.entries[i]
		if keep(e) {
			moved := *e
			moved.off = uint32(len(kept.text))
			kept.text = append(kept.text, l.stored(e)...)
			kept.entries = append(kept.entries, moved)
		}
	}
	size := 16
	for size <= 2*len(kept.entries) {
		size *= 2
	}
	kept.rehash(size)
	*l = kept
}

// sorted returns the levels in ascending order of their texts.
func (l *levels) sorted() []level {
	s := slices.Clone(l.entries)
	slices.SortFunc(s, func(a, b level) int { return l.compare(&a, &b) })
	return s
}

func (l *levels) compare(a, b *level) int {
	return cmp.Or(bytes.Compare(l.stored(a), l.stored(b)), cmp.Compare(a.size, b.size), cmp.Compare(a.hash, b.hash))
}

// weight returns the memory that a level takes in a survey, in units of about 50 bytes.
func (e *level) weight() int64 { return 1 + int64(min(e.size, maxLevelText))/32 }
