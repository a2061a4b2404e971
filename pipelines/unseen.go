package pipelines

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/io/labels"
	"github.com/bochner-ml/bochner/pipelines/report"
)

// UnseenLabel is a label that is not a class of the model.
type UnseenLabel struct {
	Label string `json:"label"`
	Rows  int64  `json:"rows"`
}

// maxUnseen is the largest number of unseen labels in a report.
const maxUnseen = 100

// unseenLabels returns the most frequent unseen labels; equal counts are in the order of a
// vocabulary. If there are too many to count one by one, it returns one entry for all.
func unseenLabels(c *labels.Counts) []UnseenLabel {
	s := c.Summary()
	if s.Rows == 0 {
		return nil
	}
	if s.Vocabulary == nil {
		return []UnseenLabel{{Label: fmt.Sprintf("(more than %d, or longer than %d bytes)", labels.MaxClasses, labels.MaxLabel), Rows: s.Rows}}
	}
	var list []UnseenLabel
	for i, label := range s.Vocabulary.Classes {
		list = append(list, UnseenLabel{label, s.Counts[i]})
	}
	slices.SortStableFunc(list, func(a, b UnseenLabel) int { return cmp.Compare(b.Rows, a.Rows) })
	return list[:min(len(list), maxUnseen)]
}

// someUnseen lists some labels with their rows.
func someUnseen(list []UnseenLabel) string {
	const most = 10
	var b strings.Builder
	for i, l := range list[:min(len(list), most)] {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q (%s)", l.Label, report.Counted64(l.Rows, "row"))
	}
	if len(list) > most {
		b.WriteString(", …")
	}
	return b.String()
}
