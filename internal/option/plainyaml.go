package option

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// MaxYAMLBytes is the largest file. The lexer takes about 500 bytes for each of its bytes.
const MaxYAMLBytes = 64 << 10

// The YAML parser takes time and memory that grow with the square of the depth. So deeper
// documents are refused before they reach it.
const (
	maxBrackets = 16
	maxIndent   = 64 // characters before a key or a dash outside brackets
)

// YAMLError is a mistake at a place in a YAML document.
type YAMLError struct {
	Line    int
	Column  int    // 0 for the whole line
	Message string // without the place
	Unknown string // the key, if the mistake is an unknown one
}

func (e *YAMLError) Error() string {
	if e.Column == 0 {
		return fmt.Sprintf("line %d: %s", e.Line, e.Message)
	}
	return fmt.Sprintf("[%d:%d] %s", e.Line, e.Column, e.Message)
}

// UnmarshalYAML stores the document in v, strictly: unknown and doubled names, anchors, aliases, tags,
// a second document and values of a wrong type are errors of type *YAMLError.
// A byte order mark at the beginning is ignored. More than MaxYAMLBytes bytes are an error, too.
func UnmarshalYAML(data []byte, v any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("package yaml cannot read it: %v", r)
		}
	}()
	if len(data) > MaxYAMLBytes {
		return fmt.Errorf("%d bytes of YAML, more than %d", len(data), MaxYAMLBytes)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	// An alias may stand for any number of values, and the parser would ignore a second document.
	brackets, directive, begun := 0, 0, false // directive is the line of the last one
	for _, t := range lexer.Tokenize(string(data)) {
		first := !begun
		if t.Type == token.DirectiveType {
			directive = t.Position.Line
		}
		begun = begun || t.Type != token.CommentType && t.Position.Line != directive
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType, token.TagType:
			return &YAMLError{Line: t.Position.Line, Message: strconv.Quote(t.Value) +
				": anchors, aliases and tags cannot be used here; quote a text that begins like one"}
		case token.DocumentHeaderType:
			if !first {
				return &YAMLError{Line: t.Position.Line, Message: "a second document"}
			}
		case token.StringType: // the lexer loses tabs in a text without quotes
			if strings.Contains(strings.TrimSpace(t.Origin), "\t") && !strings.Contains(t.Value, "\t") {
				return &YAMLError{Line: t.Position.Line, Message: "a tab in a text without quotes; put quotes around the text"}
			}
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets--
		}
		indented := brackets <= 0 && t.Position.Column > maxIndent &&
			(t.Type == token.SequenceEntryType || t.Type == token.MappingKeyType || t.Type == token.MappingValueType)
		if brackets > maxBrackets || indented {
			return &YAMLError{Line: t.Position.Line, Message: "nested too deep"}
		}
	}
	err = yaml.UnmarshalWithOptions(data, v, yaml.Strict())
	at, ok := errors.AsType[yaml.Error](err)
	if !ok {
		return err
	}
	place := at.GetToken().Position
	mistake := &YAMLError{Line: place.Line, Column: place.Column, Message: at.GetMessage()}
	if key, ok := errors.AsType[*yaml.UnknownFieldError](err); ok {
		mistake.Unknown = key.Token.Value
	}
	return mistake
}
