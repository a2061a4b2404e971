package training

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/landmarks"
	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/pca"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/modelreport"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/transforms/gram"
)

// sumsPlan is a fit by sums before it begins: grids, and the folds that judge.
type sumsPlan struct {
	training   *Training
	features   FeatureChoice
	bits       features.Bits       // grid of the features; a choice of the size changes it
	fineUpTo   float64             // products of features up to which 16 bits are used at once
	weightGrid *profile.WeightGrid // of weights of rows and classes; nil if all are 1
	rows       int64               // in the sums, where rows with whole weights count as repeated rows
	total      int64               // bound on the sum of weights, see ridge.WeightedRows
	onlyFirst  bool                // only the first fold is held out
	allChoose  bool                // all folds choose λ, although onlyFirst is true
}

// newSumsPlan prepares a fit by sums. classWeights is the option class_weight.
func (t *Training) newSumsPlan(bits features.Bits, classWeights []string, fineUpTo float64,
	f FeatureChoice) (*sumsPlan, error) {
	grid, err := t.weightGrid(classWeights)
	if err != nil {
		return nil, err
	}
	s := &sumsPlan{training: t, features: f, bits: bits, fineUpTo: fineUpTo, weightGrid: grid,
		onlyFirst: t.firstJudges(f), allChoose: t.allJudge(f)}
	s.rows, s.total = ridge.WeightedRows(t.Prepared.Weights(), grid)
	return s, nil
}

// weightGrid returns the grid of the weights of rows and classes.
func (t *Training) weightGrid(classWeights []string) (*profile.WeightGrid, error) {
	p := t.Prepared
	classes, err := iterative.ClassWeights(classWeights, t.classes(), p.ByClass())
	if err != nil {
		return nil, spec.Usage(err)
	}
	grid := profile.NewWeightGrid(p.Weights(), classes, p.ByClass())
	return grid, spec.Usage(grid.CheckClasses(p.Weights(), t.classes()))
}

// fit sums the rows, chooses λ, solves for the weights, and decides by the first fold how scores become
// probabilities and classes. It may sum twice, first on an 8-bit and then on a 16-bit grid.
func (s *sumsPlan) fit(ctx context.Context) (*sumsFit, error) {
	steps, mayRefine, err := s.firstSteps()
	if err != nil {
		return nil, err
	}
	f, err := s.fitOn(ctx, steps, mayRefine && s.cheapToResum())
	if err != nil {
		return nil, err
	}
	if f.report.Coarse || mayRefine && s.tooCoarse(f) {
		fine := s.fineSteps()
		s.training.Job.Progress.Notef("lambda %g is too small for features rounded to %s; summing again on a grid of %s",
			f.fit.Learner.Lambda, report.GridText(steps), report.GridText(fine))
		if f, err = s.fitOn(ctx, fine, false); err != nil {
			return nil, err
		}
	}
	if err := f.finishChoice(ctx); err != nil {
		return nil, err
	}
	if err := f.decide(ctx, f.heldOut); err != nil {
		return nil, err
	}
	f.fit.rule = s.rule(f)
	return f, nil
}

// fitOn fits on a grid of the given steps, and chooses λ. With mayRefine, the caller can sum again on a finer
// grid: if the first fold shows that λ is too small for this one, nothing is fitted and the report is Coarse.
func (s *sumsPlan) fitOn(ctx context.Context, steps int, mayRefine bool) (*sumsFit, error) {
	t := s.training
	p := t.Prepared
	l := t.spec.Lambda
	folding := t.spec.Folding(p.Weights().Sum, s.onlyFirst && !s.allChoose)
	how := gram.Spec{Recipe: p.Recipe.Sealed, Outputs: p.Outputs(), Steps: steps, PassFollows: true}
	if l.Auto() {
		how.Smaller = ridge.SmallerLambdaOn(steps, mayRefine)
	}
	switch t.spec.Intervals {
	case options.IntervalsPlain:
		how.Sketch = gram.OneSketch
	case options.IntervalsNone:
		how.Sketch = gram.NoSketch
	}
	how.StartLambda = t.startLambda(s.features.Searched)
	how.TryAll = l.Selects() && !s.features.lambdaByMSE
	how.MayRefine = mayRefine && !l.Selects() // held-out rows may choose a larger λ
	f, err := s.sum(ctx, p.Target, how, folding)
	if err != nil {
		return nil, err
	}
	f.fit.Learner = models.Learner{Kind: ridge.Name, Lambda: f.report.Lambda, Folds: folding.NumValidationFolds(),
		Table: f.report.Table, RuledOut: ruledOut(folding.Lambda, f.report.Table), Steps: steps,
		ClassWeights: gridWeights(s.weightGrid)}
	f.classWeights = f.fit.Learner.ClassWeights
	if s.allChoose {
		f.fit.Learner.Select = models.ByAllFolds
		modelreport.OnFirst(f.report.Table, f.report.FoldVariance)
	}
	if f.report.Coarse || !l.Selects() {
		return f, nil // the solve has chosen λ, if any
	}
	return f, f.chooseLambda(ctx, s.features.lambdaByMSE)
}

