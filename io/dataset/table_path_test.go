package dataset

import (
	"fmt"
	"testing"

	"github.com/bochner-ml/bochner/io/storage"
)

func TestValuesOfPathsAreDecoded(t *testing.T) {
	for path, want := range map[string]string{
		"data/k=u/part.csv":                            "map[k:u]",
		"gs://b/a b=1%2F2/k=%C3%A9=x/z=3.csv":          "map[a b:1/2 k:é=x]",
		"/d/k=__HIVE_DEFAULT_PARTITION__/k2=/=x/f.csv": "map[k: k2:]",
		"k=%zz/100%=1/f":                               "map[100%:1 k:%zz]",
		"k=1/k=2/f":                                    "map[k:2]",
		"k=1":                                          "map[]",
		"":                                             "map[]",
	} {
		if got := fmt.Sprint(PathValues(path)); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestColumnsOfPathsDoNotDependOnTheOrderOfFiles(t *testing.T) {
	for _, c := range []struct {
		names []string
		label string
		want  string
	}{
		{[]string{"a=1/k=1/f", "a=1/k=2/f"}, "", "[k]"},
		{[]string{"a=1/k=1/f", "a=1/k=2/f"}, "a", "[a k]"},
		{[]string{"a=1/k=1/f", "k=1/f", "b=1/k=2/f"}, "", "[k]"},
		{[]string{"k=1/f", "f", "k=2/f"}, "", "[]"},
		{[]string{"k=1/f"}, "", "[]"},
		{[]string{"day=1/k=1/f", "day=2/k=2/f"}, "", "[k]"},
		{[]string{"day=1/k=1/f", "day=2/k=2/f"}, "day", "[day k]"},
	} {
		for first := range c.names {
			o := &Opening{Data: &Dataset{}, Options: Options{Label: c.label, Ignore: []string{"day"}}}
			for i := range c.names {
				o.Data.Files = append(o.Data.Files, File{Object: storage.Object{Name: c.names[(first+i)%len(c.names)]}})
			}
			if SetPath(o); fmt.Sprint(o.Path) != c.want {
				t.Errorf("%q from %d: %q, want %s", c.names, first, o.Path, c.want)
			}
		}
	}
}
