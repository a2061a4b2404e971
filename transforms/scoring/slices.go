package scoring

import (
	"math"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models/paired"
	"github.com/bochner-ml/bochner/models/score"
)

// Slice is a column; rows with different values in it are scored separately.
type Slice struct {
	Name string `json:"name"`
	// Value is the index in the row of the column's value; −1 means that the identifiers of the rows are the values.
	Value int `json:"value"`
	// Column describes a column of a typed table; nil for a plain number.
	Column *schema.Column `json:"column,omitempty"`
	Centre float64        `json:"centre,omitempty"` // number that was subtracted from a plain number
	// Layout, unless empty, is the layout of times: identifiers count as the month that they are in.
	Layout string `json:"layout,omitempty"`
}

// Names of slices for values without a text in the data.
const (
	missingText = "(missing)"
	otherText   = "(other)"
	noTimeText  = "(not a time)"
)

// text returns the value of row i.
func (s *Slice) text(b *rowio.Block, i int) string {
	if s.Value < 0 {
		if i < len(b.IDs) {
			if id := strings.Trim(b.IDs[i], " \t"); id != "" && id != rowio.NoID {
				return s.identified(id)
			}
		}
		return missingText
	}
	v := b.Row(i)[s.Value]
	switch {
	case math.IsNaN(float64(v)):
		return missingText
	case s.Column == nil || s.Column.Type == schema.Number:
		wide := float64(v) + s.Centre
		if s.Centre == 0 { // the shortest decimal number that rounds to v
			wide, _ = strconv.ParseFloat(strconv.FormatFloat(wide, 'g', -1, 32), 64)
		}
		return string(schema.AppendFloat(nil, wide))
	case s.Column.Type == schema.Time:
		return schema.Month(b.Row(i)[s.Value:])
	case s.Column.Type == schema.Boolean:
		return strconv.FormatBool(v != 0)
	case s.Column.Buckets > 0:
		return "bucket " + strconv.Itoa(int(v))
	case int(v) < len(s.Column.Levels):
		return s.Column.Levels[int(v)]
	}
	return otherText
}

// identified returns the value of the row with identifier id.
func (s *Slice) identified(id string) string {
	if s.Layout == "" {
		return id
	}
	month, ok := schema.MonthOf([]byte(id), s.Layout)
	if !ok {
		return noTimeText
	}
	return month
}

// sliced adds the rows of blocks to the slices of each column.
type sliced struct {
	columns []Slice
	texts   []map[float32]string // texts of values seen before, which need no formatting
}

func newSliced(columns []Slice) *sliced {
	s := &sliced{columns: columns}
	for range columns {
		s.texts = append(s.texts, make(map[float32]string))
	}
	return s
}

// text returns the value of a column for row i.
func (s *sliced) text(column int, b *rowio.Block, i int) string {
	c := &s.columns[column]
	if c.Value < 0 || c.Column == nil && c.Centre != 0 || c.Column != nil && c.Column.Type == schema.Time {
		return c.text(b, i)
	}
	v := b.Row(i)[c.Value]
	text, ok := s.texts[column][v]
	if !ok {
		text = c.text(b, i)
		if !math.IsNaN(float64(v)) && len(s.texts[column]) < 2*score.MaxSlices {
			s.texts[column][v] = text
		}
	}
	return text
}

// groupOf returns the key of the group of row i; 0 without groups.
func groupOf(b *rowio.Block, i int) uint64 {
	if len(b.Keys) == 0 {
		return 0
	}
	return b.Keys[i]
}

// newSlices returns empty slices for each column, of a classifier or, with 0 classes, of a regression.
func newSlices(columns []Slice, classes int) []score.Slices {
	var all []score.Slices
	for range columns {
		all = append(all, *score.NewSlices(classes))
	}
	return all
}

// TargetScores is the result of Score for a regression. Its sums are exact.
type TargetScores struct {
	Targets    []score.Targets    // each of them
	OutOfRange []score.OutOfRange // rows with predictions far outside of each
	Slices     []score.Slices     // of the columns of Score.Slices, for each target
	Groups     []paired.Sum       // squared errors by group, in half ranges of each target; nil without groups
	Worst      *score.Worst       // by the error of the first target; nil if none were asked for
	Coverage   []score.Coverage   // coverage of the intervals of each target; nil without intervals
}

// Code implements wire.Coded.
func (t *TargetScores) Code(c *wire.Coder) {
	wire.All(c, &t.Targets, math.MaxInt32)
	wire.All(c, &t.OutOfRange, math.MaxInt32)
	wire.All(c, &t.Slices, math.MaxInt32)
	wire.All(c, &t.Groups, math.MaxInt32)
	wire.Optional(c, &t.Worst, func(r *score.Worst) { r.Code(c) })
	wire.All(c, &t.Coverage, math.MaxInt32)
}
