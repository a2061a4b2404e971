package prepare

import "github.com/bochner-ml/bochner/models/profile"

// Weights returns the weights of the rows. They are all 1 if there are none or they are equal.
func (p *Prepared) Weights() *profile.Weights {
	if w := p.Profile.Weights; !w.Equal() {
		return w
	}
	return profile.UnitWeights(p.Counts.Used)
}

// EqualWeights reports whether rows have weights and all are equal, which is the same as no weights.
func (p *Prepared) EqualWeights() bool {
	return p.Profile.Weights != nil && p.Profile.Weights.Equal()
}

// ByClass returns the sum of the weights, or the number of rows without weights, of each class; in a
// regression, of all rows.
func (p *Prepared) ByClass() []float64 {
	switch labels := p.Profile.Labels; {
	case p.Target == nil || p.Target.Classes == nil:
		return []float64{p.Weights().Sum}
	case labels.Weights != nil && !p.Weights().Equal():
		return labels.Weights
	default:
		sums := make([]float64, len(labels.Counts))
		for c, n := range labels.Counts {
			sums[c] = float64(n)
		}
		return sums
	}
}
