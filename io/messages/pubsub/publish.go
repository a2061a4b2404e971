package pubsub

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	gps "cloud.google.com/go/pubsub/v2"

	"github.com/bochner-ml/bochner/io/messages"
)

// sink publishes to a topic.
type sink struct {
	name   string
	topic  *gps.Publisher
	client *gps.Client
}

func (service) Publisher(ctx context.Context, topic string) (messages.Sink, error) {
	c, r, err := connect(ctx, topic)
	if err != nil {
		return nil, err
	}
	p := c.Publisher(r.path())
	p.PublishSettings.DelayThreshold = time.Millisecond // the messages of a call come at once
	return &sink{topic, p, c}, nil
}

// Publish retries requests that fail, so a topic can get a message more than once.
func (s *sink) Publish(ctx context.Context, all []messages.Message) []error {
	var results []*gps.PublishResult
	for _, m := range all {
		results = append(results, s.topic.Publish(ctx, &gps.Message{Data: m.Data, Attributes: Attributes(m.Attributes)}))
	}
	errs := make([]error, len(all))
	for i, r := range results { // all, so that no request is left behind
		_, err := r.Get(ctx)
		errs[i] = failed("publish", s.name, err)
	}
	return errs
}

func (s *sink) Close() error {
	s.topic.Stop()
	return s.client.Close()
}

// Limits of Pub/Sub.
const (
	mostAttributes = 100
	longestValue   = 1024 // bytes
)

// Attributes returns attributes that a message can have. It leaves out names that Pub/Sub reserves, and
// the last attributes by name if there are too many, and it cuts long values.
func Attributes(all map[string]string) map[string]string {
	kept := map[string]string{}
	for _, ours := range []bool{true, false} {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			value := all[name]
			if strings.HasPrefix(name, messages.Prefix) != ours || strings.HasPrefix(name, "goog") ||
				len(kept) == mostAttributes {
				continue
			}
			if len(value) > longestValue {
				value = strings.ToValidUTF8(value[:longestValue], "")
			}
			kept[name] = value
		}
	}
	return kept
}
