package sums

import (
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models/profile"
)

// Weigh returns the sum of the weights of rows that were summed by the rule, and the grid of the weights
// with their total; nil if all weights are equal. head is the head of a sum of the rows without copies:
// their number, or the total of their weights on the grid, followed for classes by the same for each class.
// Weigh adds the copies to head.
func (r *Rule) Weigh(head []float64, copies []profile.Content, regression bool) (mass float64,
	own *profile.WeightGrid) {
	g := r.Weights
	for i := range copies {
		c := &copies[i]
		w := int64(1)
		if g != nil {
			b := rows.Block{N: 1, Y: c.Y}
			if c.Weight > 0 {
				b.Weights = []float64{c.Weight}
			}
			w = g.Whole(nil, &b, 0, 1)[0]
		}
		head[0] += float64(w * c.Copies)
		if !regression {
			head[1+int(c.Y[0])] += float64(w * c.Copies)
		}
	}
	switch {
	case g == nil && r.Weight > 0:
		return head[0] * r.Weight, nil
	case g == nil:
		return head[0], nil
	case g.Classes == nil:
		mass = head[0] * g.Unit
	default:
		for c := range g.Classes {
			mass += float64(head[1+c] / (g.Class(c) * g.One) * g.Unit)
		}
	}
	own = new(profile.WeightGrid)
	*own = *g
	own.Total = int64(head[0])
	return mass, own
}
