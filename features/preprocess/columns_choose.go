package preprocess

import (
	"errors"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/schema"
)

// Encoding is how categories become numbers.
type Encoding string

const (
	// OneHotEncoding makes a number for each level; see OneHot.
	OneHotEncoding Encoding = "onehot"
	// CountEncoding makes one number, the logarithm of the number of rows with the level. Held-out rows are not
	// counted, because rows to predict are not counted either.
	CountEncoding Encoding = "count"
	// TargetEncoding makes statistics of the labels of other rows with the level: the share of each class, or the mean
	// target. See LabelSums.
	TargetEncoding Encoding = "target"
)

// defaultTextWeight is the default weight of categories.
const defaultTextWeight = 0.7

// ColumnOptions are the options of encodings. The zero value means one-hot encoding with weight 0.7.
type ColumnOptions struct {
	// How categories become numbers: onehot (a number for each level, the default), count (the logarithm of how many
	// rows have the level) or target (the mean label of other rows with the level).
	Encode Encoding `flag:"encode" values:"onehot,count,target"`
	// Number that stands for the level of a category. Rows with different levels have a squared
	// distance of 2·weight², where two random rows have 2 in a standardised column of numbers. 0 is
	// 0.7.
	Weight float64 `flag:"category_weight"`
}

// Validate implements kernel.Options.
func (o ColumnOptions) Validate() error {
	switch o.Encode {
	case "", OneHotEncoding, CountEncoding, TargetEncoding:
	default:
		return option.Errorf("encode", "must be onehot, count or target (have %q)", string(o.Encode))
	}
	if w := float32(o.Weight); o.Weight != 0 && (!(w > 0x1p-60) || !(w < 0x1p60)) {
		return option.Errorf("category_weight", "must be a number > 0 within float32 (have %v)", o.Weight)
	}
	return nil
}

func (o ColumnOptions) weight() float32 {
	if o.Weight == 0 {
		return defaultTextWeight
	}
	return float32(o.Weight)
}

// encodingOf returns the encoding of a category: the column's own, if it has one.
func (o ColumnOptions) encodingOf(c *schema.Column) Encoding {
	if c.Encode != "" {
		return Encoding(c.Encode)
	}
	return o.Encode
}

// ColumnStatistics describe a slot of the rows of a data set.
type ColumnStatistics struct {
	Rows, Missing int64
	Share         float64 // share of rows, by weight, without a value
	// Of the values that are not missing; 0 for categories.
	Mean, Variance float64
	Low, High      float32
	// Fill replaces a missing number; nil means the mean.
	Fill *float32
	// Levels is the number of rows of each value of a category.
	Levels []int64
}

// Column describes a number that the recipe makes, over the same rows.
type Column struct {
	Mean, Variance float64
	Low, High      float32
	// Unscaled is true if columns should not be scaled, because the number is the weight of a level.
	Unscaled bool
}

// ChooseColumns returns the recipe for rows of a table with those statistics of its slots, and a
// description of its numbers. A missing number is replaced by the mean, unless the statistics say
// otherwise. If training rows miss values of a numeric column, it gets an indicator; a category or boolean
// gets a level for them. A category has a number for unknown texts only if some training row has one.
// labels are needed if NeedsLabelSums is true, and otherwise nil. counts has the number of rows of each level
// for CountEncoding; if it is nil, the statistics are used.
func ChooseColumns(t *schema.Table, slots []ColumnStatistics, o ColumnOptions, labels,
	counts *LabelSums) (Columns, []Column, error) {
	if err := o.Validate(); err != nil {
		return Columns{}, nil, err
	}
	if len(slots) != t.Width() {
		return Columns{}, nil, fmt.Errorf("columns: statistics of %d slots for rows of %d", len(slots), t.Width())
	}
	if NeedsLabelSums(t, o) && labels == nil {
		return Columns{}, nil, errors.New("columns: target statistics need the labels of rows")
	}
	c := chooser{ColumnOptions: o, w: o.weight(), labels: labels, counts: counts}
	at := 0
	for i := range t.Columns {
		column := &t.Columns[i]
		statistics := slots[at : at+column.Width()]
		at += len(statistics)
		if n := column.Values(); n > 0 && n != len(statistics[0].Levels) {
			return Columns{}, nil, fmt.Errorf("columns: column %q: counts of %d values for %d", column.Name,
				len(statistics[0].Levels), n)
		}
		c.column(column, statistics)
	}
	r := Columns{Slots: c.slots}
	if NeedsLabelSums(t, o) {
		r.CrossFit = &labels.cut
	}
	if err := r.Validate(); err != nil {
		return Columns{}, nil, err
	}
	var columns []Column
	r.order(func(i int) { columns = append(columns, c.columns[i]...) })
	return r, columns, nil
}

