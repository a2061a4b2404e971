package training

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/gram"
)

// ByRecipe holds the options of training with the recipe of another model. The profile of the rows does not
// affect the features.
type ByRecipe struct {
	Recipe *sums.Recipe
	Parent string // name of the model with the recipe, for the lineage; "" if unknown
	Data   dataset.Options
	// Lambda are the options for λ. The recipe has their defaults, and the folds.
	Lambda         options.Lambda
	Calibrate      options.Calibration // options.CalibrationPlatt gives a classifier probabilities; options.CalibrationNone or "" does not
	MaxBadFraction float64             // share of rows that may be set aside, 0 to 1
	options.Reporting
	MinRows   int64 // segments with fewer rows are pooled
	Job       options.Job
	RowHashes bool // put hashes of rows into WorkSums.Reports, unless there are more than sums.MaxRowHashes
	Positions bool // put hashes and positions of all rows into WorkSums.Reports
}

// listsRowHashes reports whether reports have the hashes of rows, of which there may be too many.
func (o ByRecipe) listsRowHashes(rows int64) bool {
	return o.Positions || o.RowHashes && rows <= sums.MaxRowHashes
}

// options returns training options that match the recipe.
func (o ByRecipe) options(model string) spec.Options {
	l := o.Lambda
	if l.Auto() {
		l.Path, l.C = o.Recipe.Rule.Lambda, o.Recipe.Rule.C
	}
	l.Folds = max(o.Recipe.Rule.Folds, o.Recipe.Rule.Cut)
	return spec.Options{Train: options.Train{
		Reporting: o.Reporting,
		Prepare:   options.Prepare{Data: o.Data, Seed: o.Recipe.Seed, MaxBadFraction: o.MaxBadFraction, Job: o.Job},
		Model:     model, Learner: ridge.NewLearnerOptions(), Lambda: l,
	}}
}

// trainByRecipe implements Run for options with a Recipe.
func trainByRecipe(ctx context.Context, o options.Train) (result *results.Train, err error) {
	if err := validateByRecipe(o); err != nil {
		return nil, err
	}
	if o.Recipe, err = job.FindModel(ctx, o.Recipe, o.Job.Log); err != nil {
		return nil, err
	}
	recipe, err := ReadRecipe(ctx, o.Recipe, nil)
	if err != nil {
		return nil, err
	}
	_, parent := storage.Split(strings.TrimRight(o.Recipe, "/"))
	byRecipe := ByRecipe{Recipe: recipe, Parent: parent, Data: o.Data, Lambda: o.Lambda, Calibrate: o.Calibrate,
		Reporting: o.Reporting, MaxBadFraction: o.MaxBadFraction, Job: o.Job}
	j, err := byRecipe.Begin(ctx, o.Model)
	if err != nil {
		return nil, err
	}
	defer func() { err = j.Training.Job.Close(ctx, err) }()
	fit, err := j.fit(ctx)
	if err != nil {
		return nil, err
	}
	return j.Finish(ctx, fit)
}

// fit sums the rows and fits to the sums.
func (j *RecipeJob) fit(ctx context.Context) (*Fit, error) {
	defer j.Training.Job.Time("train")()
	s, err := j.SumRows(ctx)
	if err != nil {
		return nil, err
	}
	p, _, err := j.Manifest(ctx, s, false)
	if err != nil {
		return nil, err
	}
	return j.SolveSums(ctx, s, p.Sums)
}

func validateByRecipe(o options.Train) error {
	if o.Model == "" {
		return exit.Usagef("--model is missing: name the directory to create")
	}
	if o.Threshold != "" || o.Lambda.Selects() || o.Lambda.Folds != 0 {
		return exit.Usagef("--threshold, --select and --folds cannot be used with --recipe, which trains by " +
			"sums alone: the recipe gives its folds, and no row is scored")
	}
	if o.Learner != nil {
		return spec.FixedByRecipe("learner")
	}
	if len(o.Kernels) > 0 {
		return spec.FixedByRecipe("kernel")
	}
	if err := spec.CheckByRecipe(&o, new(options.NewTrain()), o.Kernel, spec.TrainByRecipe); err != nil {
		return err
	}
	if err := cmp.Or(spec.ValidateLambda(o.Lambda), prepare.CheckFraction(o.MaxBadFraction)); err != nil {
		return err
	}
	return job.Validate(o.Job, o.Data, o.Model, job.Dir{Flag: "model", Name: o.Model},
		job.Dir{Flag: "recipe", Name: o.Recipe})
}

// RecipeJob is an open job with a given recipe: it sums rows, or adds up sums, and fits models to sums.
type RecipeJob struct {
	Training   *Training
	options    ByRecipe
	weightGrid *profile.WeightGrid // of the weights of the rows to sum; nil if there are none
	segments   [][]sums.Member     // segments with separate sums; nil if all rows are summed together
	Lineage    *registry.Lineage   // of the sums that a model is fitted to; nil if rows were read
}

