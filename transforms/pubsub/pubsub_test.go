package pubsub

//lint:file-ignore SA1019 Beam's pubsubio has messages of this type

import (
	"encoding/json"
	"testing"

	pb "google.golang.org/genproto/googleapis/pubsub/v1"

	"github.com/bochner-ml/bochner/io/messages"
)

// A message without an identifier, neither as an attribute nor from the runner, is identified by its content,
// each time the same.
func TestMessagesWithoutIdentifiersHaveTheirDigest(t *testing.T) {
	id := func(data, city string) string {
		t.Helper()
		var tasks []string
		f := &readFn{Source: "pubsub://projects/p/subscriptions/s", Settings: messages.Settings{IDAttribute: "id"}}
		m := &pb.PubsubMessage{Data: []byte(data), Attributes: map[string]string{"city": city, "a": "b"}}
		if err := f.ProcessElement(m, func(task []byte) { tasks = append(tasks, string(task)) }); err != nil ||
			len(tasks) != 1 {
			t.Fatalf("%d tasks, %v", len(tasks), err)
		}
		if !json.Valid([]byte(tasks[0])) {
			t.Fatal(tasks[0])
		}
		return tasks[0]
	}
	first := id("1,2", "Paris")
	if again := id("1,2", "Paris"); again != first {
		t.Errorf("%s, and when it is delivered again %s", first, again)
	}
	if id("1,3", "Paris") == first || id("1,2", "Rome") == first {
		t.Error("another message has the same identifier")
	}
}
