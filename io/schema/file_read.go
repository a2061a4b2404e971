package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/lines"
	"github.com/bochner-ml/bochner/io/rowio"
)

// MaxFile is the size in bytes of the largest file that ReadDescription reads.
const MaxFile = 1 << 28

// FileError is a mistake in a schema file.
type FileError struct {
	Line int // from 1
	Err  error
}

func (e *FileError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }
func (e *FileError) Unwrap() error { return e.Err }

// ReadDescription reads a description from a schema file. It accepts the part of YAML that AppendDescription
// writes: block mappings and lists, bracketed lists on one line, plain and quoted scalars on one line, and
// comments. Levels may be in any order. Categories without levels and buckets, and times without a layout, must be
// completed by Description.Complete. Errors are of type *FileError.
//
// The YAML library needs 500 bytes of memory for each byte of text, too much for files whose size grows with the data.
func ReadDescription(data []byte) (*Description, error) {
	if len(data) > MaxFile {
		return nil, &FileError{1, fmt.Errorf("the file has %d bytes; at most %d are possible", len(data), MaxFile)}
	}
	r := &reader{rest: string(data), d: new(Description)}
	r.next()
	if err := r.file(); err != nil {
		return nil, &FileError{cmp.Or(r.line, r.number), err}
	}
	return r.d, nil
}

// reader parses a schema file line by line.
type reader struct {
	rest   string
	number int    // of the line
	indent int    // of the line; −1 at the end
	text   string // of the line, without the indentation
	bad    error  // of the line
	line   int    // line of the last error; 0 means number
	d      *Description
}

// next goes to the next line that is not blank or a comment.
func (r *reader) next() {
	for r.rest != "" {
		line, rest, _ := strings.Cut(r.rest, "\n")
		r.rest = rest
		r.number++
		line = strings.TrimSuffix(line, "\r")
		if r.number == 1 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		text := strings.TrimLeft(line, " ")
		if text == "" || text[0] == '#' || r.number == 1 && text == "---" {
			continue
		}
		r.indent, r.text, r.bad = len(line)-len(text), text, nil
		switch {
		case !utf8.ValidString(text):
			r.bad = fmt.Errorf("is not valid UTF-8")
		case text[0] == '\t':
			r.bad = fmt.Errorf("lines are indented by spaces, not by tabs")
		}
		return
	}
	r.number++
	r.indent, r.text, r.bad = -1, "", nil
}

// key splits the line into a key, which must not have been seen, and what follows.
func (r *reader) key(seen map[string]bool) (key, value string, err error) {
	if r.bad != nil {
		return "", "", r.bad
	}
	key, value, ok := strings.Cut(r.text, ":")
	if !ok || value != "" && value[0] != ' ' {
		return "", "", fmt.Errorf("%s is not a key with a value, such as type: number", Quote(r.text))
	}
	if seen[key] {
		return "", "", fmt.Errorf("key %s occurs twice", key)
	}
	seen[key] = true
	value = strings.TrimLeft(value, " ")
	if strings.HasPrefix(value, "#") {
		value = ""
	}
	return key, value, nil
}

// unknown returns the error of an unknown word.
func unknown(what, word string, known ...string) error {
	hint := ""
	if s := option.NearestName(word, known); s != "" {
		hint = fmt.Sprintf(" (did you mean %s?)", s)
	}
	return fmt.Errorf("unknown %s %s%s; want one of %s", what, Quote(word), hint, strings.Join(known, ", "))
}

func (r *reader) file() error {
	seen := map[string]bool{}
	for r.indent >= 0 {
		if r.indent != 0 && r.bad == nil {
			return fmt.Errorf("indented by %d spaces; want 0", r.indent)
		}
		key, value, err := r.key(seen)
		if err != nil {
			return err
		}
		switch key {
		case "missing":
			if r.d.Missing, err = r.list(value, 0, maxCodes); err != nil {
				return err
			}
		case "decimal", "thousands":
			to := &r.d.Decimal
			if key == "thousands" {
				to = &r.d.Thousands
			}
			var text string
			if err := r.value(value, &text); err != nil {
				return err
			}
			if len(text) > 1 {
				return fmt.Errorf("%s %s is not one character", key, Quote(text))
			}
			*to = 0
			if text != "" {
				*to = text[0]
			}
			if err := r.d.Rules.Validate(); err != nil {
				return cause(err)
			}
			r.next()
		case "columns":
			if value != "" {
				return fmt.Errorf("columns are a list in the lines that follow")
			}
			if err := r.columns(); err != nil {
				return err
			}
		default:
			return unknown("key", key, "missing", "decimal", "thousands", "columns")
		}
	}
	if len(r.d.Fields) == 0 {
		return fmt.Errorf("there are no columns")
	}
	return cause(r.d.check())
}

// cause returns an error without the name of the package.
func cause(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "schema: "))
}

func (r *reader) columns() error {
	r.next()
	indent := r.indent
	for r.indent == indent && (r.text == "-" || strings.HasPrefix(r.text, "- ")) {
		if len(r.d.Fields) > rowio.MaxDim {
			return fmt.Errorf("more than %d columns", rowio.MaxDim+1)
		}
		if r.bad != nil {
			return r.bad
		}
		begin := r.number
		rest := strings.TrimLeft(r.text[1:], " ")
		if rest == "" || rest[0] == '#' {
			r.next()
			if r.indent <= indent {
				r.line = begin
				return fmt.Errorf("a column without keys")
			}
		} else {
			r.indent += len(r.text) - len(rest)
			r.text = rest
		}
		if err := r.field(indent); err != nil {
			return err
		}
		f := &r.d.Fields[len(r.d.Fields)-1]
		if err := f.check(); err != nil {
			r.line = begin
			return fmt.Errorf("column %s: %w", Quote(f.Name), err)
		}
	}
	if r.indent > 0 {
		return fmt.Errorf("%s is not a column of the list: columns begin with \"- name:\"", Quote(r.text))
	}
	return r.bad
}

