// Package pubsub supports Google Cloud Pub/Sub: a program that imports it can receive the messages of
// pubsub://projects/PROJECT/subscriptions/NAME, and publish to pubsub://projects/PROJECT/topics/NAME.
//
//	import _ "github.com/bochner-ml/bochner/io/messages/pubsub"
//
// If PUBSUB_EMULATOR_HOST is set, it uses the server there, without credentials.
package pubsub

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	gps "cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/bochner-ml/bochner/io/messages"
	"github.com/bochner-ml/bochner/io/storage"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Scheme is the scheme of names.
const Scheme = "pubsub"

func init() { messages.Register(Scheme, service{}) }

type service struct{}

var _ messages.Service = service{}

// The kinds of resources.
const (
	subscriptions = "subscriptions"
	topics        = "topics"
)

// resource matches the path of a name. It is compiled on first use, because repeating a class 254 times is slow.
var resource = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^projects/([^/]+)/(subscriptions|topics)/([A-Za-z][A-Za-z0-9._~+%-]{2,254})$`)
})

// Resource is a subscription or a topic.
type Resource struct {
	Project, Name string
	Topic         bool
}

// Parse returns the resource that a name stands for.
func Parse(name string) (Resource, error) {
	path, ok := strings.CutPrefix(name, Scheme+"://")
	m := resource().FindStringSubmatch(path)
	if !ok || m == nil {
		return Resource{}, fmt.Errorf("pubsub: %s is not of the form pubsub://projects/PROJECT/subscriptions/NAME or "+
			"pubsub://projects/PROJECT/topics/NAME", name)
	}
	return Resource{Project: m[1], Name: m[3], Topic: m[2] == topics}, nil
}

// path returns the name by which Pub/Sub knows the resource.
func (r Resource) path() string {
	kind := subscriptions
	if r.Topic {
		kind = topics
	}
	return "projects/" + r.Project + "/" + kind + "/" + r.Name
}

func (r Resource) String() string { return Scheme + "://" + r.path() }

func (service) CheckSource(name string) error {
	_, err := Parse(name)
	return err
}

func (service) CheckSink(name string) error {
	r, err := Parse(name)
	if err == nil && !r.Topic {
		err = fmt.Errorf("pubsub: %s: messages are published to a topic, pubsub://projects/PROJECT/topics/NAME", name)
	}
	return err
}

// connect returns a client of the project of a name, and the resource that the name stands for.
func connect(ctx context.Context, name string) (*gps.Client, Resource, error) {
	r, err := Parse(name)
	if err != nil {
		return nil, r, err
	}
	c, err := gps.NewClient(context.WithoutCancel(ctx), r.Project)
	return c, r, failed("connect", "project "+r.Project, err)
}

// failed returns the error of an operation, with an explanation of its cause. The error is marked as
// temporary unless only a person can fix the cause.
func failed(op, name string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	reason := &storage.ReasonError{Text: err.Error(), FromServer: true}
	if s, ok := status.FromError(err); ok {
		reason.Text = fmt.Sprintf("%s (%s)", s.Message(), s.Code())
		switch s.Code() {
		case codes.NotFound:
			*reason = storage.ReasonError{Text: reason.Text + "; create it, or correct the name", Kind: fs.ErrNotExist}
		case codes.PermissionDenied, codes.Unauthenticated:
			*reason = storage.ReasonError{Text: reason.Text +
				"; it needs roles/pubsub.subscriber on a subscription, roles/pubsub.publisher on a topic", Kind: fs.ErrPermission}
		case codes.InvalidArgument:
			*reason = storage.ReasonError{Text: reason.Text, Kind: fs.ErrInvalid}
		}
	}
	return &storage.Error{Op: op, Name: name, Err: reason}
}

// Subscription makes the subscription of a reader of a topic. Pub/Sub deletes it when nothing has read
// it for 31 days.
func (service) Subscription(ctx context.Context, source, reader string) (string, error) {
	r, err := Parse(source)
	if err != nil || !r.Topic {
		return source, err
	}
	c, _, err := connect(ctx, source)
	if err != nil {
		return "", err
	}
	defer c.Close()
	sum := sha256.Sum256([]byte(r.String() + "\n" + reader))
	sub := Resource{Project: r.Project, Name: "bochner-" + hex.EncodeToString(sum[:10])}
	_, err = c.SubscriptionAdminClient.CreateSubscription(ctx,
		&pubsubpb.Subscription{Name: sub.path(), Topic: r.path(), AckDeadlineSeconds: 60})
	if status.Code(err) == codes.AlreadyExists {
		err = nil
	}
	return sub.String(), failed("subscribe to", source, err)
}

// timeOf returns the time in an attribute: in RFC 3339, or milliseconds since 1970.
func timeOf(text string) (time.Time, bool) {
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.UnixMilli(ms), true
	}
	at, err := time.Parse(time.RFC3339, text)
	return at, err == nil
}

// MessageOf returns a message that Pub/Sub has delivered. If it lacks the attribute of the identifier
// or of the time, it has the identifier or time of Pub/Sub.
func MessageOf(id string, data []byte, attributes map[string]string, published time.Time,
	s messages.Settings) messages.Message {
	m := messages.Message{ID: id, Data: data, Attributes: attributes, Published: published}
	if id := attributes[s.IDAttribute]; s.IDAttribute != "" && id != "" {
		m.ID = id
	}
	if at, ok := timeOf(attributes[s.TimeAttribute]); s.TimeAttribute != "" && ok {
		m.Published = at
	}
	return m
}

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
	maxAttributes = 100
	longestValue  = 1024 // bytes
)

// Attributes returns attributes that a message can have. It leaves out names that Pub/Sub reserves, and
// the last attributes by name if there are too many, and it cuts long values.
func Attributes(all map[string]string) map[string]string {
	kept := map[string]string{}
	for _, ours := range []bool{true, false} {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			value := all[name]
			if strings.HasPrefix(name, messages.Prefix) != ours || strings.HasPrefix(name, "goog") ||
				len(kept) == maxAttributes {
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
