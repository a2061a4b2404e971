package pipelines

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/internal/testing/pubsubtest"
	"github.com/bochner-ml/bochner/io/messages"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
	_ "github.com/bochner-ml/bochner/transforms/pubsub"
	"github.com/bochner-ml/bochner/transforms/scoring"
)

// messaging is a brook of messages.
type messaging struct {
	*brook
	server *pubsubtest.Server
	sent   map[string]int // rows by the identifier of the message
	wanted int            // messages that a test sends in all, if it sends some while the stream runs
	lost   bool           // the server may have sent a message to a connection that no longer exists
}

// newMessaging starts a stream from the subscription rows.
func newMessaging(t *testing.T, features ...int) *messaging {
	t.Helper()
	b := &messaging{newBrook(t, features...), pubsubtest.Start(t), map[string]int{}, 0, false}
	b.o.Data.Files = []string{b.server.Subscription("rows")}
	b.o.Poll, b.o.PerRound, b.o.Messages.Outstanding = 20*time.Millisecond, 8, 20
	b.o.UntilIdle = false
	return b
}

// send sends a message of n rows.
func (b *messaging) send(n int) string {
	b.t.Helper()
	text := ""
	for range n {
		b.rows++
		text += fmt.Sprintf("{\"id\": \"%d\", \"a\": %d, \"b\": %g}\n", b.rows, b.rows%3, float64(b.rows%7)/4)
	}
	id := b.server.Send("rows", text)
	b.sent[id] = n
	return id
}

// acknowledged reports whether all messages are, those too that are yet to be sent.
func (b *messaging) acknowledged() bool {
	all := b.server.In("rows")
	for _, m := range all {
		if m.Acks == 0 {
			return false
		}
	}
	return len(all) >= b.wanted
}

// until runs the stream until all messages are acknowledged. After each round it calls each.
func (b *messaging) until(o options.PredictStream, each func(results.StreamRound)) *results.StreamRound {
	b.t.Helper()
	ctx, stop := context.WithCancel(b.t.Context())
	defer stop()
	o.Each = func(r results.StreamRound) error {
		if each != nil {
			each(r)
		}
		return nil
	}
	go b.expire(ctx, stop, b.acknowledged)
	last, err := PredictStream(ctx, o)
	if err != nil {
		b.t.Fatal(err)
	}
	b.lost = true
	return last
}

// expire calls stop when the work is done. If messages may be lost, leases end after half a second, and
// whenever twice the time has passed.
func (b *messaging) expire(ctx context.Context, stop func(), done func() bool) {
	lost := b.lost
	for tick, next := 1, 100; ctx.Err() == nil && !done(); tick++ {
		if time.Sleep(5 * time.Millisecond); tick == next {
			if lost {
				b.server.Expire()
			}
			next *= 2
		}
	}
	stop()
}

// deliveries is how often messages were delivered in all.
func (b *messaging) deliveries() (n int) {
	for _, m := range b.server.In("rows") {
		n += m.Deliveries
	}
	return n
}

// done checks that a stream has done n messages, and no other but copies.
func (b *messaging) done(what string, last *results.StreamRound, n int64) {
	b.t.Helper()
	if copies := int64(b.deliveries() - len(b.server.In("rows"))); last.Files < n || last.Files > n+copies {
		b.t.Errorf("%s: %d files for %d messages and %d copies in all: %+v", what, last.Files, n, copies, last)
	}
}

// whole checks that the files match the messages, and that every row is in exactly one file.
func (b *messaging) whole() {
	b.t.Helper()
	b.counted()
	files, err := filepath.Glob(b.path("out/*"))
	if err != nil || len(files) != len(b.sent) {
		b.t.Errorf("%d files for %d messages, %v", len(files), len(b.sent), err)
	}
	for id, n := range b.sent {
		text, err := os.ReadFile(b.path("out/" + id + ".predictions.csv"))
		if got := bytes.Count(text, []byte("\n")) - 1; err != nil || got != n {
			b.t.Errorf("message %s of %d rows has predictions for %d, %v", id, n, got, err)
		}
	}
}

