package training

import (
	"fmt"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/prepare"
	"github.com/bochner-ml/bochner/pipelines/trained"
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

// targetScores returns the scores of several targets; nil if no rows were held out.
func (t *Training) targetScores() (scores []trained.TargetScore) {
	for c, r2 := range t.Learner.TargetR2 {
		scores = append(scores, trained.TargetScore{Target: t.Data.Targets[c], R2: r2})
	}
	return scores
}
