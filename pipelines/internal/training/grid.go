package training

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/landmarks"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
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

// maxCheapProducts is the number of products up to which rows are summed again if a λ below the floor may be
// better. With more products they are summed again only if rounding contributes to the error.
var maxCheapProducts float64 = 1 << 40

// products returns rows × D².
func products(rows int64, dim int) float64 {
	return float64(rows) * float64(dim) * float64(dim)
}

// laterRows is the number of rows that sums of a recipe for later data should hold. Without weights, the finest
// grid holds more.
const laterRows = 1 << 23

// fineSteps returns the number of steps of a 16-bit grid. It is smaller if so many rows would overflow exact
// sums, or if features may be far larger than in the sample. With Room, laterRows such rows must not overflow either.
func (s *sumsTraining) fineSteps() int {
	t := s.training
	shape := ridge.Shape{Dim: t.Prepared.Recipe.Dim, Outputs: 1, Regression: t.regression()}
	total := s.total
	if t.spec.Room > 0 {
		total = max(total, int64(laterRows*float64(total)/float64(t.Prepared.Weights().Rows)))
	}
	return max(features.ByteSteps, int(float64(shape.Fine(total))/math.Max(1, t.Prepared.Recipe.Reach)))
}

// steps returns the number of steps of the grid on which dim features are summed first, where the user asks for
// bits.
func (s *sumsTraining) steps(bits features.Bits, dim int) int {
	choice := s.training.Prepared.Recipe.Choice
	ranges := choice != nil && choice.Wide // each feature has its own range on the grid
	return bits.Steps(products(s.rows, dim), s.fineUpTo, ranges, s.fineSteps())
}

// firstSteps returns the number of steps of the first grid, and whether rows may be summed again on a finer one.
func (s *sumsTraining) firstSteps() (steps int, mayRefine bool, err error) {
	t := s.training
	p := t.Prepared
	steps, fine := s.steps(s.bits, p.Recipe.Dim), s.fineSteps()
	mayRefine = s.bits != features.Bits8 && steps != fine && s.rows <= maxResumRows &&
		products(s.rows, p.Recipe.Dim) <= maxResumProducts
	lambda, _ := spec.LambdaValues(t.spec.Lambda, p.Weights().Sum)
	if !mayRefine || len(lambda) != 1 {
		return steps, mayRefine, nil
	}
	m, err := t.Job.Worker.Gridded(p.Recipe.Sealed)
	if err != nil {
		return 0, false, err
	}
	if lambda[0] <= ridge.FloorFactor*ridge.LambdaFloor(m.Step()*features.ByteSteps/float64(steps)) {
		return fine, false, nil // a finer grid is needed whatever the rows
	}
	return steps, true, nil
}

// cheapToResum reports whether a second sum takes so little time that the chance of a better λ justifies it.
func (s *sumsTraining) cheapToResum() bool {
	return products(s.rows, s.training.Prepared.Recipe.Dim) <= maxCheapProducts
}

// tooCoarse reports whether a fit on 8 bits shows that rows should be summed again on 16 bits.
func (s *sumsTraining) tooCoarse(f *sumsFit) bool {
	l, floor := f.fit.Learner, ridge.FloorFactor*f.fit.floor
	switch {
	case s.training.Prepared.Copies != nil && l.Lambda <= floor:
		return true // copies have equal rounding errors, which the table does not include
	case s.cheapToResum():
		return ridge.TooCoarse(l.Table, l.Lambda, floor)
	}
	return l.Lambda <= floor && slices.ContainsFunc(l.Table, func(r ridge.CVResult) bool {
		return r.Lambda == l.Lambda && r.Rounding > ridge.MaxRounding*r.MSE
	})
}

// landmarkLambda is the λ that is tried first for landmark features, unless a search has found one.
const landmarkLambda = 1e-2

// atLandmarks reports whether features are landmarks.
func (t *Training) atLandmarks() bool {
	return slices.ContainsFunc(t.Prepared.Recipe.Files, func(f storage.File) bool { return f.Name == landmarks.FileName })
}

// startLambda returns the λ to try first (ridge.LambdaSearch.StartLambda), or 0 without landmarks. A quarter
// of the landmarks needs a far smaller λ than all of them, which are nearly as many as the rows. Inner
// products grow with the number of landmarks, so the λ that a search found is scaled by it. searched is
// nil if there was none.
func (t *Training) startLambda(searched *tuning.Result) float64 {
	if !t.atLandmarks() {
		return 0
	}
	if searched != nil && searched.Chosen.Lambda > 0 {
		return searched.Chosen.Lambda * float64(t.Prepared.Recipe.Dim) / float64(searched.Chosen.Features)
	}
	return landmarkLambda
}
