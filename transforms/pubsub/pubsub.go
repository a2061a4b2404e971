// Package pubsub lets Dataflow read and write the messages of Google Cloud Pub/Sub in pipelines that
// do not end; other runners cannot. A program that imports it also knows pubsub:// names, from package
// io/messages/pubsub.
//
//	import _ "github.com/bochner-ml/bochner/transforms/pubsub"
package pubsub

//lint:file-ignore SA1019 Beam's pubsubio has messages of this type

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/pubsubio"
	pb "google.golang.org/genproto/googleapis/pubsub/v1"

	"github.com/bochner-ml/bochner/io/messages"
	"github.com/bochner-ml/bochner/io/messages/pubsub"
	"github.com/bochner-ml/bochner/transforms/scoring"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[*readFn]())
	beam.RegisterFunction(toMessage)
	scoring.RegisterNative(pubsub.Scheme, native{})
}

type native struct{}

var _ scoring.Native = native{}

// Read lets the runner drop repeated messages by the attribute that identifies them, and take their
// times from another attribute.
func (native) Read(s beam.Scope, subscription string, o messages.Settings) beam.PCollection {
	r, err := pubsub.Parse(subscription)
	if err != nil {
		panic(err.Error()) // it was checked before
	}
	col := pubsubio.Read(s, r.Project, pubsubio.ReadOptions{
		Subscription: r.Name, IDAttribute: o.IDAttribute, TimestampAttribute: o.TimeAttribute, WithAttributes: true,
	})
	return beam.ParDo(s, &readFn{Source: subscription, Settings: o}, col)
}

// readFn makes an Arrival of a message.
type readFn struct {
	Source   string
	Settings messages.Settings
}

// digest identifies a message that has no identifier, and is the same when it is delivered again. An error
// would make the runner repeat its bundle forever.
func digest(m *pb.PubsubMessage, published time.Time) (string, error) {
	text, err := json.Marshal(struct {
		Data       []byte
		Attributes map[string]string // written in the order of their names
		Published  time.Time
	}{m.Data, m.Attributes, published.UTC()})
	sum := sha256.Sum256(text)
	return "sha256-" + hex.EncodeToString(sum[:]), err
}

func (f *readFn) ProcessElement(m *pb.PubsubMessage, emit func([]byte)) error {
	var published time.Time
	if m.PublishTime != nil {
		published = m.PublishTime.AsTime()
	}
	x := pubsub.MessageOf(m.MessageId, m.Data, m.Attributes, published, f.Settings)
	if x.ID == "" {
		var err error
		if x.ID, err = digest(m, published); err != nil {
			return err
		}
	}
	task, err := json.Marshal(scoring.MessageArrival(f.Source, &x))
	if err != nil {
		return err
	}
	emit(task)
	return nil
}

// Write publishes to a topic.
func (native) Write(s beam.Scope, topic string, col beam.PCollection) {
	r, err := pubsub.Parse(topic)
	if err != nil {
		panic(err.Error()) // it was checked before
	}
	pubsubio.Write(s, r.Project, r.Name, beam.ParDo(s, toMessage, col))
}

func toMessage(encoded []byte, emit func(*pb.PubsubMessage)) error {
	var m messages.Message
	if err := json.Unmarshal(encoded, &m); err != nil {
		return err
	}
	emit(&pb.PubsubMessage{Data: m.Data, Attributes: pubsub.Attributes(m.Attributes)})
	return nil
}
