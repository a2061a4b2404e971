package preprocess

import (
	"fmt"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
)

// Columns is the recipe of a map from rows of slots, as package schema stores them, to rows of numbers:
// first the numbers of Number and Lookup slots, slot by slot, then the numbers of OneHot slots.
type Columns struct {
	Slots []Slot `json:"slots"` // in the order of the row
	// CrossFit divides the training rows. A part of a Lookup is without one part of them. nil if lookups have no parts.
	CrossFit *CrossFit `json:"cross_fit,omitempty"`
}

// Slot turns a slot into numbers. Exactly one of its fields is set.
type Slot struct {
	Number *Number `json:"number,omitempty"`
	OneHot *OneHot `json:"onehot,omitempty"`
	Lookup *Lookup `json:"table,omitempty"`
}

// Number keeps a number.
type Number struct {
	Fill float32 `json:"fill"` // replaces a missing value
	// Missing, unless 0, adds an indicator: Missing if the value is missing, otherwise 0.
	Missing float32 `json:"missing,omitempty"`
}

// OneHot turns the index of a level into an indicator for each level: Weight for the row's level and 0 for
// the others. All are 0 for any other index and, unless Missing is set, for a missing value.
type OneHot struct {
	Values  int     `json:"values"`            // ≥ 1
	Weight  float32 `json:"weight"`            // > 0
	Missing bool    `json:"missing,omitempty"` // a missing value has an indicator, after the others
}

// Lookup turns the index of a level into numbers from a table, for encodings by counts or targets.
type Lookup struct {
	Values int `json:"values"` // ≥ 1
	Out    int `json:"out"`    // numbers of a level, ≥ 1
	// Parts is the number of further tables of the same size, for training rows. Their index is the level
	// plus a multiple of Values+1; see TargetEncoder.
	Parts int `json:"parts,omitempty"`
	// Numbers holds the numbers of each level, and of a missing value or any other index:
	// (Parts+1)×(Values+1)×Out, row-major.
	Numbers features.Floats `json:"numbers"`
}

func init() { features.Register("columns", features.Decode[Columns]) }

// maxValues is the largest number of values of a category: all levels, and one for any other value.
const maxValues = schema.MaxLevels + 1

// width returns the number of numbers that a valid slot becomes.
func (s *Slot) width() int {
	switch {
	case s.Number != nil && s.Number.Missing != 0:
		return 2
	case s.Number != nil:
		return 1
	case s.OneHot != nil && s.OneHot.Missing:
		return s.OneHot.Values + 1
	case s.OneHot != nil:
		return s.OneHot.Values
	}
	return s.Lookup.Out
}

// Validate returns an error that names the invalid slot and field.
func (r Columns) Validate() error {
	if len(r.Slots) < 1 || len(r.Slots) > rowio.MaxDim {
		return fmt.Errorf("columns: the number of slots must be 1 to %d (have %d)", rowio.MaxDim, len(r.Slots))
	}
	if r.CrossFit != nil {
		if err := r.CrossFit.validate(); err != nil {
			return fmt.Errorf("columns: %w", err)
		}
	}
	out := 0
	for i := range r.Slots {
		if err := r.Slots[i].validate(); err != nil {
			return fmt.Errorf("columns: slot %d: %w", i+1, err)
		}
		if t := r.Slots[i].Lookup; t != nil && t.Parts != 0 && (r.CrossFit == nil || r.CrossFit.Parts != t.Parts) {
			return fmt.Errorf("columns: slot %d: table of %d parts; the recipe's cut must have as many", i+1, t.Parts)
		}
		out += r.Slots[i].width()
		if out > rowio.MaxDim {
			return fmt.Errorf("columns: slot %d: more than %d numbers of a row; encode categories of many levels by counts or "+
				"target statistics, or hash them to fewer buckets", i+1, rowio.MaxDim)
		}
	}
	return nil
}

func (s *Slot) validate() error {
	set := 0
	for _, given := range []bool{s.Number != nil, s.OneHot != nil, s.Lookup != nil} {
		if given {
			set++
		}
	}
	if set != 1 {
		return fmt.Errorf("want one of number, onehot and table (have %d)", set)
	}
	switch {
	case s.OneHot != nil:
		if n := s.OneHot.Values; n < 1 || n > maxValues {
			return fmt.Errorf("onehot: values must be 1 to %d (have %d)", maxValues, n)
		}
		if w := s.OneHot.Weight; !(w > 0) || !exact.Finite(w) {
			return fmt.Errorf("onehot: weight must be > 0 and finite (have %v)", w)
		}
	case s.Lookup != nil:
		return s.Lookup.validate()
	case !exact.Finite(s.Number.Fill) || !exact.Finite(s.Number.Missing):
		return fmt.Errorf("number: fill and missing must be finite (have %v, %v)", s.Number.Fill, s.Number.Missing)
	}
	return nil
}

