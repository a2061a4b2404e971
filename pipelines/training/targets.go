package training

import "github.com/bochner-ml/bochner/pipelines/trained"

// targetScores returns the scores of several targets; nil if no rows were held out.
func (t *Training) targetScores() (scores []trained.TargetScore) {
	for c, r2 := range t.Learner.TargetR2 {
		scores = append(scores, trained.TargetScore{Target: t.Data.Targets[c], R2: r2})
	}
	return scores
}
