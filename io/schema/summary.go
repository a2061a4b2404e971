package schema

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/io/lines"
)

// Level is a text and the number of fields that have it.
type Level struct {
	Text string `json:"text"`
	Rows int64  `json:"rows"`
}

// Summary describes a column of a Survey.
type Summary struct {
	Fields  int64   `json:"fields"`
	Missing int64   `json:"missing"`
	Codes   []Level `json:"codes,omitempty"` // texts that mean a missing value and occur; "" is the empty text

	TextCounts
	NumberRange

	Shortest int `json:"shortest"` // bytes of the shortest text
	Longest  int `json:"longest"`
	// Distinct is the number of different texts: exact if Exact is true, else estimated
	// from a sample of them with a relative standard error of about 1/√len(Levels).
	Distinct int64 `json:"distinct"`
	Exact    bool  `json:"exact"`
	// Levels are the texts that were counted one by one, by falling counts, then by text. Counts
	// are exact. If Exact is false, Levels is a sample: the texts whose hash is small.
	Levels []Level `json:"-"`

	longTexts int64 // texts too long for a level
	notNumbers
	tally tally
}

// TextCounts counts texts by the types that they can be read as.
type TextCounts struct {
	Texts        int64 `json:"texts"`                   // fields that are not missing
	Numbers      int64 `json:"numbers"`                 // texts that are finite numbers
	Whole        int64 `json:"whole"`                   // numbers without a fraction
	LeadingZeros int64 `json:"leading_zeros,omitempty"` // numbers with needless zeros before them
	Booleans     int64 `json:"booleans,omitempty"`      // texts that can be read as true or false
	// Times counts the texts that have a layout, by its name, and Units the numbers with a unit.
	Times map[string]int64 `json:"times,omitempty"`
	Units map[string]int64 `json:"units,omitempty"`
}

// NumberRange has the range and the median of the numbers.
type NumberRange struct {
	Min float64 `json:"min"` // smallest number
	Max float64 `json:"max"`
	// Median is the median of the numbers. Its error is at most Within, which is 0 if Exact is true.
	Median float64 `json:"median"`
	Within float64 `json:"within,omitempty"`
}

// notNumbers describes the texts in Levels that are not numbers.
type notNumbers struct {
	others int64    // number of these texts
	codes  int64    // number of others that do not mean a missing value
	absent []string // words for a missing value, as written
	odd    string   // an example
}

// column returns the summary of a column.
func (s *Survey) column(column int) *Summary {
	c := &s.columns[column]
	sum := &Summary{Fields: c.fields, Missing: c.null + c.empty, Exact: c.zeros == 0}
	if c.empty > 0 {
		sum.Codes = append(sum.Codes, Level{"", c.empty})
	}
	for i, n := range c.codes {
		sum.Missing += n
		if n > 0 {
			sum.Codes = append(sum.Codes, Level{s.rules.Missing[i], n})
		}
	}
	numbers := s.addLevels(sum, c)
	all := &sum.tally
	sum.Texts = all.n
	sum.Numbers, sum.Whole, sum.LeadingZeros, sum.Booleans = all.count(isNumber), all.count(isWhole), all.count(hasZeros),
		all.count(isBoolean)
	sum.Times, sum.Units = all.named(firstLayout, TimeLayoutNames()), all.named(firstUnit, lines.Units[:])
	for u, n := range sum.Units { // numbers with another unit than most are other texts
		if u == sum.unit() {
			continue
		}
		sum.Numbers -= n
		sum.codes++
		for _, l := range sum.Levels {
			if sum.odd == "" && strings.Contains(l.Text, u) {
				sum.odd = l.Text
			}
		}
	}
	if sum.Numbers > 0 {
		sum.Min, sum.Max = all.min, all.max
		sum.Median, sum.Within = quantile(numbers, 0.5)
	}
	if sum.odd == "" {
		sum.odd = all.odd
	}
	sum.Shortest, sum.Longest = int(all.short), int(all.long)
	known := float64(len(c.levels.entries))
	sum.Distinct = int64(known)
	if !sum.Exact {
		// Not more than all fields may be distinct, nor fewer than are known.
		sum.Distinct = int64(min(max(math.Ldexp(known, int(c.zeros)), known+1), float64(sum.Texts)))
	}
	return sum
}

