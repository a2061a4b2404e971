package prepare

import (
	"fmt"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/labels"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/report"
	"github.com/bochner-ml/bochner/transforms"
)

// AutoClasses is up to how many different whole numbers are taken for classes
// where the task is not given.
const AutoClasses = 100

// Target decides from the labels what is learned. Where the task is not given,
// labels that are not numbers are classes, and so are up to 100 different whole
// numbers; other numbers are targets of a regression.
func Target(task string, d *dataset.Dataset, l *labels.Summary) (transforms.Target, error) {
	fail := func(format string, args ...any) (transforms.Target, error) {
		return transforms.Target{}, &dataset.Error{Format: d.Schema.Format, Name: d.Files[0].Name, Err: fmt.Errorf(format, args...)}
	}
	if l == nil || l.Rows == 0 {
		return fail("rows have no labels")
	}
	if task == "" || task == "auto" {
		switch {
		case !l.Numeric && 2*l.Targets > l.Rows:
			return fail("the label %q is not a number, but most labels are; with --task regression such rows are found and can be set aside, with --task classification every label is a class", l.Text)
		case !l.Numeric, l.Whole && l.Vocabulary != nil && len(l.Vocabulary.Classes) <= AutoClasses:
			task = string(models.Classification)
		default:
			task = string(models.Regression)
		}
	}
	if task == string(models.Regression) {
		if l.Targets < l.Rows {
			return fail("%d of %d labels are no numbers that float32 can hold; with --task regression they are found and can be set aside", l.Rows-l.Targets, l.Rows)
		}
		if l.Min == l.Max {
			return fail("every row has the target %g: there is nothing to learn", l.Min)
		}
		return transforms.Target{Grid: &linear.TargetGrid{Low: float64(l.Min), High: float64(l.Max)}}, nil
	}
	switch {
	case l.Vocabulary == nil:
		return fail("labels take more than %d different values, or are longer than %d bytes: too many for classes%s", labels.MaxClasses, labels.MaxLabel, hint(l))
	case len(l.Vocabulary.Classes) < 2:
		return fail("all %d rows have the label %q: there are no classes to tell apart", l.Rows, l.Vocabulary.Classes[0])
	}
	if err := l.Vocabulary.Check(); err != nil {
		return fail("%w", err)
	}
	return transforms.Target{Classes: l.Vocabulary}, nil
}

// fewClasses is up to how many different whole numbers are surely classes.
const fewClasses = 10

// Doubt says what --task auto made of labels that may well be something else, and
// how to have it so; "" where there is no doubt, or the task was given. Whole numbers
// are ages and counts as often as names of classes.
func Doubt(task string, l *labels.Summary) string {
	if task != "" && task != "auto" || l == nil || l.Vocabulary == nil {
		return ""
	}
	n := len(l.Vocabulary.Classes)
	switch {
	case !l.Numeric && l.Targets > 0:
		return fmt.Sprintf("labels are taken for classes, as %q is not a number, though %s of %s labels are; --task regression finds those that are not", l.Text, report.Groups(l.Targets), report.Groups(l.Rows))
	case !l.Numeric || n <= fewClasses || !l.Whole:
		return ""
	case n <= AutoClasses:
		return fmt.Sprintf("labels are %d different whole numbers from %g to %g, taken for classes; --task regression predicts them as numbers", n, l.Min, l.Max)
	case l.Rows >= fewClasses*int64(n):
		return fmt.Sprintf("labels are %s different whole numbers from %g to %g, taken for numbers to predict; --task classification takes them for classes", report.Groups(int64(n)), l.Min, l.Max)
	}
	return ""
}

func hint(l *labels.Summary) string {
	if l.Numeric {
		return "; numbers can be learned with --task regression"
	}
	return ""
}

// Labeled returns an error unless the data have labels.
func Labeled(d *dataset.Dataset) error {
	if d.Labeled {
		return nil
	}
	return Unlabeled(d)
}

// Unlabeled says how to name the labels of data that have none.
func Unlabeled(d *dataset.Dataset) error {
	f := d.Files[0].Name
	switch t := d.Schema.Traits(); {
	case t.Unlabeled != "":
		return exit.Usage("%s: %s", f, t.Unlabeled)
	case t.Columns:
		return exit.Usage("%s: which column is the label? Name it with --label; columns are %s", f, SomeOf(d.Fields))
	}
	return exit.Usage("%s has no labels", f)
}

// SomeOf lists names, not too many.
func SomeOf(names []string) string {
	const most = 20
	text := ""
	for i, n := range names {
		if i == most {
			return text + fmt.Sprintf(", … (%d in all)", len(names))
		}
		if i > 0 {
			text += ", "
		}
		text += n
	}
	return text
}
