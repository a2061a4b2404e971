package prepare

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

func summary(texts ...string) *schema.LabelSummary {
	var c schema.LabelCounts
	for _, l := range texts {
		c.Add([]byte(l))
	}
	s := c.Summary()
	return &s
}

// numbered returns n labels of the form.
func numbered(n int, form string) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf(form, i))
	}
	return out
}

func TestTaskNoteReportsDoubtfulTasks(t *testing.T) {
	ages := slices.Repeat(numbered(52, "%d"), 2)
	d := jobtest.Opened(t, "a,y\n1,2\n", dataset.Options{Label: "y"})
	other := `if "y" has identifiers, name another column with --label`
	counts := slices.Repeat(numbered(150, "%d"), 10)
	for _, c := range []struct {
		name   string
		task   models.Task
		labels *schema.LabelSummary
		want   string
	}{
		{"52 whole numbers", "auto", summary(ages...),
			"labels are 52 distinct whole numbers from 0 to 51, treated as classes; --task regression predicts them as numbers"},
		{"classes of which some are missing", "auto", summary(append(ages, "56", "56")...),
			"labels are 53 distinct whole numbers from 0 to 56, treated as classes"},
		{"numbers with gaps", "auto", summary(append(ages, "58", "58")...),
			"labels are 53 distinct whole numbers from 0 to 58, treated as numbers to predict; --task classification treats them as classes"},
		{"ages of adults", "auto", summary(append(ages[18:52:52], ages[18:52]...)...),
			"labels are 34 distinct whole numbers from 18 to 51, treated as numbers to predict"},
		{"ten whole numbers with gaps", "auto", summary(slices.Repeat([]string{"3", "40", "41", "500"}, 9)...),
			"labels are 4 distinct whole numbers from 3 to 500, treated as classes; --task regression predicts them as numbers"},
		{"long whole numbers", "auto", summary(slices.Repeat([]string{"1234567890123456789", "1234567890123456781", "9"},
			9)...), "labels are 3 distinct whole numbers from 9 to 1234567890123456789, treated as classes"},
		{"targets from 1 to 5", "auto", summary(slices.Repeat([]string{"1", "2", "3", "4", "5"}, 9)...),
			"labels are 5 distinct whole numbers from 1 to 5, treated as classes; --task regression"},
		{"two numbers far apart", "auto", summary(slices.Repeat([]string{"18", "65"}, 9)...),
			"labels are 2 distinct whole numbers from 18 to 65, treated as classes"},
		{"two classes", "auto", summary(slices.Repeat([]string{"0", "1"}, 9)...), ""},
		{"two signs", "auto", summary(slices.Repeat([]string{"-1", "+1"}, 9)...), ""},
		{"by default", "", summary(ages...), "labels are 52 distinct"},
		{"150 whole numbers, ten times each", "auto", summary(counts...),
			"labels are 150 distinct whole numbers from 0 to 149, treated as numbers to predict; --task classification treats them as classes"},
		{"numbers and a text", "auto", summary("1", "2", "NA", "none"),
			`because "NA" is not a number, although 2 of 4 labels are; --task regression`},
		{"the task is given", "classification", summary(ages...), ""},
		{"the task is given", "regression", summary(ages...), ""},
		{"ten digits", "auto", summary(slices.Repeat(numbered(10, "%d"), 9)...),
			"labels are 10 distinct whole numbers from 0 to 9, treated as classes; --task regression"},
		{"texts", "auto", summary(slices.Repeat(numbered(52, "c%d"), 2)...), ""},
		{"fractions", "auto", summary(numbered(52, "%d.5")...), ""},
		{"many whole numbers, hardly any twice", "auto", summary(append(numbered(150, "%d"), "7")...), ""},
		{"whole numbers, none twice", "auto", summary(numbered(1150, "%d")...),
			`each of the 1,150 rows has a label of its own, such as "0", as in a column of identifiers; ` + other},
		{"whole numbers, none twice", "regression", summary(numbered(20, "%d")...),
			"each of the 20 rows has a label of its own"},
		{"texts, none twice", "classification", summary(numbered(20, "c%d")...),
			"each of the 20 rows has a label of its own"},
		{"texts, hardly any twice", "auto", summary(append(numbered(30, "c%d"), numbered(25, "c%d")...)...),
			"55 rows have 30 different labels, so most classes have one row; " + other},
		{"texts, of which more are twice", "auto", summary(append(numbered(30, "c%d"), numbered(30, "c%d")...)...), ""},
		{"fractions as classes, none twice", "classification", summary(numbered(52, "%d.5")...),
			"each of the 52 rows has a label of its own"},
		{"too many", "auto", summary(numbered(schema.MaxClasses+1, "%d")...),
			fmt.Sprintf("labels are whole numbers from 0 to 10,000 on 10,001 rows, as if they numbered the rows; %s", other)},
		{"too many, of a sample", "auto", summary(numbered(12_000, "%d1")[1:]...), ""},
		{"too many, with gaps", "auto", summary(append(numbered(11_999, "%d"), "14000")...),
			"labels are whole numbers from 0 to 14,000 on 12,000 rows"},
		{"too many, some twice", "auto", summary(append(numbered(schema.MaxClasses+1, "%d"),
			numbered(9_000, "%d")...)...), ""},
		{"too many fractions", "auto", summary(numbered(schema.MaxClasses+1, "%d.5")...), ""},
		{"decimal commas, none twice", "auto", summary(numbered(20, "%d,5")...),
			`labels such as "0,5" seem to be numbers; --decimal and --thousands say how these are written`},
		{"decimal commas as classes", "classification", summary(numbered(20, "%d,5")...),
			`labels such as "0,5" seem to be numbers`},
		{"no labels", "auto", nil, ""},
	} {
		if got := TaskNote(c.task, d, c.labels); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s, %s: %q, want %q", c.name, c.task, got, c.want)
		}
	}
}

