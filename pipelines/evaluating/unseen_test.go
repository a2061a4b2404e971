package evaluating

import (
	"testing"

	"github.com/bochner-ml/bochner/io/labels"
)

func TestHintsAboutLabels(t *testing.T) {
	for _, c := range []struct {
		unseen, classes []string
		want            string
	}{
		{[]string{"a."}, []string{"a", "b."}, `these labels end in ".", the classes do not`}, // stripping would change b.
		{[]string{"class a"}, []string{"a", "b"}, `these labels begin with "class ", the classes do not`},
		{[]string{"a.", "b!"}, []string{"a", "b"}, ""},
		{[]string{" a", "b "}, []string{"a", "b"}, "these labels have spaces around them, the classes do not; --label_strip ' ' removes them"},
		{[]string{"a", "b"}, []string{"a.", "b."}, `the classes end in ".", these labels do not; train with --label_strip '.'`},
		{[]string{"a.", "c"}, []string{"a", "b"}, ""},
		{[]string{"A"}, []string{"a", "b"}, "these labels differ from the classes in upper and lower case alone; --label_case lower compares them in lower case"},
		{[]string{"yes"}, []string{"YES", "Yes"}, ""}, // which of the two?
		{[]string{"x"}, []string{"", "y"}, ""},
		{nil, []string{"a"}, ""},
	} {
		var counts labels.Counts
		for _, l := range c.unseen {
			counts.Add([]byte(l))
		}
		if got := labelHint(&counts, c.classes); got != c.want {
			t.Errorf("%q for %q: %q, want %q", c.unseen, c.classes, got, c.want)
		}
	}
}
