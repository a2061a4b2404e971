package pipelines

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/models/ridge"
)

// defaultEpsilon is the ε of epsilon_insensitive and huber where none is given, in units
// of the spread of the targets, as scikit-learn has it for targets that are standardised.
const defaultEpsilon = 0.1

// normalQuartiles is the distance of the quartiles of a normal distribution in standard
// deviations.
const normalQuartiles = 1.3489795003921634

// spreadGrid returns the grid by which learners in rounds scale targets: it reaches from
// their median by one robust standard deviation, so that losses that have a unit (ε, and λ
// beside them) do not follow the range, which one target can stretch. The sample is of
// targets as fractions of the range. Where half of the targets are equal, wider quantiles
// tell the spread; where nearly all are, the range does.
func spreadGrid(scaled []float32, span ridge.TargetGrid) *ridge.TargetGrid {
	s := slices.Sorted(slices.Values(scaled))
	at := func(q float64) float64 { return float64(s[int(q*float64(len(s)-1)+0.5)]) }
	spread := 0.0
	for _, c := range []struct{ tail, deviations float64 }{{0.25, normalQuartiles}, {0.1, 2.5631031310892007}, {0.02, 4.1074978212636450}} {
		if spread = (at(1-c.tail) - at(c.tail)) / c.deviations; spread > 0 {
			break
		}
	}
	if !(spread > 0) {
		return &span
	}
	mid, half := span.Mid()+float64(span.Half()*at(0.5)), float64(span.Half()*spread)
	g := &ridge.TargetGrid{Low: mid - half, High: mid + half}
	if !(g.Half() > 0) || math.IsInf(g.High-g.Low, 0) {
		return &span
	}
	return g
}