// field reads a column whose keys are indented by more than indent.
func (r *reader) field(indent int) error {
	r.d.Fields = append(r.d.Fields, Field{Role: Feature})
	f := &r.d.Fields[len(r.d.Fields)-1]
	seen := map[string]bool{}
	for keys := r.indent; r.indent == keys; {
		key, value, err := r.key(seen)
		if err != nil {
			return err
		}
		switch {
		case key == "levels":
			if f.Levels, err = r.levels(value, keys); err != nil {
				return err
			}
			continue
		case !slices.Contains(fieldKeys, key):
			return unknown("key", key, fieldKeys...)
		}
		var text string
		if err := r.value(value, &text); err != nil {
			return err
		}
		if err := f.set(key, text); err != nil {
			return err
		}
		r.next()
	}
	if r.indent > indent {
		return fmt.Errorf("indented by %d spaces, unlike the other keys of the column", r.indent)
	}
	if !seen["name"] {
		return fmt.Errorf("the column before this line has no name; a column without one has the name \"\"")
	}
	return nil
}

// fieldKeys are the keys of a column.
var fieldKeys = []string{"name", "role", "type", "layout", "buckets", "levels", "encode", "fill", "unit"}

// set sets what a key other than levels says about a column.
func (f *Field) set(key, text string) error {
	switch key {
	case "name":
		f.Name = text
		if len(text) > maxLevelText {
			return fmt.Errorf("a name of %d bytes; at most %d are possible", len(text), maxLevelText)
		}
	case "role":
		f.Role = Role(text)
		if !slices.Contains(roles, f.Role) {
			return unknown("role", text, "feature", "label", "weight", "id", "time", "ignore")
		}
	case "type":
		f.Type = Type(text)
		if !slices.Contains(types, f.Type) {
			return unknown("type", text, "number", "boolean", "category", "time")
		}
	case "layout":
		f.Layout = text
		if !slices.Contains(TimeLayoutNames(), text) {
			return unknown("layout of times", text, TimeLayoutNames()...)
		}
	case "encode":
		f.Encode = text
		if !slices.Contains(encodings, text) {
			return unknown("encoding", text, encodings...)
		}
	case "fill":
		f.Fill = text
		if _, ok := f.FillNumber(); !ok && text != Mean && text != Median {
			return fmt.Errorf("fill: want mean, median or a number, have %s", Quote(text))
		}
	case "unit":
		f.Unit = text
		if !slices.Contains(lines.Units[:], text) {
			return unknown("unit", text, lines.Units[:]...)
		}
	case "buckets":
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > MaxLevels {
			return fmt.Errorf("buckets: want a whole number from 1 to %d, have %s", MaxLevels, Quote(text))
		}
		f.Buckets = n
	}
	return nil
}

// levels reads a list of different levels, and sorts them.
func (r *reader) levels(value string, indent int) ([]string, error) {
	levels, err := r.list(value, indent, MaxLevels)
	if err != nil {
		return nil, err
	}
	begin := r.number
	slices.Sort(levels)
	for i, l := range levels {
		if i > 0 && l == levels[i-1] {
			r.line = begin - 1
			return nil, fmt.Errorf("level %s occurs twice in the list that ends here", Quote(l))
		}
	}
	return levels, nil
}

// value reads the text of a key.
func (r *reader) value(value string, to *string) error {
	text, rest, err := scalar(value, false)
	if err != nil {
		return err
	}
	*to = text
	return end(rest)
}

// end returns an error unless only a comment follows.
func end(rest string) error {
	if text := strings.TrimLeft(rest, " "); text != "" && text[0] != '#' {
		return fmt.Errorf("%s after the end of the text", Quote(text))
	}
	return nil
}

// list reads a list of at most limit texts: in brackets, or in the following lines that are indented
// at least as much as the key. It goes to the line after the list.
func (r *reader) list(value string, indent, limit int) (texts []string, err error) {
	if value != "" {
		if value[0] != '[' {
			return nil, fmt.Errorf("want a list such as [a, b], or lines that begin with -")
		}
		if texts, err = flow(value[1:], limit); err == nil {
			r.next()
		}
		return texts, err
	}
	r.next()
	texts = []string{}
	for at := r.indent; r.indent == at && at >= indent && strings.HasPrefix(r.text+" ", "- "); r.next() {
		if r.bad != nil {
			return nil, r.bad
		}
		if len(texts) == limit {
			return nil, fmt.Errorf("a list of more than %d texts", limit)
		}
		text, rest, err := scalar(strings.TrimLeft(r.text[1:], " "), false)
		if err == nil {
			err = end(rest)
		}
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// flow reads the rest of a list in brackets, after the opening bracket.
func flow(text string, limit int) (texts []string, err error) {
	texts = []string{}
	for {
		text = strings.TrimLeft(text, " ")
		if strings.HasPrefix(text, "]") {
			return texts, end(text[1:])
		}
		if text == "" {
			return nil, fmt.Errorf("a list that is not closed on its line")
		}
		if len(texts) == limit {
			return nil, fmt.Errorf("a list of more than %d texts", limit)
		}
		value, rest, err := scalar(text, true)
		if err != nil {
			return nil, err
		}
		texts = append(texts, value)
		text = strings.TrimLeft(rest, " ")
		if strings.HasPrefix(text, ",") {
			text = text[1:]
		} else if text != "" && text[0] != ']' {
			return nil, fmt.Errorf("want a comma or ] after %s", Quote(value))
		}
	}
}
