package training

import (
	"cmp"
	"context"
	"time"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/modelreport"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// Run trains a model: it opens and profiles the rows, finds the recipe, sums the features' second moments or runs
// rounds, chooses λ, solves, judges the model on held-out rows, and publishes the model directory, complete or not
// at all.
func Run(ctx context.Context, given options.Train) (result *results.Train, err error) {
	begun := time.Now()
	if given.Recipe != "" {
		return trainByRecipe(ctx, given)
	}
	o, err := spec.Options{Train: given}.Complete(ctx)
	if err != nil {
		return nil, err
	}
	t, err := Begin(ctx, o, o.Model, prepare.CheckLabeled)
	if err != nil {
		return nil, err
	}
	defer func() { err = t.Job.Close(ctx, err) }()
	t.begun = begun
	if err := t.resolve(); err != nil {
		return nil, err
	}
	m := &Model{Training: t}
	if m.Features, err = t.chooseFeatures(ctx); err != nil {
		return nil, err
	}
	if err := m.fitSize(ctx); err != nil {
		return nil, err
	}
	if result, err = m.finish(ctx); err != nil {
		return nil, err
	}
	if l := t.spec.Iterative(); l != nil && l.Common().Curve != "" {
		err = report.WritePicture(ctx, l.Common().Curve, modelreport.LearningCurve(m.Fit.iteration.Chosen()), 14, 10)
	}
	return result, exit.AfterPublish(t.spec.Model, err)
}

// Training is an open job that fits a model to rows: its data, their profile and recipe, and options. Its stages
// return their results: FeatureChoice, Fit and Model. They also replace the recipe, complete the grid of targets,
// and add notes.
type Training struct {
	*prepare.Session
	// spec holds all options, of which Options are a part. They are complete after resolve. A search, and the choice
	// of λ or of the size, change some.
	spec     spec.Options
	begun    time.Time
	positive string        // positive class of two; "" for other labels
	stored   *spec.Folding // folding of stored sums, with a given recipe; nil otherwise
	stripes  int           // number of stripes into which sums are split; set by Reserve
	measured int           // spec.Facts.Measured
}

// Begin begins a job that creates the directory out. It opens and profiles the data; check returns an error for
// data that the job cannot use. The caller closes the job.
func Begin(ctx context.Context, o spec.Options, out string, check func(*dataset.Dataset) error) (*Training, error) {
	if err := job.CheckOutput(ctx, o.Job, out); err != nil {
		return nil, err
	}
	d, err := prepare.OpenData(ctx, &o.Types, o.Data, o.Job.Log)
	if err != nil {
		return nil, err
	}
	if err := check(d); err != nil {
		return nil, err
	}
	if err := o.CheckTargets(d); err != nil {
		return nil, err
	}
	j, err := job.New(ctx, o.Job, out)
	if err != nil {
		return nil, err
	}
	t := &Training{Session: &prepare.Session{Job: j, Options: o.PrepareOptions(), Iterative: o.Iterative() != nil ||
		o.LearnsFeatures()}}
	j.LimitMemory(spec.ProfileMemory(d, j.Engine))
	if err := t.profile(ctx, o, d); err != nil {
		return nil, j.Close(ctx, err)
	}
	t.Notes = append(t.Notes, t.Prepared.Doubts...)
	return t, nil
}

// profile profiles the data, and encodes the labels.
func (t *Training) profile(ctx context.Context, o spec.Options, d *dataset.Dataset) (err error) {
	defer t.Job.Time("profile")()
	if t.Prepared, err = prepare.New(ctx, t.Job, d, o.PrepareOptions()); err != nil {
		return err
	}
	t.spec = o.WithFoldRule(t.Prepared.Rule)
	if t.spec.Searching() && tuning.PilotRows(1, t.Prepared.Profile.Dim) > 0 { // otherwise rows may be very long
		t.measured = tuning.Measured(t.Prepared.Sum, t.Prepared.Data.Schema.Table)
	}
	return t.EncodeLabels(ctx, t.spec.FoldCount())
}

// resolve sets options that depend on the rows, and the positive class. It returns an error if the options do not
// fit the rows.
func (t *Training) resolve() (err error) {
	p := t.Prepared
	t.spec = t.spec.WithSolver(p.Counts.Used, p.Recipe.Dim, p.Outputs(),
		p.Target.Classes == nil).WithPartitions(len(p.Data.Shards(job.ShardBytes)))
	t.Iterative = t.Iterative || t.spec.Iterative() != nil
	t.AddNotef("%s", prepare.TaskNote(t.spec.Task, p.Data, p.Profile.Labels))
	if err := t.spec.CheckLabels(len(t.classes()), p.Recipe.Dim); err != nil {
		return err
	}
	if err := t.checkClassWeights(); err != nil {
		return err
	}
	if t.positive, err = p.PositiveClass(t.spec.Positive); err != nil {
		return err
	}
	if _, err := t.givenThreshold(t.futureManifest()); err != nil {
		return err
	}
	if t.spec.Accept != nil {
		if err := t.spec.Accept(t.futureManifest()); err != nil {
			return err
		}
	}
	return cmp.Or(t.checkOrigin(), t.spec.CheckWeights(p.Profile.Weights))
}

// checkClassWeights returns an error if classes cannot have the weights that are given.
func (t *Training) checkClassWeights() (err error) {
	if b, ok := t.spec.Rounds(); ok {
		_, err = iterative.ClassWeights(b.Common().Weights, t.classes(), t.Prepared.ByClass())
	} else if l := t.spec.Ridge(); l != nil {
		_, err = t.weightGrid(l.Weights)
	}
	return spec.Usage(err)
}

// regression reports whether labels are targets.
func (t *Training) regression() bool {
	return t.Prepared.Target != nil && t.Prepared.Target.Grid != nil
}

// classes returns the names of the classes, nil without classes.
func (t *Training) classes() []string {
	if t.Prepared.Target == nil || t.Prepared.Target.Classes == nil {
		return nil
	}
	return t.Prepared.Target.Classes.Classes
}

// fit fits the weights with the features of the recipe.
func (t *Training) fit(ctx context.Context, f FeatureChoice) (*Fit, error) {
	if b, ok := t.spec.Rounds(); ok {
		return t.fitByRounds(ctx, b)
	}
	l := t.spec.Ridge()
	s, err := t.newSumsPlan(l.Grid, l.Weights, smallProducts, f)
	if err != nil {
		return nil, err
	}
	solved, err := s.fit(ctx)
	if err != nil {
		return nil, err
	}
	return solved.fit, nil
}

// Fit is a linear model, how it was fitted, and the rules that held-out rows gave.
type Fit struct {
	Learner    models.Learner
	linear     *linear.Model
	sketch     *models.Sketch     // leverage of rows, from a fit to sums; nil if unknown
	rowWeights *models.RowWeights // of the rows; nil if they have none
	outputRules
	Segments *models.Segments // nil if all rows have the same weights

	// Of a fit to sums:
	rule  *sums.Rule // how the rows were summed; nil with a given recipe
	floor float64    // λ to which rounding to the grid of the sums is equivalent
	// judgedByHalves is true if the table of Learner has the errors of probabilities; see calibrator.judgeProbabilities.
	judgedByHalves bool

	// Of a fit by rounds:
	iteration *job.Iteration
	files     []storage.File   // further files of the model directory
	init      *registry.Parent // model with the initial weights; nil if they start at zero
}

// outputRules holds the curves, threshold and intervals that turn scores into probabilities and classes.
type outputRules struct {
	probabilities *models.Probabilities
	threshold     *models.Threshold  // chosen by held-out rows; nil if it was not asked for
	intervals     *models.Intervals  // nil if no rows were held out to measure them
	shapes        []ridge.CurveShape // shapes of Platt curves, for later fits to sums
}

// Memory estimates the memory from the results of the profile pass. components is the number of components of an
// embedding, and otherwise 0.
func (t *Training) Memory(components int) results.Memory {
	return t.memoryWith(t.Prepared.Recipe, components)
}

// memoryWith is Memory with another recipe.
func (t *Training) memoryWith(r prepare.Recipe, components int) results.Memory {
	p := t.Prepared
	var nonzero int64
	for _, c := range p.Profile.Columns {
		nonzero += c.Nonzero
	}
	f := spec.Facts{
		Rows: p.Counts.Used, RowFacts: spec.RowFacts{Dim: p.Profile.Dim, Scaled: p.Profile.Dim, Measured: t.measured,
			Values: float64(nonzero) / float64(p.Counts.Used), Unnamed: !p.Data.Schema.Traits().Columns, Prepared: true,
			Patches: prepare.PatchNumbers(t.spec.Scale, p.Data.Schema)},
		Features: r.Dim, Outputs: 1, Components: components, Stored: t.stored,
		ReaderBytes: p.Data.Memory(), Weighted: p.Profile.Weights != nil && !p.EqualWeights(),
	}
	if s := r.Scaling; s != nil { // nil if the recipe was read from a model
		f.Scaled, f.Prepared = s.Dim, len(s.Steps) > 0
		f.Short, _ = features.ShortRow(s.Steps) // of valid steps
	}
	if table := p.Data.Schema.Table; table != nil {
		_, _, f.LevelCount = preprocess.ColumnBounds(table, t.spec.Encode, 1)
		f.SummedLevels = preprocess.SummedLevels(table, t.spec.Encode)
	}
	o := t.spec
	if components > 0 {
		o.Lambda = options.Lambda{Path: []float64{0}} // one sum, without targets
	} else {
		f.Outputs, f.Regression = p.Outputs(), t.regression()
	}
	return o.Memory(f, t.Job.Engine, max(1, min(t.Job.Engine.Readers, len(p.Shards))))
}

// Reserve prepares the job for passes and solves that take this memory. It returns an error if the machine cannot
// provide it, and notes in the log that it may not. It drops the sum of the profile, which only choices by the profile
// need, and the sample of the recipe unless the number of features is still to be chosen. It sets the number of
// stripes and the limit of the garbage collector.
func (t *Training) Reserve(m results.Memory) error {
	t.Prepared.Sum = nil
	t.stripes = m.Stripes
	if s := t.Prepared.Recipe.Scaling; s != nil && !t.spec.ChoosesSize() {
		s.Sample = nil
	}
	if note := m.ExceedsWorker(t.Job.Engine); note != "" {
		t.Job.Progress.Notef("%s", note)
	}
	if !t.Job.Engine.InProcess() {
		return nil
	}
	note, err := t.spec.CheckMachine(m)
	if note != "" {
		t.Job.Progress.Notef("%s", note)
	}
	if err != nil {
		return err
	}
	t.Job.LimitMemory(m.PeakBytes)
	return nil
}