// --decimal and --thousands are named for formats whose fields are all text, and not for others, where they do
// not help.
func TestFlagsOfNumbersAreNamedWhereTheyCount(t *testing.T) {
	l := summary(numbered(20, "%d,5")...)
	for format, c := range map[string]struct{ text, want string }{
		"csv":   {"a,y\n1,2\n", "--decimal and --thousands say how these are written"},
		"jsonl": {`{"a": 1, "y": 2}` + "\n", "write them as numbers"},
	} {
		d := jobtest.Opened(t, c.text, dataset.Options{Label: "y", Format: format})
		_, err := DecideTask("", d, l)
		jobtest.WantError(t, format, err, exit.CodeData,
			`labels such as "0,5" seem to be numbers; `+c.want+"; with --task classification every label is a class")
		if note, want := TaskNote("classification", d, l), `labels such as "0,5" seem to be numbers; `+c.want; note != want {
			t.Errorf("%s: %q, want %q", format, note, want)
		}
	}
}

// Classes of one row each, which cannot be judged, are not trained on by default.
func TestClassesOfOneRowAreRejected(t *testing.T) {
	for _, c := range []struct {
		name    string
		task    models.Task
		labels  []string
		refused string // part of the error; "" for none
	}{
		{"texts", "auto", numbered(11, "u%02d"),
			`each of the 11 rows has a label of its own, such as "u00", as in a column of identifiers; if "y" has identifiers, name another column with --label; --task classification trains`},
		{"whole numbers", "", numbered(50, "%d"), "--task regression predicts them as numbers, --task classification trains"},
		{"so few that they may be an example", "", numbered(10, "u%d"), ""},
		{"one twice", "", append(numbered(11, "u%02d"), "u00"), ""},
		{"as the user said", "classification", numbered(11, "u%02d"), ""},
		{"numbers", "auto", numbered(101, "%d"), ""},
	} {
		d := jobtest.Opened(t, "a,y\n1,2\n", dataset.Options{Label: "y"})
		l := summary(c.labels...)
		target, err := DecideTask(c.task, d, l)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		err = CheckIDs(c.task, d, target, l)
		if c.refused == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		jobtest.WantError(t, c.name, err, exit.CodeData, c.refused, d.Files[0].Name)
	}
}

