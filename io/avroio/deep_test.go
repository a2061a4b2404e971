package avroio

import (
	stdbinary "encoding/binary"
	"fmt"
	"testing"
	"time"
)

// Records with 2⁶⁰ empty fields, which a small schema describes, are skipped without visiting each field.
func TestEmptyRecordsAreSkippedAtOnce(t *testing.T) {
	schema := `{"type":"record","name":"r0","fields":[{"name":"a","type":"null"}]}`
	for i := 1; i <= 60; i++ {
		schema = fmt.Sprintf(`{"type":"record","name":"r%d","fields":[{"name":"a","type":%s},{"name":"b","type":"r%d"}]}`,
			i, schema, i-1)
	}
	n, err := parseSchema([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	if !n.empty() {
		t.Fatal("the fields would be visited one by one")
	}
	d := decoder{b: []byte{1}}
	if d.skip(n, 0); d.err != nil || len(d.b) != 1 {
		t.Errorf("%d bytes are left, %v", len(d.b), d.err)
	}
}

// An array that states 2⁶⁰ empty elements in a few bytes is skipped without visiting each of them.
func TestEmptyElementsAreSkippedAtOnce(t *testing.T) {
	for _, items := range []string{`"null"`, `{"type":"fixed","name":"f","size":0}`,
		`{"type":"record","name":"e","fields":[{"name":"a","type":"null"}]}`} {
		n, err := parseSchema([]byte(`{"type":"record","name":"r","fields":[
			{"name":"a","type":{"type":"array","items":` + items + `}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		d := decoder{b: append(stdbinary.AppendVarint(nil, 1<<60), 0, 1)}
		skipped := make(chan bool)
		go func() {
			d.skip(n, 0)
			close(skipped)
		}()
		select {
		case <-skipped:
		case <-time.After(10 * time.Second):
			t.Fatalf("elements %s are visited one by one", items)
		}
		if d.err != nil || len(d.b) != 1 {
			t.Errorf("%d bytes are left, %v", len(d.b), d.err)
		}
	}
}
