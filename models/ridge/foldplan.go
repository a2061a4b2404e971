package ridge

// FoldPlan divides the rows of a fit into sums, and selects the folds that are held out. The
// zero value is one sum of all rows.
type FoldPlan struct {
	// Folds is the number of sums; each row is in one of them. With Folds ≤ 1 there is one, and no row is held out.
	Folds int `json:"folds"`
	// Cut is the number of folds into which rows are cut, if it is more than Folds: the last sum
	// then has the rows of all remaining folds.
	Cut int `json:"cut,omitempty"`
	// Validation selects the folds that choose λ.
	Validation Validation `json:"judge,omitempty"`
	// FitWithoutFirst asks for a second fit with the chosen λ, to the rows outside fold 0. It needs Folds ≥ 2.
	FitWithoutFirst bool `json:"fit_without_first,omitempty"`
}

// Validation selects the folds that are held out, one after the other, to choose λ.
type Validation string

const (
	AllFolds  Validation = ""      // each of them
	FirstFold Validation = "first" // only fold 0, because a search for features has seen the rows of the others
	NoFold    Validation = "none"  // none: λ is given, and folds serve FitWithoutFirst only
)

// AllFolds returns the number of folds into which rows are cut.
func (p FoldPlan) AllFolds() int { return max(p.Folds, p.Cut) }

// SumOf returns the index of a row's sum, given the row's hash from a profile.Assigner.
func (p FoldPlan) SumOf(hash uint64) int { return min(int(hash%uint64(p.AllFolds())), p.Folds-1) }

// HoldsOut reports whether folds are held out to choose λ.
func (p FoldPlan) HoldsOut() bool { return p.Folds > 1 && p.Validation != NoFold }

// NumValidationFolds returns AllFolds if folds choose λ, otherwise 1.
func (p FoldPlan) NumValidationFolds() int {
	if !p.HoldsOut() {
		return 1
	}
	return p.AllFolds()
}