// ruledOut returns the values of λ that are not in the table.
func ruledOut(lambda []float64, table []ridge.CVResult) []float64 {
	if len(table) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(lambda), func(l float64) bool {
		return slices.ContainsFunc(table, func(r ridge.CVResult) bool { return r.Lambda == l })
	})
}

// rule returns how the rows were summed, so that later rows can be summed in the same way.
func (s *sumsPlan) rule(f *sumsFit) *sums.Rule {
	t := s.training
	p := t.Prepared
	r := &sums.Rule{Steps: f.pass.Spec.Steps, Components: f.pass.Spec.Components, Weights: s.weightGrid}
	plan := f.pass.Spec.FoldPlan
	if s.allChoose { // later training with this recipe holds out the first fold
		plan = t.spec.Folding(p.Weights().Sum, true).FoldPlan
	}
	r.Folds, r.Cut, r.First = plan.Folds, plan.Cut, plan.Validation == ridge.FirstFold
	if r.Components == 0 {
		r.Lambda, r.C = t.spec.Lambda.Path, t.spec.Lambda.C
		if _, folds := spec.LambdaValues(t.spec.Lambda, 1); folds == 1 && f.fit.shapes == nil {
			r.Folds, r.Cut = 1, 0 // held-out rows were only used to calibrate
		}
	}
	if f.fit.rowWeights != nil {
		r.WeightColumn = f.fit.rowWeights.Column
		if f.fit.rowWeights.Equal() {
			r.Weight = f.fit.rowWeights.Max
		}
	}
	if r.Folds > 1 || p.Recipe.Recodes {
		r.Frequent, r.Split = p.Copies.Frequent(), p.Rule
	}
	return r
}

// gridWeights returns the weights of the classes in sums with that grid of weights, nil if all are 1.
func gridWeights(weightGrid *profile.WeightGrid) (weights []float64) {
	if weightGrid != nil {
		for c := range weightGrid.Classes {
			weights = append(weights, weightGrid.Class(c))
		}
	}
	return weights
}

// rowWeights describes the weights of the rows, nil if they have none. weightGrid is their grid in sums; nil for
// rounds.
func (t *Training) rowWeights(weightGrid *profile.WeightGrid) *models.RowWeights {
	if t.Prepared.Profile.Weights == nil {
		return nil
	}
	w := &models.RowWeights{Column: dataset.RoleName(t.Prepared.Data, schema.Weight),
		Weights: *t.Prepared.Profile.Weights}
	if !w.Equal() {
		w.Grid = weightGrid
	}
	return w
}

// checkExact returns an error if sums of features on a grid with this number of steps are not exact for all rows.
// weightGrid is the grid of weights.
func (t *Training) checkExact(weightGrid *profile.WeightGrid, shape ridge.Shape, steps int) error {
	_, total := ridge.WeightedRows(t.Prepared.Weights(), weightGrid)
	limit := shape.MaxRows(steps)
	switch {
	case total <= limit:
		return nil
	case weightGrid != nil:
		return exit.Dataf("pipelines: the weights of %s rows are too large together: sums by this recipe are exact for up "+
			"to %s in units of its grid of weights; train the recipe with --grid 8, or on more rows",
			report.Groups(t.Prepared.Counts.Used), report.Groups(limit))
	}
	return exit.Dataf("pipelines: %s rows are too many: sums are exact for up to %s rows",
		report.Groups(t.Prepared.Counts.Used), report.Groups(limit))
}

// checkOrigin returns an error if the features of --frequencies were learned from the held-out rows, and adds a
// note if that is unknown.
func (t *Training) checkOrigin() error {
	o, parts := t.Prepared.Recipe.Origin, t.spec.FoldCount()
	if o == nil || parts == 0 {
		return nil
	}
	dir, here := t.spec.Kernel.(kernel.Learned).Directory(), t.Prepared.RowsDigest()
	switch {
	case o.HeldOut > 0 && (o.HeldOut != parts || o.Seed != t.spec.Seed):
		return exit.Usagef("--frequencies %s: the features were learned from all rows except one fold of %d with seed %d, "+
			"and only that fold is held out; give --folds %[2]d --seed %[3]d",
			dir, o.HeldOut, o.Seed)
	case o.HeldOut == 0 && (o.Rows == here || o.Fingerprint == t.Prepared.Digest):
		return exit.Usagef("--frequencies %s: the features were learned from all of these rows, so held-out errors would be "+
			"too good; run align with --folds %d, or give one --lambda, and no --folds, --patience or --calibrate",
			dir, parts)
	case o.HeldOut == 0:
		t.AddNotef("the features were learned from all rows of other data; if this data has some of those " +
			"rows, held-out errors are too good")
	}
	return nil
}

// maxAllJudge is the largest number of rows with which all folds choose λ after a search.
const maxAllJudge = 3000

