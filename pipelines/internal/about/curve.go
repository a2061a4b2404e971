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
		add := func(s *picture.Series, y float64) {
			if y > 0 { // the axis is logarithmic
				s.X, s.Y = append(s.X, float64(r.Round)), append(s.Y, y)
			}
		}
		add(&objective, r.Objective)
		add(&training, float64(r.Errors)/float64(max(r.Rows, 1)))
		if gap, known := r.Gap(); known {
			add(&dual, gap)
		}
		if r.HeldOutRows > 0 {
			add(&loss, r.HeldOutLoss)
			add(&wrong, float64(r.HeldOutErrors)/float64(r.HeldOutRows))
		}
	}
	lines := picture.Lines{Title: "Learning curve", X: "rounds", Y: "mean loss; error as a share of rows", LogY: true}
	for _, s := range []picture.Series{objective, dual, training, loss, wrong} {
		if len(s.X) > 0 {
			lines.Series = append(lines.Series, s)
		}
	}
	return lines
}
