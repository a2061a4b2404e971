package scoring

import (
	"bytes"
	"io"
	"strconv"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/messages"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// fakeService has names that begin with fake://, and nothing else.
type fakeService struct{ messages.Service }

// fakeNative notes the topics that a pipeline writes to.
type fakeNative struct{ topics []string }

func (n *fakeNative) Read(s beam.Scope, _ string, _ messages.Settings) beam.PCollection {
	return beam.CreateList(s, [][]byte{[]byte("{}")})
}

func (n *fakeNative) Write(_ beam.Scope, topic string, _ beam.PCollection) {
	n.topics = append(n.topics, topic)
}

var fake = new(fakeNative)

func init() {
	messages.Register("fake", fakeService{})
	RegisterNative("fake", fake)
}

// Predictions and dead letters are both written, in this order, for any topics.
func TestPipelineWritesPredictionsAndDeadLetters(t *testing.T) {
	for _, dead := range []string{"fake://out", "fake://dead", "fake://a"} {
		fake.topics = nil
		_, s := beam.NewPipelineWithRoot()
		if _, err := (&Files{Out: "fake://out", Dead: dead}).Receive(s, "fake://rows", messages.Settings{}, 1); err != nil {
			t.Fatal(err)
		}
		if len(fake.topics) != 2 || fake.topics[0] != "fake://out" || fake.topics[1] != dead {
			t.Errorf("with dead letters to %s: %q", dead, fake.topics)
		}
	}
}

// Predictions that exceed a message are rejected while they are written, before there are gigabytes of them in
// memory.
func TestPredictionsTooLargeForAMessageAreRejectedEarly(t *testing.T) {
	f, file := &Files{Out: "fake://out"}, MessageArrival("fake://rows", &messages.Message{ID: "1"})
	megabyte := bytes.Repeat([]byte("x"), 1<<20)
	for n, fits := range map[int]bool{9: true, 10: false, 100: false} {
		var r FileResult
		written := 0
		err := f.create(t.Context(), file, "", &r, func(w io.Writer) error {
			for range n {
				if _, err := w.Write(megabyte); err != nil {
					return err
				}
				written++
			}
			return nil
		})
		why, refused := fault.Find(err)
		if fits != (err == nil) || fits != (r.Output != nil) || !fits &&
			(!refused || why.Kind != fault.Data) || written > 9 {
			t.Errorf("%d MiB: %d written, %v", n, written, err)
		}
	}
}

// A dead letter has the content of its message, or as much as fits a message with the reason.
func TestDeadLetterFitsAMessage(t *testing.T) {
	for n, cut := range map[int]bool{1000: false, 9_990_000: false, 9_999_900: true} {
		m := &messages.Message{ID: "1", Data: make([]byte, n), Attributes: map[string]string{"user": "u"}}
		l := letterOf(MessageArrival("fake://rows", m), DeadLetter{Error: "why", Message: m})
		size := len(l.Data)
		for name, value := range l.Attributes {
			size += len(name) + len(value)
		}
		want := ""
		if cut {
			want = strconv.Itoa(n)
		}
		if size > 10_000_000 || len(l.Data) < min(n, 9_990_000) || l.Attributes[messages.CutAttribute] != want ||
			l.Attributes["user"] != "u" || len(m.Data) != n {
			t.Errorf("%d bytes: %d bytes in all, %v", n, size, l.Attributes)
		}
	}
}