// addLevels adds the texts that a column counts one by one, and the tally of all its texts. It returns the numbers.
func (s *Survey) addLevels(sum *Summary, c *columnCounts) (numbers []piece) {
	sum.tally = c.rest
	if len(c.cells.n) > 0 {
		numbers = c.cells.pieces(c.rest.min, c.rest.max)
	}
	var most int64 // rows with the example
	for i := range c.levels.entries {
		e := &c.levels.entries[i]
		stored := c.levels.stored(e)
		var has traits
		var value float64
		if e.size <= maxLevelText {
			has, value = s.traitsOf(stored)
			sum.Levels = append(sum.Levels, Level{string(stored), e.n})
		} else {
			sum.longTexts++
		}
		sum.tally.add(has, value, stored, e.size, e.n)
		if has&isNumber != 0 {
			numbers = append(numbers, piece{From: value, To: value, N: e.n})
			continue
		}
		sum.others++
		if has&isAbsent != 0 {
			sum.absent = append(sum.absent, string(stored))
		} else {
			sum.codes++
		}
		if n := e.n; n > most || n == most && string(stored) < sum.odd {
			most, sum.odd = n, string(stored[:min(len(stored), maxExample)])
		}
	}
	slices.Sort(sum.absent)
	slices.SortFunc(sum.Levels, func(a, b Level) int {
		return cmp.Or(cmp.Compare(b.Rows, a.Rows), strings.Compare(a.Text, b.Text))
	})
	return numbers
}

// named maps names to the counts of traits, beginning with the trait first. It omits zero counts.
func (t *tally) named(first int, names []string) (counts map[string]int64) {
	for i, name := range names {
		if n := t.counts[first+i]; n > 0 {
			if counts == nil {
				counts = map[string]int64{}
			}
			counts[name] = n
		}
	}
	return counts
}

// unit returns the most frequent unit of a column of numbers; "" if they have none.
func (s *Summary) unit() (unit string) {
	for _, u := range lines.Units {
		if s.Units[u] > s.Units[unit] {
			unit = u
		}
	}
	return unit
}

// zone returns which times of the layout have a zone, as Column.Zone.
func (s *Summary) zone(layout string) string {
	switch zoned := s.tally.count(isZoned); {
	case layout != "iso" || s.Times[layout] == 0:
		return ""
	case zoned == 0:
		return zoneNone
	case zoned < s.Times[layout]:
		return zoneSome
	}
	return zoneAll
}

// different returns the number of different texts for a message: 12, or about 12000.
func (s *Summary) different() string {
	if s.Exact {
		return fmt.Sprint(s.Distinct)
	}
	return fmt.Sprintf("about %d", s.Distinct)
}

// repeats returns the mean count of the texts in Levels; 0 if there are none.
func (s *Summary) repeats() float64 {
	if len(s.Levels) == 0 {
		return 0
	}
	var n int64
	for _, l := range s.Levels {
		n += l.Rows
	}
	return float64(n) / float64(len(s.Levels))
}

// layout returns the layout that most texts have, the share of texts that have it, and another layout
// that equally many texts have, if there is one.
func (s *Summary) layout() (name string, share float64, other string) {
	var most int64
	for _, l := range TimeLayouts {
		isISO := name == "iso" && l.Name == "y-m-d" // most texts of iso are also y-m-d
		switch n := s.Times[l.Name]; {
		case n > most:
			most, name, other = n, l.Name, ""
		case n == most && n > 0 && other == "" && !isISO:
			other = l.Name
		}
	}
	return name, float64(most) / float64(max(s.Texts, 1)), other
}

// Span returns the first and the last time in a layout as texts. It is not ok unless Exact, and a text has the layout.
func (s *Summary) Span(layout string) (first, last string, ok bool) {
	l := timeLayoutOf(layout)
	if l == nil || !s.Exact {
		return "", "", false
	}
	var from, to time.Time
	for _, level := range s.Levels { // of equal times the most frequent text
		t, parsed := l.Parse([]byte(level.Text))
		if !parsed {
			continue
		}
		if !ok || t.Before(from) {
			first, from = level.Text, t
		}
		if !ok || t.After(to) {
			last, to = level.Text, t
		}
		ok = true
	}
	return first, last, ok
}
