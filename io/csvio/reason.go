package csvio

import (
	"bytes"
	"math"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/lines"
	"github.com/bochner-ml/bochner/io/rows"
)

// kind is the kind of a field's text.
type kind uint8

const (
	number  kind = iota // finite
	missing             // empty, or a word for a missing value
	text
)

func kindOf(b []byte) kind {
	if v, ok := lines.ParseNumber(b); ok && !math.IsInf(float64(v), 0) {
		return number
	}
	if len(b) == 0 || isMissing(b) || isInfinite(b) {
		return missing
	}
	return text
}

// isMissing reports whether b is a word that R, pandas, SQL or the UCI repository
// writes for a missing value.
func isMissing(b []byte) bool {
	if len(b) > 6 {
		return false
	}
	switch strings.ToLower(string(b)) {
	case "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "none", "nil", "?", "-", ".", "\\n":
		return true
	}
	return false
}

func isInfinite(b []byte) bool {
	if len(b) > len("+infinity") {
		return false
	}
	switch strings.ToLower(strings.TrimLeft(string(b), "+-")) {
	case "inf", "infinity":
		return true
	}
	return false
}

// reason returns why the text of a field cannot be a value of a row.
func reason(b []byte) string {
	if len(b) == 0 {
		return "is empty"
	}
	q := dataset.Quote(string(b[:min(len(b), 200)]))
	if v, ok := lines.ParseNumber(b); ok {
		return q + " is " + rows.CheckFinite(v)
	}
	switch {
	case isMissing(b):
		return q + " is not a number"
	case isInfinite(b):
		return q + " is not a finite number"
	case bytes.Count(b, []byte{','}) == 1 && kindOf(bytes.Replace(b[:min(len(b), 200)], []byte{','}, []byte{'.'},
		1)) == number:
		return q + " is not a number (its fraction seems to begin with a comma)"
	}
	return q + " is not a number"
}
