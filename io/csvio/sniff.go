package csvio

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/bochner-ml/bochner/io/lines"
	"github.com/bochner-ml/bochner/io/rows"
)

// sniffLen and sniffRecords limit how much of a file is examined.
const (
	sniffLen     = 64 << 10
	sniffRecords = 50
)

// Sniff returns the field separator of the file that begins with head: comma, tab,
// semicolon or vertical bar, whichever splits most of the first records into the same number of fields,
// at least two, with most numbers among them. It is a comma if none of them splits the
// records.
func Sniff(head []byte) (comma byte) {
	comma = ','
	best, width := 0.0, 0
	for _, c := range []byte{',', '\t', ';', '|'} {
		if score, n := regularity(head, c); score > best || score == best && n > width {
			comma, best, width = c, score, n
		}
	}
	return comma
}

// regularity returns a·(1+b), where a is the share of records with as many
// fields as the first has, n ≥ 2, and b the share of numbers in these records.
func regularity(head []byte, comma byte) (score float64, n int) {
	r := lines.New(bytes.NewReader(head), lines.Options{End: -1, Quote: true, Comma: comma})
	var records, agree, numbers int
	f := fields{comma: comma}
	for records < sniffRecords {
		rec, err := r.Next()
		if bad := (*rows.BadRow)(nil); err != nil && !errors.As(err, &bad) {
			break
		}
		if records > 0 && r.Offset() == int64(len(head)) && head[len(head)-1] != '\n' {
			break // may be incomplete
		}
		records++
		if err != nil {
			continue
		}
		found, here := 0, 0
		f.rec, f.at = rec, 0
		for f.more() {
			text, reason := f.next()
			if reason != "" {
				found = 0
				break
			}
			found++
			if kindOf(text) == number {
				here++
			}
		}
		if n == 0 {
			n = found
		}
		if found == n && n >= 2 {
			agree++
			numbers += here
		}
	}
	if agree == 0 {
		return 0, 0
	}
	a := float64(agree) / float64(records)
	return a * (1 + float64(numbers)/float64(agree*n)), n
}

// evidence is what the first records of a file say about its header.
type evidence struct {
	first   []kind // of the fields of the first record
	numbers []int  // for each field, the number of later records with a number there
	records int    // number of later records

	counting bool   // the first record counts from 0, as pandas names columns
	index    bool   // after an empty field, as pandas names its index column
	whole    []bool // for each field, whether a later record has a whole number there
}

// counts notes whether the texts of the first record are 0, 1, 2, … with at most one
// other text among them, a named label.
func (e *evidence) counts(texts []string) {
	n, others := 0, 0
	for f, t := range texts {
		switch {
		case t == strconv.Itoa(n):
			n++
		case f == 0 && t == "":
			e.index = true
		case e.first[f] == text:
			others++
		default:
			others = len(texts)
		}
	}
	e.counting = n >= 2 && others <= 1
}

// pandas returns an error if the first record may be the header that pandas writes for
// unnamed columns: reading it as a row would add a false one. With two columns, 0 and 1
// may well be a row, so fractions must follow below.
func (e evidence) pandas() error {
	last, fractions := -1, false
	for f, k := range e.first {
		if k != number {
			continue
		}
		last++
		fractions = fractions || e.numbers[f] > 0 && !e.whole[f]
	}
	if !e.counting || last < 2 && !fractions {
		return nil
	}
	hint := ""
	if e.index {
		hint = "; the first column is the index, which is not a feature: write the file with index=False"
	}
	return fmt.Errorf("csvio: the first line counts from 0 to %d, like the header that pandas writes for columns without names; set header to yes if it is a header, to no if it is a row%s", last, hint)
}

// header decides whether the first record is a header. Text above numbers is evidence
// for a header; above the label, where text may be data, it counts only if numbers
// follow. A number in the first record is evidence against, except above the label. If
// the two disagree (years as names, or a misspelt number), the result is an error,
// because a wrong guess would lose a row or add a false one.
//
// Without either, the record is a header if all its fields are text.
func (e evidence) header(label int) (bool, error) {
	over, numeral, texts := -1, -1, 0
	for f, k := range e.first {
		switch {
		case k == text && f == label:
			if e.records > 0 && e.numbers[f] == e.records {
				over = f
			}
		case k == text:
			texts++
			if e.numbers[f] > 0 {
				over = f
			}
		case k == number && f != label:
			numeral = f
		}
	}
	switch {
	case over >= 0 && numeral >= 0:
		return false, fmt.Errorf("csvio: cannot tell whether the first line is a header: field %d is text above numbers, but field %d is a number; set header to yes or no", over+1, numeral+1)
	case over >= 0:
		return true, nil
	}
	return texts > 0 && numeral < 0, nil
}
