package pubsub_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/internal/testing/pubsubtest"
	"github.com/bochner-ml/bochner/io/messages"
	"github.com/bochner-ml/bochner/io/messages/pubsub"
)

// soon is how long a test waits for what must come.
const soon = time.Minute

func receive(t *testing.T, name string, s messages.Settings) messages.Source {
	t.Helper()
	service, err := messages.ServiceOf(name)
	if err != nil {
		t.Fatal(err)
	}
	source, err := service.Receive(t.Context(), name, s)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// next returns n messages.
func next(t *testing.T, source messages.Source, n int) (all []messages.Received) {
	t.Helper()
	for begun := time.Now(); len(all) < n; {
		some, err := source.Next(t.Context(), n-len(all), soon)
		if err != nil || time.Since(begun) > soon {
			t.Fatalf("%d of %d messages, %v", len(all), n, err)
		}
		all = append(all, some...)
	}
	return all
}

// again returns a message that was delivered before. Leases end meanwhile, also of what a server sends to
// a connection that was cut.
func again(t *testing.T, s *pubsubtest.Server, source messages.Source) messages.Received {
	t.Helper()
	for wait := time.Second; wait < soon; s.Expire() {
		all, err := source.Next(t.Context(), 1, wait)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) > 0 {
			return all[0]
		}
		wait *= 2
	}
	t.Fatal("the message does not come again")
	return messages.Received{}
}

func texts(all []messages.Received) (texts []string) {
	for _, m := range all {
		texts = append(texts, string(m.Data))
	}
	slices.Sort(texts)
	return texts
}

// A message is delivered again until it is acknowledged: after it was given back, after its lease has
// ended, after the connection was cut, and by the next source.
func TestMessageIsDeliveredUntilItIsAcknowledged(t *testing.T) {
	s := pubsubtest.Start(t)
	name := s.Subscription("rows")
	id := s.Send("rows", "a", "k", "v")
	source := receive(t, name, messages.Settings{Outstanding: 10})
	for _, lose := range []func(messages.Received){
		func(m messages.Received) { m.End(false) },
		func(messages.Received) { s.Expire() },
		func(messages.Received) { s.Cut(); s.Expire() },
		func(messages.Received) {
			if err := source.Close(); err != nil {
				t.Error(err)
			}
			source = receive(t, name, messages.Settings{Outstanding: 10})
		},
	} {
		m := again(t, s, source)
		if string(m.Data) != "a" || m.ID != id || m.Attributes["k"] != "v" || time.Since(m.Published) > soon {
			t.Errorf("%+v", m.Message)
		}
		lose(m)
	}
	m := again(t, s, source)
	m.End(true)
	m.End(false) // End takes effect once
	if err := source.Close(); err != nil {
		t.Error(err)
	}
	if m := s.Message(id); m.Acks != 1 {
		t.Errorf("%d acknowledgements", m.Acks)
	}
}

// No more messages are outstanding than allowed, and no others wait in memory.
func TestOutstandingMessagesAreBounded(t *testing.T) {
	s := pubsubtest.Start(t)
	name := s.Subscription("rows")
	for i := range 9 {
		s.Send("rows", fmt.Sprint(i))
	}
	source := receive(t, name, messages.Settings{Outstanding: 3})
	defer source.Close()
	first := next(t, source, 3)
	if more, err := source.Next(t.Context(), 9, 300*time.Millisecond); err != nil || len(more) > 0 ||
		source.Waiting() > 0 {
		t.Errorf("%d more messages, %d wait, %v", len(more), source.Waiting(), err)
	}
	all := first
	for _, m := range first {
		m.End(true)
	}
	for len(all) < 9 {
		m := next(t, source, 1)[0]
		m.End(true)
		all = append(all, m)
	}
	if got := strings.Join(texts(all), ""); got != "012345678" {
		t.Errorf("messages %s", got)
	}
}

func TestAttributesIdentifyAndDateAMessage(t *testing.T) {
	s := pubsubtest.Start(t)
	name := s.Subscription("rows")
	s.Send("rows", "a", "key", "k1", "at", "2026-01-02T03:04:05Z")
	s.Send("rows", "b", "key", "k2", "at", "1700000000000")
	plain := s.Send("rows", "c", "at", "yesterday")
	source := receive(t, name, messages.Settings{Outstanding: 9, IDAttribute: "key", TimeAttribute: "at"})
	defer source.Close()
	want := map[string]string{"a": "k1 1767323045", "b": "k2 1700000000"}
	for _, m := range next(t, source, 3) {
		m.End(true)
		got := fmt.Sprint(m.ID, " ", m.Published.Unix())
		if text := string(m.Data); text == "c" {
			if m.ID != plain || time.Since(m.Published) > soon {
				t.Errorf("c: %s", got)
			}
		} else if got != want[text] {
			t.Errorf("%s: %s, want %s", text, got, want[text])
		}
	}
}

// A reader of a topic gets the messages that are published after it has come, also while it is away.
func TestTopicReaderHasItsOwnSubscription(t *testing.T) {
	s := pubsubtest.Start(t)
	topic := s.Topic("rows")
	service, err := messages.ServiceOf(topic)
	if err != nil {
		t.Fatal(err)
	}
	s.Send("rows", "before")
	one, err := service.Subscription(t.Context(), topic, "one")
	two, err2 := service.Subscription(t.Context(), topic, "two")
	if err := errors.Join(err, err2); err != nil || one == two {
		t.Fatalf("%v; subscriptions %s and %s", err, one, two)
	}
	s.Send("rows", "after")
	again, err := service.Subscription(t.Context(), topic, "one")
	if err != nil || again != one {
		t.Fatalf("%s, %v; want %s", again, err, one)
	}
	for _, name := range []string{one, two} {
		source := receive(t, name, messages.Settings{Outstanding: 1})
		m := next(t, source, 1)[0]
		m.End(true)
		if string(m.Data) != "after" {
			t.Errorf("%s: %s", name, m.Data)
		}
		source.Close()
	}
	if name, err := service.Subscription(t.Context(), one, "any"); err != nil || name != one {
		t.Errorf("of a subscription: %s, %v", name, err)
	}
}

