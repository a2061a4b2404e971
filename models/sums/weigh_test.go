package sums

import (
	"reflect"
	"testing"

	"github.com/bochner-ml/bochner/models/profile"
)

// The total weight counts rows, separately counted copies and class weights, for weights of rows of ½ and 1½ in
// two classes of which the second counts twice.
func TestWeighAppliesCopiesAndClassWeights(t *testing.T) {
	grid := profile.WeightGrid{Unit: 0.5, Exact: true, Classes: []float64{1, 2}, One: 1}
	copies := []profile.FrequentRow{{Y: []float64{0}, Weight: 1.5, Copies: 2}, {Y: []float64{1}, Weight: 0.5, Copies: 3}}
	for _, c := range []struct {
		name       string
		rule       Rule
		head       []float64
		copies     []profile.FrequentRow
		regression bool
		mass       float64
		total      int64
	}{
		{"no weights", Rule{}, []float64{7, 3, 4}, nil, false, 7, 0},
		{"no weights, copies", Rule{}, []float64{7, 3, 4}, []profile.FrequentRow{{Y: []float64{1}, Copies: 5}}, false, 12, 0},
		{"equal weights", Rule{Weight: 2.5}, []float64{8}, nil, true, 20, 0},
		{"weights", Rule{Weights: &profile.WeightGrid{Unit: 0.5, Exact: true, One: 1}}, []float64{10}, copies, true,
			0.5 * (10 + 6 + 3), 19},
		{"weights of classes", Rule{Weights: &grid}, []float64{14, 6, 8}, copies, false, 0.5 * (6 + 6 + (8+6)/2), 14 + 6 + 6},
	} {
		mass, own := c.rule.Weigh(c.head, c.copies, c.regression)
		if mass != c.mass {
			t.Errorf("%s: a sum of %v, want %v", c.name, mass, c.mass)
		}
		if own == nil != (c.rule.Weights == nil) || own != nil && own.Total != c.total {
			t.Errorf("%s: grid %+v, want a total of %d", c.name, own, c.total)
		}
		if own != nil {
			own.Total = c.rule.Weights.Total
			if !reflect.DeepEqual(own, c.rule.Weights) {
				t.Errorf("%s: grid %+v, want the rule's, except its total", c.name, own)
			}
		}
	}
}
