package schema

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// Hints are the user's statements about a table. Columns are identified by 0-based positions.
type Hints struct {
	Names []string     // of the columns; nil if they have none
	Roles map[int]Role // of some columns; the others are features or ignored
	Types map[int]Type // of some columns
	// MaxLevels is the largest number of levels of a category. 0 means 1,000; a column whose
	// 1,000 most frequent texts cover less than nine in ten rows is then hashed.
	MaxLevels int
	// Fill says what replaces missing numbers: Mean, Median or "".
	Fill string
}

// Thresholds of inference.
const (
	defaultLevels = 1000
	mostly        = 0.99 // share of texts that decides the type of a column
	coverage      = 0.9  // share of rows that listed levels must cover
	maxValues     = 10   // largest number of whole numbers that may stand for categories
	manyTexts     = 20   // largest number of different texts of a few categories; see typeOf
	manyOthers    = 0.1  // share of texts that are not numbers, above which they are not mistakes; see typeOf
	minRows       = 20   // smallest number of rows for which a column may be an id
	unique        = 1.1  // a column of text whose texts occur at most this often on average is not a category
	minBuckets    = 1 << 10
	maxBuckets    = 1 << 16
)

// Infer describes a table from its survey. The result depends only on the fields of the table and the
// hints. It returns an error if the hints contradict the data, or if no column is left as a feature;
// the notes then still say which columns were left out.
func Infer(s *Survey, h Hints) (*Description, []Note, error) {
	in := inference{Hints: h, d: &Description{Rules: s.rules}}
	if h.Names != nil && len(h.Names) != len(s.columns) {
		return nil, nil, fmt.Errorf("schema: %d names for %d columns", len(h.Names), len(s.columns))
	}
	for _, i := range slices.Concat(slices.Collect(maps.Keys(h.Roles)), slices.Collect(maps.Keys(h.Types))) {
		if i < 0 || i >= len(s.columns) {
			return nil, nil, fmt.Errorf("schema: there is no column %d", i+1)
		}
	}
	if h.MaxLevels < 0 || h.MaxLevels > MaxLevels {
		return nil, nil, fmt.Errorf("schema: max_levels must be 1 to %d, or 0 to choose (have %d)", MaxLevels,
			h.MaxLevels)
	}
	plain := true
	for i := range s.columns {
		f := Field{Role: Feature, Summary: s.column(i)}
		f.Name = fmt.Sprintf("c%d", i+1)
		if h.Names != nil {
			f.Name = h.Names[i]
		}
		if role, ok := h.Roles[i]; ok {
			f.Role = role
		}
		in.d.Fields = append(in.d.Fields, f)
		if err := in.decideType(i); err != nil {
			return nil, nil, err
		}
		if f := &in.d.Fields[i]; f.Role == Feature && (f.Type != Number || f.Summary.Missing > 0) {
			plain = false
		}
	}
	for i := range in.d.Fields {
		in.decideRole(i, plain)
		if f := &in.d.Fields[i]; f.Role == Feature {
			if f.Type == Number {
				f.Fill = h.Fill
			}
			f.settle()
		}
	}
	if len(in.d.With(Feature)) == 0 {
		return in.d, in.notes, fmt.Errorf("schema: none of the %d columns can be used as a feature; %s", len(in.d.Fields),
			strings.Join(Sentences(in.notes), "; "))
	}
	return in.d, in.notes, in.d.Validate()
}

// inference is a description that is being inferred.
type inference struct {
	Hints
	d     *Description
	notes []Note
}

// note adds a note on a column that is a feature, that was dropped for the reason noted, or that has
// the times of the rows. It ignores notes on other columns.
func (in *inference) note(column int, d *doubt, detail string, args ...any) {
	f := &in.d.Fields[column]
	if f.Role != Feature && !d.dropped && !(f.Role == When && d.times) {
		return
	}
	in.notes = append(in.notes, Note{Column: column, Name: f.Name, Detail: fmt.Sprintf(detail, args...), doubt: d})
}