// Begin begins a job that creates the directory out: it opens and profiles the data. The caller
// closes the job.
func (o ByRecipe) Begin(ctx context.Context, out string) (*RecipeJob, error) {
	if err := job.CheckOutput(ctx, o.Job, out); err != nil {
		return nil, err
	}
	d, err := prepare.OpenByRecipe(ctx, o.Job, o.Data, o.Recipe)
	if err != nil {
		return nil, err
	}
	j, err := o.begin(ctx, out)
	if err != nil {
		return nil, err
	}
	end := j.Training.Job.Time("profile")
	j.Training.Prepared, err = prepare.ProfileByRecipe(ctx, j.Training.Job, d, o.MaxBadFraction, o.Recipe)
	end()
	if err == nil {
		err = j.planSums()
	}
	if err != nil {
		return nil, j.Training.Job.Close(ctx, err)
	}
	return j, nil
}

// Memory in bytes for each row that reports list.
const (
	listedHashBytes     = 72  // its hash, in the text of a report and in the sorted list
	listedPositionBytes = 640 // its hash and position, in reports, in the list and in a certificate
)

// planSums sets the grid of weights and the segments for the profiled rows, and reserves the memory of their sums.
func (j *RecipeJob) planSums() (err error) {
	o, t, p := &j.options, j.Training, j.Training.Prepared
	rows := p.Counts.Used
	j.weightGrid = o.Recipe.Rule.Weights.For(p.Profile.Weights, p.ClassWeightSums())
	if j.segments, err = o.segments(p); err != nil {
		return err
	}
	t.stored.Segments = len(j.segments)
	m := t.Memory(o.Recipe.Rule.Components)
	switch {
	case o.Positions:
		m.PeakBytes += listedPositionBytes * rows
	case o.listsRowHashes(rows):
		m.PeakBytes += listedHashBytes * rows
	}
	return t.Reserve(m)
}

// segments returns the segments whose rows get separate sums, nil if all rows are summed together.
func (o ByRecipe) segments(p *prepare.Prepared) ([][]sums.Member, error) {
	if p.Data.Segments == nil {
		return nil, nil
	}
	columns := strings.Join(p.Data.Segments.Columns, ", ")
	if p.Segments.Many {
		return nil, exit.Dataf("--by %s: the rows have more than %d different segments; choose columns with fewer "+
			"values", columns, profile.MaxSegments)
	}
	segments := sums.PoolSegments(p.Segments.Rows, o.MinRows)
	if len(segments) > sums.MaxSegments {
		return nil, exit.Dataf("--by %s: there are %d segments of at least %d rows, each of which has sums of its own; "+
			"the limit is %d: pool those with few rows by a larger --min_rows", columns, len(segments),
			max(1, o.MinRows), sums.MaxSegments)
	}
	return segments, nil
}

// begin begins a job, before any data is read.
func (o ByRecipe) begin(ctx context.Context, out string) (*RecipeJob, error) {
	if err := spec.CheckSummed(o.Calibrate, o.Recipe); err != nil {
		return nil, err
	}
	j, err := job.New(ctx, o.Job, out)
	if err != nil {
		return nil, err
	}
	if err := j.ShareFiles(ctx, o.Recipe.ExtraFiles); err != nil {
		return nil, j.Close(ctx, err)
	}
	all := o.options(out)
	stored := spec.FoldingOf(&o.Recipe.Rule)
	t := &Training{Session: &prepare.Session{Job: j, Options: all.PrepareOptions()}, spec: all, stored: &stored}
	return &RecipeJob{Training: t, options: o}, nil
}

// AddedRows describes the rows of sums that earlier jobs have made.
type AddedRows struct {
	Rows        models.RowCounts
	Classes     *schema.Vocabulary // nil if there are none
	ClassCounts []int64
	Copies      []profile.FrequentRow // frequent rows, which are counted instead of summed
}

// BeginAdded begins a job that creates the directory out from earlier sums. The caller closes the job.
func (o ByRecipe) BeginAdded(ctx context.Context, out string, added AddedRows) (*RecipeJob, error) {
	if err := job.CheckOutput(ctx, o.Job, out); err != nil {
		return nil, err
	}
	j, err := o.begin(ctx, out)
	if err != nil {
		return nil, err
	}
	r := o.Recipe
	j.Training.Prepared = &prepare.Prepared{
		PassResult: prepare.PassResult{
			Data:    &dataset.Dataset{Schema: *r.Schema, Labeled: r.Task != models.Embedding, Label: r.Input.Label},
			Counts:  results.RowCounts{RowCounts: added.Rows},
			Profile: profile.Profile{Rows: added.Rows.Used, Dim: r.Input.Dim},
		},
		Rule: r.Rule.Split,
	}
	var others []string
	if added.Classes != nil {
		others = added.Classes.Classes
		j.Training.Prepared.Profile.Labels = &schema.LabelSummary{Rows: added.Rows.Used, Vocabulary: added.Classes,
			Counts: added.ClassCounts}
	}
	if err := j.Training.Prepared.TakeRecipe(r, others); err != nil {
		return nil, j.Training.Job.Close(ctx, &exit.DataError{Err: err})
	}
	return j, nil
}

