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

// Sums over rows are of features on an 8-bit grid, which is fast, or on a 16-bit grid. Rounding
// to 8 bits acts like a λ of 1e-5/D for Fourier features, so jobs with a smaller λ need 16 bits,
// and so do raw columns with few large numbers among many small ones.

// smallGram is the number of products of features, rows × D², up to which 16 bits are used at
// once because their cost is negligible.
var smallGram = float64(ridge.FewProducts)

const (
	// againGram and againRows limit the jobs whose rows are summed again on 16 bits if the chosen λ
	// is at the floor of 8: a minute of one core.
	againGram = 1 << 42
	againRows = 1 << 22
)

// quickGram is the number of products of features up to which a better λ below the floor is reason enough to
// sum rows again. Beyond, rounding has to be a part of the error.
var quickGram float64 = 1 << 40

// products is rows × D².
func products(rows int64, dim int) float64 {
	return float64(rows) * float64(dim) * float64(dim)
}

// fine is the number of steps of a 16-bit grid, fewer if there are so many rows that their sums
// would not be exact, or if features exceed the sample's by far.
func (t *Training) fine() int {
	shape := ridge.Shape{Dim: t.Recipe.Dim, Outputs: 1, Regression: t.Target != nil && t.Target.Grid != nil}
	_, total := t.sizes()
	return max(blas.MostByte, int(float64(shape.Fine(total))/math.Max(1, t.Recipe.Reach)))
}

// wide tells that features have ranges of their own.
func (t *Training) wide() bool { return t.Recipe.Choice != nil && t.Recipe.Choice.Wide }

// Steps is the number of steps of the grid that a job starts with; up to small products are few.
func (t *Training) Steps(grid features.Bits, small float64) int {
	rows, _ := t.sizes()
	return grid.Steps(products(rows, t.Recipe.Dim), small, t.wide(), t.fine())
}

// atFloor tells whether λ is so small that rounding features to 8 bits changes its effect.
func (t *Training) atFloor(lambda float64) bool {
	return lambda <= ridge.FloorFactor*t.summed.fit.Floor
}

// below tells whether rounding features to a grid of that many steps matters for λ. Where rows
// repeat it may matter for a larger one, too.
func (t *Training) below(lambda float64, steps int) (bool, error) {
	m, err := t.Worker.Gridded(t.Recipe.Sealed)
	if err != nil {
		return false, err
	}
	return lambda <= ridge.FloorFactor*ridge.Floor(m.Step()*blas.MostByte/float64(steps)), nil
}

// resumsForLambda tells whether rows are few enough to sum them once more for a smaller λ alone.
func (t *Training) resumsForLambda() bool {
	rows, _ := t.sizes()
	return products(rows, t.Recipe.Dim) <= quickGram
}

// tooCoarse tells whether the fit on 8 bits says that rows should be summed once more.
func (t *Training) tooCoarse() bool {
	l := t.Learner
	if t.resumsForLambda() {
		return ridge.TooCoarse(l.Table, l.Lambda, ridge.FloorFactor*t.summed.fit.Floor)
	}
	return t.atFloor(l.Lambda) && slices.ContainsFunc(l.Table, func(r ridge.Row) bool {
		return r.Lambda == l.Lambda && r.Rounding > ridge.MostRounding*r.MSE
	})
}

// canResum tells whether there are few enough rows to sum them once more.
func (t *Training) canResum() bool {
	rows, _ := t.sizes()
	return rows <= againRows && products(rows, t.Recipe.Dim) <= againGram
}

// landmarkLambda is the λ that is tried first of features that are landmarks, unless a search has found one.
const landmarkLambda = 1e-2

// atLandmarks tells whether features are landmarks.
func (t *Training) atLandmarks() bool {
	files := t.Recipe.Files
	if t.given != nil {
		files = t.given.Recipe.Kept
	}
	return slices.ContainsFunc(files, func(f storage.File) bool { return f.Name == landmarks.FileName })
}

// startLambda returns the λ to try first (gram.Choice.Start), or 0 without landmarks. A quarter of the landmarks needs
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