// ColumnBounds returns upper bounds for a row of the table: of its numbers, of the numbers in its short
// form (see features.ShortForm; 0 if that is not worth it), and of the values of its categories. outputs is
// the number of outputs of the labels.
func ColumnBounds(t *schema.Table, o ColumnOptions, outputs int) (numbers, short, levels int) {
	groups, hot := 0, 0
	for i := range t.Columns {
		c := &t.Columns[i]
		levels += c.Values()
		switch {
		case c.Type == schema.Category && o.encodingOf(c) == CountEncoding:
			numbers++
		case c.Type == schema.Category && o.encodingOf(c) == TargetEncoding:
			numbers += outputs
		case c.Type == schema.Category:
			groups++
			hot += c.Values() + 1
		case c.Type == schema.Boolean:
			groups++
			hot += 3
		default:
			numbers += c.Width() + 1
		}
	}
	form := features.ShortForm{Dense: numbers, Groups: groups, Hot: make([]float32, hot)}
	if hot > 0 && form.Faster() {
		short, _ = form.Row()
	}
	return numbers + hot, short, levels
}

// NeedsLabelSums reports whether some encoding of the table is computed from labels.
func NeedsLabelSums(t *schema.Table, o ColumnOptions) bool {
	return len(Categories(t, o, TargetEncoding)) > 0
}

// chooser collects the slots of a recipe.
type chooser struct {
	ColumnOptions
	w       float32
	labels  *LabelSums
	counts  *LabelSums
	slots   []Slot
	columns [][]Column // of each slot
}

// add adds a slot with the descriptions of its numbers.
func (c *chooser) add(s Slot, columns ...Column) {
	c.slots, c.columns = append(c.slots, s), append(c.columns, columns)
}

// column chooses the steps for a column. statistics are those of its slots: several for a time, otherwise one.
func (c *chooser) column(column *schema.Column, statistics []ColumnStatistics) {
	switch s := statistics[0]; {
	case column.Type == schema.Category && c.encodingOf(column) == CountEncoding:
		c.count(s)
	case column.Type == schema.Category && c.encodingOf(column) == TargetEncoding:
		c.means(s)
	case column.Type == schema.Category:
		c.oneHot(s)
	case column.Type == schema.Boolean && s.Missing > 0:
		// False, true and missing become three levels.
		yes := int64(math.Round(float64(s.Mean * float64(s.Rows-s.Missing))))
		s.Levels = []int64{s.Rows - s.Missing - yes, yes}
		c.oneHot(s)
	case column.Type == schema.Boolean:
		c.boolean(s)
	default:
		// The slots of a time are missing together, so one indicator is enough.
		for i, s := range statistics {
			c.number(s, i == 0)
		}
	}
}

// number adds a numeric slot, with an indicator if some values are missing.
func (c *chooser) number(s ColumnStatistics, indicate bool) {
	n := Number{Fill: float32(s.Mean)}
	if s.Fill != nil {
		n.Fill = *s.Fill
	}
	if !exact.Finite(n.Fill) {
		n.Fill = 0
	}
	share := s.Share
	if s.Missing > 0 && indicate {
		n.Missing = c.w
	}
	fill := float64(n.Fill)
	if s.Missing == s.Rows {
		s.Mean, s.Variance, s.Low, s.High = fill, 0, n.Fill, n.Fill
	}
	mean := float64((1-share)*s.Mean) + float64(share*fill)
	d, e := s.Mean-mean, fill-mean
	variance := float64((1-share)*(s.Variance+float64(d*d))) + float64(share*float64(e*e))
	column := Column{Mean: mean, Variance: variance, Low: s.Low, High: s.High}
	if s.Missing > 0 {
		column.Low, column.High = min(column.Low, n.Fill), max(column.High, n.Fill)
	}
	columns := []Column{column}
	if n.Missing != 0 {
		columns = append(columns, c.indicator(s.Missing, s.Rows))
	}
	c.add(Slot{Number: &n}, columns...)
}

