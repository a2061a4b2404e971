package prepare

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/transforms"
)

const (
	fewClasses  = 10  // up to this many distinct whole numbers are classes
	autoClasses = 100 // up to this many are classes if they are numbered from 0 or 1
)

// AreClasses reports whether labels are classes by default: texts, up to 10 distinct whole numbers, or up to
// 100 that start at 0 or 1 with a gap in ten at most. Ages and counts start elsewhere, or have more gaps.
func AreClasses(l *schema.LabelSummary) bool {
	switch {
	case !l.Numeric:
		return true
	case !l.Whole || l.Vocabulary == nil:
		return false
	}
	n := len(l.Vocabulary.Classes)
	numbered := (l.Min == 0 || l.Min == 1) && 10*float64(n) >= 9*(float64(l.Max)-float64(l.Min)+1)
	return n <= fewClasses || n <= autoClasses && numbered
}

// autoTask reports whether the labels decide the task.
func autoTask(task models.Task) bool { return task == "" || task == options.TaskAuto }

// DecideTask returns the target of a task. For task auto, labels are classes if AreClasses reports so, and
// otherwise targets of a regression.
func DecideTask(task models.Task, d *dataset.Dataset, l *schema.LabelSummary) (transforms.Labeling, error) {
	fail := func(format string, args ...any) (transforms.Labeling, error) {
		return transforms.Labeling{}, d.Errorf(format, args...)
	}
	if l == nil || l.Rows == 0 {
		return fail("rows have no labels")
	}
	if autoTask(task) {
		switch {
		case !l.Numeric && 2*l.Targets > l.Rows:
			return fail("the label %q is not a number, but most labels are; with --task regression such rows are listed and "+
				"can be set aside, with --task classification every label is a class", l.Text)
		case lookLikeNumbers(l):
			return fail("%s; with --task classification every label is a class", numberNote(d, l))
		case AreClasses(l):
			task = models.Classification
		default:
			task = models.Regression
		}
	}
	if task == models.Regression {
		if l.Targets < l.Rows {
			return fail("%d of %d labels do not fit in float32 (largest is 3.4e38): divide all labels by a power of ten; "+
				"with --task regression rows with such labels are listed and can be set aside", l.Rows-l.Targets, l.Rows)
		}
		if err := normal(l.Min, l.Max); err != nil {
			return fail("%w", err)
		}
		if l.Min == l.Max {
			return fail("every row has the target %g, so there is nothing to learn%s", l.Min, otherLabelsHint(d))
		}
		return transforms.Labeling{Grid: linear.Grids{{Low: float64(l.Min), High: float64(l.Max)}}}, nil
	}
	switch {
	case l.Vocabulary == nil:
		return fail("labels have more than %d distinct values or more than %d bytes: too many for classes%s",
			schema.MaxClasses, schema.MaxLabel, hint(d, l))
	case l.Rows == 1:
		return fail("only one row is used; classification needs at least two classes%s", otherLabelsHint(d))
	case len(l.Vocabulary.Classes) < 2 && l.Same != nil:
		return fail("all %d rows have the label %s: %q and %q are the same number; write codes with a letter, such as c%s",
			l.Rows, l.Vocabulary.Classes[0], l.Same[0], l.Same[1], l.Same[0])
	case len(l.Vocabulary.Classes) < 2:
		return fail("all %d rows have the label %q; classification needs at least two classes%s", l.Rows,
			l.Vocabulary.Classes[0], otherLabelsHint(d))
	}
	if err := l.Vocabulary.Check(); err != nil {
		return fail("%w", err)
	}
	return transforms.Labeling{Classes: l.Vocabulary}, nil
}

// normal returns an error if targets in that range, which are not all 0, are too small for float32 predictions.
func normal(low, high float64) error {
	size := max(-low, high)
	if size == 0 || size >= 0x1p-126 {
		return nil
	}
	return fmt.Errorf("all targets lie between %g and %g, too small for float32 (numbers below 1.2e-38 lose digits): "+
		"multiply them by a power of ten", low, high)
}

// lookLikeNumbers reports whether labels are texts that look like numbers with a decimal comma or a thousands
// separator, and there are too many for names of classes.
func lookLikeNumbers(l *schema.LabelSummary) bool {
	if l.Numeric {
		return false
	}
	texts := []string{l.Text}
	if l.Vocabulary != nil {
		texts = l.Vocabulary.Classes
		if len(texts) <= fewClasses {
			return false
		}
	}
	var scratch []byte
	number := func(text string) bool {
		for _, r := range []schema.Rules{{}, {Decimal: ','}, {Decimal: ',', Thousands: '.'}, {Thousands: ','}} {
			plain, reason := r.Number(&scratch, []byte(text))
			if _, why := schema.ParseTarget(plain); reason == "" && why == "" {
				return true
			}
		}
		return false
	}
	return !slices.ContainsFunc(texts, func(text string) bool { return !number(text) })
}