// allJudge reports whether all folds choose λ although the search has seen the rows outside the first one. If
// rows are few, a single fold would choose a worse λ. Held-out figures still come from the first fold. The
// first run of a retraining uses only the first fold, as later runs do. So do landmarks, which are rows of
// the other folds: the weight of a landmark determines the prediction for its own row, and few other rows
// determine that weight.
func (t *Training) allJudge(f FeatureChoice) bool {
	p := t.Prepared
	// only the search has seen the rows
	only := f.Searched != nil && f.Learned == nil && !p.Recipe.Recodes && !t.CountsTrainingRows()
	return only && p.Target.Grid != nil && p.Rule == nil && p.Counts.Used <= maxAllJudge && t.spec.Lambda.Select == "" &&
		!t.spec.ChoosesSize() && !t.atLandmarks()
}

// firstJudges reports whether only the first fold is held out, because features, preprocessing or encodings
// were learned from the other folds.
func (t *Training) firstJudges(f FeatureChoice) bool {
	return t.Prepared.Recipe.Recodes || t.CountsTrainingRows() || f.Learned != nil || f.Searched != nil ||
		t.Prepared.Recipe.Origin != nil && t.Prepared.Recipe.Origin.HeldOut > 0
}

// Features are summed on an 8-bit grid, which is fast, or on a 16-bit grid. Rounding to 8 bits acts like a λ of
// 1e-5/D for Fourier features, so a smaller λ needs 16 bits. So do raw columns with a few large numbers among
// many small ones.

// smallProducts is the number of products of features, rows × D², up to which 16 bits are used at once, because
// their cost is negligible.
var smallProducts = float64(ridge.FewProducts)

const (
	// maxResumProducts and maxResumRows limit the jobs whose rows are summed again on 16 bits if the
	// chosen λ is the smallest for 8 bits. This takes up to a minute of one core.
	maxResumProducts = 1 << 42
	maxResumRows     = 1 << 22
)

// maxCheapProducts is the number of products up to which rows are summed again if a λ below the smallest for 8 bits
// may be better. With more products they are summed again only if rounding contributes to the error.
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
func (s *sumsPlan) fineSteps() int {
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
func (s *sumsPlan) steps(bits features.Bits, dim int) int {
	choice := s.training.Prepared.Recipe.Choice
	ranges := choice != nil && choice.Wide // each feature has its own range on the grid
	return bits.Steps(products(s.rows, dim), s.fineUpTo, ranges, s.fineSteps())
}

// firstSteps returns the number of steps of the first grid, and whether rows may be summed again on a finer one.
func (s *sumsPlan) firstSteps() (steps int, mayRefine bool, err error) {
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
		return fine, false, nil // any rows need a finer grid
	}
	return steps, true, nil
}

// cheapToResum reports whether a second sum takes so little time that the chance of a better λ justifies it.
func (s *sumsPlan) cheapToResum() bool {
	return products(s.rows, s.training.Prepared.Recipe.Dim) <= maxCheapProducts
}

// tooCoarse reports whether a fit on 8 bits shows that rows should be summed again on 16 bits.
func (s *sumsPlan) tooCoarse(f *sumsFit) bool {
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

// Embed sums the rows once, and fits the components of an embedding to the sums. Labels are not used.
func (t *Training) Embed(ctx context.Context, o *pca.LearnerOptions) (*Fit, error) {
	defer t.Job.Time("train")()
	s, err := t.newSumsPlan(o.Grid, nil, pca.FewProducts, FeatureChoice{})
	if err != nil {
		return nil, err
	}
	steps := s.steps(s.bits, t.Prepared.Recipe.Dim)
	f, err := s.sum(ctx, nil, gram.Spec{Recipe: t.Prepared.Recipe.Sealed, Outputs: 1, Steps: steps},
		spec.Folding{FoldPlan: ridge.FoldPlan{Folds: 1}, Components: o.Components})
	if err != nil {
		return nil, err
	}
	f.fit.Learner = models.Learner{Kind: iterative.DefinitionOf(o).Name, Folds: 1, Components: f.report.Components,
		Steps: steps}
	f.fit.rule = s.rule(f)
	return f.fit, nil
}

// DrawEmbedding plots a sample of the rows along the first two components, coloured by class.
func (t *Training) DrawEmbedding(ctx context.Context, f *Fit, name string) error {
	sum, err := t.SurveyRows(ctx, 0, 0)
	if err != nil {
		return err
	}
	sample, err := t.sampled(sum, nil, nil, iterative.SampleSize(t.Prepared.Recipe.Dim))
	if err != nil {
		return err
	}
	k := f.linear.K
	scores := make([]float32, sample.N*k)
	f.linear.Scores(scores, sample.Phi, sample.N)
	s := picture.Lines{Title: fmt.Sprintf("%s, %d features", t.Prepared.Recipe.Name, t.Prepared.Recipe.Dim), Scatter: true}
	axis := func(i int) string {
		return fmt.Sprintf("component %d (%.1f%% of the variance)", i+1, 100*f.Learner.Components[i].Share)
	}
	s.X, s.Y = axis(0), axis(1)
	for _, class := range t.classes() {
		s.Series = append(s.Series, picture.Series{Name: class})
	}
	for i, y := range sample.Y {
		s.Series[int(y)].Add(float64(scores[i*k]), float64(scores[i*k+1]))
	}
	return report.WritePicture(ctx, name, s, 15, 13)
}
