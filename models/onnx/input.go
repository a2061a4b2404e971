package onnx

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/io/lines"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models"
)

// rows adds the inputs, and returns rows of models.Input.Dim float32 numbers, where NaN is a missing value.
func (g *Graph) rows(m *models.Model) (string, error) {
	names, centre := m.Manifest.Input.Columns, m.Centre()
	if t := m.Table(); t != nil {
		return g.typed(t, centre)
	}
	if !g.byColumn || len(names) == 0 {
		x, kind := "input", Float
		if centre != nil {
			kind = Double
		}
		about := "rows"
		if len(names) > 0 {
			about += " of " + strings.Join(names, ", ")
		}
		g.Inputs = []Value{{x, kind, about, []int{m.Manifest.Input.Dim}}}
		if centre != nil {
			x = g.cast(g.op("Sub", x, row(g, centre)), Float)
		}
		return x, nil
	}
	if err := distinct(names); err != nil {
		return "", err
	}
	g.matrices = len(names) == 1 // a data frame with one column arrives as a matrix
	columns := make([]string, len(names))
	for j, name := range names {
		columns[j] = g.number(name, centre, j, nil)
	}
	return g.concat(columns...), nil
}

// distinct returns an error for names that inputs cannot have.
func distinct(names []string) error {
	known := map[string]bool{"": true}
	for _, name := range names {
		if known[name] {
			return unsupportedf("a column name that is empty or occurs twice (%q)", name)
		}
		known[name] = true
	}
	return nil
}

// column adds an input for a column, and returns a matrix with one column.
func (g *Graph) column(name string, kind Type, about string) string {
	v := Value{Name: name, Type: kind, About: about, dims: []int{1}}
	if g.matrices {
		g.Inputs = append(g.Inputs, v)
		return name
	}
	v.dims = nil
	g.Inputs = append(g.Inputs, v)
	return g.reshape(name, -1, 1)
}

// typed adds the inputs of a table of typed columns.
func (g *Graph) typed(t *schema.Table, centre []float64) (string, error) {
	var names, slots []string
	for i := range t.Columns {
		names = append(names, t.Columns[i].Name)
	}
	if err := distinct(names); err != nil {
		return "", err
	}
	g.matrices = !g.byColumn || len(t.Columns) == 1
	for i := range t.Columns {
		c := &t.Columns[i]
		switch c.Type {
		case schema.Number:
			slots = append(slots, g.number(c.Name, centre, len(slots), t.Missing))
		case schema.Time:
			slots = append(slots, g.time(c)...)
		default:
			slot, err := g.level(c, t)
			if err != nil {
				return "", err
			}
			slots = append(slots, slot)
		}
	}
	return g.concat(slots...), nil
}

// number adds a numeric column, minus its centre. Numbers that are missing codes become NaN.
func (g *Graph) number(name string, centre []float64, slot int, codes []string) string {
	kind := Float
	if centre != nil && centre[slot] != 0 {
		kind = Double
	}
	scalar := func(v float64) string {
		if kind == Double {
			return g.double(v)
		}
		return g.float(float32(v))
	}
	x := g.column(name, kind, "number")
	for _, code := range codes {
		v, err := strconv.ParseFloat(code, 64)
		if err != nil || math.IsNaN(v) {
			continue
		}
		x = g.op("Where", g.op("Equal", x, scalar(v)), scalar(math.NaN()), x)
	}
	if kind == Double {
		x = g.cast(g.op("Sub", x, constant(g, centre[slot:slot+1])), Float)
	}
	return x
}

var nan = float32(math.NaN())

// encoder holds the attributes of a LabelEncoder: texts, each with a number.
type encoder struct {
	texts  []string
	values []float32
	known  map[string]bool
}

func (e *encoder) add(v float32, texts ...string) {
	for _, text := range texts {
		if !e.known[text] {
			e.known[text] = true
			e.texts, e.values = append(e.texts, text), append(e.values, v)
		}
	}
}

// level adds a column of categories or booleans. A text that is no boolean becomes ∞, which fill rejects.
func (g *Graph) level(c *schema.Column, t *schema.Table) (string, error) {
	if c.Buckets > 0 {
		return "", unsupportedf("column %q, whose texts are hashed to %d buckets by XXH64,", c.Name, c.Buckets)
	}
	e, other := &encoder{known: map[string]bool{}}, float32(len(c.Levels))
	e.add(nan, "")
	for _, code := range t.Missing {
		e.add(nan, whole(cases(code), t.Decimal)...)
	}
	if c.Type == schema.Boolean {
		other = float32(math.Inf(1))
		for i, words := range [][]string{{"false", "f", "no", "n", "0"}, {"true", "t", "yes", "y", "1"}} {
			for _, word := range words {
				e.add(float32(i), whole(cases(word), t.Decimal)...)
			}
		}
	}
	for i, l := range c.Levels {
		e.add(float32(i), l)
	}
	for i, l := range c.Levels {
		e.add(float32(i), whole([]string{string(lines.CutFraction([]byte(l), t.Decimal))}, t.Decimal)...)
	}
	x := g.column(c.Name, String, string(c.Type))
	a := attrs{"keys_strings": e.texts, "values_floats": e.values, "default_float": other}
	return g.add("LabelEncoder", a, x), nil
}