// numberNote returns a note with advice for labels for which lookLikeNumbers is true.
func numberNote(d *dataset.Dataset, l *schema.LabelSummary) string {
	next := "--decimal and --thousands say how these are written"
	if !d.Schema.Traits().Written {
		next = "write them as numbers"
	}
	return fmt.Sprintf("labels such as %q seem to be numbers; %s", l.Text, next)
}

// otherLabelsHint returns advice on which column may have the labels.
func otherLabelsHint(d *dataset.Dataset) string {
	if d.Schema.Traits().Columns {
		return "; add files with other labels, or name another column with --label"
	}
	return "; add files with other labels"
}

// maxRoom limits options.Prepare.Room. At this limit the training targets use about 8 bits of the grid.
const maxRoom = 100

// widened returns grids that are extended by Room on both sides.
func widened(o Options, grids linear.Grids) linear.Grids {
	if o.Room == 0 {
		return grids
	}
	wide := slices.Clone(grids)
	for c, g := range grids {
		room := float64(o.Room * (g.High - g.Low))
		wide[c] = linear.TargetGrid{Low: g.Low - room, High: g.High + room}
	}
	return wide
}

// TaskNote returns a note if the decision of --task auto may be wrong, with advice, and "" otherwise. Whole
// numbers are ages and counts as often as names of classes. It notes labels that look like identifiers for
// every task.
func TaskNote(task models.Task, d *dataset.Dataset, l *schema.LabelSummary) string {
	if l != nil && lookLikeNumbers(l) {
		return numberNote(d, l)
	}
	if note := identifierNote(task, d, l); note != "" {
		return note
	}
	if note := lookalikeNote(l); note != "" {
		return note
	}
	if !autoTask(task) || l == nil || l.Vocabulary == nil {
		return ""
	}
	n := len(l.Vocabulary.Classes)
	first, last := l.Vocabulary.Classes[0], l.Vocabulary.Classes[n-1]
	switch {
	case l.Same != nil:
		return fmt.Sprintf("the labels %q and %q are the same number, and so one class; write codes with a letter, such as "+
			"c%s, to keep them apart", l.Same[0], l.Same[1], l.Same[0])
	case !l.Numeric && l.Targets > 0:
		return fmt.Sprintf("labels are treated as classes because %q is not a number, although %s of %s labels are; --task "+
			"regression lists those that are not", l.Text, report.Groups(l.Targets), report.Groups(l.Rows))
	case !l.Numeric || !l.Whole || nameClasses(d, l):
		return ""
	case AreClasses(l):
		return fmt.Sprintf("labels are %d distinct whole numbers from %s to %s, treated as classes; "+
			"--task regression predicts them as numbers", n, first, last)
	case n <= autoClasses, l.Rows >= fewClasses*int64(n):
		return fmt.Sprintf("labels are %s distinct whole numbers from %s to %s, treated as numbers to predict; "+
			"--task classification treats them as classes", report.Groups(int64(n)), first, last)
	}
	return ""
}

// lookalikeNote returns a note on classes whose names look the same, "" if there are none.
func lookalikeNote(l *schema.LabelSummary) string {
	if l == nil || l.Vocabulary == nil || l.Numeric {
		return ""
	}
	note := schema.Alike(l.Vocabulary.Classes)
	if note == "" {
		return ""
	}
	note = "classes differ only in case, in spaces, in Unicode form or in invisible characters: " + note +
		"; write each in one way"
	lower := strings.Split(strings.ToLower(strings.Join(l.Vocabulary.Classes, "\x00")), "\x00")
	if len(schema.NewVocabulary(lower).Classes) < len(lower) {
		note += "; --label_case lower ignores case"
	}
	return note
}

// nameClasses reports whether whole numbers certainly name classes: labels of images, two consecutive numbers,
// or two numbers that differ only in sign.
func nameClasses(d *dataset.Dataset, l *schema.LabelSummary) bool {
	traits := d.Schema.Traits()
	two := len(l.Vocabulary.Classes) == 2 && (l.Max-l.Min == 1 || l.Min == -l.Max)
	return two || !traits.Text && !traits.Columns
}

func hint(d *dataset.Dataset, l *schema.LabelSummary) string {
	if l.Numeric {
		return "; numbers can be learned with --task regression"
	}
	return "; " + otherLabel(d)
}

// CheckLabeled returns an error if the data has no labels.
func CheckLabeled(d *dataset.Dataset) error {
	if d.Labeled {
		return nil
	}
	return UnlabeledError(d)
}

// UnlabeledError returns an error that advises how to name the labels.
func UnlabeledError(d *dataset.Dataset) error {
	f := d.Files[0].Name
	switch t := d.Schema.Traits(); {
	case t.Unlabeled != "":
		return exit.Usagef("%s: %s", f, t.Unlabeled)
	case t.Columns:
		return exit.Usagef("%s: which column is the label? Columns are %s; if it is the last, add --label %s", f,
			report.SomeOf(d.Fields), lastOf(d))
	}
	return exit.Usagef("%s has no labels", f)
}

