package csvio

import (
	"bytes"
	"errors"

	"github.com/bochner-ml/bochner/io/lines"
	"github.com/bochner-ml/bochner/io/rows"
)

// sniffLen and sniffRecords limit how much of a file is examined for its separator.
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
