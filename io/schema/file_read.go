package schema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/rowio"
)

// MaxFile is a limit in bytes for schema files.
const MaxFile = 1 << 28

// ReadDescription reads a description from a schema file in YAML. Levels may be in any order. Categories without
// levels and buckets, and times without a layout, must be completed by Description.Complete. Errors are of type
// *option.YAMLError.
//
// Package yaml takes much memory for each byte, and a file may have a million levels. So it reads each column by
// itself, without its levels if they are in lines of their own.
func ReadDescription(data []byte) (*Description, error) {
	r := &fileReader{d: new(Description), number: 1, columns: outside, column: section{key: closed}}
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		if err := r.line(strings.TrimRight(line, "\r\n")); err != nil {
			return nil, err
		}
		r.number++
	}
	if err := r.endColumn(); err != nil {
		return nil, err
	}
	return r.d, r.end()
}

// fileReader divides a file into columns and other lines. It leaves out comments and empty lines.
type fileReader struct {
	d       *Description
	number  int     // of the line
	columns int     // indentation of columns; anyIndent before the first one, outside if the line is not in their list
	column  section // the last column
	rest    section // lines outside of the list of columns
}

const (
	outside   = -2
	anyIndent = -1
	closed    = 1 << 30
)

// section is a part of a file that package yaml reads.
type section struct {
	text   []byte
	lines  []int    // number in the file of each line of the text
	levels []string // from lines that are not in the text
	// key and list are the indentations of the key levels and of its list, anyIndent before its first line.
	// key is closed if no level can follow.
	key, list int
}

// line reads the next line.
func (r *fileReader) line(line string) error {
	text := strings.TrimLeft(line, " ")
	indent := len(line) - len(text)
	isEntry := text == "-" || strings.HasPrefix(text, "- ")
	s := &r.column
	switch {
	case !utf8.ValidString(line) && !isComment(text):
		return mistake(r.number, "is not valid UTF-8")
	case isComment(text):
		return nil
	case isEntry && indent >= s.key && (s.list == anyIndent || s.list == indent):
		s.list = indent
		return r.level(line, strings.TrimLeft(text[1:], " "))
	case isEntry && (r.columns == anyIndent || r.columns == indent):
		if err := r.endColumn(); err != nil {
			return err
		}
		r.columns = indent
	case indent == 0 && !isEntry:
		r.columns = outside
		if strings.HasPrefix(line, "columns:") {
			r.columns = anyIndent
		}
	}
	s.key, s.list = closed, anyIndent
	if r.columns < 0 {
		s = &r.rest
	}
	name := strings.TrimLeft(line, " -")
	value, ok := strings.CutPrefix(name, "levels:")
	if ok && s == &r.column && isComment(strings.TrimLeft(value, " ")) && !strings.HasPrefix(value, "#") {
		s.key = len(line) - len(name)
		line = strings.TrimSuffix(line, value) + " []"
	}
	if len(s.text)+len(line) >= option.MaxYAMLBytes {
		return mistake(r.number, "more than %d bytes in a column besides its levels, or outside of columns",
			option.MaxYAMLBytes)
	}
	s.text = append(append(s.text, line...), '\n')
	s.lines = append(s.lines, r.number)
	return nil
}

func isComment(text string) bool { return text == "" || text[0] == '#' }

// level adds the level in a line, which has this text after its dash, to the column.
func (r *fileReader) level(line, text string) error {
	level, ok := simpleScalar(text)
	if !ok {
		var one fileTexts
		s := section{text: []byte(line), lines: []int{r.number}}
		if err := s.decode(&one); err != nil {
			return err
		}
		level = one[0]
	}
	if len(r.column.levels) == MaxLevels {
		return mistake(r.number, "more than %d levels", MaxLevels)
	}
	r.column.levels = append(r.column.levels, level)
	return nil
}

// simpleScalar returns the text of a plain scalar without special characters, or of one in quotes that has only escapes
// of both Go and JSON, which are the same in YAML. It is much faster than package yaml.
func simpleScalar(text string) (string, bool) {
	if quoted, err := strconv.QuotedPrefix(text); err == nil && text[0] == '"' {
		value, _ := strconv.Unquote(quoted)
		return value, json.Valid([]byte(quoted)) && isComment(strings.TrimLeft(text[len(quoted):], " "))
	}
	if text != "" && text[0] == '\'' {
		value, rest, ok := strings.Cut(text[1:], text[:1])
		return value, ok && isComment(strings.TrimLeft(rest, " ")) && !strings.Contains(value, "\r")
	}
	text, _, _ = strings.Cut(text, " #")
	text = strings.TrimRight(text, " ")
	begins := text != "" && (isLetter(text[0]) || isDigit(text[0]))
	return text, begins && !strings.ContainsFunc(text, isSpecial)
}

// decode stores the text in v, which has these keys.
func (s *section) decode(v any, keys ...string) error {
	err := option.UnmarshalYAML(s.text, v)
	at, ok := errors.AsType[*option.YAMLError](err)
	switch {
	case err == nil:
		return nil
	case !ok:
		return mistake(s.lines[0], "%v", err)
	case at.Unknown != "":
		at.Message = unknown("key", at.Unknown, keys).Error()
	}
	at.Message, _, _ = strings.Cut(at.Message, " at [") // a line of the text
	at.Line = s.lines[min(at.Line, len(s.lines))-1]
	return at
}

