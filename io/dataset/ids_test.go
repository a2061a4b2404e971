package dataset_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	. "github.com/bochner-ml/bochner/io/dataset"
)

func TestReadIDsParsesOnePerLine(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		err  string
	}{
		{"b\na\nb\n", 2, ""},
		{"\ufeffa\r\nb", 2, ""},
		{"a \n a\nA\n", 3, ""},
		{strings.Repeat("x", MaxIDBytes) + "\r\n", 1, ""},
		{strings.Repeat("x", MaxIDBytes+1) + "\n", 0, "more than"},
		{strings.Repeat("x", 1<<20), 0, "line 1 has more than"},
		{"", 0, "no ids"},
		{"a\n\n", 0, "line 2 is empty"},
	} {
		l, err := ReadIDs(strings.NewReader(c.text))
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%.20q: %v, want %q", c.text, err, c.err)
			}
		} else if err != nil || l.Len() != c.n {
			t.Errorf("%.20q: %v, want %d ids", c.text, err, c.n)
		}
	}
}

// elsewhere is a choice as a worker has it, which reads the stored list.
func elsewhere(t *testing.T, o *IDSelection) *IDSelection {
	t.Helper()
	data, err := os.ReadFile(o.URI)
	if err != nil {
		t.Fatal(err)
	}
	return &IDSelection{URI: write(t, t.TempDir(), "ids", data)}
}

// For every cut of a file the rows with an id of the list are read, and no others, and ids without a row are
// reported.
func TestOnlyRowsWithListedIDsAreRead(t *testing.T) {
	ctx := context.Background()
	text := "k,x,y\n"
	for i := range 300 {
		x := fmt.Sprint(i)
		if i%50 == 7 {
			x = "none"
		}
		text += fmt.Sprintf("%d,%s,%d\n", i%100, x, i)
	}
	l, err := ReadIDs(strings.NewReader("12\n7\n099\n99\nk\n")) // 7 has rows that cannot be read, and one that can
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	only, err := l.Store(ctx, dir+"/ids")
	if err != nil {
		t.Fatal(err)
	}
	name := write(t, dir, "d.csv", []byte(text))
	for _, only := range []*IDSelection{only, elsewhere(t, only)} {
		d := open(t, Options{Files: []string{name}, Label: "y", Roles: Roles{ID: "k"}, Subset: Subset{Only: only}})
		for _, size := range []int64{1 << 20, 100, 7} {
			var got []string
			var reports []Report
			for _, s := range d.Shards(size) {
				rows, r := readShard(d, s, token, FailFast)
				reports = append(reports, r)
				for _, x := range rows {
					got = append(got, fmt.Sprint(x))
				}
			}
			unselected := int64(0)
			for _, r := range reports {
				unselected += r.Unselected
				if r.Bad > 0 || r.Fault != "" {
					t.Errorf("report %+v", r)
				}
			}
			if len(got) != 6 || unselected != 294 {
				t.Errorf("shards of %d bytes: %d rows and %d not selected: %v", size, len(got), unselected, got)
			}
			n, first, err := only.Missing(ctx, reports, 1)
			if err != nil || n != 3 || !slices.Equal(first, []string{"099"}) {
				t.Errorf("shards of %d bytes: %d ids without rows, the first %v, %v", size, n, first, err)
			}
			if _, again := Tile(reports); len(again) > 0 {
				t.Errorf("shards of %d bytes do not tile", size)
			}
		}
	}
	if _, _, err := only.Missing(ctx, []Report{{Named: []byte{200}}}, 1); err == nil {
		t.Error("a damaged report is taken")
	}
	if _, _, err := only.Missing(ctx, []Report{{Named: []byte{9}}}, 1); err == nil {
		t.Error("a report of another list is taken")
	}
}

// Arbitrary bytes are a list or an error. A list that is stored and read again is the same.
func FuzzIDs(f *testing.F) {
	for _, s := range []string{"a\nb\n", "\ufeffa\r\n\ufeffb\r\r\n", "\n", "a\x00\nb"} {
		f.Add([]byte(s))
	}
	ctx := context.Background()
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ReadIDs(bytes.NewReader(data))
		if err != nil {
			return
		}
		name := t.TempDir() + "/ids"
		only, err := l.Store(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		n, all, err := only.Missing(ctx, nil, len(data)+1)
		again, other, otherErr := elsewhere(t, only).Missing(ctx, nil, len(data)+1)
		if err != nil || otherErr != nil || n != l.Len() || again != n || !slices.Equal(all, other) || !slices.IsSorted(all) {
			t.Fatalf("%d ids %q, read again %d %q: %v, %v", n, all, again, other, err, otherErr)
		}
	})
}
