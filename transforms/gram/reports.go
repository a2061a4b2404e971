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

// Report is the dataset.Report of a shard, with further counts. Rows of several shards share a
// block, so only the first report of a reader, or the first after a checkpoint, counts features
// beyond the grid, for all shards up to the next checkpoint.
type Report struct {
	dataset.Report
	Saturated int64 `json:"saturated,omitempty"`
	// Copies holds the separately counted rows (Spec.Frequent), encoded by profile.AppendFrequentRows.
	Copies []byte `json:"copies,omitempty"`
	// RowHashes holds the hashes of the rows of the shard, from Accumulator.TakeRowHashes, and Positions
	// the lines of the rows in its file.
	RowHashes []byte  `json:"contents,omitempty"`
	Positions []int64 `json:"positions,omitempty"`
	// Levels reports the rows of each level, if they are summed by level. A level may occur several times.
	Levels []LevelReport `json:"levels,omitempty"`
}

// joinReports joins the reports of a shard, one from each stripe, into one. They agree about the rows,
// unless a stripe could not read the shard; its report then counts. Only one stripe reports the rest.
func joinReports(lines [][]byte) ([][]byte, error) {
	joined := map[dataset.Shard]*Report{}
	for _, line := range lines {
		var r Report
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("gram: report of a shard: %w", err)
		}
		one := joined[r.Shard]
		if one == nil {
			joined[r.Shard] = &r
			continue
		}
		switch broken := func(r *Report) bool { return r.Fault != "" || r.Stopped }; {
		case broken(one): // keep its fault
		case broken(&r):
			one.Report = r.Report
		case one.Rows != r.Rows || one.Bad != r.Bad || one.Unlabeled != r.Unlabeled || one.Weightless != r.Weightless:
			return nil, fmt.Errorf("gram: the shard of file %d at %d had %d rows for one stripe of the sums and %d for "+
				"another; was the file replaced?", r.Shard.File, r.Shard.Start, one.Rows, r.Rows)
		}
		one.Saturated += r.Saturated
		one.Copies, one.RowHashes = append(one.Copies, r.Copies...), append(one.RowHashes, r.RowHashes...)
		one.Positions, one.Levels = append(one.Positions, r.Positions...), append(one.Levels, r.Levels...)
	}
	out := make([][]byte, 0, len(joined))
	err := transforms.EmitJSON(func(line []byte) { out = append(out, line) }, slices.Collect(maps.Values(joined))...)
	slices.SortFunc(out, bytes.Compare)
	return out, err
}

// LevelReport reports on the rows of one level. Copies and RowHashes are as in the Report.
type LevelReport struct {
	Level     int     `json:"level"` // index in Spec.Levels
	Rows      int64   `json:"rows,omitempty"`
	Classes   []int64 `json:"classes,omitempty"` // rows of each class
	Copies    []byte  `json:"copies,omitempty"`
	RowHashes []byte  `json:"contents,omitempty"`
}

// byLevel divides the rows of a block by their levels; see Spec.Levels.
type byLevel struct {
	rows    []levelRows
	index   map[string]int
	classes int
	counts  bool        // count rows; only one stripe does
	others  bool        // the last set has the rows of all levels without a set of their own
	indices [][]int     // of the rows of each level in the block that is divided
	block   rowio.Block // scratch: the rows of a level
}

// levelRows are the rows of a level since the last report.
type levelRows struct {
	perSet
	rows    int64
	classes []int64
}

func newByLevel(p *Pass, counts bool) *byLevel {
	l := &byLevel{rows: make([]levelRows, len(p.Spec.Levels)), index: map[string]int{}, counts: counts,
		indices: make([][]int, len(p.Spec.Levels))}
	if p.Target != nil && p.Target.Grid == nil {
		l.classes = p.Spec.Outputs
	}
	for i, names := range p.Spec.Levels {
		l.others = len(names) == 0
		for _, name := range names {
			l.index[name] = i
		}
	}
	return l
}

// each calls add with the rows of each level in a block.
func (l *byLevel) each(b *rowio.Block, add func(level int, counts *levelRows, b *rowio.Block) error) error {
	for i := range l.indices {
		l.indices[i] = l.indices[i][:0]
	}
	for i := range b.N {
		level, known := l.index[b.Levels[i]]
		if !known && l.others {
			level = len(l.rows) - 1
		} else if !known {
			return fmt.Errorf("gram: level %q did not occur when rows were counted; were files replaced?", b.Levels[i])
		}
		l.indices[level] = append(l.indices[level], i)
	}
	for level, indices := range l.indices {
		if len(indices) == 0 {
			continue
		}
		counts := &l.rows[level]
		selected := selectRows(&l.block, b, indices)
		if l.counts {
			counts.count(selected, l.classes)
		}
		if err := add(level, counts, selected); err != nil {
			return err
		}
	}
	return nil
}

func (l *levelRows) count(b *rowio.Block, classes int) {
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
func (l *byLevel) take() (reports []LevelReport) {
	if l == nil || !l.counts {
		return nil
	}
	for i := range l.rows {
		counts := &l.rows[i]
		if counts.rows == 0 {
			continue
		}
		reports = append(reports, LevelReport{Level: i, Rows: counts.rows, Classes: counts.classes,
			RowHashes: counts.contents})
		counts.rows, counts.classes, counts.contents = 0, nil, nil
	}
	return reports
}

// copies returns reports of the rows that were counted separately.
func (l *byLevel) copies() (reports []LevelReport) {
	if l == nil || !l.counts {
		return nil
	}
	for i := range l.rows {
		if a := l.rows[i].copies; a != nil {
			if all := a.Rows(); len(all) > 0 {
				reports = append(reports, LevelReport{Level: i, Copies: profile.AppendFrequentRows(nil, all)})
			}
		}
	}
	return reports
}
