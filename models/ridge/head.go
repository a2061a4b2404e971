package ridge

// Head is part 0 of a Sum: the weight of the rows, which is their number if rows have no weights, then the weight
// of each class or, for targets, Σq, Σ⌊q²/2¹⁵⌋ and Σ(q² mod 2¹⁵) of each. Σq² itself would be exact only for eight
// million rows. If rows have weights, their number follows.
type Head []float64

// Weight returns the sum of the weights of the rows, or their number if they have none.
func (h Head) Weight() float64 { return h[0] }

// outputs returns the sum of each of k outputs: the weight of a class or Σq of a target.
func (h Head) outputs(k int) []float64 { return h[1 : 1+k] }

// squares returns the limbs of Σq² of each of k targets.
func (h Head) squares(k int) (high, low []float64) { return h[1+k : 1+2*k], h[1+2*k : 1+3*k] }

// addWeight adds to the weight of the rows.
func (h Head) addWeight(w float64) { h[0] += w }

// addWeightedRows adds to the number of rows, if they have weights.
func (h Head) addWeightedRows(n int64) { h[len(h)-1] += float64(n) }