// boolean adds one number for a boolean without missing values: 0 or √2·w, so that the two values are as
// far apart as two levels.
func (c *chooser) boolean(s ColumnStatistics) {
	top := float32(math.Sqrt2 * float64(c.w))
	unit := float64(top)
	c.add(Slot{Lookup: &Lookup{Values: 2, Out: 1, Numbers: features.Floats{0, top, top / 2}}}, Column{
		Mean: float64(unit * s.Mean), Variance: float64(float64(unit*unit) * s.Variance),
		Low: top * s.Low, High: top * s.High, Unscaled: true,
	})
}

// oneHot adds a number for each level, except the last levels if no row has them. That is usually the level
// for unknown texts.
func (c *chooser) oneHot(s ColumnStatistics) {
	levels := s.Levels
	for len(levels) > 1 && levels[len(levels)-1] == 0 {
		levels = levels[:len(levels)-1]
	}
	var columns []Column
	for _, n := range levels {
		columns = append(columns, c.indicator(n, s.Rows))
	}
	if s.Missing > 0 {
		columns = append(columns, c.indicator(s.Missing, s.Rows))
	}
	c.add(Slot{OneHot: &OneHot{Values: len(levels), Weight: c.w, Missing: s.Missing > 0}}, columns...)
}

// indicator describes a number that is w in n of all rows, and 0 in the others.
func (c *chooser) indicator(n, all int64) Column {
	p, w := float64(n)/float64(max(all, 1)), float64(c.w)
	column := Column{Mean: float64(p * w), Variance: float64(float64(w*w) * float64(p*(1-p))), Unscaled: true}
	if n > 0 {
		column.High = c.w
	}
	if n == all {
		column.Low = c.w
	}
	return column
}

// count adds the logarithm of the number of rows with the level; 0 for levels without rows.
func (c *chooser) count(s ColumnStatistics) {
	t := &Lookup{Values: len(s.Levels), Out: 1, Numbers: make(features.Floats, len(s.Levels)+1)}
	counts := append(s.Levels[:len(s.Levels):len(s.Levels)], s.Missing)
	if c.counts != nil {
		counts = c.counts.rows(c.counts.categoryIn(len(c.slots)))
	}
	for level, n := range counts {
		if n > 0 {
			t.Numbers[level] = float32(stream.Log(float64(n)))
		}
	}
	c.add(Slot{Lookup: t}, t.describe(s, 0))
}

// means adds the label statistics of the level.
func (c *chooser) means(s ColumnStatistics) {
	t := c.labels.table(c.labels.categoryIn(len(c.slots)))
	columns := make([]Column, t.Out)
	for j := range columns {
		columns[j] = t.describe(s, j)
		for i := j; i < len(t.Numbers); i += t.Out { // numbers of training rows may differ from each other
			columns[j].Low, columns[j].High = min(columns[j].Low, t.Numbers[i]), max(columns[j].High, t.Numbers[i])
		}
	}
	c.add(Slot{Lookup: t}, columns...)
}

// describe describes number j of the table over rows with those counts of levels.
func (t *Lookup) describe(s ColumnStatistics, j int) Column {
	var column Column
	counts := append(s.Levels[:len(s.Levels):len(s.Levels)], s.Missing)
	first := true
	for level, n := range counts {
		v := t.Numbers[level*t.Out+j]
		if n == 0 {
			continue
		}
		if first {
			column.Low, column.High, first = v, v, false
		}
		column.Low, column.High = min(column.Low, v), max(column.High, v)
		column.Mean += float64(float64(n) / float64(s.Rows) * float64(v))
	}
	for level, n := range counts {
		d := float64(t.Numbers[level*t.Out+j]) - column.Mean
		column.Variance += float64(float64(n) / float64(s.Rows) * float64(d*d))
	}
	return column
}