// gramSpec returns the specification of the sums of the recipe, without values of λ.
func (j *RecipeJob) gramSpec() gram.Spec {
	s := gram.SpecOf(j.options.Recipe, len(j.Training.classes()))
	for _, members := range j.segments {
		s.Segments = append(s.Segments, sums.NamesOf(members))
	}
	return s
}

// WorkSums describes sums in the work directory of a job.
type WorkSums struct {
	State    gram.State
	Shape    ridge.Shape
	Folds    int
	Copies   []profile.FrequentRow // frequent rows, which are counted instead of summed; with Segments, these have them
	Segments []SegmentSums         // nil if all rows are summed together
	Reports  []gram.ShardReport
}

// SumRows sums the rows in one pass.
func (j *RecipeJob) SumRows(ctx context.Context) (*WorkSums, error) {
	t := j.Training
	p := t.Prepared
	pass := &gram.Pass{Pass: t.Pass(1), Spec: j.gramSpec()}
	pass.Spec.RowHashes, pass.Spec.Positions = j.options.listsRowHashes(p.Counts.Used), j.options.Positions
	pass.Copies = nil
	// If the recipe has weights, use them even if all are equal, because rows of other sums may have other
	// weights.
	pass.EqualWeights = j.options.Recipe.Rule.Weights == nil && p.Profile.Weights != nil
	s := &WorkSums{State: t.stateOf(pass), Shape: pass.Shape(p.Recipe.Dim), Folds: pass.Spec.Folds}
	if err := s.Shape.Validate(); err != nil {
		return nil, &exit.DataError{Err: err}
	}
	if err := t.checkExact(j.weightGrid, s.Shape, pass.Spec.Steps); err != nil {
		return nil, err
	}
	pass.Stripes = t.stripesOf(pass, s.Shape)
	t.Job.Progress.Notef("summing %s of %s: %s, %d features on %s, %s",
		report.Counted64(p.Counts.Used, "row"), report.Counted(p.Profile.Dim, "number"), p.Recipe.Name, p.Recipe.Dim,
		report.GridText(pass.Spec.Steps), t.sumsText(pass, s.Shape))
	counts, lines, err := t.countSummed(ctx, pass, s.State, j.sum(ctx, pass, s.State))
	if err != nil {
		return nil, err
	}
	if counts.Used != p.Counts.Used {
		return nil, fmt.Errorf("the first pass used %d rows, the second %d; the files changed during the "+
			"job: start again", p.Counts.Used, counts.Used)
	}
	s.Reports = lines
	if j.segments != nil {
		return s, s.bySegment(j.segments)
	}
	s.Copies, err = gram.FrequentRows(lines)
	return s, err
}

// sum runs a pass that sums rows without a solve, unless its sums exist.
func (j *RecipeJob) sum(ctx context.Context, pass *gram.Pass, st gram.State) error {
	t := j.Training
	if err := t.Job.ForgetFaults(ctx, st.Reports); err != nil {
		return err
	}
	summed, err := t.Job.Intact(ctx, st.Sum, st.Reports)
	if err != nil {
		return err
	}
	if summed {
		stored, err := gram.OpenSums(ctx, st, pass.Spec.NumSums(), pass.Shape(t.Prepared.Recipe.Dim))
		if err == nil {
			err = stored.Check(ctx)
		}
		if err == nil {
			t.Job.Progress.Notef("found the sums of all rows in the work directory")
		}
		if !exit.Damaged(err) {
			return err
		}
		t.Job.NoteDamage(err)
	}
	sc, err := t.Job.StorePass(ctx, pass)
	if err != nil {
		return err
	}
	t.Job.Progress.Phase("summing", t.Prepared.Counts.Used*int64(sc.Stripes))
	defer t.Job.Progress.Done()
	return t.Job.Run(ctx, func(s beam.Scope) {
		parts, reports := gram.Sums(s, sc, st)
		gram.Index(s, sc, st, gram.Merge(s, sc, st, parts), reports)
	})
}

// NewWorkSums returns the names of files for the total of other sums, which have that digest.
func (j *RecipeJob) NewWorkSums(digest string) *WorkSums {
	pass := j.passOf(digest)
	return &WorkSums{State: j.Training.stateOf(pass), Shape: pass.Shape(j.Training.Prepared.Recipe.Dim),
		Folds: pass.Spec.Folds}
}

