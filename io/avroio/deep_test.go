package avroio

import (
	"fmt"
	"testing"
)

// A small schema describes records with 2⁶⁰ empty fields, which cannot be visited one by one.
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
