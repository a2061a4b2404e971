package profile

import (
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/wire"
)

// MaxSegments is the largest number of different segments that SegmentCounts counts.
const MaxSegments = 10_000

// maxSegmentName limits the name of a segment, in bytes.
const maxSegmentName = 1 << 16

// SegmentCounts counts the rows of each segment: Rows has their number by the name of the segment, unless there are
// more than MaxSegments (Many). The zero value is empty. The result does not depend on the order of the rows.
type SegmentCounts struct{ counts[string] }

// AddBlock counts the rows of a block. It does nothing for a block without segments.
func (s *SegmentCounts) AddBlock(b *rowio.Block) {
	for _, name := range b.Segments {
		s.add(name, 1, MaxSegments)
	}
}

// Merge adds the rows of another part of the data.
func (s *SegmentCounts) Merge(t *SegmentCounts) { s.merge(&t.counts, MaxSegments) }

// Code implements wire.Coded. It writes the counts in the order of the names.
func (s *SegmentCounts) Code(c *wire.Coder) {
	s.code(c, MaxSegments, func(name *string, n *int64) {
		c.Text(name, maxSegmentName)
		c.Counts(n)
	})
}