// For every format of a message, its predictions equal a batch's predictions of its rows, on every runner.
func TestMessageGetsThePredictionsOfABatch(t *testing.T) {
	b := newMessaging(t, 8)
	csv := "id,a,b\nx,1,2\ny,0.5,-1\n"
	o := b.o.Predict
	o.Data.Files, o.Out, o.Scores = []string{jobtest.Write(t, b.path("in"), "f.csv", csv)}, b.path("batch"), true
	if _, err := Predict(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(b.path("batch/part-00000.csv"))
	if err != nil {
		t.Fatal(err)
	}
	for i, runner := range []string{engine.Direct, "prism"} {
		o := b.o
		o.Scores, o.Out, o.Job.Engine.Runner = true, b.path("out-"+runner), runner
		ids := []string{
			b.server.Send("rows", csv, "n", "1"),
			b.server.Send("rows", `{"b": 2, "other": true, "id": "x", "a": 1}`+"\n"+`{"a": 0.5, "b": -1, "id": "y"}`, "n", "2"),
		}
		if last := b.until(o, nil); last.Rows != 2*last.Files {
			t.Errorf("%s: %+v", runner, last)
		} else {
			b.done(runner, last, 2)
		}
		o.Messages.Columns, o.Messages.IDAttribute, o.Messages.Copy = []string{"b", "id", "a"}, "n", []string{"message_id",
			"n", "none"}
		b.server.Send("rows", "2,x,1\n-1,y,0.5\n", "n", "in 3")
		b.done(runner, b.until(o, nil), 1)
		for _, id := range append(ids, "in%203") {
			got, err := os.ReadFile(filepath.Join(o.Out, id+".predictions.csv"))
			if id == "in%203" {
				got = bytes.ReplaceAll(bytes.ReplaceAll(got, []byte("message_id,n,none,"), nil), []byte("in 3,in 3,,"), nil)
			}
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s, message %s: %v, %q; want %q", runner, id, err, got, want)
			}
		}
		if n := len(b.server.In("rows")); n != 3*(i+1) {
			t.Errorf("%d messages", n)
		}
	}
}

// Every row is in the files once, although messages are delivered again after their lease ended, a connection
// was cut, or the storage failed.
func TestRedeliveredMessagesDoNotRepeatRows(t *testing.T) {
	b := newMessaging(t, 8)
	for i := range 12 {
		b.send(1 + i%3)
	}
	b.wanted, b.lost = 12+4, true
	round := 0
	last := b.until(b.o, func(r results.StreamRound) {
		if round++; round == 1 {
			for b.deliveries() < 12 { // which wait in the client
				time.Sleep(time.Millisecond)
			}
			b.server.Expire()
			for b.deliveries() < 16 {
				time.Sleep(time.Millisecond)
			}
			b.send(2)
		}
		if round < 4 {
			b.server.Cut()
			b.send(1)
		}
	})
	if b.deliveries() < 16 || round < 4 || last.P99 <= 0 {
		t.Errorf("%d deliveries of %d messages in %d rounds: %+v", b.deliveries(), len(b.sent), round, last)
	}
	b.whole()
	again := b.server.Message(b.send(1)).ID // after the stream has ended
	b.until(b.o, nil)
	if _, err := os.Stat(b.path("out/" + again + ".predictions.csv")); err != nil {
		t.Error(err)
	}
	b.whole()
}

// A message that cannot be predicted is named, with its content, and acknowledged. When it comes again and can
// be predicted, its dead letter is removed.
func TestMessagesWithoutPredictionsAreNamed(t *testing.T) {
	b := newMessaging(t, 8)
	bad := b.server.Send("rows", "hello", "id", "1")
	half := b.server.Send("rows", "{\"id\": \"x\", \"a\": 1, \"b\": 2}\n{\"id\": \"y\", \"a\": \"oops\", \"b\": 2}\n",
		"id", "2")
	empty := b.server.Send("rows", "")
	last := b.until(b.o, nil)
	if last.Files != 1 || last.BadFiles != 2 || last.Rows != 1 || last.SetAside != 1 {
		t.Errorf("%+v", last)
	}
	for name, want := range map[string]string{bad + ".file.json": "hello", half + ".rows.json": "oops",
		empty + ".file.json": ""} {
		text, err := os.ReadFile(b.path("out-dead/" + name))
		var l scoring.DeadLetter
		if err == nil {
			err = json.Unmarshal(text, &l)
		}
		id, _, _ := strings.Cut(name, ".")
		if err != nil || !strings.HasSuffix(l.File, "/subscriptions/rows/"+id) || l.Message == nil ||
			!strings.Contains(string(l.Message.Data), want) ||
			(l.Error == "") == strings.HasSuffix(name, "file.json") {
			t.Errorf("%s: %v, %s", name, err, text)
		}
	}
	if !strings.Contains(b.log.String(), "no predictions for "+bad) {
		t.Errorf("log %s", &b.log)
	}
	o := b.o
	o.Messages.IDAttribute = "id"
	for range 2 {
		b.server.Send("rows", "no", "id", "k")
		b.until(o, nil)
		names := func() string {
			var all []string
			for _, pattern := range []string{"out/k.*", "out-dead/k.*"} {
				found, _ := filepath.Glob(b.path(pattern))
				for _, name := range found {
					all = append(all, filepath.Base(name))
				}
			}
			return strings.Join(all, " ")
		}
		if got := names(); got != "k.file.json" {
			t.Errorf("bad: %s", got)
		}
		b.server.Send("rows", "{\"id\": \"x\", \"a\": 1, \"b\": 2}\n{\"a\": \"oops\"}", "id", "k")
		b.until(o, nil)
		if got := names(); got != "k.predictions.csv k.rows.json" {
			t.Errorf("half: %s", got)
		}
		b.server.Send("rows", `{"id": "x", "a": 1, "b": 2}`, "id", "k")
		b.until(o, nil)
		if got := names(); got != "k.predictions.csv" {
			t.Errorf("good: %s", got)
		}
	}
}

