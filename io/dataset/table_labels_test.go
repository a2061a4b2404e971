package dataset

import (
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/option"
)

func TestSeveralLabelsAreGivenByNamePositionAndPattern(t *testing.T) {
	columns := []string{"a", "y1", "b", "y2", "c,d"}
	for given, want := range map[string][]int{
		"y1":         {1},
		"y2,y1":      {3, 1},
		"y*":         {1, 3},
		"y2,y*":      {3, 1},
		"-2,1":       {3, 0},
		"c,d":        {4},
		`"c,d",y1`:   {4, 1},
		"":           nil,
		`y1,"c,d",1`: {1, 4, 0},
	} {
		l, err := Choice{Label: given}.Layout(columns)
		if err != nil {
			t.Errorf("%s: %v", given, err)
			continue
		}
		if !slices.Equal(l.Labels(), want) || (len(want) > 1) != (l.Targets != nil) || l.Validate() != nil {
			t.Errorf("%s: labels %v (%d, %v), want %v: %v", given, l.Labels(), l.Label, l.Targets, want, l.Validate())
		}
		for _, f := range want {
			if slices.Contains(l.Features, f) {
				t.Errorf("%s: label %d is a feature", given, f)
			}
		}
		if given = option.JoinList(l.names(want)); given != "" {
			if again, err := (Choice{Label: given}).Layout(columns); err != nil || !slices.Equal(again.Labels(), want) {
				t.Errorf("%s: labels %v, want %v: %v", given, again.Labels(), want, err)
			}
		}
	}
	for given, want := range map[string]string{
		"y1,y1": "given twice", "y1,x": `no column "x"`, "y1,9": "outside the columns", "z*": "no column matches",
		`y1,"`: "no column",
	} {
		if _, err := (Choice{Label: given}).Layout(columns); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", given, err, want)
		}
	}
	if !(Choice{Label: "1,y"}).ByName() || (Choice{Label: "-1,-2"}).ByName() {
		t.Error("positions are taken for names, or a name for a position")
	}
}

func TestMatchFindsSeveralLabels(t *testing.T) {
	model := &TableLayout{Columns: []string{"y", "a", "z", "b"}, Label: 0, Targets: []int{0, 2}, Features: []int{1, 3}}
	for _, c := range []struct {
		file   TableLayout
		named  bool
		labels []int
	}{
		{TableLayout{Columns: []string{"b", "z", "a", "y"}, Label: -1}, true, []int{3, 1}},
		{TableLayout{Columns: []string{"b", "z", "a"}, Label: -1}, true,
			nil}, // one is missing
		{TableLayout{Columns: []string{"z", "y", "a", "b"}, Label: 0, Targets: []int{0, 1}}, true,
			[]int{1, 0}}, // named in another order
		{TableLayout{Columns: []string{"y", "a", "z", "b"}, Label: 2}, true, []int{2}},
		{TableLayout{Columns: []string{"c1", "c2", "c3", "c4"}, Label: -1}, false, []int{0, 2}},
		{TableLayout{Columns: []string{"c1", "c2"}, Label: -1}, false, nil}, // features only
	} {
		m, err := Match(model, &file{c.file, c.named})
		if err != nil || !slices.Equal(m.Labels(), c.labels) || m.Validate() != nil {
			t.Errorf("%+v: labels %v, want %v: %v", c.file, m.Labels(), c.labels, err)
		}
	}
	for _, l := range []TableLayout{
		{Columns: []string{"a", "b", "c"}, Label: 0, Targets: []int{1, 0}, Features: []int{2}},
		{Columns: []string{"a", "b", "c"}, Label: 0, Targets: []int{0}, Features: []int{2}},
		{Columns: []string{"a", "b", "c"}, Label: 0, Targets: []int{0, 0}, Features: []int{2}},
		{Columns: []string{"a", "b", "c"}, Label: 0, Targets: []int{0, 3}, Features: []int{2}},
		{Columns: []string{"a", "b", "c"}, Label: 0, Targets: []int{0, 2}, Features: []int{2}},
	} {
		if l.Validate() == nil {
			t.Errorf("%+v is valid", l)
		}
	}
}
