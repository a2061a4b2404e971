package dataset

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// file is a layout and whether its columns have names.
type file struct {
	TableLayout
	named bool
}

func (f *file) Named() bool { return f.named }

// namedColumns is the layout of columns with names.
func namedColumns(names string, label int) file {
	f := columns(len(strings.Split(names, ",")), label)
	f.Columns, f.named = strings.Split(names, ","), true
	return f
}

// columns is the layout of n columns without names.
func columns(n, label int) file {
	var f file
	f.Label = label
	for i := range n {
		f.Columns = append(f.Columns, "c"+strconv.Itoa(i+1))
		if i != label {
			f.Features = append(f.Features, i)
		}
	}
	return f
}

func TestMatchFindsFeatures(t *testing.T) {
	for _, c := range []struct {
		name         string
		model, other file
		label        int
		features     []int
	}{
		{"itself", namedColumns("a,b,y", 2), namedColumns("a,b,y", 2), 2, []int{0, 1}},
		{"itself, label not stated", namedColumns("a,b,y", 2), namedColumns("a,b,y", -1), 2, []int{0, 1}},
		{"other order", namedColumns("a,b,y", 2), namedColumns("y,b,a", -1), 0, []int{2, 1}},
		{"more columns", namedColumns("a,b,y", 2), namedColumns("id,b,y,x,a", -1), 2, []int{4, 1}},
		{"more columns of the same name", namedColumns("a,b,y", 2), namedColumns("x,b,y,x,a", -1), 2, []int{4, 1}},
		{"no label", namedColumns("a,b,y", 2), namedColumns("b,a", -1), -1, []int{1, 0}},
		{"label of another name", namedColumns("a,b,y", 2), namedColumns("target,a,b", 0), 0, []int{1, 2}},
		{"same names twice, same place", namedColumns("a,a,y", 2), namedColumns("a,a,y", -1), 2, []int{0, 1}},
		{"no header", columns(3, 1), columns(3, -1), 1, []int{0, 2}},
		{"no header, no label", columns(3, 1), columns(2, -1), -1, []int{0, 1}},
		{"no header, label elsewhere", columns(3, 1), columns(3, 0), 0, []int{1, 2}},
		{"header only in the model's data", namedColumns("y,a,b", 0), columns(3, -1), 0, []int{1, 2}},
		{"header only in the file", columns(3, 0), namedColumns("u,v", -1), -1, []int{0, 1}},
		{"without labels altogether", columns(2, -1), columns(2, -1), -1, []int{0, 1}},
		{"without labels, but the file has one", columns(2, -1), columns(3, 2), 2, []int{0, 1}},
		{"order of a matched layout is kept",
			file{TableLayout: TableLayout{Columns: []string{"c1", "c2", "c3", "c4"}, Label: 1, Features: []int{3, 0}}},
			columns(2, -1), -1, []int{1, 0}},
	} {
		got, err := Match(&c.model, &c.other)
		want := TableLayout{Columns: c.other.Columns, Label: c.label, Features: c.features}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", c.name, err, diff)
		} else if err := got.Validate(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestMatchRejectsAmbiguousColumns(t *testing.T) {
	for _, c := range []struct {
		model, other file
		want         string
	}{
		{namedColumns("a,b,y", 2), namedColumns("a,y", -1), `missing column b; have a, y`},
		{namedColumns("a,b,y", 2), namedColumns("A,B,y", -1), `missing columns a, b; have A, B, y`},
		{namedColumns("a,b,y", 2), namedColumns("a,b,b,y", -1), `column "b" occurs twice`},
		{namedColumns("a,a,y", 2), namedColumns("a,x,y", -1), `column "a" occurs twice`},
		{namedColumns("a,b,y", 2), namedColumns("a,b,y,y", -1), `column "y", the label, occurs twice`},
		{namedColumns("a,b,y", 2), namedColumns("a,b,y", 0), `column "a" is the label here, but a feature`},
		{columns(3, 2), columns(4, -1), `4 columns of numbers, want 2, or 3 with the label as column 3`},
		{columns(3, 2), columns(1, -1), `1 column of numbers, want 2`},
		{columns(3, -1), columns(4, -1), `4 columns of numbers, want 3`},
		{columns(3, -1), columns(3, 1), `2 columns of numbers, want 3`},
	} {
		m, err := Match(&c.model, &c.other)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v on %v: %+v, %v; want …%s…", c.model.Columns, c.other.Columns, m, err, c.want)
		}
	}
}

func TestLongListsAreShortened(t *testing.T) {
	names := strings.Split(strings.Repeat("a,", 24)+strings.Repeat("b", 100), ",")
	if got := NameList(names); !strings.HasSuffix(got, "a and 5 more") {
		t.Error(got)
	}
	if got := NameList(names[24:]); got != strings.Repeat("b", 40)+"…" {
		t.Error(got)
	}
}
