package dataset

import (
	"bytes"
	"errors"
	"unicode/utf8"
)

// LabelText describes changes to the text of labels before they become classes or
// numbers. The zero value changes nothing.
type LabelText struct {
	Strip string `json:"strip,omitempty" flag:"label_strip" placeholder:"CHARACTERS" help:"Characters to remove from both ends of labels, such as '.' or ' .'. The model stores them and later reads labels in the same way."` // characters that are removed from both ends
	Lower bool   `json:"lower,omitempty" flag:"label_case" values:"keep,lower" help:"Case of labels: keep, or lower, which compares labels and classes in lower case."`                                                        // letters become lower case, after Strip
}

// clean returns the changed text of a label. It may share the memory of label, which it
// does not modify. A nil *LabelText changes nothing.
func (t *LabelText) clean(label []byte) []byte {
	if t == nil || label == nil {
		return label
	}
	if t.Strip != "" {
		if label = bytes.Trim(label, t.Strip); label == nil {
			label = []byte{} // an empty label; nil means a missing one
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

// labelText returns the changes that the options ask for, or the changes of the model in Like if they ask for none.
func (o *Options) labelText() *LabelText {
	switch {
	case o.LabelText != (LabelText{}):
		return &o.LabelText
	case o.Like != nil:
		return o.Like.LabelText
	}
	return nil
}