func TestPublishedMessagesAreInTheTopic(t *testing.T) {
	s := pubsubtest.Start(t)
	topic := s.Topic("said")
	service, err := messages.ServiceOf(topic)
	if err != nil {
		t.Fatal(err)
	}
	sink, err := service.Publisher(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Close()
	in := messages.Message{ID: "7", Attributes: map[string]string{"k": strings.Repeat("ä", 600), "googx": "",
		messages.IDAttribute: "6"}}
	if err := errors.Join(sink.Publish(t.Context(),
		[]messages.Message{*in.From("here", []byte("x"), messages.ModelAttribute, "m"),
			{Data: []byte("y")}})...); err != nil {
		t.Fatal(err)
	}
	out := s.In("said")
	want := map[string]string{"k": strings.Repeat("ä", 512), messages.IDAttribute: "7", messages.FromAttribute: "here",
		messages.ModelAttribute: "m"}
	if len(out) != 2 || string(out[0].Data) != "x" || fmt.Sprint(out[0].Attributes) != fmt.Sprint(want) ||
		string(out[1].Data) != "y" {
		t.Errorf("%+v", out)
	}
	s.Cut() // it connects again
	if err := errors.Join(sink.Publish(t.Context(), []messages.Message{{Data: []byte("z")}})...); err != nil ||
		len(s.In("said")) < 3 {
		t.Errorf("%v, %d messages", err, len(s.In("said")))
	}
	large := make([]byte, 11<<20) // one that is refused says nothing of the others
	if errs := sink.Publish(t.Context(), []messages.Message{{Data: []byte("v")}, {Data: large},
		{Data: []byte("w")}}); len(errs) != 3 || errs[0] != nil || errs[1] == nil || errs[2] != nil {
		t.Errorf("%v", errs)
	}
	missing := strings.Replace(topic, "said", "none", 1)
	other, err := service.Publisher(t.Context(), missing)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := errors.Join(other.Publish(t.Context(), []messages.Message{{Data: []byte("x")}})...); !errors.Is(err,
		fs.ErrNotExist) || !strings.Contains(err.Error(), "publish "+missing) {
		t.Errorf("%v", err)
	}
	_, err = service.Receive(t.Context(), strings.Replace(missing, "topics", "subscriptions", 1), messages.Settings{Outstanding: 1})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestResourceNamesAreParsed(t *testing.T) {
	service, err := messages.ServiceOf("pubsub://x")
	if err != nil {
		t.Fatal(err)
	}
	for name, ok := range map[string][2]bool{ // as a source, as a sink
		"pubsub://projects/p/subscriptions/abc":   {true, false},
		"pubsub://projects/p/topics/a-b.c":        {true, true},
		"pubsub://projects/p/topics/ab":           {false, false},
		"pubsub://p/abc":                          {false, false},
		"pubsub://projects/p/topics/abc/def":      {false, false},
		"pubsub://projects/p/subscriptions/9abcd": {false, false},
	} {
		if a, b := service.CheckSource(name) == nil, service.CheckSink(name) == nil; a != ok[0] || b != ok[1] {
			t.Errorf("%s: a source %t, a sink %t", name, a, b)
		}
		if r, err := pubsub.Parse(name); err == nil && r.String() != name {
			t.Errorf("%s is read as %s", name, r)
		}
	}
	if _, err := messages.ServiceOf("carrier://pigeon"); err == nil || messages.Is("carrier://pigeon") ||
		messages.Is("in/*.csv") {
		t.Errorf("%v", err)
	}
}

// Different identifiers give different file names, which stay in their directory.
func TestMessageFileNamesAreDistinctAndStayInTheirDirectory(t *testing.T) {
	seen := map[string]string{}
	for _, id := range []string{"1", "a/b", "a%2Fb", "..", ".", "../x", "a b", "*", "a:b", "A", "ä",
		strings.Repeat("x", 500), strings.Repeat("x", 501), messages.FileName(strings.Repeat("x", 500)), "\x00", `\`} {
		name := messages.FileName(id)
		if strings.ContainsAny(name, "/*?[]\\ :\x00") || strings.HasPrefix(name, ".") || len(name) > 200 {
			t.Errorf("%q is named %q", id, name)
		}
		if other, taken := seen[name]; taken {
			t.Errorf("%q and %q are named %q", id, other, name)
		}
		seen[name] = id
	}
}

// If there are more attributes than a message can have, the same ones are kept each time, among them those
// about the message.
func TestFirstAttributesAreKept(t *testing.T) {
	all := map[string]string{messages.IDAttribute: "7"}
	for i := range 200 {
		all[fmt.Sprintf("a%03d", i)] = ""
	}
	kept := pubsub.Attributes(all)
	if _, has := kept["a098"]; len(kept) != 100 || !has || kept[messages.IDAttribute] != "7" {
		t.Errorf("%d attributes: %v", len(kept), kept)
	}
}
