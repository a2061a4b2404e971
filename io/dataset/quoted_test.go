package dataset

import (
	"encoding/json"
	"testing"
)

// Reports have the numbers of quoted rows in an array.
func TestQuotedRowsAreAnArrayInJSON(t *testing.T) {
	for want, lines := range map[string]OtherLines{
		`{"quoted":[3,40,36]}`: {Quoted: QuotedRows{From: 3, To: 40, Rows: 36}}, `{"headers":2}`: {Headers: 2},
	} {
		text, err := json.Marshal(lines)
		var got OtherLines
		if err == nil {
			err = json.Unmarshal(text, &got)
		}
		if string(text) != want || got != lines || err != nil {
			t.Errorf("%s %+v %v, want %s", text, got, err, want)
		}
	}
}