func TestTargetsAreDecidedByTheLabels(t *testing.T) {
	d := jobtest.Opened(t, "a,y\n1,2\n", dataset.Options{Label: "y"})
	many := numbered(schema.MaxClasses+1, "%d")
	for _, c := range []struct {
		name   string
		task   models.Task
		labels *schema.LabelSummary
		want   string // classes, "low…high", or the error
	}{
		{"text", "", summary("b", "a", "b"), "classes a b"},
		{"few whole numbers", "", summary("2", "10", "2.0", "-1"), "classes -1 2 10"},
		{"100 whole numbers", "auto", summary(numbered(100, "%d")...), "100 classes"},
		{"101 whole numbers", "auto", summary(numbered(101, "%d")...), "numbers 0…100"},
		{"101 texts", "", summary(numbered(101, "c%d")...), "101 classes"},
		{"fractions", "", summary("0.5", "1", "2"), "numbers 0.5…2"},
		{"whole numbers as targets", "regression", summary("1", "2"), "numbers 1…2"},
		{"fractions as classes", "classification", summary("0.5", "0.25"), "classes 0.25 0.5"},
		{"too many for classes", "", summary(many...), fmt.Sprintf("numbers 0…%d", schema.MaxClasses)},
		{"one text among numbers", "", summary("1", "2", "NA"), `error: "NA" is not a number, but most labels are`},
		{"half text", "", summary("1", "NA"), "classes 1 NA"},
		{"text asked to be classes", "classification", summary("1", "2", "NA"), "classes 1 2 NA"},
		{"beyond float32", "regression", summary("1", "2", "1e300"), "error: 1 of 3 labels"},
		{"all alike", "regression", summary("3", "3.0"), "error: every row has the target 3"},
		{"one class", "", summary("a", "a"), `error: all 2 rows have the label "a"`},
		{"one number", "", summary("7", "7"), `error: all 2 rows have the label "7"`},
		{"too many classes", "classification", summary(many...), "error: --task regression"},
		{"too many texts", "", summary(numbered(schema.MaxClasses+1, "c%d")...), "error: too many for classes"},
		{"decimal commas", "", summary(numbered(11, "%d,5")...), `error: labels such as "0,5" seem to be numbers; --decimal`},
		{"thousands apart", "", summary(append(numbered(99, "%d"), numbered(101, "%d,000.5")[1:]...)...),
			`error: labels such as "1,000.5" seem to be numbers`},
		{"too many decimal commas", "", summary(numbered(schema.MaxClasses+1, "%d,5")...), "error: seem to be numbers"},
		{"decimal commas asked to be classes", "classification", summary(numbered(11, "%d,5")...), "11 classes"},
		{"few decimal commas", "", summary("0,5", "1", "1,5"), "classes 0,5 1 1,5"},
		{"versions", "", summary(numbered(11, "1.%d.2")...), "11 classes"},
		{"places", "", summary(numbered(11, "%d,x")...), "11 classes"},
		{"not UTF-8", "", summary("a", "\xff"), "error: UTF-8"},
		{"none", "", summary(), "error: no labels"},
		{"nil", "", nil, "error: no labels"},
	} {
		got, err := DecideTask(c.task, d, c.labels)
		if word, bad := strings.CutPrefix(c.want, "error: "); bad {
			jobtest.WantError(t, c.name, err, exit.CodeData, word, d.Files[0].Name)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var ok string
		switch {
		case got.Grid != nil && got.Classes == nil:
			ok = fmt.Sprintf("numbers %g…%g", got.Grid[0].Low, got.Grid[0].High)
		case got.Classes != nil && strings.HasSuffix(c.want, " classes"):
			ok = fmt.Sprintf("%d classes", len(got.Classes.Classes))
		case got.Classes != nil:
			ok = "classes " + strings.Join(got.Classes.Classes, " ")
		}
		if ok != c.want {
			t.Errorf("%s: %s, want %s", c.name, ok, c.want)
		}
	}
}

func TestMissingLabelsErrorNamesTheFlag(t *testing.T) {
	names := numbered(25, "col%d")
	d := jobtest.Opened(t, strings.Join(names, ",")+"\n"+strings.Repeat("1,", 24)+"1\n", dataset.Options{})
	jobtest.WantError(t, "table", UnlabeledError(d), exit.CodeUsage, "--label", "col0, col1", "(25 in all)")
	d.Schema.Format = "idx"
	jobtest.WantError(t, "images", UnlabeledError(d), exit.CodeUsage, "name it in label_files")
}
