package prepare

import "github.com/bochner-ml/bochner/models/profile"

// Weights returns the weights of the rows. They are all 1 if there are none or they are equal.
func (l *Prepared) Weights() *profile.Weights {
	if w := l.Profile.Weights; !w.Equal() {
		return w
	}
	return profile.UnitWeights(l.Counts.Used)
}

// EqualWeights reports whether rows have weights and all are equal, which is the same as no weights.
func (l *Prepared) EqualWeights() bool {
	return l.Profile.Weights != nil && l.Profile.Weights.Equal()
}

// ByClass returns the sum of the weights, or the number of rows without weights, of each class; in a
// regression, of all rows.
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
