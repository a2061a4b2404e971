package evaluate

import (
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models/score"
)

func TestLabelHintNamesTheLikelyCause(t *testing.T) {
	for _, c := range []struct {
		unseen, classes []string // of the classes those that begin with = have rows
		want            string
	}{
		{[]string{"a."}, []string{"a", "b."}, `these labels end in ".", the classes do not`}, // stripping would change b.
		{[]string{"class a"}, []string{"a", "b"}, `these labels begin with "class ", the classes do not`},
		{[]string{"a.", "b!"}, []string{"a", "b"}, ""},
		{[]string{" a", "b "}, []string{"a", "b"},
			"these labels have spaces around them, the classes do not; --label_strip ' ' removes them"},
		{[]string{"a", "b"}, []string{"a.", "b."},
			`the classes end in ".", these labels do not; train with --label_strip '.'`},
		{[]string{"a.", "c"}, []string{"a", "b"}, ""},
		{[]string{"A"}, []string{"a", "b"},
			"these labels differ from the classes in upper and lower case alone; --label_case lower compares them in lower case"},
		{[]string{"yes"}, []string{"YES", "Yes"}, ""}, // which of the two?
		{[]string{"x"}, []string{"", "y"}, ""},
		{nil, []string{"a"}, ""},
		{[]string{"-1"}, []string{"0", "=1"}, `no row has the class "0"; if "-1" means that class, write it that way`},
		{[]string{"-1", "-2"}, []string{"=1", "2"}, `these labels begin with "-", the classes do not`}, // -1 would become 1
		{[]string{"a."}, []string{"=a", "b"}, `these labels end in ".", the classes do not`},
		{[]string{"a."}, []string{"a", "=b"}, `these labels end in ".", the classes do not; --label_strip '.' removes that`},
		{[]string{" a"}, []string{"=a", "b"}, `these labels begin with " ", the classes do not`},
		{[]string{"A"}, []string{"=a", "b"}, ""},
		{[]string{"oui e\u0301", "peut-être"}, []string{"=oui \u00e9", "non"},
			`"oui e\u0301" looks like the class "oui \u00e9"`},
		{[]string{"no\u200bn", "x"}, []string{"oui", "non"}, `"no\u200bn" looks like the class "non"`},
		{[]string{"A", "a"}, []string{"b", "c"}, ""},
		{[]string{"a", "b"}, []string{"a.", "b.", ".a."}, ""},
	} {
		var counts schema.LabelCounts
		for _, l := range c.unseen {
			counts.Add([]byte(l))
		}
		var classes []score.ClassScore
		for _, class := range c.classes {
			name := strings.TrimPrefix(class, "=")
			classes = append(classes, score.ClassScore{Class: name, Rows: int64(len(class) - len(name))})
		}
		if got := labelHint(&counts, classes); got != c.want {
			t.Errorf("%q for %q: %q, want %q", c.unseen, c.classes, got, c.want)
		}
	}
}
