package report

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/drift"
	"github.com/bochner-ml/bochner/pipelines/results/table"
)

// Minutes formats a duration in seconds, such as 42s, 7 min or 1.5 h.
func Minutes(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}

// Counted formats a count with its noun, such as 1 file, 2 files or 2 directories.
func Counted(n int, noun string) string { return fmt.Sprintf("%d %s", n, plural(int64(n), noun)) }

// plural returns the noun in the form for a count.
func plural(n int64, noun string) string {
	stem, isY := strings.CutSuffix(noun, "y")
	switch {
	case n == 1:
		return noun
	case strings.HasSuffix(noun, "ss"):
		return noun + "es"
	case isY && !strings.ContainsAny(stem[len(stem)-1:], "aeiou"):
		return stem + "ies"
	}
	return noun + "s"
}

// OneIn formats a share, such as one in 5.
func OneIn(parts int) string { return "one in " + Groups(int64(parts)) }

// Counted64 is Counted with thousands separators, such as 1,024 rows.
func Counted64(n int64, noun string) string { return Groups(n) + " " + plural(n, noun) }

// Groups formats a count with thousands separators, such as 60,000.
func Groups(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Bytes formats a size in bytes, such as 1.50 GB.
func Bytes(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.2f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e4:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d bytes", n)
}

// RowsText describes how many rows were used and, if any, set aside, with some of the reasons.
func RowsText(read, used, setAside int64, reasons ...string) string {
	if setAside == 0 {
		return Groups(used)
	}
	why := ""
	if len(reasons) > 0 {
		why = " (" + strings.Join(reasons, ", ") + ")"
	}
	return fmt.Sprintf("%s read = %s used + %s set aside%s", Groups(read), Groups(used), Groups(setAside), why)
}

// WriteSetAside prints the first rows that were set aside.
func WriteSetAside(w io.Writer, list []dataset.SetAside) {
	const limit = 10
	for _, a := range list[:min(len(list), limit)] {
		fmt.Fprintf(w, "          %s: %s\n", a.Position(), a.Reason)
	}
	if len(list) > limit {
		fmt.Fprintf(w, "          … (--json lists more)\n")
	}
}

// Table is a table of texts, printed or in a page.
type Table = table.Table

// Facts is a table of items and their values.
type Facts = table.Facts

// YesNo returns yes or no.
func YesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// SomeOf lists some of the names.
func SomeOf(names []string) string {
	const limit = 20
	text := ""
	for i, n := range names {
		if i == limit {
			return text + fmt.Sprintf(", … (%d in all)", len(names))
		}
		if i > 0 {
			text += ", "
		}
		text += n
	}
	return text
}

// PText formats a p-value, with the bound to which it is known.
func PText(p float64) string {
	if p <= drift.MinP {
		return fmt.Sprintf("p < %g", drift.MinP)
	}
	return fmt.Sprintf("p = %.2g", p)
}

// Clip cuts a text off after the last whole character within limit bytes, and marks the cut with an ellipsis.
func Clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + " …"
}
