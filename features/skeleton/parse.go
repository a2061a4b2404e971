package skeleton

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

const (
	maxJSON = 64 << 20 // bytes; MaxNodes nodes with their inputs
	maxYAML = 64 << 10 // bytes; YAML is for what people write

	// A skeleton is nested 5 deep. The YAML parser takes time with the square of
	// the depth, so that what is deeper does not reach it.
	maxBrackets = 16
	maxIndent   = 64 // characters before a key or a dash outside brackets
)

// Parse reads a skeleton from JSON, if the first character is {, else from YAML:
// strictly, so that unknown names, values of a wrong type, anything behind it,
// and skeletons that do not validate are errors.
func Parse(data []byte) (*Skeleton, error) {
	var s Skeleton
	var err error
	if t := bytes.TrimLeft(data, " \t\r\n"); len(t) > 0 && t[0] == '{' {
		err = parseJSON(data, &s)
	} else {
		err = parseYAML(data, &s)
	}
	if err != nil {
		return nil, fmt.Errorf("skeleton: %w", err)
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return &s, nil
}

func parseJSON(data []byte, s *Skeleton) error {
	if len(data) > maxJSON {
		return fmt.Errorf("%d bytes of JSON, more than %d; give it in layers", len(data), maxJSON)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(s); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return fmt.Errorf("field %q: a %s is no %v", wrong.Field, wrong.Value, wrong.Type)
		}
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more behind the JSON object")
	}
	return nil
}

func parseYAML(data []byte, s *Skeleton) error {
	if len(data) > maxYAML {
		return fmt.Errorf("%d bytes of YAML, more than %d; give it in layers, or as JSON", len(data), maxYAML)
	}
	// An alias may stand for any number of values, and a second document would be
	// passed over.
	brackets := 0
	for i, t := range lexer.Tokenize(string(data)) {
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType, token.TagType:
			return fmt.Errorf("line %d: %q: anchors, aliases and tags have no place in a skeleton", t.Position.Line, t.Value)
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
			return fmt.Errorf("line %d: nested too deep for a skeleton", t.Position.Line)
		}
	}
	if err := yaml.UnmarshalWithOptions(data, s, yaml.Strict()); err != nil {
		return errors.New(strings.TrimSpace(yaml.FormatError(err, false, false)))
	}
	return nil
}
