// Package pubsubtest is Pub/Sub for tests: a server of this process, asked through gRPC, whose
// connections can be cut and whose leases can be ended.
package pubsubtest

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"cloud.google.com/go/pubsub/v2/pstest"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Project is the one of the names of a Server.
const Project = "bochner-test"

// Server is a running server.
type Server struct {
	*pstest.Server
	Host string // what clients ask

	t     *testing.T
	begun time.Time    // where its clock stands
	ahead atomic.Int64 // nanoseconds by which Expire has moved it

	mu     sync.Mutex
	conns  []net.Conn
	refuse map[string]int // requests to publish, by topic
}

// Start starts a server that ends with the test, and leads clients of this process and its children
// to it. Its clock stands still, so that no lease ends before Expire, however slow the machine.
func Start(t *testing.T) *Server {
	t.Helper()
	s := &Server{t: t, begun: time.Now(), refuse: map[string]int{}}
	s.Server = pstest.NewServer(pstest.ServerReactorOption{FuncName: "Publish", Reactor: s})
	s.SetTimeNowFunc(func() time.Time { return s.begun.Add(time.Duration(s.ahead.Load())) })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Host = listener.Addr().String()
	go s.serve(listener)
	t.Cleanup(func() {
		listener.Close()
		s.Cut()
		s.Close()
	})
	t.Setenv("PUBSUB_EMULATOR_HOST", s.Host)
	return s
}

func (s *Server) serve(listener net.Listener) {
	for {
		from, err := listener.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", s.Addr)
		if err != nil {
			from.Close()
			continue
		}
		s.mu.Lock()
		s.conns = append(s.conns, from, to)
		s.mu.Unlock()
		for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
			go func() {
				io.Copy(pair[0], pair[1])
				pair[0].Close()
				pair[1].Close()
			}()
		}
	}
}

// Refuse makes the next n requests to publish to the topic of that name fail, in a way that is not tried again.
func (s *Server) Refuse(topic string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse["projects/"+Project+"/topics/"+topic] = n
}

// React implements pstest.ServerReactor.
func (s *Server) React(request any) (handled bool, answer any, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := request.(*pubsubpb.PublishRequest); ok && s.refuse[r.Topic] > 0 {
		s.refuse[r.Topic]--
		return true, &pubsubpb.PublishResponse{}, status.Error(codes.FailedPrecondition, "refused by the test")
	}
	return false, nil, nil
}

// Cut cuts all connections. Clients may connect again.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.Close()
	}
	s.conns = nil
}

// Expire ends the leases of messages that are not acknowledged, which are delivered again. A client
// that takes one renews a lease for some seconds, but a message sent to a client that has ended is
// leased for a minute. The server forgets messages of ten minutes, so Expire can be called nine
// times while a message is there: who waits calls it at intervals that double.
func (s *Server) Expire() { s.ahead.Add(int64(61 * time.Second)) }

// Topic makes a topic and returns its name.
func (s *Server) Topic(name string) string {
	s.t.Helper()
	path := "projects/" + Project + "/topics/" + name
	if _, err := s.GServer.CreateTopic(context.Background(), &pubsubpb.Topic{Name: path}); err != nil {
		s.t.Fatal(err)
	}
	return "pubsub://" + path
}

// Subscription makes a topic and a subscription of it, of the same name, and returns the
// subscription's name.
func (s *Server) Subscription(name string) string {
	s.t.Helper()
	s.Topic(name)
	path := "projects/" + Project + "/subscriptions/" + name
	_, err := s.GServer.CreateSubscription(context.Background(), &pubsubpb.Subscription{
		Name: path, Topic: "projects/" + Project + "/topics/" + name, AckDeadlineSeconds: 10,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return "pubsub://" + path
}

// Send publishes a message to the topic of that name, and returns its identifier.
func (s *Server) Send(topic, data string, attributes ...string) string {
	a := map[string]string{}
	for i := 0; i < len(attributes); i += 2 {
		a[attributes[i]] = attributes[i+1]
	}
	return s.Publish("projects/"+Project+"/topics/"+topic, []byte(data), a)
}

// In returns the messages of the topic of that name, in the order in which they were published.
func (s *Server) In(topic string) (all []*pstest.Message) {
	for _, m := range s.Messages() {
		if m.Topic == "projects/"+Project+"/topics/"+topic {
			all = append(all, m)
		}
	}
	return all
}
