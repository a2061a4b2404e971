package pubsub

import (
	"context"
	"time"

	gps "cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bochner-ml/bochner/io/messages"
)

// outstandingBytes bounds the bytes of messages that are received and not yet acknowledged.
const outstandingBytes = 64 << 20

// closing is how long Close waits for acknowledgements to arrive.
const closing = 10 * time.Second

// source receives the messages of a subscription. The client renews their leases until they are
// acknowledged, for an hour at most, and connects again when the connection is lost.
type source struct {
	settings messages.Settings
	name     string // of the subscription
	sub      *gps.Subscriber
	client   *gps.Client

	messages chan messages.Received
	stop     context.CancelFunc
	ended    chan error // has the reason why the client gave up; nil while it does not run
}

func (service) Receive(ctx context.Context, subscription string, s messages.Settings) (messages.Source, error) {
	c, r, err := connect(ctx, subscription)
	if err != nil {
		return nil, err
	}
	// A subscriber may lack the right to look at the subscription, so other errors come with the messages.
	_, err = c.SubscriptionAdminClient.GetSubscription(ctx, &pubsubpb.GetSubscriptionRequest{Subscription: r.path()})
	if status.Code(err) == codes.NotFound {
		_ = c.Close() // failed says more
		return nil, failed("receive from", subscription, err)
	}
	sub := c.Subscriber(r.path())
	sub.ReceiveSettings.MaxOutstandingMessages = s.Outstanding
	sub.ReceiveSettings.MaxOutstandingBytes = outstandingBytes
	return &source{
		settings: s, name: subscription, sub: sub, client: c,
		messages: make(chan messages.Received, s.Outstanding),
	}, nil
}

// run starts the client unless it runs.
func (s *source) run() {
	if s.ended != nil {
		return
	}
	ended := make(chan error, 1)
	s.ended = ended
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	go func() { ended <- s.sub.Receive(ctx, s.take) }()
}

// take puts a message into the queue. It returns when the message is acknowledged or given back, or when
// the client stops; until then the message counts as outstanding.
func (s *source) take(ctx context.Context, m *gps.Message) {
	done := make(chan bool, 1)
	s.messages <- messages.Received{
		Message: MessageOf(m.ID, m.Data, m.Attributes, m.PublishTime, s.settings),
		End: func(ok bool) {
			select {
			case done <- ok:
			default: // only the first call has an effect
			}
		},
	}
	ok := false
	select {
	case ok = <-done:
	case <-ctx.Done():
		select {
		case ok = <-done:
		default: // neither
		}
	}
	if ok {
		m.Ack()
	} else {
		m.Nack()
	}
}

func (s *source) Next(ctx context.Context, n int, wait time.Duration) (all []messages.Received, err error) {
	s.run()
	select {
	case m := <-s.messages:
		all = append(all, m)
	case err := <-s.ended:
		s.stop()
		s.ended = nil
		return nil, failed("receive from", s.name, err)
	case <-time.After(wait):
		return nil, nil
	case <-ctx.Done():
		return nil, nil
	}
	for len(all) < n {
		select {
		case m := <-s.messages:
			all = append(all, m)
			continue
		default:
		}
		break
	}
	return all, nil
}

func (s *source) Waiting() int { return len(s.messages) }

func (s *source) Close() error {
	if s.ended != nil {
		s.stop()
		select {
		case <-s.ended:
		case <-time.After(closing):
		}
	}
	return s.client.Close()
}
