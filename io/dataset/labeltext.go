package dataset

import (
	"bytes"
	"errors"
	"unicode/utf8"
)

// LabelText says how the text of labels is changed when it is read, before it becomes a
// class or a number. The zero value changes nothing.
type LabelText struct {
	Strip string `json:"strip,omitempty" flag:"label_strip" placeholder:"CHARACTERS" help:"Characters to remove from both ends of labels, such as '.' or ' .'. The model stores them and later reads labels in the same way."` // characters that are removed from both ends
	Lower bool   `json:"lower,omitempty" flag:"label_case" values:"keep,lower" help:"Case of labels: keep, or lower, which compares labels and classes in lower case."`                                                        // letters become lower case, after Strip
}

// clean returns the text of a label after the changes. It may share the memory of label,
// which is not changed. A nil *LabelText changes nothing.
func (t *LabelText) clean(label []byte) []byte {
	if t == nil || label == nil {
		return label
	}
	if t.Strip != "" {
		if label = bytes.Trim(label, t.Strip); label == nil {
			label = []byte{} // a label without text, not the lack of one
		}
	}
	if t.Lower {
		label = bytes.ToLower(label)
	}
	return label
}

func (t *LabelText) validate() error {
	if t != nil && !utf8.ValidString(t.Strip) {
		return errors.New("dataset: schema: the characters that are removed from labels are not UTF-8")
	}
	return nil
}

// labelText returns what the options ask for; of options that ask for nothing, what the
// model's training did.
func (o *Options) labelText() *LabelText {
	switch {
	case o.LabelText != (LabelText{}):
		return &o.LabelText
	case o.Like != nil:
		return o.Like.LabelText
	}
	return nil
}