// whole returns texts, followed by the whole numbers among them written with a fraction, such as 1.0 and 1.00.
func whole(texts []string, decimal byte) []string {
	for _, text := range slices.Clone(texts) {
		for _, zeros := range []string{"0", "00"} {
			long := text + string(cmp.Or(decimal, '.')) + zeros
			if string(lines.CutFraction([]byte(long), decimal)) == text {
				texts = append(texts, long)
			}
		}
	}
	return texts
}

// maxLetters is the number of letters up to which a word is recognised in every combination of upper and
// lower case. A longer word is recognised as written, in lower case, in upper case, and capitalised.
const maxLetters = 8

// cases returns the ways to write a word in upper and lower case.
func cases(word string) []string {
	lower, upper := strings.ToLower(word), strings.ToUpper(word)
	if len(word) > maxLetters || len(lower) != len(word) || len(upper) != len(word) {
		all := []string{word, lower, upper}
		if word != "" && len(lower) == len(word) && len(upper) == len(word) && word[0] < 0x80 {
			all = append(all, upper[:1]+lower[1:])
		}
		return all
	}
	all := []string{""}
	for i := range len(word) {
		var longer []string
		for _, begin := range all {
			longer = append(longer, begin+lower[i:i+1])
			if upper[i] != lower[i] {
				longer = append(longer, begin+upper[i:i+1])
			}
		}
		all = longer
	}
	return all
}

const secondsOfDay = 86400

// time adds a column of times, NaN if missing: seconds since 1970-01-01 UTC or, for a time of day, since
// midnight. It returns days, month, weekday and hour.
func (g *Graph) time(c *schema.Column) []string {
	about := "time: seconds since 1970-01-01 00:00 UTC"
	if c.Layout == schema.ClockLayout {
		about = "time of day: seconds since midnight"
	}
	s := g.column(c.Name, Double, about)
	day := g.op("Floor", g.op("Div", s, g.double(secondsOfDay)))
	past := g.op("Sub", s, g.op("Mul", day, g.double(secondsOfDay)))
	hour := g.op("Div", past, g.double(3600))
	days := g.op("Add", day, g.op("Div", hour, g.double(24)))
	days = g.op("Where", g.op("IsInf", s), s, days) // fill rejects it
	date := g.cast(day, Int64)
	if c.Layout == schema.ClockLayout {
		date = g.op("Mul", date, g.int(0))
		days = g.op("Where", g.op("IsNaN", days), days, g.op("Sub", s, s))
	}
	weekday := g.op("Mod", g.op("Add", date, g.int(3)), g.int(7))
	missing, parts := g.op("IsNaN", days), []string{g.cast(days, Float)}
	for _, part := range []string{g.month(date), weekday} {
		parts = append(parts, g.op("Where", missing, g.float(nan), g.cast(part, Float)))
	}
	return append(parts, g.cast(hour, Float))
}

// month adds the month, from 1, of days since 1970. It counts years from March; 400 of them have 146,097 days.
func (g *Graph) month(day string) string {
	by := func(op, x string, v int64) string { return g.op(op, x, g.int(v)) }
	minus := func(x, y string) string { return g.op("Sub", x, y) }
	plus := func(x, y string) string { return g.op("Add", x, y) }
	at := by("Mod", by("Add", day, 719468), 146097)
	year := minus(plus(minus(at, by("Div", at, 1460)), by("Div", at, 36524)), by("Div", at, 146096))
	year = by("Div", year, 365)
	gone := minus(plus(by("Mul", year, 365), by("Div", year, 4)), by("Div", year, 100))
	month := by("Div", by("Add", by("Mul", minus(at, gone), 5), 2), 153) // 0 is March
	return by("Add", by("Mod", by("Add", month, 2), 12), 1)
}

// fill replaces missing values if the recipe does not. It also returns a column that is 0, or NaN for rows
// that predict would refuse.
func (g *Graph) fill(m *models.Model, x string) (filled, valid string) {
	known := x
	if m.Table() != nil {
		known = g.op("Where", g.op("IsNaN", x), g.float(0), x)
	} else if fill := m.Manifest.Fill(); fill != nil {
		known = g.op("Where", g.op("IsNaN", x), row(g, fill), x)
		x = known
	}
	return x, g.sum(g.op("Sub", known, known))
}