// Predictions and dead letters go to topics, with the attributes of the message and its identifier, by which
// readers recognise copies.
func TestPredictionsAndDeadLettersArePublished(t *testing.T) {
	b := newMessaging(t, 8)
	o := b.o
	o.Out, o.Dead, o.Format = b.server.Topic("said"), b.server.Topic("dead"), "jsonl"
	good := b.server.Send("rows", `{"id": "x", "a": 1, "b": 2}`, "user", "u")
	bad := b.server.Send("rows", "hello", "user", "v")
	if last := b.until(o, nil); last.Files != 1 || last.BadFiles != 1 || last.P50 <= 0 {
		t.Errorf("%+v", last)
	}
	source := o.Data.Files[0]
	said, dead := b.server.In("said"), b.server.In("dead")
	if len(said) != 1 || len(dead) != 1 {
		t.Fatalf("%d predictions, %d dead letters", len(said), len(dead))
	}
	want := map[string]string{"user": "u", messages.IDAttribute: good, messages.FromAttribute: source + "/" + good,
		messages.ModelAttribute: b.digests["m8"]}
	if text := string(said[0].Data); fmt.Sprint(said[0].Attributes) != fmt.Sprint(want) ||
		!strings.HasPrefix(text, `{"id":"x","prediction":`) {
		t.Errorf("%s, %v", text, said[0].Attributes)
	}
	if a := dead[0].Attributes; string(dead[0].Data) != "hello" || a["user"] != "v" || a[messages.IDAttribute] != bad ||
		!strings.Contains(a[messages.ErrorAttribute], "missing columns") {
		t.Errorf("%s, %v", dead[0].Data, a)
	}
	names, err := filepath.Glob(b.path("*"))
	for _, name := range names {
		if base := filepath.Base(name); !slices.Contains([]string{"in", "models", "train.csv"}, base) {
			t.Errorf("left %s, %v", base, err)
		}
	}

	// A message that was not published is not acknowledged, and comes again: at least once.
	again := b.server.Send("rows", `{"id": "y", "a": 1, "b": 2}`)
	b.server.SetAutoPublishResponse(false)
	b.server.AddPublishResponse(nil, status.Error(codes.FailedPrecondition, "no"))
	o.Each = func(results.StreamRound) error { b.server.SetAutoPublishResponse(true); return nil }
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go b.expire(ctx, stop, func() bool { return b.server.Message(again).Acks > 0 })
	last, err := PredictStream(ctx, o)
	if err != nil || last.Retried == 0 || len(b.server.In("said")) < 2 {
		t.Errorf("%+v, %v; %d messages", last, err, len(b.server.In("said")))
	}
}

// Each message is predicted by the model that is champion then.
func TestMessagesUseTheCurrentChampion(t *testing.T) {
	b := newMessaging(t, 8, 16)
	b.o.Reload, b.o.PerRound = 1, 1
	b.wanted = 2
	b.send(3)
	last := b.until(b.o, func(r results.StreamRound) {
		if len(b.sent) == 1 {
			b.promote("m16")
			b.send(2)
		}
	})
	want := map[string]int{b.digests["m8"]: 3, b.digests["m16"]: 2}
	if by := b.counted(); fmt.Sprint(by) != fmt.Sprint(want) || last.Reloads != 1 {
		t.Errorf("rows by model %v, want %v", by, want)
	}
}

