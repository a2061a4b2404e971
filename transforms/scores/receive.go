package scores

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/messages"
)

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
	s = s.Scope("scores.Receive")
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
		return nil, fmt.Errorf("scores: no runner reads or writes %s by itself", name)
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
