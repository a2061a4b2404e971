// Package messages receives and publishes the messages of services that packages below it
// register: a program that imports io/messages/pubsub knows
// pubsub://projects/PROJECT/subscriptions/NAME and pubsub://projects/PROJECT/topics/NAME.
package messages

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/storage"
)

// Message is a message of a service.
type Message struct {
	// ID identifies the message: every copy of it that the service delivers has the same.
	ID         string            `json:"id,omitempty"`
	Data       []byte            `json:"data"`
	Attributes map[string]string `json:"attributes,omitempty"`
	// Published is the time of publication, or the time in Settings.TimeAttribute; zero if unknown.
	Published time.Time `json:"published,omitzero"`
}

// Names of the attributes of messages that are made from another. They all begin with Prefix.
const (
	Prefix         = "bochner_"
	IDAttribute    = Prefix + "message_id" // identifier of the other message, equal in all copies
	FromAttribute  = Prefix + "source"     // source of the other message
	ModelAttribute = Prefix + "model"      // digest of the model
	ErrorAttribute = Prefix + "error"      // why it has no predictions, or not for all rows
	CutAttribute   = Prefix + "cut"        // bytes that its content had before the end was cut off
)

// From returns a message made from m, with the attributes of m and more: names and values in turn.
func (m *Message) From(source string, data []byte, more ...string) *Message {
	a := map[string]string{}
	for name, value := range m.Attributes {
		if !strings.HasPrefix(name, Prefix) { // drop attributes that an earlier stream has added
			a[name] = value
		}
	}
	a[IDAttribute], a[FromAttribute] = m.ID, source
	for i := 0; i < len(more); i += 2 {
		a[more[i]] = more[i+1]
	}
	return &Message{Data: data, Attributes: a}
}

// Settings say how messages are received.
type Settings struct {
	// Outstanding is the largest number of messages that are received and neither acknowledged nor
	// given back, at least 1. The service holds the others back.
	Outstanding int
	// IDAttribute is the attribute with the identifier of a message; "" for the service's own
	// identifier.
	IDAttribute string
	// TimeAttribute is the attribute with the time of a message, in RFC 3339 or as milliseconds since
	// 1970; "" for the time at which it was published.
	TimeAttribute string
}

// Service is a message service. The names that its methods get begin with its scheme. Its package
// registers it in an init function.
type Service interface {
	CheckSource(name string) error // returns an error unless the name is a source's
	CheckSink(name string) error   // returns an error unless the name is a sink's
	// Subscription returns the subscription of a source. If the source is a topic, it creates a
	// subscription for the reader unless one exists, which gets all messages that are published
	// from then on, even while nothing reads.
	Subscription(ctx context.Context, source, reader string) (string, error)
	// Receive begins to receive the messages of a subscription.
	Receive(ctx context.Context, subscription string, s Settings) (Source, error)
	// Publisher returns the Sink of a topic.
	Publisher(ctx context.Context, topic string) (Sink, error)
}

// Source is where messages come from. Its methods are for one goroutine at a time.
type Source interface {
	// Next returns at most n messages as soon as there are any, or none after the time wait.
	Next(ctx context.Context, n int, wait time.Duration) ([]Received, error)
	// Waiting returns the number of messages that were received but not yet returned.
	Waiting() int
	// Close gives back unacknowledged messages, and waits until acknowledgements have arrived.
	Close() error
}

// Received is a message that must be acknowledged or given back.
type Received struct {
	Message
	// End acknowledges the message if done is true; it is then normally not delivered again.
	// Otherwise End gives the message back, to be delivered again.
	End func(done bool)
}

// Sink is a topic. Its methods may be called at the same time.
type Sink interface {
	// Publish publishes messages, and returns when the service has answered for all of them. It
	// returns an error for each message, nil if it is stored. After an error it may be stored, too.
	Publish(ctx context.Context, all []Message) []error
	Close() error
}

var services = option.NewRegistry[Service]("message service")

// Register makes s the Service of names that begin with scheme://. It panics if the scheme is taken.
func Register(scheme string, s Service) { services.Add(s, nil, scheme) }

// Is reports whether a name is one of a registered service.
func Is(name string) bool {
	_, err := ServiceOf(name)
	return err == nil
}

// Scheme returns what a name has before ://; "" if it has none.
func Scheme(name string) string {
	scheme, _, found := strings.Cut(name, "://")
	if !found {
		return ""
	}
	return scheme
}

// ServiceOf returns the service of a name.
func ServiceOf(name string) (Service, error) {
	if s, ok := services.Find(Scheme(name)); ok {
		return s, nil
	}
	return nil, fmt.Errorf("messages: %s: unknown scheme; have %q; a program knows one if it imports the package that "+
		"registers it", name, services.Names())
}

// longestName is the length from which the name of a file is a digest.
const longestName = 180

// FileName returns the name of the files about a message: its identifier, with characters other
// than letters, digits and -_~. escaped as in URLs. A long name is cut and ends in a digest.
func FileName(id string) string {
	name := strings.ReplaceAll(url.QueryEscape(id), "+", "%20")
	if strings.HasPrefix(name, ".") { // hidden, or a directory
		name = "%2E" + name[1:]
	}
	if len(name) >= longestName {
		sum := sha256.Sum256([]byte(id))
		name = name[:longestName-65] + "-" + hex.EncodeToString(sum[:])
	}
	return name
}

// Object returns the content of a message as a file.
func (m *Message) Object() storage.Object {
	return storage.InMemory("message "+m.ID, m.Data)
}
