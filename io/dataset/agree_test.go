package dataset_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/bochner-ml/bochner/io/dataset"
)

// permutations calls f with every order of n things.
func permutations(n int, f func(order []int)) {
	var extend func(order []int)
	extend = func(order []int) {
		if len(order) == n {
			f(order)
			return
		}
		for i := range n {
			if !slices.Contains(order, i) {
				extend(append(slices.Clone(order), i))
			}
		}
	}
	extend(nil)
}

// Neither the order of columns, nor columns that only some files have, nor the order of the files change any
// row.
func TestRowsDoNotDependOnTheOrderOfFilesAndColumns(t *testing.T) {
	dir := t.TempDir()
	contents := []string{"x1,y,x2\n1,7,2\n", "id,x2,x1,y\nq,4,3,8\n", "y,x2,x1\n9,6,5\n", "",
		"x1,x2,note,y\n7,8,\"a,b\",10\n"}
	var names []string
	for i, c := range contents {
		names = append(names, write(t, dir, string(rune('a'+i))+".csv", []byte(c)))
	}
	want := map[string]string{names[0]: "[1 2]7", names[1]: "[3 4]8", names[2]: "[5 6]9", names[4]: "[7 8]10"}
	number := func(text []byte) (float64, string) {
		var v float64
		for _, c := range text {
			v = 10*v + float64(c-'0')
		}
		return v, ""
	}
	trained := open(t, Options{Files: names[2:3], Label: "y"})
	for what, like := range map[string]*Schema{"alone": nil, "for a model": &trained.Schema} {
		var schema *Schema
		permutations(len(names), func(order []int) {
			var files []string
			for _, i := range order {
				files = append(files, names[i])
			}
			label := "y"
			if like != nil {
				label = ""
			}
			d := open(t, Options{Files: files, Label: label, Like: like})
			if like == nil {
				if schema == nil {
					schema = &d.Schema
				}
				if d := cmp.Diff(*schema, d.Schema); d != "" {
					t.Fatalf("%s, %v: %s", what, order, d)
				}
			}
			for i, f := range d.Files {
				rows, r := readShard(d, Whole(i), number, FailFast)
				text := strings.ReplaceAll(strings.Join(rows, ""), "] ", "]")
				if like != nil && text != "" { // whose columns are x2, x1
					text = strings.NewReplacer("[2 1]", "[1 2]", "[4 3]", "[3 4]", "[6 5]", "[5 6]", "[8 7]", "[7 8]").Replace(text)
				}
				if text != want[f.Name] || r.Fault != "" {
					t.Fatalf("%s, %v: %s gives %q %s, want %q", what, order, f.Name, text, r.Fault, want[f.Name])
				}
			}
			if note := strings.Join(d.Notes, "\n"); like == nil &&
				!strings.Contains(note, `columns that only some files have are ignored: "id" (in 1 of 4), "note" (in 1 of 4)`) {
				t.Fatalf("%s, %v: notes %q", what, order, note)
			}
		})
	}
}

// If every file lacks a column of another one, or the label is a different column, the
// files are rejected in every order.
func TestIncompatibleHeadersAreRejectedInEveryOrder(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		label string
		want  string
	}{
		"other columns":     {[]string{"a,b,y\n1,2,3\n", "a,c,y\n1,2,3\n"}, "y", "missing column"},
		"no label":          {[]string{"a,b,y\n1,2,3\n", "a,b\n1,2\n"}, "y", "y"},
		"label by place":    {[]string{"a,b,y\n1,2,3\n", "y,b,a\n1,2,3\n"}, "3", "give its name"},
		"a column twice":    {[]string{"a,b,y\n1,2,3\n", "a,b,b,y\n1,2,2,3\n"}, "y", "b"},
		"nothing in common": {[]string{"a,y\n1,3\n", "b,y\n1,3\n"}, "y", "missing column"},
	} {
		permutations(len(c.files), func(order []int) {
			dir := t.TempDir()
			var files []string
			for _, i := range order {
				files = append(files, write(t, dir, string(rune('a'+i)), []byte(c.files[i])))
			}
			_, err := Open(context.Background(), Options{Files: files, Label: c.label})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %v: %v", name, order, err)
			}
		})
	}
}

func TestDataThatLooksIncompleteIsNotedOrRejected(t *testing.T) {
	table := []byte("a,b,y\n1,2,3\n")
	for name, c := range map[string]struct {
		files map[string][]byte
		link  func(dir string) error
		note  string // "" for none
	}{
		"whole":         {files: map[string][]byte{"d-00000-of-00002.csv": table, "d-00001-of-00002.csv": table}},
		"whole, from 1": {files: map[string][]byte{"d-00001-of-00002.csv": table, "d-00002-of-00002.csv": table}},
		"whole, one compressed": {files: map[string][]byte{"d-00000-of-00002.csv": table,
			"d-00001-of-00002.csv.gz": pack(t, "gzip", table)}},
		"one missing": {files: map[string][]byte{"d-00000-of-00003.csv": table, "d-00002-of-00003.csv": table},
			note: "d-*-of-3: 2 of 3 shards found; missing: 1"},
		"many missing": {files: map[string][]byte{"d-00003-of-00010.csv": table},
			note: "d-*-of-10: 1 of 10 shards found; missing: 0, 1, 2, 4, 5, and 4 more"},
		"very many missing": {files: map[string][]byte{"d-00003-of-99999999.csv": table},
			note: "1 of 99999999 shards found; missing: 0, 1, 2, 4, 5, and 99999993 more"},
		"empty": {files: map[string][]byte{"a.csv": table, "b.csv": nil}, note: "1 of 2 files are empty: "},
		"empty, compressed": {files: map[string][]byte{"a.csv": table, "b.csv.gz": pack(t, "gzip", []byte("\n"))},
			note: "1 of 2 files are empty: "},
		"hard link": {files: map[string][]byte{"a.csv": table},
			link: func(dir string) error { return os.Link(dir+"/a.csv", dir+"/b.csv") }, note: "b.csv ("},
		"symbolic link": {files: map[string][]byte{"a.csv": table},
			link: func(dir string) error { return os.Symlink("a.csv", dir+"/b.csv") }, note: "links to the same file"},
		"compressed, and plain": {files: map[string][]byte{"a.csv": table, "a.csv.gz": pack(t, "gzip", table),
			"b.csv.gz": pack(t, "gzip", table)},
			note: "compressed files stand beside files of the same name, so rows may count twice: "},
		"copies are files": {files: map[string][]byte{"a.csv": table, "b.csv": table}},
		"a column more": {files: map[string][]byte{"a.csv": table, "b.csv": []byte("a,c,b,y\n1,2,3,4\n")},
			note: `columns that only some files have are ignored: "c" (in 1 of 2)`},
	} {
		dir := t.TempDir()
		for file, content := range c.files {
			write(t, dir, file, content)
		}
		if c.link != nil {
			if err := c.link(dir); err != nil {
				t.Fatal(err)
			}
		}
		o := Options{Files: []string{filepath.Join(dir, "*")}, Label: "y"}
		d := open(t, o)
		if notes := strings.Join(d.Notes, "; "); !strings.Contains(notes, c.note) || (c.note == "") != (notes == "") {
			t.Errorf("%s: notes %q, want %q", name, notes, c.note)
		}
		o.Strict = true
		if _, err := Open(context.Background(), o); (c.note == "") != (err == nil) || err != nil &&
			!strings.Contains(err.Error(), c.note) {
			t.Errorf("%s, strict: %v", name, err)
		}
	}
}
