package dataset

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/io/schema"
)

func TestChoiceFindsFeaturesAndRoles(t *testing.T) {
	names := strings.Split("id,age,x_1,x_2,w,y", ",")
	for _, c := range []struct {
		name   string
		choice Choice
		want   TableLayout
	}{
		{"nothing chosen", Choice{}, TableLayout{Label: -1, Features: []int{0, 1, 2, 3, 4, 5}}},
		{"roles are not features", Choice{Label: "y", Weight: "w", ID: "id"},
			TableLayout{Label: 5, Features: []int{1, 2, 3}, Roles: map[schema.Role]int{schema.Weight: 4, schema.ID: 0}}},
		{"a time", Choice{Label: "y", Time: "age", Weight: "w"},
			TableLayout{Label: 5, Features: []int{0, 2, 3}, Roles: map[schema.Role]int{schema.Weight: 4, schema.When: 1}}},
		{"positions", Choice{Label: "-1", ID: "1"},
			TableLayout{Label: 5, Features: []int{1, 2, 3, 4}, Roles: map[schema.Role]int{schema.ID: 0}}},
		{"columns in the order of the file", Choice{Label: "y", Columns: []string{"x_2", "age"}},
			TableLayout{Label: 5, Features: []int{1, 3}}},
		{"pattern", Choice{Label: "y", Columns: []string{"x_*"}}, TableLayout{Label: 5, Features: []int{2, 3}}},
		{"a pattern leaves roles alone", Choice{Label: "y", Columns: []string{"*"}, Weight: "w"},
			TableLayout{Label: 5, Features: []int{0, 1, 2, 3}, Roles: map[schema.Role]int{schema.Weight: 4}}},
		{"drop", Choice{Label: "y", Drop: []string{"id", "5"}}, TableLayout{Label: 5, Features: []int{1, 2, 3}}},
		{"drop after columns", Choice{Columns: []string{"x_*", "w"}, Drop: []string{"*_1"}},
			TableLayout{Label: -1, Features: []int{3, 4}}},
		{"a dropped label stays the label", Choice{Label: "y", Drop: []string{"y", "id"}},
			TableLayout{Label: 5, Features: []int{1, 2, 3, 4}}},
	} {
		c.want.Columns = names
		got, err := c.choice.Layout(names)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", c.name, err, diff)
		} else if err := got.Validate(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestChoiceErrorsSuggestAFix(t *testing.T) {
	names := strings.Split("age,height,age,y", ",")
	for _, c := range []struct {
		choice Choice
		named  bool
		want   string
	}{
		{Choice{Label: "Y "}, true, `label: no column "Y " (did you mean "y"?); have age, height, age, y`},
		{Choice{Weight: "hieght"}, true, `weight: no column "hieght" (did you mean "height"?)`},
		{Choice{ID: "7"}, true, `id "7" is outside the columns 1 to 4`},
		{Choice{Columns: []string{"heihgt"}}, true, `column: no column "heihgt" (did you mean "height"?)`},
		{Choice{Columns: []string{"age"}}, true, `column "age": columns 1 and 3 have that name; give the position`},
		{Choice{Drop: []string{"z*"}}, true, `drop: no column matches "z*"; have age`},
		{Choice{Drop: []string{"x"}}, false, `drop "x" is a name, but the file has no header`},
		{Choice{Label: "y", ID: "4"}, true, `column "y" is given as both label and id`},
		{Choice{Label: "y", Time: "4"}, true, `column "y" is given as both label and time`},
		{Choice{Time: "height", Columns: []string{"height"}}, true, `column "height" is the time, so it cannot be a feature`},
		{Choice{Label: "y", Columns: []string{"y"}}, true, `column "y" is the label, so it cannot be a feature`},
		{Choice{Drop: []string{"*"}}, true, `columns have another role or are dropped`},
	} {
		_, err := chosen(c.choice, names, c.named)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want …%s…", c.choice, err, c.want)
		}
	}
}

func TestPatternsMatchWholeNames(t *testing.T) {
	for _, c := range []struct {
		pattern string
		yes, no []string
	}{
		{"*", []string{"", "a"}, nil},
		{"a*", []string{"a", "ab"}, []string{"ba", ""}},
		{"*a", []string{"a", "ba"}, []string{"ab"}},
		{"a*a", []string{"aa", "aba"}, []string{"a", "ab"}},
		{"a*b*c", []string{"abc", "axbxc", "abbc"}, []string{"acb", "ac"}},
		{"**", []string{"", "x"}, nil},
	} {
		for _, name := range slices.Concat(c.yes, c.no) {
			if got := matches(c.pattern, name); got != slices.Contains(c.yes, name) {
				t.Errorf("%q on %q: %v", c.pattern, name, got)
			}
		}
	}
}

func TestPositionsThatMeanAnotherColumnAreRejected(t *testing.T) {
	first := []string{"a", "b", "y"}
	for _, c := range []struct {
		choice Choice
		other  []string
		want   string
	}{
		{Choice{Label: "3"}, []string{"a", "y", "b"}, `label 3 is column "b" here and "y" there; give its name`},
		{Choice{Drop: []string{"-1"}}, []string{"a", "b", "y", "z"}, `column -1 is column "z" here and "y" there`},
		{Choice{ID: "3"}, []string{"a"}, `outside the columns`},
		{Choice{Label: "y", Columns: []string{"1"}}, []string{"a", "y", "b"}, ""},
	} {
		err := c.choice.samePlaces(first, c.other)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want …%s…", c.choice, err, c.want)
		}
	}
}

