package training

import (
	"fmt"
	"math"
	"time"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/rounds"
)

// nearLeast is the largest distance from the optimum, as a share of the objective, at which a
// model is called converged, by a gap or a gradient.
const nearLeast = 0.01

// converged tells whether the last round has shown that the objective is near the optimum, and
// the bound on its distance as a share; NaN if there is none.
func converged(r rounds.Report) (ok bool, share float64) {
	share = math.NaN()
	if gap, known := r.Gap(); known {
		share = gap / math.Abs(r.Objective)
	} else if r.Above != nil {
		share = *r.Above / math.Abs(r.Objective)
	}
	return share <= nearLeast, share
}

// unconverged says why a model is not called converged; "" if it is.
func unconverged(c *models.TrainingLog, history []rounds.Report) string {
	if c.Converged == nil || *c.Converged {
		return ""
	}
	last := history[len(history)-1]
	if _, share := converged(last); share == share {
		return fmt.Sprintf("not converged: the objective may be up to %.2g %% above the optimum; more --rounds, more --features or a larger --lambda bring it closer", 100*share)
	}
	text := "not converged: the rounds ended"
	if len(history) > 1 {
		before := history[len(history)-2].Objective
		if fell := (before - last.Objective) / math.Abs(before); fell > 0 {
			text += fmt.Sprintf(" while the objective still fell by %.2g %% in the last one", 100*fell)
		}
	}
	return text + "; more --rounds may lower it"
}

// limit divides a total time among consecutive runs.
type limit struct {
	begun time.Time
	total time.Duration // 0 for none
}

// share returns the time that a run may take if that many runs remain; false if no time is left.
func (l limit) share(runs int) (time.Duration, bool) {
	if l.total == 0 {
		return 0, true
	}
	left := l.total - time.Since(l.begun)
	return max(1, left/time.Duration(runs)), left > 0
}