// lastOf returns the last column of the files as a value of --label: its name, or its position if the name is
// hard to type.
func lastOf(d *dataset.Dataset) string {
	l, ok := d.Schema.Layout.(dataset.Tabular)
	if !ok || !l.Named() {
		return "-1"
	}
	names := l.Table().Stored()
	name := names[len(names)-1]
	if slices.Index(names, name) < len(names)-1 || name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && r != '-' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		return "-1"
	}
	return name
}

// PositiveClass returns the positive one of two classes: the given one, by default the less frequent one, and
// of equally frequent ones the second. It is "" for other labels.
func (p *Prepared) PositiveClass(given string) (string, error) {
	if p.Target.Classes == nil {
		if given != "" {
			return "", exit.Usagef("--positive names one of two classes; the labels are numbers (see --task)")
		}
		return "", nil
	}
	classes, counts := p.Target.Classes.Classes, p.Profile.Labels.Counts
	switch {
	case given != "" && !slices.Contains(classes, given):
		return "", exit.Usagef("--positive: there is no class %q%s; the classes are %s", given,
			option.DidYouMean(given, classes), report.SomeOf(classes))
	case given != "" && len(classes) != 2:
		return "", exit.Usagef("--positive names one of two classes; the data has %d", len(classes))
	case len(classes) != 2:
		return "", nil
	case given == "" && counts[0] < counts[1]:
		return classes[0], nil
	case given == "":
		return classes[1], nil
	}
	return given, nil
}

// targets is DecideTask for several labels with the given ranges, which are the targets of a regression.
func targets(task models.Task, d *dataset.Dataset, ranges []profile.Range) (transforms.Labeling, error) {
	fail := func(format string, args ...any) (transforms.Labeling, error) {
		return transforms.Labeling{}, d.Errorf(format, args...)
	}
	if task == models.Classification {
		return transforms.Labeling{}, exit.Usagef("--task classification takes one label; the %d columns %s are the targets "+
			"of a regression", len(d.Targets), report.SomeOf(d.Targets))
	}
	if len(ranges) != len(d.Targets) {
		return fail("rows have no labels")
	}
	var t transforms.Labeling
	for c, r := range ranges {
		if r.Min == r.Max {
			return fail("every row has the target %g in column %q, so there is nothing to learn; leave it out of --label",
				r.Min, d.Targets[c])
		}
		if err := normal(r.Min, r.Max); err != nil {
			return fail("column %q: %w", d.Targets[c], err)
		}
		t.Grid = append(t.Grid, linear.TargetGrid{Low: r.Min, High: r.Max})
	}
	return t, t.Grid.Validate()
}

// fewRows is the largest number of rows whose labels may all differ without an error or a note.
const fewRows = 10

// CheckIDs refuses labels that are all different, as in a column of identifiers, as classes: held-out
// rows of such a class have none in training. It allows them if the user asked for classes.
func CheckIDs(task models.Task, d *dataset.Dataset, t transforms.Labeling, l *schema.LabelSummary) error {
	if t.Classes == nil || task == models.Classification || l.Rows <= fewRows ||
		int64(len(t.Classes.Classes)) < l.Rows {
		return nil
	}
	otherwise := "--task classification trains on classes of one row each"
	if l.Numeric {
		otherwise = "--task regression predicts them as numbers, " + otherwise
	}
	return d.Errorf("%s; %s; %s", oneEach(l), otherLabel(d), otherwise)
}

// oneEach returns the text that all labels differ.
func oneEach(l *schema.LabelSummary) string {
	return fmt.Sprintf("each of the %s rows has a label of its own, such as %q, as in a column of identifiers",
		report.Groups(l.Rows), l.Vocabulary.Classes[0])
}

// otherLabel returns advice on which column may have the labels if these are identifiers.
func otherLabel(d *dataset.Dataset) string {
	if d.Schema.Traits().Columns && d.Label != "" {
		return fmt.Sprintf("if %q has identifiers, name another column with --label", d.Label)
	}
	return "if they are identifiers, give the labels instead"
}

// identifierNote returns a note if labels look like identifiers, and "" otherwise.
func identifierNote(task models.Task, d *dataset.Dataset, l *schema.LabelSummary) string {
	if l == nil || l.Rows <= fewRows {
		return ""
	}
	if l.Vocabulary == nil {
		// There are too many labels to know whether all differ, but identifiers are usually numbered without large
		// gaps.
		if between := l.Max - l.Min + 1; l.Whole && l.Max < 1<<63 && between >= float64(l.Rows) &&
			between <= 1.25*float64(l.Rows) {
			return fmt.Sprintf("labels are whole numbers from %s to %s on %s rows, as if they numbered the rows; %s",
				report.Groups(int64(l.Min)), report.Groups(int64(l.Max)), report.Groups(l.Rows), otherLabel(d))
		}
		return ""
	}
	n := int64(len(l.Vocabulary.Classes))
	switch classes := task == models.Classification || !l.Numeric; {
	case n == l.Rows && (l.Whole || classes):
		return oneEach(l) + "; " + otherLabel(d)
	case classes && 2*n > l.Rows:
		return fmt.Sprintf("%s rows have %s different labels, so most classes have one row; %s", report.Groups(l.Rows),
			report.Groups(n), otherLabel(d))
	}
	return ""
}
