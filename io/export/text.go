package export

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/rowio"
)

func init() {
	Register(Format{Name: "csv", Lines: true, Files: func(columns []Column) []File {
		return []File{{Suffix: ".csv", New: func(w io.Writer) Writer { return newCSV(w, columns) }}}
	}})
	Register(Format{Name: "jsonl", Lines: true, Files: func(columns []Column) []File {
		return []File{{Suffix: ".jsonl", New: func(w io.Writer) Writer { return newJSON(w, columns) }}}
	}})
}

// textWriter writes a line for each row.
type textWriter struct {
	out     *bufio.Writer
	columns []Column
	levels  [][]string // levels of each column, as written
	line    []byte
	row     func(t *textWriter, b *Block, i int, bad bool) // appends a row to line
	text    func(string) string                            // as written
	arrays  bool                                           // sets are arrays

	members []string   // names of the columns, as JSON
	names   [][]string // keys of each column, as JSON
}

func newText(w io.Writer, columns []Column) *textWriter {
	return &textWriter{out: bufio.NewWriterSize(w, 64<<10), columns: columns, levels: make([][]string, len(columns))}
}

func (t *textWriter) Write(b *Block) error {
	bad := b.Bad
	for i := range b.N {
		isBad := len(bad) > 0 && bad[0] == i
		if isBad {
			bad = bad[1:]
		}
		t.line = t.line[:0]
		t.row(t, b, i, isBad)
		if _, err := t.out.Write(append(t.line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

func (t *textWriter) Close() error { return t.out.Flush() }

// value appends value j of row i of column c.
func (t *textWriter) value(b *Block, c, i, j int) {
	at := i*len(t.columns[c].Header) + j
	switch v := b.Values[c].(type) {
	case []float32:
		t.line = strconv.AppendFloat(t.line, float64(v[at]), 'g', -1, 32)
	case []float64:
		t.line = strconv.AppendFloat(t.line, v[at], 'g', digits(v[at], t.columns[c].Unit), 64)
	case []int32:
		if t.columns[c].Levels != nil {
			t.line = append(t.line, t.levels[c][v[at]]...)
		} else {
			t.line = strconv.AppendInt(t.line, int64(v[at]), 10)
		}
	case []int64:
		t.line = strconv.AppendInt(t.line, v[at], 10)
	case []uint64:
		t.line = strconv.AppendUint(t.line, v[at], 10)
	case []string:
		t.line = append(t.line, t.text(v[at])...)
	case *Sets:
		t.set(c, v.of(i))
	default:
		panic("export: unknown type of values")
	}
}

// digits returns one more than the number of digits that distinguish v from v+unit; -1
// for all digits.
func digits(v, unit float64) int {
	switch {
	case unit <= 0:
		return -1
	case v == 0:
		return 17
	}
	return max(1, min(17, 2+int(math.Ceil(math.Log10(math.Abs(v)/unit)))))
}

// newCSV writes a header line, and then one line for each row.
func newCSV(w io.Writer, columns []Column) *textWriter {
	t := newText(w, columns)
	var header []string
	for c, col := range columns {
		header = append(header, col.Header...)
		for _, level := range col.Levels {
			t.levels[c] = append(t.levels[c], csvField(level))
		}
	}
	names := csv.NewWriter(t.out) // it uses the existing buffer
	names.Write(header)           // Flush returns write errors
	t.row, t.text = (*textWriter).csvRow, csvField
	return t
}

// csvField returns a field as written in a record.
func csvField(text string) string {
	if text == rowio.NoID {
		return ""
	}
	if !strings.ContainsAny(text, "\",\r\n") && text != "" && text[0] > ' ' && text != `\.` && text[0] < utf8.RuneSelf {
		return text
	}
	return option.JoinList([]string{text})
}

// csvRow appends row i. A bad row has empty fields, except in columns that are Always present.
func (t *textWriter) csvRow(b *Block, i int, bad bool) {
	for c, col := range t.columns {
		for j := range col.Header {
			if c > 0 || j > 0 {
				t.line = append(t.line, ',')
			}
			if !bad || col.Always {
				t.value(b, c, i, j)
			}
		}
	}
	if len(t.line) == 0 {
		// Most CSV readers skip an empty line, and later rows would move up.
		t.line = append(t.line, `""`...)
	}
}

// newJSON writes an object for each row. For a row without values, the first column
// without one is null and the others are omitted.
func newJSON(w io.Writer, columns []Column) *textWriter {
	t := newText(w, columns)
	t.names = make([][]string, len(columns))
	for c, col := range columns {
		t.members = append(t.members, jsonText(col.Name))
		for _, key := range col.Keys {
			t.names[c] = append(t.names[c], jsonText(key))
		}
		t.levels[c] = col.Levels
		if !col.Numeric {
			t.levels[c] = nil
			for _, level := range col.Levels {
				t.levels[c] = append(t.levels[c], jsonText(level))
			}
		}
	}
	t.row, t.text, t.arrays = (*textWriter).jsonRow, jsonText, true
	return t
}

func jsonText(s string) string {
	if s == rowio.NoID {
		return "null"
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic("export: " + err.Error()) // strings can always be encoded
	}
	return string(text)
}

// jsonRow appends row i as an object. A bad row has null in the first column that is not Always present, and lacks
// the others.
func (t *textWriter) jsonRow(b *Block, i int, bad bool) {
	t.line = append(t.line, '{')
	null := false
	for c, col := range t.columns {
		if bad && null && !col.Always {
			continue
		}
		if len(t.line) > 1 {
			t.line = append(t.line, ',')
		}
		t.line = append(append(t.line, t.members[c]...), ':')
		switch {
		case bad && !col.Always:
			null = true
			t.line = append(t.line, "null"...)
		case col.Keys != nil:
			for j, key := range t.names[c] {
				t.line = append(append(append(t.line, "{,"[min(j, 1)]), key...), ':')
				t.value(b, c, i, j)
			}
			t.line = append(t.line, '}')
		case col.List:
			for j := range col.Header {
				t.line = append(t.line, "[,"[min(j, 1)])
				t.value(b, c, i, j)
			}
			t.line = append(t.line, ']')
		default:
			t.value(b, c, i, 0)
		}
	}
	t.line = append(t.line, '}')
}

// Sets holds the values of a column with Levels: a set of levels for each row. The text of a set is its
// levels, separated by |, with a backslash before each | and each backslash within a level. In JSON a set
// is an array.
type Sets struct {
	Ends  []int   // of the sets, in Items
	Items []int32 // indices of levels
}

// of returns the set of a row.
func (s *Sets) of(row int) []int32 {
	if row == 0 {
		return s.Items[:s.Ends[0]]
	}
	return s.Items[s.Ends[row-1]:s.Ends[row]]
}

var separated = strings.NewReplacer(`\`, `\\`, "|", `\|`)

// setText returns the text of a set of levels.
func setText(levels []string, set []int32) string {
	var b strings.Builder
	for i, at := range set {
		if i > 0 {
			b.WriteByte('|')
		}
		separated.WriteString(&b, levels[at])
	}
	return b.String()
}

// Texts returns the sets of n rows as texts, in memory that it grows.
func (s *Sets) Texts(dst []string, levels []string, n int) []string {
	for row := range n {
		dst = append(dst, setText(levels, s.of(row)))
	}
	return dst
}

// set appends the set of a row of column c.
func (t *textWriter) set(c int, set []int32) {
	if !t.arrays {
		t.line = append(t.line, t.text(setText(t.columns[c].Levels, set))...)
		return
	}
	t.line = append(t.line, '[')
	for i, at := range set {
		if i > 0 {
			t.line = append(t.line, ',')
		}
		t.line = append(t.line, t.levels[c][at]...)
	}
	t.line = append(t.line, ']')
}
