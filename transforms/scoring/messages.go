package scoring

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/messages"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// Messages describes how the content of messages becomes rows.
type Messages struct {
	// Columns names the columns of CSV messages without a header; it is empty for other messages.
	Columns []string `json:"columns,omitempty"`
	// Copy lists attributes to copy to each row, each to a column of the same name. messageID
	// stands for the identifier of the message.
	Copy []string `json:"copy,omitempty"`
}

// messageID names the identifier of a message among its attributes.
const messageID = "message_id"

// maxBytes is the size of the largest content that is published, somewhat less than Pub/Sub's limit
// of 10 MB for a message with its attributes.
const maxBytes = 9 << 20

// largest is Pub/Sub's limit on the size of a message with the names and values of its attributes,
// minus a reserve for their encoding.
const largest = 10_000_000 - 2_000

// content is the content of a message while it is written. Write refuses to exceed the size of a
// message, because a compressed message of a few kilobytes can have rows for gigabytes.
type content struct{ data bytes.Buffer }

func (c *content) Write(p []byte) (int, error) {
	if c.data.Len()+len(p) > maxBytes {
		return 0, fault.Wrap(fault.Data,
			fmt.Errorf("scoring: the predictions have more than %d bytes, which no message can have: send fewer rows in one, "+
				"or leave out --scores", maxBytes))
	}
	return c.data.Write(p)
}

// MessageArrival returns the Arrival of a message that was received from a source.
func MessageArrival(source string, m *messages.Message) Arrival {
	return Arrival{Path: messages.FileName(m.ID), URI: source + "/" + m.ID, Modified: nanoseconds(m.Published),
		Message: m}
}

// object returns the content of a message as a file.
func (m Messages) object(x *messages.Message) storage.Object {
	if len(m.Columns) == 0 {
		return x.Object()
	}
	headed := *x
	headed.Data = slices.Concat([]byte(option.JoinList(m.Columns)+"\n"), x.Data)
	return headed.Object()
}

// given returns the columns that are copied from the attributes of a message.
func (m Messages) given(x *messages.Message) (all []ConstantColumn) {
	if x == nil {
		return nil
	}
	for _, name := range m.Copy {
		value := x.Attributes[name]
		if name == messageID {
			value = x.ID
		}
		all = append(all, ConstantColumn{name, value})
	}
	return all
}

// letterOf returns a dead letter as a message. Its content is the original message's, so that it
// can be sent again; an attribute has the reason. If both together are too large for a message, the
// end of the content is cut off, and another attribute notes this.
func letterOf(file Arrival, l DeadLetter) *messages.Message {
	why := l.Error
	if why == "" {
		first := ""
		if len(l.SetAside) > 0 {
			first = ", the first at " + l.SetAside[0].Position() + ": " + l.SetAside[0].Reason
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

func init() { beam.RegisterDoFn(reflect.TypeFor[*publishedFn]()) }

// Native lets a runner itself read and write the messages of a service, in pipelines that do not end.
type Native interface {
	// Read returns the messages of a subscription, each as an Arrival in JSON. The runner
	// acknowledges a message when its results are stored.
	Read(s beam.Scope, subscription string, o messages.Settings) beam.PCollection
	// Write publishes a collection of messages.Message in JSON.
	Write(s beam.Scope, topic string, col beam.PCollection)
}

var natives = option.NewRegistry[Native]("messages of a runner")

// RegisterNative registers the Native of a scheme. Call it in init.
func RegisterNative(scheme string, n Native) { natives.Add(n, nil, scheme) }

// Receive predicts the messages of a subscription as they arrive, until the pipeline is stopped. It
// returns a FileResult for each, in JSON.
func (f *Files) Receive(s beam.Scope, subscription string, o messages.Settings, threads int) (beam.PCollection, error) {
	s = s.Scope("scoring.Receive")
	read, err := native(subscription)
	if err != nil {
		return beam.PCollection{}, err
	}
	fn := f.fn(threads)
	fn.Repeat = true // the runner acknowledges a message whose bundle is done
	results := beam.ParDo(s, fn, read.Read(s, subscription, o))
	for _, to := range []struct {
		topic   string
		letters bool
	}{{f.Out, false}, {f.Dead, true}} {
		if !messages.Is(to.topic) {
			continue
		}
		write, err := native(to.topic)
		if err != nil {
			return results, err
		}
		write.Write(s, to.topic, beam.ParDo(s, &publishedFn{Letters: to.letters}, results))
	}
	return results, nil
}

func native(name string) (Native, error) {
	n, ok := natives.Find(messages.Scheme(name))
	if !ok {
		return nil, fmt.Errorf("scoring: no runner reads or writes %s by itself", name)
	}
	return n, nil
}

// publishedFn emits the messages to publish in a FileResult: outputs, or dead letters.
type publishedFn struct{ Letters bool }

func (f *publishedFn) ProcessElement(result []byte, emit func([]byte)) error {
	var r FileResult
	if err := json.Unmarshal(result, &r); err != nil {
		return err
	}
	m := r.Output
	if f.Letters {
		m = r.Letter
	}
	if m != nil {
		emit(encoded(m))
	}
	return nil
}