// mistake returns an error in a line of the file.
func mistake(line int, format string, args ...any) error {
	return &option.YAMLError{Line: line, Message: fmt.Sprintf(format, args...)}
}

// unknown returns the error of an unknown word.
func unknown[T ~string](what string, word T, known []T) error {
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = string(k)
	}
	hint := ""
	if s := option.NearestName(string(word), names); s != "" {
		hint = fmt.Sprintf(" (did you mean %s?)", s)
	}
	return fmt.Errorf("unknown %s %s%s; want one of %s", what, Quote(string(word)), hint, strings.Join(names, ", "))
}

// fileText is a scalar. Numbers, true, and null in a list are the text in the file.
type fileText struct {
	text  string
	token *token.Token // nil if the key has no value
}

func (t *fileText) UnmarshalYAML(n ast.Node) error {
	*t = fileText{n.GetToken().Value, n.GetToken()}
	_, isBlock := n.(*ast.LiteralNode)
	severalLines := isBlock || strings.Contains(strings.TrimSpace(t.token.Origin), "\n")
	if _, ok := n.(ast.ScalarNode); !ok || severalLines || t.token.Type == token.ImplicitNullType {
		return t.refuse(errors.New("want a text on one line; if it is one, put quotes around it"))
	}
	return nil
}

// refuse returns an error with the place of the scalar.
func (t *fileText) refuse(err error) error {
	return &yaml.SyntaxError{Token: t.token, Message: err.Error()}
}

type fileTexts []string

func (t *fileTexts) UnmarshalYAML(n ast.Node) error {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		return &yaml.SyntaxError{Token: n.GetToken(), Message: "want a list such as [a, b], or lines that begin with -"}
	}
	for _, v := range list.Values {
		var one fileText
		if err := one.UnmarshalYAML(v); err != nil {
			return err
		}
		*t = append(*t, one.text)
	}
	return nil
}

// end reads the lines outside of the list of columns.
func (r *fileReader) end() error {
	var f struct {
		Missing            fileTexts
		Decimal, Thousands fileText
		Columns            any
	}
	err := r.rest.decode(&f, "missing", "decimal", "thousands", "columns")
	r.d.Rules = Rules{f.Missing, (f.Decimal.text + "\x00")[0], (f.Thousands.text + "\x00")[0]}
	switch {
	case err != nil:
		return err
	case len(f.Decimal.text) > 1 || len(f.Thousands.text) > 1:
		return mistake(r.number, "decimal and thousands are one character each")
	case f.Columns != nil || len(r.d.Fields) == 0:
		return mistake(r.number, "there are no columns in the lines after columns:")
	}
	if err := r.d.check(); err != nil {
		return mistake(r.number, "%v", err)
	}
	return nil
}

// fileColumn is a column in a file.
type fileColumn Field

var columnKeys = []string{"name", "role", "type", "layout", "buckets", "levels", "encode", "fill", "unit"}

func (f *fileColumn) UnmarshalYAML(unmarshal func(any) error) (err error) {
	var c struct {
		Name, Role, Type, Layout, Buckets, Encode, Fill, Unit fileText
		Levels                                                fileTexts
	}
	if err := unmarshal(&c); err != nil {
		return err
	}
	f.Role, f.Type = Role(cmp.Or(c.Role.text, "feature")), Type(c.Type.text)
	f.Name, f.Layout, f.Encode, f.Fill, f.Unit = c.Name.text, c.Layout.text, c.Encode.text, c.Fill.text, c.Unit.text
	f.Levels = c.Levels
	f.Buckets, err = strconv.Atoi(cmp.Or(c.Buckets.text, "0"))
	switch {
	case c.Name.token == nil || len(f.Name) > maxLevelText:
		return fmt.Errorf(`want a name of at most %d bytes; write name: "" if there is none, and quotes around null`,
			maxLevelText)
	case !slices.Contains(roles, f.Role):
		return c.Role.refuse(unknown("role", f.Role, roles))
	case f.Type != "" && !slices.Contains(types, f.Type):
		return c.Type.refuse(unknown("type", f.Type, types))
	case f.Layout != "" && timeLayoutOf(f.Layout) == nil:
		return c.Layout.refuse(unknown("layout of times", f.Layout, TimeLayoutNames()))
	case err != nil || f.Buckets < 1 && c.Buckets.token != nil:
		return c.Buckets.refuse(fmt.Errorf("buckets must be 1 to %d (have %s)", MaxLevels, Quote(c.Buckets.text)))
	}
	return nil
}

// endColumn adds the last column to the description.
func (r *fileReader) endColumn() error {
	s := r.column
	r.column = section{key: closed}
	if len(s.lines) == 0 {
		return nil
	}
	var columns []fileColumn
	if err := s.decode(&columns, columnKeys...); err != nil {
		return err
	}
	if len(columns) != 1 || len(r.d.Fields) > rowio.MaxDim {
		return mistake(s.lines[0], "columns with different indentation, or more than %d", rowio.MaxDim+1)
	}
	f := Field(columns[0])
	if f.Role == "" {
		return mistake(s.lines[0], "a column without keys")
	}
	f.Levels = append(f.Levels, s.levels...)
	slices.Sort(f.Levels)
	if err := f.check(); err != nil {
		return mistake(s.lines[0], "column %s: %v", Quote(f.Name), err)
	}
	r.d.Fields = append(r.d.Fields, f)
	return nil
}