// decideType sets the type of a column.
func (in *inference) decideType(i int) error {
	f := &in.d.Fields[i]
	s := f.Summary
	var asked bool
	f.Type, asked = in.typeOf(f, in.Types[i])
	switch f.Type {
	case Number:
		in.numberNotes(i, asked)
	case Boolean:
		if n := s.Texts - s.Booleans; n > 0 {
			in.note(i, doubtNotBoolean, "%d of %d", n, s.Texts)
		}
	case Time:
		return in.decideLayout(i, asked)
	case Category:
		in.decideLevels(i, asked)
		if alike := Alike(s.texts()); alike != "" {
			in.note(i, doubtAlike, "%s", alike)
		}
	default:
		return fmt.Errorf("schema: column %d (%.60q): unknown type %.40q", i+1, f.Name, f.Type)
	}
	return nil
}

// typeOf returns the type of a column, and whether the user's hint or the role of the column asks for it.
func (in *inference) typeOf(f *Field, hint Type) (t Type, asked bool) {
	s := f.Summary
	texts, numbers := float64(s.Texts), float64(s.Numbers)
	switch {
	case hint != "":
		return hint, true
	case s.dates():
		return Time, false
	case f.Role == When && numbers < mostly*texts:
		return Time, true
	case s.codeNames():
		return Category, false
	case numbers >= mostly*texts: // also if there are none
		return Number, false
	case 2*s.Numbers > s.Texts && s.Distinct > manyTexts && !s.numbersAreNames():
		// A measurement with faulty fields: most texts are numbers, and more than manyTexts differ. The faulty ones
		// must not go unnoticed as levels. But if more than manyTexts different texts, and the share manyOthers of
		// all, are not numbers, the column has names.
		return Number, false
	case (in.d.Decimal == ',' || in.d.Thousands != 0) && s.Numbers > 0 && s.form() >= 0:
		// Numbers, but some are not written as the rules say. They must not go unnoticed as levels.
		return Number, false
	case s.pair():
		return Boolean, false
	}
	if _, share, _ := s.layout(); share >= mostly {
		return Time, false
	}
	return Category, false
}

// decideLayout sets the layout of a column of times.
func (in *inference) decideLayout(i int, asked bool) error {
	f := &in.d.Fields[i]
	s := f.Summary
	layout, _, other := s.layout()
	if layout == "" {
		return fmt.Errorf("schema: column %.60q: texts such as %s have no known layout of times; known are %s",
			cmp.Or(f.Name, fmt.Sprint(i+1)), Quote(s.odd), strings.Join(TimeLayoutNames(), ", "))
	}
	f.Layout = layout
	switch n := s.Texts - s.Times[layout]; {
	case n > 0 && f.Role == When:
		in.note(i, doubtNoTime, "%d of %d", n, s.Texts)
	case n > 0:
		in.note(i, doubtNotTime, "%d of %d", n, s.Texts)
	case other != "":
		in.note(i, doubtMonth, "read as %s, not %s", layout, other)
	case s.zone(layout) == zoneSome:
		in.note(i, doubtZones, "%d of %d with a zone", s.tally.count(isZoned), s.Texts)
	case layout == DigitsLayout && !asked:
		in.note(i, doubtDigits, "%.0f to %.0f", s.Min, s.Max)
	case !asked:
		in.note(i, doubtTime, "layout %s", layout)
	}
	return nil
}

// form returns the index of the form in which nearly all texts are numbers, although they are not
// plain numbers; -1 if there is none.
func (s *Summary) form() int {
	return slices.IndexFunc(s.tally.counts[firstForm:firstUnit], func(n int64) bool {
		return float64(n+s.Numbers) >= mostly*float64(s.Texts) && 2*n > s.Texts-s.Numbers
	})
}

// numbersAreNames reports whether the column has so many different texts that are not numbers that
// its numbers are names, too, such as ticket and part numbers.
func (s *Summary) numbersAreNames() bool {
	return s.others > manyTexts && float64(s.Texts-s.Numbers) >= manyOthers*float64(s.Texts)
}