func chosen(c Choice, columns []string, named bool) (TableLayout, error) {
	if named {
		return c.Layout(columns)
	}
	return c.LayoutByPosition(columns)
}

func TestRolesAreMatchedLikeTheLabel(t *testing.T) {
	model, _ := Choice{Label: "y", Weight: "w", ID: "id"}.Layout([]string{"id", "a", "w", "b", "y"})
	for _, c := range []struct {
		name    string
		columns []string
		choice  Choice
		named   bool
		roles   map[schema.Role]int
		want    []int
	}{
		{"other order", []string{"y", "b", "w", "a", "id"}, Choice{}, true, map[schema.Role]int{schema.Weight: 2, schema.ID: 4},
			[]int{3, 1}},
		{"no weight", []string{"id", "a", "b"}, Choice{}, true, map[schema.Role]int{schema.ID: 0}, []int{1, 2}},
		{"another id", []string{"key", "id", "a", "b"}, Choice{ID: "key"}, true, map[schema.Role]int{schema.ID: 0}, []int{2, 3}},
		{"by position", []string{"c1", "c2", "c3", "c4", "c5"}, Choice{}, false, map[schema.Role]int{schema.Weight: 2, schema.ID: 0},
			[]int{1, 3}},
		{"by position without the label", []string{"c1", "c2", "c3", "c4"}, Choice{}, false,
			map[schema.Role]int{schema.Weight: 2, schema.ID: 0}, []int{1, 3}},
		{"features alone", []string{"c1", "c2"}, Choice{}, false, nil, []int{0, 1}},
	} {
		layout, err := chosen(c.choice.WithoutFeatures(), c.columns, c.named)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Match(&model, &file{layout, c.named})
		if err != nil || !cmp.Equal(got.Roles, c.roles) || !slices.Equal(got.Features, c.want) {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		} else if err := got.Validate(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	layout, _ := Choice{Weight: "a"}.Layout([]string{"a", "b"})
	if _, err := Match(&model, &layout); err == nil ||
		!strings.Contains(err.Error(), `column "a" is the weight here, but a feature of the model`) {
		t.Error(err)
	}
	layout, _ = Choice{ID: "a", Group: []string{"a"}}.Layout([]string{"a", "b"})
	if got, err := Match(&model, &layout); err != nil || got.Role(schema.ID) != 0 || got.Role(GroupRole) != 0 ||
		!slices.Contains(got.Features, 0) || got.Validate() != nil {
		t.Errorf("a feature that names rows and groups: %+v, %v", got, err)
	}
}
