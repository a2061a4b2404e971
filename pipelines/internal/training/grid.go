package training

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/landmarks"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/ridge"
)

// Features are summed on an 8-bit grid, which is fast, or on a 16-bit grid. Rounding to 8 bits acts like a λ of
// 1e-5/D for Fourier features, so a smaller λ needs 16 bits. So do raw columns with a few large numbers among
// many small ones.

// smallProducts is the number of products of features, rows × D², up to which 16 bits are used at once, because
// their cost is negligible.
var smallProducts = float64(ridge.FewProducts)

const (
	// maxResumProducts and maxResumRows limit the jobs whose rows are summed again on 16 bits if the
	// chosen λ is at the floor of 8 bits. This takes up to a minute of one core.
	maxResumProducts = 1 << 42
	maxResumRows     = 1 << 22
)

// maxQuickProducts is the number of products up to which rows are summed again if a λ below the floor may be
// better. With more products they are summed again only if rounding contributes to the error.
var maxQuickProducts float64 = 1 << 40

// products returns rows × D².
func products(rows int64, dim int) float64 {
	return float64(rows) * float64(dim) * float64(dim)
}

// fineSteps returns the number of steps of a 16-bit grid. It is smaller if so many rows would overflow exact
// sums, or if features may be far larger than in the sample.
func (t *Training) fineSteps() int {
	shape := ridge.Shape{Dim: t.Recipe.Dim, Outputs: 1, Regression: t.Target != nil && t.Target.Grid != nil}
	_, total := t.sizes()
	return max(blas.MostByte, int(float64(shape.Fine(total))/math.Max(1, t.Recipe.Reach)))
}

// columnRanges reports whether each feature has its own range on the grid.
func (t *Training) columnRanges() bool { return t.Recipe.Choice != nil && t.Recipe.Choice.Wide }

// Steps returns the number of steps of the grid that a job starts with. Up to small products take 16 bits.
func (t *Training) Steps(grid features.Bits, small float64) int {
	rows, _ := t.sizes()
	return grid.Steps(products(rows, t.Recipe.Dim), small, t.columnRanges(), t.fineSteps())
}

// atFloor reports whether λ is so small that rounding features to 8 bits changes its effect.
func (t *Training) atFloor(lambda float64) bool {
	return lambda <= ridge.FloorFactor*t.summed.fit.Floor
}

// roundsAway reports whether rounding features to a grid of that many steps changes the effect of λ. If rows
// repeat, it may change the effect of a larger λ, too.
func (t *Training) roundsAway(lambda float64, steps int) (bool, error) {
	m, err := t.Worker.Gridded(t.Recipe.Sealed)
	if err != nil {
		return false, err
	}
	return lambda <= ridge.FloorFactor*ridge.Floor(m.Step()*blas.MostByte/float64(steps)), nil
}

// resumsForLambda reports whether rows are summed again only because a smaller λ may be better.
func (t *Training) resumsForLambda() bool {
	rows, _ := t.sizes()
	return products(rows, t.Recipe.Dim) <= maxQuickProducts
}

// tooCoarse reports whether the fit on 8 bits shows that rows should be summed again on 16 bits.
func (t *Training) tooCoarse() bool {
	l := t.Learner
	if t.resumsForLambda() {
		return ridge.TooCoarse(l.Table, l.Lambda, ridge.FloorFactor*t.summed.fit.Floor)
	}
	return t.atFloor(l.Lambda) && slices.ContainsFunc(l.Table, func(r ridge.Row) bool {
		return r.Lambda == l.Lambda && r.Rounding > ridge.MostRounding*r.MSE
	})
}

// canResum reports whether rows are few enough to sum them again.
func (t *Training) canResum() bool {
	rows, _ := t.sizes()
	return rows <= maxResumRows && products(rows, t.Recipe.Dim) <= maxResumProducts
}

// landmarkLambda is the λ that is tried first for landmark features, unless a search has found one.
const landmarkLambda = 1e-2

// atLandmarks reports whether features are landmarks.
func (t *Training) atLandmarks() bool {
	files := t.Recipe.Files
	if t.given != nil {
		files = t.given.Recipe.Kept
	}
	return slices.ContainsFunc(files, func(f storage.File) bool { return f.Name == landmarks.FileName })
}

// startLambda returns the λ to try first (ridge.Choice.StartLambda), or 0 without landmarks. A quarter of the landmarks needs
// a far smaller λ than all of them, which are nearly as many as the rows. Inner products grow with the number of
// landmarks, so the λ that the search found is scaled by it.
func (t *Training) startLambda() float64 {
	if !t.atLandmarks() {
		return 0
	}
	if found := t.Searched; found != nil && found.Chosen.Lambda > 0 {
		return found.Chosen.Lambda * float64(t.Recipe.Dim) / float64(found.Chosen.Features)
	}
	return landmarkLambda
}
