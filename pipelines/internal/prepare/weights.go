package prepare

import "github.com/bochner-ml/bochner/models/profile"

// Weights describes the weights of the rows, which are all 1 if there are none, or if they are
// equal.
func (l *Prepared) Weights() *profile.Weights {
	if w := l.Profile.Weights; !w.Equal() {
		return w
	}
	return profile.UnitWeights(l.Counts.Used)
}

// EqualWeights reports whether rows have weights that are all equal, as if they had none.
func (l *Prepared) EqualWeights() bool {
	return l.Profile.Weights != nil && l.Profile.Weights.Equal()
}

// ByClass returns the sum of the weights of the rows of each class, their number where rows have
// no weights, or of all rows in a regression.
func (l *Prepared) ByClass() []float64 {
	switch labels := l.Profile.Labels; {
	case l.Target == nil || l.Target.Classes == nil:
		return []float64{l.Weights().Sum}
	case labels.Weights != nil && !l.Weights().Equal():
		return labels.Weights
	default:
		sums := make([]float64, len(labels.Counts))
		for c, n := range labels.Counts {
			sums[c] = float64(n)
		}
		return sums
	}
}
