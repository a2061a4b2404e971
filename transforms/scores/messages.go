package scores

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/io/messages"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/transforms"
)

// Messages says how the content of messages becomes rows.
type Messages struct {
	// Columns names the columns of CSV messages without a header; it is empty for other messages.
	Columns []string `json:"columns,omitempty"`
	// Copy lists attributes to copy to each row, each to a column of the same name. MessageID
	// stands for the identifier of the message.
	Copy []string `json:"copy,omitempty"`
}

// MessageID names the identifier of a message among its attributes.
const MessageID = "message_id"

// mostBytes is the size of the largest content that is published, somewhat less than Pub/Sub's limit
// of 10 MB for a message with its attributes.
const mostBytes = 9 << 20

// largest is Pub/Sub's limit on the size of a message with the names and values of its attributes,
// minus a reserve for their encoding.
const largest = 10_000_000 - 2_000

// content is the content of a message while it is written. Write refuses to exceed the size of a
// message, because a compressed message of a few kilobytes can have rows for gigabytes.
type content struct{ data bytes.Buffer }

func (c *content) Write(p []byte) (int, error) {
	if c.data.Len()+len(p) > mostBytes {
		return 0, transforms.NewFault(transforms.DataFault,
			fmt.Errorf("scores: the predictions have more than %d bytes, which no message can have: send fewer rows in one, "+
				"or leave out --scores", mostBytes))
	}
	return c.data.Write(p)
}

// MessageArrival returns the Arrival of a message that was received from a source.
func MessageArrival(source string, m *messages.Message) Arrival {
	a := Arrival{Path: messages.FileName(m.ID), URI: source + "/" + m.ID, Message: m}
	if !m.Published.IsZero() {
		a.Modified = m.Published.UnixNano()
	}
	return a
}

// object returns the content of a message as a file.
func (m Messages) object(x *messages.Message) storage.Object {
	if len(m.Columns) == 0 {
		return x.Object()
	}
	headed := *x
	headed.Data = slices.Concat([]byte(header(m.Columns)), x.Data)
	return headed.Object()
}

// header returns a line of CSV.
func header(names []string) string {
	var quoted []string
	for _, name := range names {
		if strings.ContainsAny(name, ",\"\r\n ") {
			name = `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
		}
		quoted = append(quoted, name)
	}
	return strings.Join(quoted, ",") + "\n"
}

// given returns the columns that are copied from the attributes of a message.
func (m Messages) given(x *messages.Message) (all []Given) {
	if x == nil {
		return nil
	}
	for _, name := range m.Copy {
		value := x.Attributes[name]
		if name == MessageID {
			value = x.ID
		}
		all = append(all, Given{name, value})
	}
	return all
}

// letterOf returns a dead letter as a message. Its content is the original message's, so that it
// can be sent again; an attribute says what is wrong. If both together are too large for a message, the
// end of the content is cut off, and another attribute says so.
func letterOf(file Arrival, l DeadLetter) *messages.Message {
	why := l.Error
	if why == "" {
		first := ""
		if len(l.SetAside) > 0 {
			first = ", the first at " + l.SetAside[0].Place() + ": " + l.SetAside[0].Reason
		}
		why = fmt.Sprintf("rows without a prediction: %d%s", l.Rows, first)
	}
	letter := l.Message.From(file.URI, l.Message.Data, messages.ErrorAttribute, why, messages.ModelAttribute, l.Model)
	room := largest
	for name, value := range letter.Attributes {
		room -= len(name) + len(value) + 16 // their lengths take some bytes too
	}
	if n := len(letter.Data); n > max(0, room) {
		letter.Data = letter.Data[:max(0, room)]
		letter.Attributes[messages.CutAttribute] = strconv.Itoa(n)
	}
	return letter
}

// replace removes the outputs of an earlier delivery of a message that had another outcome.
func (f *Files) replace(ctx context.Context, file Arrival, r FileResult) error {
	var old []string
	if !messages.Is(f.Dead) {
		if r.Bad == "" {
			old = append(old, storage.Join(f.Dead, file.Path+badFile))
		}
		if r.Bad != "" || r.SetAside == 0 {
			old = append(old, storage.Join(f.Dead, file.Path+badRows))
		}
	}
	if r.Bad != "" && !messages.Is(f.Out) {
		suffix, err := f.suffix()
		if err != nil {
			return err
		}
		old = append(old, storage.Join(f.Out, file.Path+suffix))
	}
	for _, name := range old {
		if err := storage.Remove(ctx, name); err != nil {
			return err
		}
	}
	return nil
}