func TestMessageStreamRejectsInvalidOptions(t *testing.T) {
	b := newMessaging(t, 8)
	topic := b.server.Topic("said")
	for what, test := range map[string]struct {
		change func(*options.PredictStream)
		code   exit.Code
		want   string
	}{
		"a name": {func(o *options.PredictStream) { o.Data.Files = []string{"pubsub://x"} }, exit.CodeUsage,
			"--data: pubsub: pubsub://x is not of the form"},
		"two sources": {func(o *options.PredictStream) { o.Data.Files = append(o.Data.Files, "in/*.csv") }, exit.CodeUsage,
			"one source (have 2)"},
		"files to a topic": {func(o *options.PredictStream) { o.Data.Files, o.Out = []string{b.path("in/*")}, topic }, exit.CodeUsage,
			"give a directory, or messages"},
		"a subscription":  {func(o *options.PredictStream) { o.Out = o.Data.Files[0] }, exit.CodeUsage, "published to a topic"},
		"no dead letters": {func(o *options.PredictStream) { o.Out = topic }, exit.CodeUsage, "with --dead_letters"},
		"one topic": {func(o *options.PredictStream) { o.Out, o.Dead = topic, topic }, exit.CodeUsage,
			"is the topic of --out"},
		"a circle": {func(o *options.PredictStream) {
			o.Data.Files, o.Out, o.Dead = []string{topic}, topic, b.path("dead")
		}, exit.CodeUsage, "would read what it writes"},
		"a circle of letters": {func(o *options.PredictStream) {
			o.Data.Files, o.Dead = []string{topic}, topic
		}, exit.CodeUsage, "would read what it writes"},
		"an age": {func(o *options.PredictStream) { o.MaxAge = time.Hour }, exit.CodeUsage, "--max_age is for files"},
		"none outstanding": {func(o *options.PredictStream) { o.Messages.Outstanding = 0 }, exit.CodeUsage,
			"--outstanding must be at least 1"},
		"Flink": {func(o *options.PredictStream) { o.Job.Engine.Runner = engine.Flink }, exit.CodeUsage,
			"use --runner dataflow, or direct"},
		"files and columns": {func(o *options.PredictStream) {
			o.Data.Files, o.Messages.Columns = []string{b.path("in/*")},
				[]string{"a"}
		}, exit.CodeUsage, "are for messages"},
		"no subscription": {func(o *options.PredictStream) {
			o.Data.Files = []string{strings.Replace(topic, "topics", "subscriptions", 1)}
		}, exit.CodeData, "create it, or correct the name"},
	} {
		o := b.o
		o.UntilIdle = true // what is not refused ends
		test.change(&o)
		_, err := PredictStream(t.Context(), o)
		jobtest.WantError(t, what, err, test.code, test.want)
	}
	// A topic is read through a subscription that stays.
	o := b.o
	o.Data.Files, o.UntilIdle = []string{topic}, true
	if last, err := PredictStream(t.Context(), o); err != nil || last.Rows != 0 ||
		!strings.Contains(b.log.String(), "reads the messages of the topic from now on") {
		t.Errorf("%+v, %v: %s", last, err, &b.log)
	}
	b.server.Send("said", `{"id": "x", "a": 1, "b": 2}`)
	b.lost = true
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go b.expire(ctx, stop, func() bool { return false })
	o.UntilIdle, o.Each = false, func(results.StreamRound) error { stop(); return nil }
	if last, err := PredictStream(ctx, o); err != nil || last.Rows != 1 {
		t.Errorf("%+v, %v", last, err)
	}
}

// native is a runner that reads some messages and then acknowledges them, unless the pipeline fails.
type native struct{ tasks [][]byte }

func (n *native) Read(s beam.Scope, _ string, _ messages.Settings) beam.PCollection {
	return beam.CreateList(s, n.tasks)
}

func (*native) Write(beam.Scope, string, beam.PCollection) {}

var fake = new(native)

func init() { scoring.RegisterNative("fake", fake) }

// A message that is to be tried again fails its bundle, so that a runner that reads messages by itself does not
// acknowledge it; a message without predictions does not.
func TestMessageToBeTriedAgainFailsItsBundle(t *testing.T) {
	b := newBrook(t, 8)
	file := jobtest.Write(t, b.dir, "file", "")
	for _, c := range []struct{ dead, text, want string }{
		{b.path("dead"), `{"id": "x", "a": 1, "b": 2}`, ""},
		{b.path("dead"), "hello", ""},
		{filepath.Join(file, "dead"), `{"id": "x", "a": 1, "b": 2}`, "fake://rows/1 is to be tried again"},
	} {
		task, err := json.Marshal(scoring.MessageArrival("fake://rows", &messages.Message{ID: "1", Data: []byte(c.text)}))
		if err != nil {
			t.Fatal(err)
		}
		fake.tasks = [][]byte{task}
		files := &scoring.Files{Model: b.path("models/m8"), Out: b.path("out"), Dead: c.dead,
			Data: scoring.NewOpenOptions(b.o.Data), MaxBad: 1, Content: scoring.Content{Format: "csv"}}
		err = engine.Engine{}.WithDefaults().Run(t.Context(), func(s beam.Scope) {
			if _, err := files.Receive(s, "fake://rows", messages.Settings{}, 1); err != nil {
				t.Fatal(err)
			}
		})
		if c.want == "" && err != nil || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want) || exit.CodeOf(err) != exit.CodeStorage) {
			t.Errorf("%q, dead letters to %s: %v; want %q", c.text, c.dead, err, c.want)
		}
	}
}
