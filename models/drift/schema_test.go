package drift

import "testing"

func TestSchemasAreComparedByName(t *testing.T) {
	for _, c := range []struct {
		was, is []string
		want    string
	}{
		{[]string{"a", "b", "c"}, []string{"a", "b", "c"}, ""},
		{[]string{"a", "b", "c"}, []string{"a", "c", "b"}, "columns in another order"},
		{[]string{"a", "b"}, []string{"a", "x", "b", "y"}, "new columns x, y"},
		{[]string{"a", "b", "c"}, []string{"c", "z"}, "new columns z; columns that are gone: a, b"},
		{nil, []string{"1", "2", "3", "4", "5", "6"}, "new columns 1, 2, 3, 4, 5, …"},
	} {
		s := columnChanges(c.was, c.is)
		text := ""
		if s != nil {
			text = s.String()
		}
		if text != c.want {
			t.Errorf("%v, %v: %q, want %q", c.was, c.is, text, c.want)
		}
	}
}
