package skeleton

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/bochner-ml/bochner/internal/option"
)

const maxJSON = 64 << 20 // bytes; maxNodes nodes with their inputs

// Parse decodes a skeleton from JSON if the first character is {, otherwise from YAML. It is strict:
// unknown names, values of a wrong type, trailing data, and invalid skeletons are errors.
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
			return fmt.Errorf("field %q: have a %s, want %v", wrong.Field, wrong.Value, wrong.Type)
		}
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("unexpected data after the JSON object")
	}
	return nil
}

func parseYAML(data []byte, s *Skeleton) error {
	if len(data) > option.MaxYAMLBytes {
		return fmt.Errorf("%d bytes of YAML, more than %d; give it in layers, or as JSON", len(data), option.MaxYAMLBytes)
	}
	return option.UnmarshalYAML(data, s)
}