// codeNames reports whether whole numbers are names because other texts of the column are codes such as 2A103:
// several different ones, none of which means a missing value. Texts must repeat, unlike measurements.
func (s *Summary) codeNames() bool {
	return s.codes > 1 && s.codes >= int64(len(s.absent)) && s.Whole == s.Numbers && 2*s.Numbers > s.Texts &&
		s.repeats() >= 2 && len(s.Times) == 0 &&
		!slices.ContainsFunc(s.tally.counts[firstForm:firstUnit], func(n int64) bool { return n > 0 })
}

// texts returns the texts of Levels.
func (s *Summary) texts() (all []string) {
	for _, l := range s.Levels {
		all = append(all, l.Text)
	}
	return all
}

// dates reports whether all texts are whole numbers that are dates.
func (s *Summary) dates() bool {
	return s.Distinct > 2 && s.Times[DigitsLayout] == s.Texts && s.Numbers == s.Texts
}

// datelike reports whether nearly all texts look like dates or times.
func (s *Summary) datelike() bool {
	var n int64
	for _, l := range s.Levels {
		if likeTime([]byte(l.Text)) {
			n += l.Rows
		}
	}
	return s.Texts > 0 && float64(n) >= mostly*float64(s.Texts)
}

// pair reports whether all texts are true or false in the words of one pair.
func (s *Summary) pair() bool {
	if s.Texts == 0 || s.Booleans < s.Texts {
		return false
	}
	first := map[string]string{"false": "true", "no": "yes", "n": "y", "f": "t", "0": "1"}
	pairs := map[string]bool{}
	for _, l := range s.Levels {
		word := strings.ToLower(l.Text)
		pairs[cmp.Or(first[word], word)] = true
	}
	return len(pairs) == 1
}

// numberNotes adds notes on a column of numbers.
func (in *inference) numberNotes(i int, asked bool) {
	s := in.d.Fields[i].Summary
	all := s.Whole == s.Texts && s.Texts > 0
	switch n := s.Texts - s.Numbers; {
	case n > 0 && s.codes == 0 && len(s.absent) > 0:
		in.absentNote(i, doubtAbsent, "%d of %d", n, s.Texts)
	case n > 0:
		in.note(i, doubtNotNumber, "%d of %d, such as %s", n, s.Texts, Quote(s.odd))
	}
	if n := s.tally.count(isLarge); n > 0 {
		in.note(i, doubtLarge, "%d of %d, up to %.3g", n, s.Texts, max(s.Max, -s.Min))
	}
	switch unit := s.unit(); {
	case unit != "":
		in.note(i, doubtUnit, "%d of %d with %s", s.Units[unit], s.Texts, unit)
	case asked: // the type is not in doubt
	case s.LeadingZeros > 0:
		in.note(i, doubtZeros, "%d of %d", s.LeadingZeros, s.Texts)
	case all && s.Distinct > 2 && s.Distinct <= maxValues && s.Texts >= 5*s.Distinct:
		in.note(i, doubtFew, "%d", s.Distinct)
	case all && s.Texts >= minRows && s.repeats() == 1 && s.Missing == 0 &&
		(s.Max-s.Min == float64(s.Texts-1) || in.indexes(i)):
		in.note(i, doubtNumbered, "%.0f to %.0f", s.Min, s.Max)
	}
}

// indexes reports whether distinct whole numbers seem to be row numbers of a larger table: the name of the column
// suggests it, and half of the numbers are below the middle of their range. A first column without a name is c1.
func (in *inference) indexes(i int) bool {
	f := &in.d.Fields[i]
	s, name := f.Summary, strings.ToLower(f.Name)
	number := slices.Contains([]string{"", "unnamed: 0", "index", "idx", "id", "row", "row_id", "row.names"}, name) ||
		name == "c1" && i == 0
	return number && math.Abs(s.Median-(s.Min+s.Max)/2) <= 0.1*(s.Max-s.Min)
}

