package training

import (
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/prepare"
)

// Takes returns an error if rows of the data have several targets and what is trained takes
// one.
func (o Options) Takes(d *dataset.Dataset) error {
	if len(d.Targets) == 0 {
		return nil
	}
	labels := fmt.Sprintf("--label gives %d columns (%s)", len(d.Targets), prepare.SomeOf(d.Targets))
	switch {
	case o.Learns():
		return exit.Usage("%s, and learned features need one label: train them for one of the columns and name the result with --frequencies, or use another --kernel", labels)
	case o.Iterative() != nil:
		return exit.Usage("%s, and learner %s takes one; learner ridge takes several", labels, o.LearnerName())
	}
	return nil
}

// TargetScore is the score of one of several targets on held-out rows.
type TargetScore struct {
	Target string  `json:"target"`
	R2     float64 `json:"r2"`
}

// targetScores returns the scores of several targets; nil if no rows were held out.
func (t *Training) targetScores() (scores []TargetScore) {
	for c, r2 := range t.Learner.TargetR2 {
		scores = append(scores, TargetScore{t.Data.Targets[c], r2})
	}
	return scores
}

// writeTargets prints what was learned of several targets.
func (r *Result) writeTargets(w io.Writer) {
	if len(r.Targets) == 0 {
		return
	}
	fmt.Fprintf(w, "targets   %s; errors by lambda are in standard deviations of each, averaged\n", prepare.SomeOf(r.Targets))
	for _, s := range r.TargetScores {
		fmt.Fprintf(w, "          R² %.4f on held-out rows for %s\n", s.R2, s.Target)
	}
}
