package option

import (
	"bytes"
	"errors"
	"fmt"
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

// UnmarshalYAML stores the document in v, strictly: unknown and doubled names, anchors, aliases, tags,
// a second document and values of a wrong type are errors, in one line that names the line of the
// text. A byte order mark at the beginning is ignored. More than MaxYAMLBytes bytes are an error, too.
func UnmarshalYAML(data []byte, v any) error {
	if len(data) > MaxYAMLBytes {
		return fmt.Errorf("%d bytes of YAML, more than %d", len(data), MaxYAMLBytes)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	// An alias may stand for any number of values, and the parser would ignore a second document.
	brackets := 0
	for i, t := range lexer.Tokenize(string(data)) {
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType, token.TagType:
			return fmt.Errorf("line %d: %q: anchors, aliases and tags cannot be used here; quote a text that begins like one",
				t.Position.Line, t.Value)
		case token.DocumentHeaderType:
			if i > 0 {
				return fmt.Errorf("line %d: a second document", t.Position.Line)
			}
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets--
		}
		indented := brackets <= 0 && t.Position.Column > maxIndent &&
			(t.Type == token.SequenceEntryType || t.Type == token.MappingKeyType || t.Type == token.MappingValueType)
		if brackets > maxBrackets || indented {
			return fmt.Errorf("line %d: nested too deep", t.Position.Line)
		}
	}
	if err := yaml.UnmarshalWithOptions(data, v, yaml.Strict()); err != nil {
		return errors.New(strings.TrimSpace(yaml.FormatError(err, false, false)))
	}
	return nil
}