func (t *Lookup) validate() error {
	if t.Values < 1 || t.Values > maxValues || t.Out < 1 || t.Out > rowio.MaxDim {
		return fmt.Errorf("table: values must be 1 to %d and out 1 to %d (have %d, %d)", maxValues, rowio.MaxDim,
			t.Values, t.Out)
	}
	if t.Parts < 0 || t.Parts > maxParts || (t.Parts+1)*(t.Values+1) > 1<<24 {
		return fmt.Errorf("table: parts must be 0 to %d, and values and parts fewer than 2²⁴ together (have %d of %d)",
			maxParts, t.Parts, t.Values)
	}
	if want := (t.Parts + 1) * (t.Values + 1) * t.Out; len(t.Numbers) != want {
		return fmt.Errorf("table: %d numbers; %d of each of %d values and of a missing one, %d times, take %d",
			len(t.Numbers), t.Out, t.Values, t.Parts+1, want)
	}
	for i, v := range t.Numbers {
		if !exact.Finite(v) {
			return fmt.Errorf("table: number %d must be finite (have %v)", i+1, v)
		}
	}
	return nil
}

// Dims returns the number of slots and of numbers.
func (r Columns) Dims() (in, out int) {
	for i := range r.Slots {
		out += r.Slots[i].width()
	}
	return len(r.Slots), out
}

// New returns the map.
func (r Columns) New() (features.Map, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return newMap(r), nil
}

// order calls do for each slot, in the order of their numbers.
func (r Columns) order(do func(i int)) {
	for _, hot := range []bool{false, true} {
		for i := range r.Slots {
			if (r.Slots[i].OneHot != nil) == hot {
				do(i)
			}
		}
	}
}

// Source is the slot from which a number comes.
type Source struct {
	Slot int // index of the slot in the row
	// Variance is 1 for numbers, as after standardisation. For a level of a category and other indicators
	// it is the variance if levels were equally frequent.
	Variance float64
}

// Sources returns the source of each number.
func (r Columns) Sources() (sources []Source) {
	indicator := func(w float32, levels int) float64 {
		p := 1 / float64(levels)
		return float64(w) * float64(w) * p * (1 - p)
	}
	r.order(func(i int) {
		s := &r.Slots[i]
		for j := range s.width() {
			from := Source{i, 1}
			switch {
			case s.Number != nil && j == 1:
				from.Variance = indicator(s.Number.Missing, 2)
			case s.OneHot != nil:
				from.Variance = indicator(s.OneHot.Weight, max(2, s.width()))
			case s.Lookup != nil && s.boolean():
				from.Variance = indicator(s.Lookup.Numbers[1], 2)
			}
			sources = append(sources, from)
		}
	})
	return sources
}

// boolean reports whether a table encodes a boolean: 0, a number, and half of it for a missing value.
func (s *Slot) boolean() bool {
	t := s.Lookup
	return t.Values == 2 && t.Out == 1 && t.Parts == 0 && t.Numbers[0] == 0 && t.Numbers[2] == t.Numbers[1]/2
}

// Names returns the names of the numbers for rows of that table: the name of the slot; for a level of a
// category column=level, or column=(other), column=(missing) or column=#bucket; and column.2 for the second
// of several numbers of a level. It panics if the table has another number of slots.
func (r Columns) Names(t *schema.Table) []string {
	if len(r.Slots) != t.Width() {
		panic("columns: Names: the table has another number of slots")
	}
	_, out := r.Dims()
	names, slots := make([]string, 0, out), t.Names()
	var columns []*schema.Column // of each slot
	for i := range t.Columns {
		for range t.Columns[i].Width() {
			columns = append(columns, &t.Columns[i])
		}
	}
	r.order(func(i int) { names = r.Slots[i].names(names, slots[i], columns[i]) })
	return names
}

// names appends the names of the numbers of a slot, such as country=DE. c is its column in the table.
func (s *Slot) names(names []string, slot string, c *schema.Column) []string {
	switch {
	case s.Number != nil:
		names = append(names, slot)
		if s.Number.Missing != 0 {
			names = append(names, slot+"=(missing)")
		}
	case s.OneHot != nil:
		for level := range s.OneHot.Values {
			names = append(names, slot+"="+levelName(c, level))
		}
		if s.OneHot.Missing {
			names = append(names, slot+"=(missing)")
		}
	case s.Lookup.Out == 1:
		names = append(names, slot)
	default:
		for j := range s.Lookup.Out {
			names = append(names, fmt.Sprintf("%s.%d", slot, j+1))
		}
	}
	return names
}

// levelName returns the name of a value of a column.
func levelName(c *schema.Column, level int) string {
	switch {
	case c.Type == schema.Boolean:
		return fmt.Sprint(level == 1)
	case c.Buckets > 0:
		return fmt.Sprintf("#%d", level)
	case level < len(c.Levels):
		return c.Levels[level]
	}
	return "(other)"
}
