//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	df "google.golang.org/api/dataflow/v1b3"
	"google.golang.org/protobuf/proto"

	"github.com/bochner-ml/bochner/internal/testing/pubsubtest"
)

// forMessages makes a model of the columns a, b and c, and returns a row without its label.
func forMessages(t *testing.T, dir string) (row string) {
	t.Helper()
	must(t, dir, "generate", "friedman", "--rows", "200", "--out", "train.csv")
	must(t, dir, "train", "--data", "train.csv", "--label", "y", "--features", "64", "--lambda", "1e-3", "--model",
		"model")
	line := strings.Split(read(t, dir, "train.csv"), "\n")[1]
	return line[:strings.LastIndexByte(line, ',')] + "\n"
}

// A stream of messages that is killed several times while it works loses no row and doubles none.
func TestKilledMessageStreamPredictsEveryRowOnce(t *testing.T) {
	server, dir := pubsubtest.Start(t), t.TempDir()
	row := forMessages(t, dir)
	args := []string{"predict", "--stream", "--model", "model", "--data", server.Subscription("rows"), "--out", "out",
		"--files_per_round", "5", "--outstanding", "20", "--quiet", "--json"}
	rows := map[string]int{}
	send := func(n int) {
		for range n {
			id := server.Send("rows", strings.Repeat(row, 1+len(rows)%4))
			rows[id] = 1 + len(rows)%4
		}
	}
	outputs := func() []string {
		names, _ := filepath.Glob(filepath.Join(dir, "out", "*.predictions.csv"))
		return names
	}
	const kills = 3
	for range kills {
		send(20)
		before := len(outputs())
		cmd := program(dir, args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		until(t, server, "predictions", func() bool { return len(outputs()) >= before+3 })
		for stop(t, cmd); !delivered(server); stop(t, cmd) { // all are done: more are to come
			cmd.Process.Signal(syscall.SIGCONT)
			before = len(outputs())
			send(20)
			until(t, server, "more predictions", func() bool { return len(outputs()) >= before+3 })
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if cmd.Wait() == nil {
			t.Error("the stream was not killed")
		}
	}
	cmd := program(dir, args...)
	done := make(chan result, 1)
	go func() { done <- runCommand(t, cmd) }()
	until(t, server, "the acknowledgement of all messages", func() bool {
		for _, m := range server.In("rows") {
			if m.Acks == 0 {
				return false
			}
		}
		return true
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.code != 0 || !strings.Contains(r.stdout, `"ended":true`) {
		t.Errorf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	deliveries := 0
	for _, m := range server.In("rows") {
		deliveries += m.Deliveries
	}
	if deliveries <= len(rows) {
		t.Errorf("%d deliveries of %d messages: nothing was delivered again", deliveries, len(rows))
	}
	if n := len(outputs()); n != len(rows) {
		t.Errorf("%d files for %d messages", n, len(rows))
	}
	for id, n := range rows {
		if got := strings.Count(read(t, dir, "out", id+".predictions.csv"), "\n") - 1; got != n {
			t.Errorf("message %s of %d rows has %d predictions", id, n, got)
		}
	}
	for _, name := range entries(t, filepath.Join(dir, "out")) {
		if !strings.HasSuffix(name, ".predictions.csv") {
			t.Errorf("left behind: %s", name)
		}
	}
}

// delivered reports whether a message is that was not acknowledged.
func delivered(server *pubsubtest.Server) bool {
	for _, m := range server.In("rows") {
		if m.Deliveries > 0 && m.Acks == 0 {
			return true
		}
	}
	return false
}

// stop stops a program, as Ctrl-Z does, and returns when it does nothing.
func stop(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid)) // 12 (bochner) T …
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(strings.TrimSpace(string(stat[bytes.LastIndexByte(stat, ')')+1:])), "T") {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// streamUntil runs a stream of messages until something is so, and then interrupts it. No lease ends meanwhile.
func streamUntil(t *testing.T, dir, what string, ok func() bool, args ...string) result {
	t.Helper()
	cmd := program(dir, append([]string{"predict", "--stream", "--model", "model", "--quiet", "--json"}, args...)...)
	done := make(chan result, 1)
	go func() { done <- runCommand(t, cmd) }()
	for !ok() {
		select {
		case r := <-done:
			t.Fatalf("the stream has ended before %s: exit code %d\n%s", what, r.code, r.stderr)
		case <-time.After(5 * time.Millisecond):
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	r := <-done
	if r.code != 0 || !strings.Contains(r.stdout, `"ended":true`) {
		t.Errorf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	return r
}

// Messages of the largest size of Pub/Sub, 10 MB, get their predictions or a dead letter with all of their
// content.
func TestLargeMessagesArePredicted(t *testing.T) {
	server, dir := pubsubtest.Start(t), t.TempDir()
	row := forMessages(t, dir)
	const most = 9_999_000
	n := most / len(row)
	good := server.Subscription("rows")
	id := server.Send("rows", strings.Repeat(row, n))
	bad := server.Send("rows", strings.Repeat("x", most))
	server.Topic("said")
	acknowledged := func() bool { return server.Message(id).Acks > 0 && server.Message(bad).Acks > 0 }
	streamUntil(t, dir, "the acknowledgement of both", acknowledged, "--data", good, "--out",
		"pubsub://projects/"+pubsubtest.Project+"/topics/said", "--dead_letters", "dead")
	said := server.In("said")
	if len(said) != 1 || strings.Count(string(said[0].Data), "\n") != n+1 ||
		said[0].Attributes["bochner_message_id"] != id {
		t.Errorf("%d messages with predictions; want one of %d lines", len(said), n+1)
	}
	var letter struct {
		Error   string
		Message struct{ Data []byte }
	}
	if err := json.Unmarshal([]byte(read(t, dir, "dead", bad+".file.json")), &letter); err != nil ||
		len(letter.Message.Data) != most || letter.Error == "" {
		t.Errorf("a dead letter with %d bytes, want %d: %s, %v", len(letter.Message.Data), most, letter.Error, err)
	}
	if got := entries(t, filepath.Join(dir, "dead")); len(got) != 1 {
		t.Errorf("dead letters %v", got)
	}
}

// If the dead letter of a message is rejected, only that message is returned, and comes again: it is in the
// dead letters once, and the predictions of the other messages are written once.
func TestReturnedMessageIsProcessedOnce(t *testing.T) {
	server, dir := pubsubtest.Start(t), t.TempDir()
	row := forMessages(t, dir)
	source := server.Subscription("rows")
	said, dead := server.Topic("said"), server.Topic("dead")
	var good []string
	for i := range 4 {
		good = append(good, server.Send("rows", strings.Repeat(row, 1+i)))
	}
	bad := server.Send("rows", "hello", "user", "u")
	server.Refuse("dead", 1)
	all := func() bool {
		for _, m := range server.In("rows") {
			if m.Acks == 0 {
				return false
			}
		}
		return true
	}
	r := streamUntil(t, dir, "the acknowledgement of all messages", all, "--data", source, "--out", said, "--dead_letters",
		dead, "--files_per_round", "10")
	if !strings.Contains(r.stdout, `"retried":1`) {
		t.Errorf("no message was tried again: %s", r.stdout)
	}
	if m := server.Message(bad); m.Deliveries < 2 {
		t.Errorf("the bad message was delivered %d times", m.Deliveries)
	}
	for _, id := range good {
		if m := server.Message(id); m.Acks == 0 {
			t.Errorf("message %s was not acknowledged", id)
		}
	}
	letters := server.In("dead")
	if len(letters) != 1 || string(letters[0].Data) != "hello" || letters[0].Attributes["bochner_message_id"] != bad ||
		letters[0].Attributes["user"] != "u" {
		t.Errorf("%d dead letters, want one of message %s: %v", len(letters), bad, letters)
	}
	if n := len(server.In("said")); n != len(good) {
		t.Errorf("%d messages with predictions, want %d", n, len(good))
	}
}

// until waits for a condition. The leases of killed processes end meanwhile.
func until(t *testing.T, server *pubsubtest.Server, what string, ok func() bool) {
	t.Helper()
	for tick, next := 1, 200; !ok(); tick++ {
		if time.Sleep(5 * time.Millisecond); tick == next {
			server.Expire()
			next *= 2
		}
		if tick > 40_000 {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// On Dataflow a stream of messages is one pipeline that reads and writes Pub/Sub by itself, and all of its
// functions can be serialised.
func TestMessageStreamOnDataflowIsOnePipeline(t *testing.T) {
	c := newCloud(t)
	server, dir := pubsubtest.Start(t), t.TempDir()
	forMessages(t, dir)
	for name, text := range files(t, filepath.Join(dir, "model")) {
		c.put("model/"+name, text)
	}
	source := server.Subscription("rows")
	for what, out := range map[string]string{"files": "gs://" + testBucket + "/out",
		"topic": "pubsub://projects/" + testProject + "/topics/said"} {
		var job *df.Job
		c.run = func(j *df.Job) (string, []string) { job = j; return "JOB_STATE_CANCELLED", nil }
		args := []string{"predict", "--stream", "--model", "gs://" + testBucket + "/model", "--data", source, "--out", out,
			"--dead_letters", "pubsub://projects/" + testProject +
				"/topics/dead", "--id_attribute", "key", "--time_attribute", "at"}
		r := runProgram(t, dir, append(args, c.flags()...)...)
		if job == nil {
			t.Fatalf("%s: exit code %d\n%s", what, r.code, r.stderr)
		}
		if job.Type != "JOB_TYPE_STREAMING" {
			t.Errorf("%s: a job of the type %s", what, job.Type)
		}
		p, size := c.graph(t, job)
		t.Logf("%s: a graph of %d transforms, %d bytes", what, len(p.Components.Transforms), size)
		var read pipepb.PubSubReadPayload
		var topics []string
		for _, x := range p.Components.Transforms {
			switch x.GetSpec().GetUrn() {
			case "beam:transform:pubsub_read:v1":
				if err := proto.Unmarshal(x.Spec.Payload, &read); err != nil {
					t.Fatal(err)
				}
			case "beam:transform:pubsub_write:v1":
				var write pipepb.PubSubWritePayload
				if err := proto.Unmarshal(x.Spec.Payload, &write); err != nil {
					t.Fatal(err)
				}
				topics = append(topics, write.Topic)
			}
		}
		if "pubsub://"+read.Subscription != source || read.IdAttribute != "key" || read.TimestampAttribute != "at" ||
			!read.WithAttributes {
			t.Errorf("%s: reads %v", what, &read)
		}
		want := map[string]int{"files": 1, "topic": 2}[what]
		if len(topics) != want || !strings.Contains(fmt.Sprint(topics), "/topics/dead") {
			t.Errorf("%s: writes to %v", what, topics)
		}
	}
}
