package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models/profile"
)

// maxColumns is the largest number of columns that are printed.
const maxColumns = 40

// WriteColumns prints the columns of a description as a table.
func WriteColumns(w io.Writer, d *schema.Description) {
	// A description of a model's columns does not know the fields of its training data.
	known := slices.ContainsFunc(d.Fields, func(f schema.Field) bool { return f.Summary != nil })
	t := Table{Head: []string{"column", "role", "type", "missing", "values"}}
	for i := range d.Fields[:min(len(d.Fields), maxColumns)] {
		f, lack := &d.Fields[i], ""
		if known {
			lack = missing(f.Summary)
		}
		t.Add(Word(f.Name, 30), string(f.Role), cmp.Or(string(f.Type), "-"), lack, cmp.Or(Values(f), "-"))
	}
	t.Filled().WriteLeft(w)
	if more := len(d.Fields) - maxColumns; more > 0 {
		fmt.Fprintf(w, "… and %d more columns\n", more)
	}
}

// missing describes how many fields are missing, and which texts stand for missing values.
func missing(s *schema.Summary) string {
	if s == nil || s.Missing == 0 {
		return "-"
	}
	var parts []string
	for _, c := range s.Codes {
		switch text := cmp.Or(c.Text, "empty"); {
		case c.Rows == s.Missing && c.Text == "":
			return Groups(s.Missing)
		case c.Rows == s.Missing:
			parts = append(parts, text)
		default:
			parts = append(parts, fmt.Sprintf("%s %s", text, Groups(c.Rows)))
		}
	}
	if len(parts) == 0 {
		return Groups(s.Missing)
	}
	return fmt.Sprintf("%s (%s)", Groups(s.Missing), strings.Join(parts, ", "))
}

// Values describes the values of a column.
func Values(f *schema.Field) string {
	s := f.Summary
	if s != nil && s.Texts == 0 {
		return ""
	}
	switch {
	case f.Type == schema.Category && f.Buckets > 0 && s == nil:
		return Counted64(int64(f.Buckets), "bucket")
	case f.Type == schema.Category && f.Buckets > 0:
		return fmt.Sprintf("%s texts in %s buckets, such as %s", distinct(s), Groups(int64(f.Buckets)), example(s))
	case f.Type == schema.Category && f.Role == schema.Feature:
		return Counted64(int64(len(f.Levels)), "level") + ": " + levels(f)
	case f.Type == schema.Time && s != nil:
		if first, last, ok := s.Span(f.Layout); ok {
			return fmt.Sprintf("%s, %s to %s", f.Layout, Word(first, 30), Word(last, 30))
		}
		return fmt.Sprintf("%s, such as %s", f.Layout, example(s))
	case f.Type == schema.Time:
		return f.Layout
	case s == nil:
		return ""
	case f.Type == schema.Number && s.Numbers > 0:
		text := number(s.Min) + " to " + number(s.Max)
		if !math.IsNaN(s.Median) {
			text += ", median " + number(s.Median)
		}
		if odd := s.Texts - s.Numbers; odd > 0 {
			text += fmt.Sprintf("; %s not numbers", Groups(odd))
		}
		return text
	}
	return distinct(s) + " different: " + countedLevels(s.Levels, nil)
}

// number formats a number of the data without separators, because it may be a year or an identifier.
func number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// distinct describes the number of distinct texts.
func distinct(s *schema.Summary) string {
	if s.Exact {
		return Groups(s.Distinct)
	}
	return "about " + Groups(s.Distinct)
}

// example returns the most frequent text of the summary.
func example(s *schema.Summary) string {
	if len(s.Levels) == 0 {
		return "…"
	}
	return Word(s.Levels[0].Text, 30)
}

// levels lists the first levels of a category, with their counts if these are known.
func levels(f *schema.Field) string {
	known := make(map[string]bool, len(f.Levels))
	for _, l := range f.Levels {
		known[l] = true
	}
	if f.Summary != nil {
		return countedLevels(f.Summary.Levels, known)
	}
	var all []schema.Level
	for _, l := range f.Levels[:min(len(f.Levels), maxLevels+1)] {
		all = append(all, schema.Level{Text: l})
	}
	return countedLevels(all, nil)
}

// maxLevels is the largest number of levels of a column that are listed.
const maxLevels = 3

// countedLevels lists the first levels of all that are in known (nil for all), and counts the rows of all other
// levels.
func countedLevels(all []schema.Level, known map[string]bool) string {
	var parts []string
	var other int64
	for _, l := range all {
		switch {
		case known != nil && !known[l.Text]:
			other += l.Rows
		case len(parts) > maxLevels: // the list already ends with …
		case len(parts) == maxLevels:
			parts = append(parts, "…")
		case l.Rows > 0:
			parts = append(parts, fmt.Sprintf("%s (%s)", listItem(l.Text, 20), Groups(l.Rows)))
		default:
			parts = append(parts, listItem(l.Text, 20))
		}
	}
	text := strings.Join(parts, ", ")
	if other > 0 {
		text += fmt.Sprintf("; other texts %s", Groups(other))
	}
	return text
}

// Word formats a text of the data: at most the given number of characters, in quotes if its end would not be
// visible otherwise.
func Word(text string, limit int) string {
	n := 0
	for i := range text {
		n++
		if n > limit {
			text = text[:i] + "…"
			break
		}
	}
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }
	if text == "" || strings.TrimSpace(text) != text || strings.ContainsFunc(text, odd) {
		return strconv.Quote(text)
	}
	return text
}

// listItem is Word for a text in a list.
func listItem(text string, limit int) string {
	word := Word(text, limit)
	if word[0] != '"' && strings.ContainsAny(word, ",();") {
		return strconv.Quote(word)
	}
	return word
}

// WriteNumbers prints the mean, standard deviation and range of columns of numbers.
func WriteNumbers(w io.Writer, p *profile.Profile, names []string, t *schema.Table) {
	numbers := make([]int, 0, len(p.Columns))
	if t == nil {
		for j := range p.Columns {
			numbers = append(numbers, j)
		}
	} else {
		numbers = t.Slots(schema.Number)
	}
	if len(numbers) == 0 {
		return
	}
	table := Table{Head: []string{"column", "min", "max", "mean", "deviation", "non-zero"}}
	for _, j := range numbers[:min(len(numbers), maxColumns)] {
		name, c := fmt.Sprint(j+1), p.Columns[j]
		if names != nil {
			name = Word(names[j], 40)
		}
		table.Add(name, fmt.Sprintf("%.6g", c.Min), fmt.Sprintf("%.6g", c.Max), fmt.Sprintf("%.6g", c.Mean),
			fmt.Sprintf("%.6g", c.Dev), Groups(c.Nonzero))
	}
	table.Write(w)
	if more := len(numbers) - maxColumns; more > 0 {
		fmt.Fprintf(w, "… and %d more columns (--json has them all)\n", more)
	}
}
