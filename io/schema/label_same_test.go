package schema

import (
	"slices"
	"testing"
)

func TestCodesThatAreTheSameNumberAreNamed(t *testing.T) {
	for _, c := range []struct {
		labels, want []string
	}{
		{[]string{"1", "01", "2"}, []string{"01", "1"}},
		{[]string{"01", "02", "10"}, nil}, // no other text is the same number
		{[]string{"1", "1.0", "1e0"}, nil},
		{[]string{"0", "0.5", "00"}, []string{"00", "0"}},
		{[]string{"a1", "a01"}, nil},
	} {
		var counts LabelCounts
		for _, label := range c.labels {
			counts.Add([]byte(label))
		}
		if got := counts.Summary().Same; !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.labels, got, c.want)
		}
	}
}