// passOf returns a pass that reads no rows, only the sums with that digest.
func (j *RecipeJob) passOf(digest string) *gram.Pass {
	gramSpec := j.gramSpec()
	// The digest takes the place of the data in the names of files, so that state of other sums is not used.
	r := j.options.Recipe
	return &gram.Pass{Pass: transforms.Pass{Seed: r.Seed, Target: j.Training.Prepared.Target, Rule: r.Rule.Split,
		Data: dataset.Dataset{Schema: dataset.Schema{Format: r.Schema.Format, Columns: []string{digest}}}},
		Spec: gramSpec}
}

// SolveSums fits a model to the sums with that digest.
func (j *RecipeJob) SolveSums(ctx context.Context, s *WorkSums, digest string) (*Fit, error) {
	t := j.Training
	p := t.Prepared
	p.Digest = digest
	stored, err := gram.OpenSums(ctx, s.State, s.Folds, s.Shape)
	if err != nil {
		return nil, err
	}
	head, err := stored.Head(ctx, s.Folds, s.Shape)
	if err != nil {
		return nil, err
	}
	rule := &j.options.Recipe.Rule
	weight, weightGrid := rule.Weigh(head, s.Copies, s.Shape.Regression)
	pass := j.passOf(digest)
	pass.Spec.FitWithoutFirst = j.options.Calibrate == options.CalibrationPlatt
	if gramSpec := &pass.Spec; gramSpec.Components == 0 {
		gramSpec.Lambda, _ = spec.LambdaValues(t.spec.Lambda, weight)
		gramSpec.StartLambda = t.startLambda(nil)
		if t.spec.Lambda.Auto() {
			gramSpec.Smaller = ridge.SmallerLambdaOn(gramSpec.Steps, false)
		}
	}
	st := t.stateOf(pass)
	st.Sum, st.Reports = s.State.Sum, s.State.Reports
	t.Job.Progress.Notef("solving on %s rows: %s", report.Groups(p.Counts.Used),
		report.Bytes(t.stored.SolveMemory(s.Shape, p.Counts.Used, false, t.Job.Engine.Threads)))
	if err := t.solve(ctx, pass, st, "solving"); err != nil {
		return nil, err
	}
	f := &Fit{rowWeights: j.recipeWeights(weight, weightGrid)}
	fit, err := t.loadFit(ctx, st, max(s.Shape.Outputs, pass.Spec.Components), f)
	if err != nil {
		return nil, err
	}
	if fit.Rows != p.Counts.Used {
		return nil, fmt.Errorf("%d rows were used, %d were summed; the files changed during the job: start "+
			"again", p.Counts.Used, fit.Rows)
	}
	f.floor = fit.Floor
	f.Learner = models.Learner{Kind: j.options.Recipe.Learner, Lambda: fit.Lambda, Folds: rule.FoldPlan().NumValidationFolds(),
		Table: fit.Table, RuledOut: ruledOut(pass.Spec.Lambda, fit.Table), Steps: rule.Steps, Components: fit.Components,
		ClassWeights: gridWeights(weightGrid)}
	if pass.Spec.FitWithoutFirst {
		f.probabilities = &models.Probabilities{Kind: score.Platt, Rows: fit.FirstRows, Folds: rule.FoldPlan().AllFolds(),
			Curves: j.options.Recipe.Curves(t.classes(), fit.Discriminants), Weights: f.Learner.ClassWeights}
	}
	return f, nil
}

// Finish publishes a model that was fitted to sums, and describes it.
func (j *RecipeJob) Finish(ctx context.Context, f *Fit) (*results.Train, error) {
	if f.linear.K == 2 {
		j.Training.positive = j.options.Recipe.Profile.Positive
	}
	m := &Model{Training: j.Training, Fit: f, byRecipe: &j.options, lineage: j.Lineage}
	return m.finish(ctx)
}

// recipeWeights describes the weights of rows whose sums were fitted, nil if they have none. weight is the sum of
// their weights. Sums do not record everything; the rest comes from the recipe's rows.
func (j *RecipeJob) recipeWeights(weight float64, weightGrid *profile.WeightGrid) *models.RowWeights {
	r, was := &j.options.Recipe.Rule, j.options.Recipe.Profile.Rows.Weights
	if r.WeightColumn == "" || was == nil {
		return nil
	}
	n := j.Training.Prepared.Counts.Used
	w := &models.RowWeights{Column: r.WeightColumn, Weights: profile.Weights{
		Rows: n, Sum: max(weight, was.Max), Min: was.Min, Max: was.Max, Unit: was.Unit,
		Effective: float64(n) * was.Effective / float64(was.Rows),
	}}
	if !w.Equal() {
		w.Grid = weightGrid
	}
	return w
}
