package about

import (
	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/models/iterative"
)

// LearningCurve plots the training log.
func LearningCurve(history []iterative.Report) picture.Lines {
	objective, dual := picture.Series{Name: "objective"}, picture.Series{Name: "duality gap"}
	loss, wrong := picture.Series{Name: "held-out loss"}, picture.Series{Name: "held-out error"}
	training := picture.Series{Name: "training error"}
	for _, r := range history {
		x := float64(r.Round)
		objective.Add(x, r.Objective)
		training.Add(x, float64(r.Errors)/float64(max(r.Rows, 1)))
		if gap, known := r.Gap(); known {
			dual.Add(x, gap)
		}
		if r.HeldOutRows > 0 {
			loss.Add(x, r.HeldOutLoss)
			wrong.Add(x, float64(r.HeldOutErrors)/float64(r.HeldOutRows))
		}
	}
	lines := picture.Lines{Title: "Learning curve", X: "round", Y: "mean loss; error as a share of rows", LogY: true}
	for _, s := range []picture.Series{objective, dual, training, loss, wrong} {
		if len(s.X) > 0 {
			lines.Series = append(lines.Series, s)
		}
	}
	return lines
}
