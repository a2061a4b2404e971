package preprocess

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/wire"
)

// CrossFit divides rows into parts for target statistics, by the hash that decides their folds.
// Rows of fold 0 of Held folds are in part 0, which is not used in statistics; with Held 0 there are
// none. The other rows are in parts 1 to Parts, of about equal size.
type CrossFit struct {
	Held  int `json:"held,omitempty"`
	Parts int `json:"parts"`
}

// Limits of a CrossFit.
const (
	maxHeld  = 1 << 16
	maxParts = 64
)

func (c *CrossFit) validate() error {
	if c.Held < 0 || c.Held > maxHeld || c.Held == 1 || c.Parts < 2 || c.Parts > maxParts {
		return fmt.Errorf("preprocess: held must be 0 or 2 to %d, and parts 2 to %d (have %d, %d)", maxHeld, maxParts,
			c.Held, c.Parts)
	}
	return nil
}

// part returns the part of a row with the given hash.
func (c *CrossFit) part(hash uint64) int {
	if c.Held > 0 {
		if hash%uint64(c.Held) == 0 {
			return 0
		}
		hash /= uint64(c.Held)
	}
	return 1 + int(hash%uint64(c.Parts))
}

// TargetEncoder changes the category indices of training rows, so that the recipe encodes them by
// statistics that were computed without their part. It is safe for concurrent use.
type TargetEncoder struct {
	crossFit CrossFit
	slots    []int
	values   []int
}

// TargetEncoderOf returns the TargetEncoder of a recipe, or of the first step of a chain; nil if training
// rows need none.
func TargetEncoderOf(r features.Recipe) *TargetEncoder {
	if c, ok := r.(features.Chain); ok && len(c.Steps) > 0 {
		r = c.Steps[0]
	}
	columns, ok := r.(Columns)
	if !ok || columns.CrossFit == nil {
		return nil
	}
	e := &TargetEncoder{crossFit: *columns.CrossFit}
	for i := range columns.Slots {
		if t := columns.Slots[i].Lookup; t != nil && t.Parts > 0 {
			e.slots, e.values = append(e.slots, i), append(e.values, t.Values)
		}
	}
	return e
}

// Block changes a block of training rows, given the hashes that decide their folds. A nil TargetEncoder
// changes nothing.
func (e *TargetEncoder) Block(b *rowio.Block, hashes []uint64) {
	if e == nil {
		return
	}
	for i := range b.N {
		e.Row(b.Row(i), hashes[i])
	}
}

// Part returns the part of a hash: equal rows of one part stay equal. It is 0 for a nil TargetEncoder.
func (e *TargetEncoder) Part(hash uint64) int {
	if e == nil {
		return 0
	}
	return e.crossFit.part(hash)
}

// Row changes a training row, given the hash that decides its fold. A nil TargetEncoder changes nothing.
func (e *TargetEncoder) Row(row []float32, hash uint64) {
	part := e.Part(hash)
	if part == 0 {
		return
	}
	for i, slot := range e.slots {
		values := e.values[i]
		row[slot] = float32(part*(values+1) + levelOf(row[slot], values))
	}
}

// Category is a slot of a row that holds a category with Values values.
type Category struct {
	Slot   int `json:"slot"`
	Values int `json:"values"`
}

// Categories returns the categories of a table (which may be nil) that have the encoding by.
func Categories(t *schema.Table, o ColumnOptions, by Encoding) (all []Category) {
	if t == nil {
		return nil
	}
	slot := 0
	for i := range t.Columns {
		c := &t.Columns[i]
		if n := c.Values(); n > 0 && o.encodingOf(c) == by {
			all = append(all, Category{slot, n})
		}
		slot += c.Width()
	}
	return all
}

// SummedLevels returns the total number of levels of the categories that have TargetEncoding.
func SummedLevels(t *schema.Table, o ColumnOptions) (levels int) {
	for _, c := range Categories(t, o, TargetEncoding) {
		levels += c.Values
	}
	return levels
}

// LabelSums are weighted sums of labels by category, part and level: the number of rows of each class;
// without classes, the number of rows and the sum of their targets as whole numbers. All are exact, so they
// are the same for any order of the rows. Create it with NewLabelSums.
type LabelSums struct {
	Unit float64 // number of rows that a weight of 1 stands for; 0 means 1

	cut        CrossFit
	classes    int // 0 for targets
	categories []Category
	sums       [][]int64 // of each category: Parts × (Values+1) × width
}

// maxLabelSums is the largest number of sums: 1 GiB.
const maxLabelSums = 1 << 27

// NewLabelSums returns empty sums for labels of the given number of classes; with 0 classes, labels are targets as
// whole numbers. It fails if the sums take too much memory.
func NewLabelSums(cut CrossFit, classes int, categories []Category) (*LabelSums, error) {
	if err := cut.validate(); err != nil {
		return nil, fmt.Errorf("columns: %w", err)
	}
	t := &LabelSums{cut: cut, classes: classes, categories: slices.Clone(categories)}
	if classes < 0 || classes == 1 || classes > rowio.MaxDim {
		return nil, fmt.Errorf("columns: target statistics of %d classes", classes)
	}
	all := 0
	for _, c := range categories {
		if c.Slot < 0 || c.Slot >= rowio.MaxDim || c.Values < 1 || c.Values > maxValues {
			return nil, fmt.Errorf("columns: target statistics of %d levels in slot %d", c.Values, c.Slot)
		}
		// No product overflows: 2²⁰·2⁶·2²⁰.
		all += cut.Parts * (c.Values + 1) * t.width()
		if all > maxLabelSums {
			return nil, fmt.Errorf("columns: target statistics of so many levels and classes take more than %d numbers; hash "+
				"categories to fewer buckets, or encode them otherwise", maxLabelSums)
		}
	}
	for _, c := range categories {
		t.sums = append(t.sums, make([]int64, cut.Parts*(c.Values+1)*t.width()))
	}
	return t, nil
}

