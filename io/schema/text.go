package schema

import (
	"math"
	"strconv"
	"time"
)

// Text returns the text of a column whose first value in a row is v. number is the text to return if
// the column is a Number. A time is in UTC; a hash bucket has its number.
func (c *Column) Text(v float64, number string) string {
	switch {
	case v != v:
		return ""
	case c.Type == Boolean:
		return strconv.FormatBool(v == 1)
	case c.Type == Time:
		return time.Unix(int64(math.Round(v*86400)), 0).UTC().Format(time.DateTime)
	case c.Type == Category && c.Buckets > 0:
		return "#" + number
	case c.Type == Category && v >= 0 && v < float64(len(c.Levels)):
		return c.Levels[int(v)]
	case c.Type == Category:
		return "(other)"
	}
	return number
}