// absentNote adds a note on words for a missing value.
func (in *inference) absentNote(i int, d *doubt, detail string, args ...any) {
	had := len(in.notes)
	in.note(i, d, detail, args...)
	for j := range in.notes[had:] {
		in.notes[had+j].words, in.notes[had+j].missing = in.d.Fields[i].Summary.absent, in.d.Missing
	}
}

// decideLevels sets the levels or buckets of a category.
func (in *inference) decideLevels(i int, asked bool) {
	f := &in.d.Fields[i]
	s := f.Summary
	most := in.MaxLevels
	if most == 0 {
		most = defaultLevels
	}
	var levels []string
	var covered, unfit int64
	for _, l := range s.Levels {
		if !utf8.ValidString(l.Text) {
			unfit++
			continue
		}
		if len(levels) == most {
			break
		}
		levels = append(levels, l.Text)
		covered += l.Rows
	}
	unfit += s.longTexts
	if unfit > 0 {
		in.note(i, doubtUnfit, "%d", unfit)
	}
	share := float64(covered) / float64(max(s.Texts, 1))
	switch {
	case !s.Exact || len(levels) == most && s.Distinct > int64(most) && in.MaxLevels == 0 && share < coverage:
		power := 1 << bits.Len64(uint64(max(s.Distinct, 1)-1)) // the least that is enough
		f.Buckets = min(max(power, minBuckets), maxBuckets)
		in.note(i, doubtBuckets, "%s different texts, %d buckets", s.different(), f.Buckets)
		levels = nil
	case s.Distinct > int64(most):
		in.note(i, doubtLevels, "%d of %d, which cover %.1f%% of the rows", len(levels), s.Distinct, 100*share)
	}
	slices.Sort(levels)
	f.Levels = levels
	if asked {
		return
	}
	switch form := s.form(); {
	case form >= 0:
		in.note(i, doubtForm[form], "such as %s", Quote(s.odd))
	case len(s.Units) > 1:
		in.note(i, doubtUnits, "such as %s", Quote(s.odd))
	case s.datelike():
		in.note(i, doubtDates, "such as %s", Quote(s.odd))
	case s.Numbers*20 < s.Texts: // so few numbers may be levels
	case s.codes == 0 && len(s.absent) > 0:
		in.absentNote(i, doubtWords, "%d of %d are numbers", s.Numbers, s.Texts)
	default:
		in.note(i, doubtMixed, "%d of %d are numbers; others are such as %s", s.Numbers, s.Texts, Quote(s.odd))
	}
}

// decideRole leaves out columns that cannot help, unless the user wants them. A table of plain numbers keeps
// its columns.
func (in *inference) decideRole(i int, plain bool) {
	f := &in.d.Fields[i]
	s := f.Summary
	_, role := in.Roles[i]
	_, typed := in.Types[i]
	if role || typed || f.Role != Feature {
		return
	}
	switch repeats := s.repeats(); {
	case s.Texts == 0:
		in.drop(i, doubtEmpty, "")
	case s.Distinct == 1 && s.Missing == 0 && s.Texts > 1:
		if plain {
			in.note(i, doubtSame, "")
		} else {
			in.drop(i, doubtConstant, "")
		}
	case f.Type == Category && s.Texts >= minRows && repeats > 0 && repeats <= unique:
		in.drop(i, doubtUnique, "%s in %d rows", s.different(), s.Texts)
	}
}

// drop gives a column the role Ignore and removes other notes on it. It keeps notes on the form of
// numbers, which explain why the column has many different texts.
func (in *inference) drop(i int, d *doubt, detail string, args ...any) {
	f := &in.d.Fields[i]
	f.Role, f.Levels, f.Buckets = Ignore, nil, 0
	in.notes = slices.DeleteFunc(in.notes, func(n Note) bool { return n.Column == i && !(d == doubtUnique && n.numbers) })
	if !slices.ContainsFunc(in.notes, func(n Note) bool { return n.Column == i }) {
		in.note(i, d, detail, args...)
	}
}
