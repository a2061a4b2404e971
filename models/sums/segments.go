package sums

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/where"
	"github.com/bochner-ml/bochner/models"
)

// Segment holds the sums of the rows of a segment, or of several small segments that are pooled.
type Segment struct {
	Members []Member `json:"members"`
	SumFiles
}

// Member is a segment by name, such as country=DE, with its number of rows.
type Member struct {
	Name string `json:"name"`
	Rows int64  `json:"rows"`
}

// MaxSegments limits the segments of a directory of sums.
const MaxSegments = 1000

// PoolSegments returns the members of each segment, given the number of rows of each name. Names with fewer
// than fewest rows are pooled in the last segment.
func PoolSegments(rows map[string]int64, fewest int64) (segments [][]Member) {
	var pooled []Member
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		if m := (Member{name, rows[name]}); m.Rows < fewest {
			pooled = append(pooled, m)
		} else {
			segments = append(segments, []Member{m})
		}
	}
	if pooled != nil {
		segments = append(segments, pooled)
	}
	return segments
}

// Rows returns the number of rows.
func (l *Segment) Rows() (n int64) {
	for _, m := range l.Members {
		n += m.Rows
	}
	return n
}

func (l *Segment) name() string { return strings.Join(NamesOf(l.Members), " ") }

// NamesOf returns the names of members.
func NamesOf(members []Member) []string {
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.Name
	}
	return names
}

// checkSegments checks the segments of a manifest.
func (m *Manifest) checkSegments() error {
	if len(m.Segments) == 0 || len(m.Segments) > MaxSegments || len(m.Folds) > 0 || len(m.SegmentColumns) == 0 {
		return fmt.Errorf("%d segments of %d columns, with %d folds besides", len(m.Segments), len(m.SegmentColumns),
			len(m.Folds))
	}
	left := m.Rows.Used
	for i := range m.Segments {
		l := &m.Segments[i]
		for _, member := range l.Members {
			if member.Rows < 1 || member.Rows > left {
				return fmt.Errorf("segment %.80q of %d rows", member.Name, member.Rows)
			}
			left -= member.Rows
		}
		if err := l.check(); err != nil {
			return err
		}
		if len(l.Folds) != len(m.Segments[0].Folds) {
			return errors.New("segments of different numbers of folds")
		}
	}
	if left != 0 {
		return fmt.Errorf("%d rows of no segment", left)
	}
	return nil
}

// leaf returns the leaf for the rows of one segment.
func (m *Manifest) leaf(parent Leaf, l *Segment) Leaf {
	name := l.Members[0].Name
	if n := len(l.Members); n > 1 {
		name = fmt.Sprintf("%d segments with few rows", n)
	}
	rows := models.RowCounts{Read: l.Rows(), Used: l.Rows()}
	return Leaf{Name: parent.Name + "/" + name, Digest: hexDigest(parent.Digest, l.name()), Rows: rows,
		Files: parent.Files}
}

// SegmentLeaves returns the leaves that models of the segments were fitted to; none without segments.
func (m *Manifest) SegmentLeaves() (all []Leaf) {
	for i := range m.Segments {
		all = append(all, m.leaf(m.Leaves[0], &m.Segments[i]))
	}
	return all
}

// segment returns the sums of segment i as a directory. In every file they follow the sums of the segments before it.
func (d *Dir) segment(i int) *Dir {
	l := &d.Segments[i]
	m := &Manifest{Program: d.Program, Recipe: d.Manifest.Recipe, SumFiles: l.SumFiles, SegmentColumns: d.SegmentColumns,
		Rows: models.RowCounts{Read: l.Rows(), Used: l.Rows()}, Leaves: []Leaf{d.Manifest.leaf(d.Leaves[0], l)}}
	m.Sums = m.digest()
	dir := &Dir{Manifest: m, Recipe: d.Recipe, Path: d.Path, Labels: d.Labels, shape: d.Recipe.Shape(len(m.Classes)),
		segmentFiles: segmentFiles{Members: l.Members, setAside: d.Rows.SetAside, foldOffsets: make([]int64, len(m.Folds))}}
	for k := range i {
		before := &d.Segments[k]
		for f, frames := range before.Folds {
			for _, frame := range frames {
				dir.foldOffsets[f] += frame.Size
			}
		}
		if c := before.Copies; c != nil {
			dir.copiesOffset += c.Size
		}
		if c := before.RowHashes; c != nil {
			dir.rowHashOffset += c.Size
		}
	}
	return dir
}

// segmentFiles locates the sums of one segment in a directory. The zero value is for a directory without segments.
type segmentFiles struct {
	Members       []Member // the segments of the rows
	setAside      int64    // number of rows of the whole directory that were set aside
	foldOffsets   []int64  // of the sums in each FoldFile
	copiesOffset  int64    // in CopiesFile
	rowHashOffset int64    // in rowHashFile
}

// CountSetAside attributes the rows of the directory that were set aside, which have no segment, to this segment.
func (d *Dir) CountSetAside() {
	if d.Members != nil {
		d.Rows.Read, d.Rows.SetAside = d.Rows.Used+d.setAside, d.setAside
	}
}

// Holds reports whether a condition holds for the labels of the rows. It fails if the rows lack a label
// that the condition needs, or if it holds only for some of the pooled segments.
func (d *Dir) Holds(c *where.Condition) (bool, error) {
	labels := d.LabelsOf(0)
	holds, err := c.Holds(labels)
	if err != nil {
		names := cmp.Or(strings.Join(slices.Sorted(maps.Keys(labels)), ", "), "nothing")
		return false, fmt.Errorf("%s: %w; a condition can be on %s; sum --by, and directories such as dt=2026-11-20, give "+
			"more", d.Path, err, names)
	}
	for i := 1; err == nil && i < len(d.Members); i++ {
		var also bool
		if also, err = c.Holds(d.LabelsOf(i)); err == nil && also != holds {
			err = fmt.Errorf("the segments %s (of %d rows) and %s (of %d) are pooled, and %s holds for one of them: "+
				"sum the rows again with a lower --min_rows", d.Members[0].Name, d.Members[0].Rows, d.Members[i].Name,
				d.Members[i].Rows, c)
		}
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", d.Path, err)
	}
	return holds, nil
}

// LabelsOf returns the labels of the rows of a member; without segments, of all rows.
func (d *Dir) LabelsOf(member int) map[string]string {
	if len(d.Members) == 0 {
		return d.Labels
	}
	labels := dataset.PathValues(d.Members[member].Name + "/")
	for name, value := range d.Labels {
		labels[name] = cmp.Or(labels[name], value)
	}
	return labels
}

// OpenSegments opens a directory of sums. It returns a Dir for each segment, or one if there are no segments.
func OpenSegments(ctx context.Context, path string) ([]*Dir, error) {
	d, err := open(ctx, path)
	if err != nil {
		return nil, err
	}
	if d.Segments == nil {
		return []*Dir{d}, d.check()
	}
	if len(d.Leaves) != 1 || len(d.Segments) == 0 {
		return nil, &badDir{path, fmt.Errorf("%d segments of %d parts", len(d.Segments), len(d.Leaves))}
	}
	var all []*Dir
	for i := range d.Segments {
		l := d.segment(i)
		if err := l.check(); err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}
