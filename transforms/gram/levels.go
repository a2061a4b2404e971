package gram

import (
	"fmt"

	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models/profile"
)

// LevelReport is the part of a Report about the rows of one level. Copies and Contents are as in the Report.
type LevelReport struct {
	Level    int     `json:"level"` // index in Spec.Levels
	Rows     int64   `json:"rows,omitempty"`
	Classes  []int64 `json:"classes,omitempty"` // rows of each class
	Copies   []byte  `json:"copies,omitempty"`
	Contents []byte  `json:"contents,omitempty"`
}

// byLevel divides the rows of a block by their levels; see Spec.Levels.
type byLevel struct {
	rows    []levelRows
	index   map[string]int
	classes int
	counts  bool    // count rows; only one stripe does
	others  bool    // the last set has the rows of all levels without a set of their own
	at      [][]int // indices of the rows of each level in a block
	part    rows.Block
}

// levelRows are the rows of a level since the last report.
type levelRows struct {
	rowsApart
	rows    int64
	classes []int64
}

func newByLevel(p *Pass, counts bool) *byLevel {
	l := &byLevel{rows: make([]levelRows, len(p.Fold.Levels)), index: map[string]int{}, counts: counts,
		at: make([][]int, len(p.Fold.Levels))}
	if p.Target != nil && p.Target.Grid == nil {
		l.classes = p.Fold.Outputs
	}
	for i, names := range p.Fold.Levels {
		l.others = len(names) == 0
		for _, name := range names {
			l.index[name] = i
		}
	}
	return l
}

// each calls add with the rows of each level in a block.
func (l *byLevel) each(b *rows.Block, add func(level int, of *levelRows, b *rows.Block) error) error {
	for i := range l.at {
		l.at[i] = l.at[i][:0]
	}
	for i := range b.N {
		level, known := l.index[b.Levels[i]]
		if !known && l.others {
			level = len(l.rows) - 1
		} else if !known {
			return fmt.Errorf("gram: level %q did not occur when rows were counted; were files replaced?", b.Levels[i])
		}
		l.at[level] = append(l.at[level], i)
	}
	for level, at := range l.at {
		if len(at) == 0 {
			continue
		}
		of := &l.rows[level]
		some := selectRows(&l.part, b, at)
		if l.counts {
			of.count(some, l.classes)
		}
		if err := add(level, of, some); err != nil {
			return err
		}
	}
	return nil
}

func (l *levelRows) count(b *rows.Block, classes int) {
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
		of := &l.rows[i]
		if of.rows == 0 {
			continue
		}
		reports = append(reports, LevelReport{Level: i, Rows: of.rows, Classes: of.classes, Contents: of.contents})
		of.rows, of.classes, of.contents = 0, nil, nil
	}
	return reports
}

// copies returns reports of the rows that were counted separately.
func (l *byLevel) copies() (reports []LevelReport) {
	if l == nil || !l.counts {
		return nil
	}
	for i := range l.rows {
		if a := l.rows[i].apart; a != nil {
			if all := a.Contents(); len(all) > 0 {
				reports = append(reports, LevelReport{Level: i, Copies: profile.AppendContents(nil, all)})
			}
		}
	}
	return reports
}