// width is the number of sums of a level.
func (t *LabelSums) width() int {
	if t.classes == 0 {
		return 2
	}
	return t.classes
}

// Add adds a row with its hash, label and weight ≥ 0. The label is the index of its class, or its target
// as a whole number below 2²⁰ in magnitude.
func (t *LabelSums) Add(row []float32, hash uint64, label int, weight int64) {
	part := t.cut.part(hash)
	if part == 0 {
		return
	}
	for i, c := range t.categories {
		at := ((part-1)*(c.Values+1) + levelOf(row[c.Slot], c.Values)) * t.width()
		if t.classes > 0 {
			t.sums[i][at+label] += weight
			continue
		}
		t.sums[i][at] += weight
		t.sums[i][at+1] += weight * int64(label)
	}
}

// Merge adds the sums of u, which must have the same cut, classes and categories.
func (t *LabelSums) Merge(u *LabelSums) {
	if t.cut != u.cut || t.classes != u.classes || !slices.Equal(t.categories, u.categories) {
		panic("columns: merge of other target statistics")
	}
	for i, sums := range u.sums {
		for j, v := range sums {
			t.sums[i][j] += v
		}
	}
}

// Code implements wire.Coded.
func (t *LabelSums) Code(c *wire.Coder) {
	cut := CrossFit{c.Int(t.cut.Held, maxHeld), c.Int(t.cut.Parts, maxParts)}
	classes, categories, all := c.Int(t.classes, rowio.MaxDim), t.categories, 0
	wire.Each(c, &categories, math.MaxInt32, func(e *Category) {
		e.Slot, e.Values = c.Int(e.Slot, rowio.MaxDim), c.Int(e.Values, maxValues)
		all += cut.Parts * (e.Values + 1) * max(classes, 2)
		c.Check(all <= c.Left()) // a sum takes at least a byte
	})
	if c.Check(all <= c.Left()) && c.Reading() {
		u, err := NewLabelSums(cut, classes, categories)
		if !c.Check(err == nil) {
			return
		}
		*t = *u
	}
	for _, sums := range t.sums {
		for i := range sums {
			zigzag := c.Uvarint(uint64(sums[i])<<1^uint64(sums[i]>>63), math.MaxUint64)
			sums[i] = int64(zigzag>>1) ^ -int64(zigzag&1)
		}
	}
}

// smoothing is the number of rows with the overall mean that are added to each level: the estimate for a
// level with smoothing rows is halfway between its own mean and the overall mean.
const smoothing = 10

// table returns the statistics of category i: for each level the share of each class (of two classes, only
// the second), or the mean target. The first table is over all parts, the others leave out one part each.
func (t *LabelSums) table(i int) *Lookup {
	c, width := t.categories[i], t.width()
	out := 1
	if t.classes > 2 {
		out = t.classes
	}
	size := (c.Values + 1) * width
	tab := &Lookup{Values: c.Values, Out: out, Parts: t.cut.Parts,
		Numbers: make(features.Floats, 0, (c.Values+1)*out*(t.cut.Parts+1))}
	sums, level := make([]int64, size), make([]float64, out)
	for without := range t.cut.Parts + 1 {
		clear(sums)
		for part := range t.cut.Parts {
			if part+1 == without {
				continue
			}
			for j, v := range t.sums[i][part*size : (part+1)*size] {
				sums[j] += v
			}
		}
		whole := make([]int64, width)
		for j, v := range sums {
			whole[j%width] += v
		}
		prior := make([]float64, out)
		t.means(prior, whole, 0, nil)
		for l := range c.Values + 1 {
			t.means(level, sums[l*width:(l+1)*width], smoothing, prior)
			for _, v := range level {
				tab.Numbers = append(tab.Numbers, float32(v))
			}
		}
	}
	return tab
}

// means stores in dst the means of labels with those sums and more rows with the means prior.
func (t *LabelSums) means(dst []float64, sums []int64, more float64, prior []float64) {
	n := sums[0]
	if t.classes > 0 {
		n = 0
		for _, v := range sums {
			n += v
		}
	}
	unit := cmp.Or(t.Unit, 1)
	total := float64(float64(n)*unit) + more
	for j := range dst {
		sum := float64(float64(sums[len(sums)-len(dst)+j]) * unit) // a single statistic is of the second class or of the targets
		if more > 0 {
			sum += float64(more * prior[j])
		}
		dst[j] = 0
		if total > 0 {
			dst[j] = sum / total
		}
	}
}

// rows returns the number of rows of each level of category i over all parts, and last of the missing
// value, for sums without classes.
func (t *LabelSums) rows(i int) []int64 {
	n := t.categories[i].Values + 1
	counts := make([]int64, n)
	for j, v := range t.sums[i] {
		if j%2 == 0 {
			counts[j/2%n] += v
		}
	}
	return counts
}

// categoryIn returns the index of the category in a slot; −1 if there is none.
func (t *LabelSums) categoryIn(slot int) int {
	return slices.IndexFunc(t.categories, func(c Category) bool { return c.Slot == slot })
}

// levelOf returns the level with index v; values for NaN and any number that is not an index.
func levelOf(v float32, values int) int {
	if v >= 0 && v < float32(values) {
		if level := int(v); float32(level) == v {
			return level
		}
	}
	return values
}
