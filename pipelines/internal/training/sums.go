package training

import (
	"context"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/about"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/transforms/gram"
)

// sumsTraining is a fit by sums before it begins: grids, and the folds that judge.
type sumsTraining struct {
	training   *Training
	found      Found
	bits       features.Bits       // grid of the features; a choice of the size changes it
	fineUpTo   float64             // products of features up to which 16 bits are used at once
	weightGrid *profile.WeightGrid // of weights of rows and classes; nil if all are 1
	rows       int64               // in the sums, where rows with whole weights count as repeated rows
	total      int64               // bound on the sum of weights, see ridge.WeightedRows
	onlyFirst  bool                // only the first fold is held out
	allChoose  bool                // all folds choose λ, although onlyFirst is true
}

// newSumsTraining prepares a fit by sums. classWeights is the option class_weight.
func (t *Training) newSumsTraining(bits features.Bits, classWeights []string, fineUpTo float64,
	f Found) (*sumsTraining, error) {
	p := t.Prepared
	classes, err := iterative.ClassWeights(classWeights, t.classes(), p.ByClass())
	if err != nil {
		return nil, spec.Usage(err)
	}
	s := &sumsTraining{training: t, found: f, bits: bits, fineUpTo: fineUpTo,
		weightGrid: profile.NewWeightGrid(p.Weights(), classes, p.ByClass()),
		onlyFirst:  t.firstJudges(f), allChoose: t.allJudge(f)}
	s.rows, s.total = ridge.WeightedRows(p.Weights(), s.weightGrid)
	return s, nil
}

// fit sums the rows, chooses λ, solves for the weights, and decides by the first fold how scores become
// probabilities and classes. It may sum twice, first on an 8-bit and then on a 16-bit grid.
func (s *sumsTraining) fit(ctx context.Context) (*sumsFit, error) {
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
func (s *sumsTraining) fitOn(ctx context.Context, steps int, mayRefine bool) (*sumsFit, error) {
	t := s.training
	p := t.Prepared
	l := t.spec.Lambda
	folding := t.spec.Folding(p.Weights().Sum, s.onlyFirst && !s.allChoose)
	how := gram.Spec{Recipe: p.Recipe.Sealed, Outputs: p.Outputs(), Steps: steps}
	if l.Auto() {
		how.Smaller = ridge.SmallerLambdaOn(steps, mayRefine)
	}
	switch t.spec.Intervals {
	case options.PlainIntervals:
		how.Sketch = gram.OneSketch
	case options.NoIntervals:
		how.Sketch = gram.NoSketch
	}
	how.StartLambda = t.startLambda(s.found.Searched)
	how.TryAll = l.Selects() && !s.found.lambdaByMSE
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
		about.OnFirst(f.report.Table, f.report.FoldVariance)
	}
	if f.report.Coarse || !l.Selects() {
		return f, nil // the solve has chosen λ, if any
	}
	return f, f.chooseLambda(ctx, s.found.lambdaByMSE)
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
func (s *sumsTraining) rule(f *sumsFit) *sums.Rule {
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
	most := shape.MaxRows(steps)
	switch {
	case total <= most:
		return nil
	case weightGrid != nil:
		return exit.Dataf("pipelines: the weights of %s rows are too large together: sums by this recipe are exact for up "+
			"to %s in units of its grid of weights; train the recipe with --grid 8, or on more rows",
			report.Groups(t.Prepared.Counts.Used), report.Groups(most))
	}
	return exit.Dataf("pipelines: %s rows are too many: sums are exact for up to %s rows",
		report.Groups(t.Prepared.Counts.Used), report.Groups(most))
}
