package schema

import (
	"fmt"
	"testing"
)

func TestTimesBecomeCalendarNumbers(t *testing.T) {
	table := &Table{Columns: []Column{{Name: "t", Type: Time, Layout: "iso"}}}
	d := NewDecoder(table, nil)
	for text, want := range map[string]string{
		"1970-01-01":                "[0 1 3 0]", // a Thursday
		"1969-12-31 12:00":          "[-0.5 12 2 12]",
		"2024-03-01T06:00:00+06:00": "[19783 3 4 0]",
	} {
		row := make([]float32, 4)
		if reason := d.Text(row, 0, []byte(text)); reason != "" || fmt.Sprint(row) != want {
			t.Errorf("%q: %v, want %s; %s", text, row, want, reason)
		}
	}
}
