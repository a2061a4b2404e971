package prepare

import (
	"fmt"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/transforms"
)

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
