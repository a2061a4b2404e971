package gram

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/transforms"
)

// ShardReport is the dataset.Report of a shard, with further counts. Rows of several shards share a
// block, so only the first report of a reader, or the first after a checkpoint, counts features
// beyond the grid, for all shards up to the next checkpoint.
type ShardReport struct {
	dataset.Report
	Saturated int64 `json:"saturated,omitempty"`
	// Copies holds the separately counted rows (Spec.Frequent), encoded by profile.AppendFrequentRows.
	Copies []byte `json:"copies,omitempty"`
	// RowHashes holds the hashes of the rows of the shard, from Accumulator.TakeRowHashes, and Positions
	// the lines of the rows in its file.
	RowHashes []byte  `json:"contents,omitempty"`
	Positions []int64 `json:"positions,omitempty"`
	// Segments reports the rows of each segment, if they are summed by segment. A segment may occur several times.
	Segments []SegmentReport `json:"segments,omitempty"`
}

// joinReports joins the reports of a shard, one from each stripe, into one. They agree about the rows,
// unless a stripe could not read the shard; its report then counts. Only one stripe reports the rest.
func joinReports(lines [][]byte) ([][]byte, error) {
	joined := map[dataset.Shard]*ShardReport{}
	for _, line := range lines {
		var r ShardReport
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("gram: report of a shard: %w", err)
		}
		one := joined[r.Shard]
		if one == nil {
			joined[r.Shard] = &r
			continue
		}
		switch broken := func(r *ShardReport) bool { return r.Fault != "" || r.Stopped }; {
		case broken(one): // keep its fault
		case broken(&r):
			one.Report = r.Report
		case one.Rows != r.Rows || one.Bad != r.Bad || one.Unlabeled != r.Unlabeled || one.Weightless != r.Weightless:
			return nil, fmt.Errorf("gram: the shard of file %d at %d had %d rows for one stripe of the sums and %d for "+
				"another; was the file replaced?", r.Shard.File, r.Shard.Start, one.Rows, r.Rows)
		}
		one.Saturated += r.Saturated
		one.Copies, one.RowHashes = append(one.Copies, r.Copies...), append(one.RowHashes, r.RowHashes...)
		one.Positions, one.Segments = append(one.Positions, r.Positions...), append(one.Segments, r.Segments...)
	}
	out := make([][]byte, 0, len(joined))
	err := transforms.EmitJSON(func(line []byte) { out = append(out, line) }, slices.Collect(maps.Values(joined))...)
	slices.SortFunc(out, bytes.Compare)
	return out, err
}

// SegmentReport reports on the rows of one segment. Copies and RowHashes are as in the ShardReport.
type SegmentReport struct {
	Segment   int     `json:"segment"` // index in Spec.Segments
	Rows      int64   `json:"rows,omitempty"`
	Classes   []int64 `json:"classes,omitempty"` // rows of each class
	Copies    []byte  `json:"copies,omitempty"`
	RowHashes []byte  `json:"contents,omitempty"`
}

// bySegment divides the rows of a block by their segments; see Spec.Segments.
type bySegment struct {
	rows    []segmentRows
	index   map[string]int
	classes int
	counts  bool        // count rows; only one stripe does
	others  bool        // the last set has the rows of all segments without a set of their own
	indices [][]int     // of the rows of each segment in the block that is divided
	block   rowio.Block // scratch: the rows of a segment
}

// segmentRows are the rows of a segment since the last report.
type segmentRows struct {
	perSet
	rows    int64
	classes []int64
}

func newBySegment(p *Pass, counts bool) *bySegment {
	l := &bySegment{rows: make([]segmentRows, len(p.Spec.Segments)), index: map[string]int{}, counts: counts,
		indices: make([][]int, len(p.Spec.Segments))}
	if p.Target != nil && p.Target.Grid == nil {
		l.classes = p.Spec.Outputs
	}
	for i, names := range p.Spec.Segments {
		l.others = len(names) == 0
		for _, name := range names {
			l.index[name] = i
		}
	}
	return l
}

// each calls add with the rows of each segment in a block.
func (l *bySegment) each(b *rowio.Block, add func(segment int, counts *segmentRows, b *rowio.Block) error) error {
	for i := range l.indices {
		l.indices[i] = l.indices[i][:0]
	}
	for i := range b.N {
		segment, known := l.index[b.Segments[i]]
		if !known && l.others {
			segment = len(l.rows) - 1
		} else if !known {
			return fmt.Errorf("gram: segment %q did not occur when rows were counted; were files replaced?",
				b.Segments[i])
		}
		l.indices[segment] = append(l.indices[segment], i)
	}
	for segment, indices := range l.indices {
		if len(indices) == 0 {
			continue
		}
		counts := &l.rows[segment]
		selected := selectRows(&l.block, b, indices)
		if l.counts {
			counts.count(selected, l.classes)
		}
		if err := add(segment, counts, selected); err != nil {
			return err
		}
	}
	return nil
}

func (l *segmentRows) count(b *rowio.Block, classes int) {
	l.rows += int64(b.N)
	if classes == 0 {
		return
	}
	if l.classes == nil {
		l.classes = make([]int64, classes)
	}
	for _, y := range b.Y {
		l.classes[int(y)]++
	}
}

// take returns the reports about the rows since the last call, without separately counted copies.
func (l *bySegment) take() (reports []SegmentReport) {
	if l == nil || !l.counts {
		return nil
	}
	for i := range l.rows {
		counts := &l.rows[i]
		if counts.rows == 0 {
			continue
		}
		reports = append(reports, SegmentReport{Segment: i, Rows: counts.rows, Classes: counts.classes,
			RowHashes: counts.rowHashes})
		counts.rows, counts.classes, counts.rowHashes = 0, nil, nil
	}
	return reports
}

// copies returns reports of the rows that were counted separately.
func (l *bySegment) copies() (reports []SegmentReport) {
	if l == nil || !l.counts {
		return nil
	}
	for i := range l.rows {
		if a := l.rows[i].copies; a != nil {
			if all := a.Rows(); len(all) > 0 {
				reports = append(reports, SegmentReport{Segment: i, Copies: profile.AppendFrequentRows(nil, all)})
			}
		}
	}
	return reports
}
