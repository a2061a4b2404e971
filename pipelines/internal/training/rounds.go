package training

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/loss"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/modelreport"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/learn"
)

// minRoundsFromTrial is the number of rounds after which a fit has moved away from the weights of a trial.
const minRoundsFromTrial = 2

// roundFit is a fit by an iterative learner before it begins.
type roundFit struct {
	training     *Training
	learner      spec.ByRounds
	lambda       []float64     // values to try
	folds        int           // the first is held out while values are compared; 0 if no rows are held out
	init         *linear.Model // initial weights; nil means zeros
	options      job.RoundOptions
	augment      *learn.Augment // of images; nil means that they stay as they are
	classWeights []float64      // in the loss; nil if all are 1
	// Set by survey:
	rows       int64            // to learn from
	weights    *profile.Weights // of those rows
	sample     iterative.Block  // a sample of them as features
	sampleFile string           // name of the file with the sample, for a joint learner
}

// fitByRounds fits the weights by an iterative learner. If there are several λ, or rows are held out for a
// calibration, it chooses the λ with the least error on held-out rows, and then learns from all rows.
func (t *Training) fitByRounds(ctx context.Context, l spec.ByRounds) (_ *Fit, err error) {
	p := t.Prepared
	begun, shared := time.Now(), l.Common()
	r := &roundFit{training: t, learner: l}
	if p.Target.Classes != nil {
		if r.classWeights, err = iterative.ClassWeights(shared.Weights, t.classes(), p.ByClass()); err != nil {
			return nil, spec.Usage(err)
		}
	}
	r.lambda, r.folds = l.Values(t.spec, p.Weights().Sum)
	var parent *registry.Parent
	if r.init, parent, err = r.startFromModel(ctx, shared.Init); err != nil {
		return nil, err
	}
	r.options = job.RoundOptions{Stop: shared.Stop, Running: shared.Running, Needed: r.minRounds(r.init)}
	if err = r.survey(ctx); err != nil {
		return nil, err
	}
	if r.augment, err = spec.Augmented(l.Augments(), p.Data.Schema, p.Recipe, t.spec.Seed); err != nil {
		return nil, err
	}
	t.Job.Progress.Notef("training on %s of %s: %s, %d features; %s", report.Counted64(p.Counts.Used, "row"),
		report.Counted(p.Profile.Dim, "number"), p.Recipe.Name, p.Recipe.Dim,
		l.Summary(cmp.Or(shared.Loss, l.DefaultLoss(p.Target.Classes != nil))))
	t.Job.Progress.Phase("training", 0)
	defer t.Job.Progress.Done()
	fit, err := r.fit(ctx, begun)
	if err != nil {
		return nil, err
	}
	fit.iteration.State = nil // only its certificate needs it
	fit.init = parent
	t.AddNotef("%s", unconverged(fit.Learner.Log, fit.iteration.Chosen()))
	return fit, nil
}

// fit compares the values of λ, if there is something to compare, fits the weights, and decides by the
// first fold how scores become probabilities and classes.
func (r *roundFit) fit(ctx context.Context, begun time.Time) (*Fit, error) {
	// A joint learner (cg) that holds out rows continues below: like ridge, it finally learns from all rows.
	if len(r.lambda) == 1 && !r.training.spec.FitsWithoutFirst() && !(r.learner.Joint() && r.folds > 0) {
		fit, err := r.run(ctx, r.lambda, r.folds, r.init, r.options)
		if err != nil {
			return nil, err
		}
		// The fit has not used the first fold.
		if fit.outputRules, err = r.fitOutputRules(ctx, fit.linear); err != nil {
			return nil, err
		}
		return fit, r.keepCertificate(ctx, fit)
	}
	c := &lambdaTrials{roundFit: r, start: r.init, limit: job.Limit{Begun: begun, Total: r.options.Time}}
	if err := c.compare(ctx); err != nil {
		return nil, err
	}
	rules, err := r.fitOutputRules(ctx, c.best.linear)
	if err != nil {
		return nil, err
	}
	fit, err := c.finish(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.keepCertificate(ctx, fit); err != nil {
		return nil, err
	}
	fit.outputRules = rules
	fit.Learner.Folds, fit.Learner.Log.Path = r.folds, c.path
	c.noteEdge()
	return fit, nil
}

// fitOutputRules fits probabilities, threshold and intervals to the first fold, with weights that were fitted
// without it.
func (r *roundFit) fitOutputRules(ctx context.Context, without *linear.Model) (outputRules, error) {
	t := r.training
	c := &calibrator{training: t, fit: &Fit{}, folds: r.folds, classWeights: r.classWeights}
	c.fit.probabilities = t.lossProbabilities()
	if c.fit.probabilities != nil {
		c.fit.probabilities.Weights = r.classWeights
	}
	calibrates, why := t.willCalibrate()
	t.noteProbabilities(why)
	conforms := t.spec.Intervals != options.IntervalsNone && (t.Prepared.Target.Classes == nil || c.fit.probabilities != nil)
	if r.folds == 0 || !calibrates && !conforms && !t.spec.FitsWithoutFirst() {
		return c.fit.outputRules, nil
	}
	name := storage.Join(t.Job.Work.Dir, "held.safetensors")
	sum, err := transforms.StoreWeights(ctx, name, without)
	if err != nil {
		return outputRules{}, err
	}
	held := weightsFile{name, sum}
	if calibrates && !t.spec.CalibrationRequested() {
		if err := c.calibrate(ctx, held); err != nil {
			return outputRules{}, err
		}
	}
	err = c.fitOutputRules(ctx, held)
	return c.fit.outputRules, err
}

// lossProbabilities returns how the loss of an iterative learner makes probabilities of scores, nil if it does not.
func (t *Training) lossProbabilities() *models.Probabilities {
	if kind := t.spec.LossProbabilities(); t.Prepared.Target.Classes != nil && kind != "" {
		return &models.Probabilities{Kind: kind}
	}
	return nil
}

// minRounds returns the least number of rounds from the weights start, also beyond the time limit. Weights of zero
// (nil) need one, and the weights of a trial, which were fitted with another λ, minRoundsFromTrial. The initial
// weights of the user need none: they are a model that can be used as it is.
func (r *roundFit) minRounds(start *linear.Model) int {
	switch start {
	case nil:
		return 1
	case r.init:
		return 0
	}
	return minRoundsFromTrial
}

// run learns with a group of values of λ from the weights init, which may be nil, and returns the fit with the best
// value. It holds out the first fold.
func (r *roundFit) run(ctx context.Context, group []float64, folds int, init *linear.Model,
	end job.RoundOptions) (*Fit, error) {
	t := r.training
	problem, err := r.problem(group[0])
	if err != nil {
		return nil, err
	}
	sealed, recorded, err := r.learner.Sealed(problem, iterative.Setting{
		Seed: t.spec.Seed, Heaviest: r.weights.Max / r.weights.Mean(), Sample: r.sample, Path: group, Trial: folds > 0,
		SampleFile: r.sampleFile,
	})
	if err != nil {
		return nil, err
	}
	pass := t.LearnPass(sealed, folds, end.Partitions)
	pass.Augment = r.augment
	if t.Prepared.Profile.Weights != nil && !t.Prepared.EqualWeights() {
		pass.MeanWeight = r.weights.Mean()
	}
	opened, err := sealed.Open(ctx)
	if err != nil {
		return nil, &exit.UsageError{Err: err}
	}
	first, err := opened.Start(init)
	if err != nil {
		return nil, &exit.UsageError{Err: err}
	}
	c, err := t.Job.Rounds(ctx, pass, first, end)
	if err != nil {
		return nil, err
	}
	round, err := opened.Open(c.State)
	if err != nil {
		return nil, err
	}
	if last := c.Report(); !exact.Finite(last.Objective) {
		return nil, exit.Dataf("after %d rounds the objective is %g: the weights diverge; try a larger lambda "+
			"or a smaller rate", last.Round, last.Objective)
	}
	log := trainingLog(c, end)
	log.Loss, log.Options = problem.Loss, recorded
	curve, err := json.MarshalIndent(c.Chosen(), "", " ")
	return &Fit{
		Learner: models.Learner{Kind: r.learner.Name(), Lambda: group[0], Folds: max(1, folds), Log: log},
		linear:  round.(iterative.LinearRound).Model(), iteration: c, rowWeights: t.rowWeights(nil),
		files: []storage.File{{Name: modelreport.CurveFile, Data: append(curve, '\n')}},
	}, err
}

// problem returns the optimisation problem for the surveyed rows.
func (r *roundFit) problem(lambda float64) (loss.Problem, error) {
	t := r.training
	var counts []float64
	classes := t.classes()
	if classes != nil {
		counts = t.Prepared.ByClass()
	}
	p, err := r.learner.Common().Problem(loss.Problem{Dim: t.Prepared.Recipe.Dim, Rows: r.rows, Lambda: lambda},
		r.learner.DefaultLoss(classes != nil), classes, counts)
	return p, spec.Usage(err)
}

// trainingLog describes the rounds in a manifest, except for the loss and the options of the learner.
func trainingLog(c *job.Iteration, end job.RoundOptions) *models.TrainingLog {
	r := c.Report()
	near, _ := converged(r)
	log := &models.TrainingLog{Partitions: end.Partitions, Rounds: c.Taken, Ended: c.Ended, Rows: r.Rows,
		Objective: r.Objective, HeldOut: r.HeldOut, HeldOutOf: end.Compared(c.History, c.Taken),
		Optimality: models.Optimality{Dual: r.Dual, Above: r.Above, Residual: r.Residual, Converged: &near}}
	if gap, known := r.Gap(); known {
		log.Gap = &gap
	}
	return log
}

// startFromModel loads the weights of the model init, and checks that it has the same features and classes. It
// replaces the grid of targets by the model's, whose units the weights have. It returns nil if init is "".
func (r *roundFit) startFromModel(ctx context.Context, init string) (*linear.Model, *registry.Parent, error) {
	t := r.training
	p := t.Prepared
	if init == "" {
		return nil, nil, nil
	}
	dir, err := job.FindModel(ctx, init, t.Job.Options.Log)
	if err != nil {
		return nil, nil, err
	}
	m, err := models.LoadURI(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	what := ""
	switch {
	case m.Manifest.Task != t.task():
		what = fmt.Sprintf("is for %s, the data for %s", m.Manifest.Task, t.task())
	case !m.Manifest.Recipe.Equal(p.Recipe.Sealed):
		what = "has different features; give the same --kernel, --features and --seed, and give --width and --scale as " +
			"numbers, because their defaults depend on the data"
	case p.Target.Classes != nil && !slices.Equal(m.Manifest.Vocabulary.Classes, t.classes()):
		what = "has different classes"
	}
	if what != "" {
		return nil, nil, exit.Usagef("--init %s: the model %s", init, what)
	}
	if p.Target.Grid != nil {
		p.Target.Grid = m.Manifest.TargetGrid
	}
	_, name := storage.Split(strings.TrimRight(dir, "/"))
	return m.Linear, &registry.Parent{Name: name, SHA256: m.Manifest.SHA256}, nil
}

// lambdaTrials compares values of λ by fits without the held-out rows.
type lambdaTrials struct {
	*roundFit
	start  *linear.Model // weights that the next fit starts from
	limit  job.Limit     // time limit of all fits
	path   []models.LambdaTrial
	chosen int  // position of the best trial in path
	best   *Fit // of the best trial
}

// compare fits each λ, or each group of λ that the learner fits together, until the time limit.
func (t *lambdaTrials) compare(ctx context.Context) error {
	groups := t.learner.Groups(t.lambda)
	for i, group := range groups {
		limit, left := t.limit.Share(len(groups) - i + 1)
		if !left && i > 0 {
			t.training.AddNotef("time limit %s reached: lambda %s not tried", t.options.Time, report.Numbers(t.lambda[i:]))
			return nil
		}
		end := t.options
		end.Time, end.Needed = limit, t.minRounds(t.start)
		t.training.Job.Progress.Notef("lambda %s:", report.Numbers(group))
		fit, err := t.run(ctx, group, t.folds, t.start, end)
		if err != nil {
			return err
		}
		reports := []iterative.Report{fit.iteration.Report()}
		if len(group) > 1 && (json.Unmarshal(reports[0].Detail, &reports) != nil || len(reports) != len(group)) {
			return exit.Dataf("the rounds ended before %d values of lambda could be compared; allow more --rounds",
				len(group))
		}
		if t.anyStart() {
			t.start = fit.linear
		}
		t.limit.Least = time.Duration(t.minRounds(t.start)+1) * fit.iteration.MeanTime
		for j, r := range reports { // the stored weights belong to the best λ
			t.add(group[j], r, fit)
		}
	}
	return nil
}

// anyStart reports whether the fit for one λ may start from the weights for another.
func (t *lambdaTrials) anyStart() bool {
	return t.learner.Needs(iterative.Size{Features: t.training.Prepared.Recipe.Dim}).AnyStart
}

// add appends the report on a fit to the path, and keeps the fit if it is the best.
func (t *lambdaTrials) add(lambda float64, r iterative.Report, fit *Fit) {
	if len(t.path) == 0 || r.Better(t.path[t.chosen].HeldOut) {
		fit.Learner.Lambda = lambda
		t.chosen, t.best = len(t.path), fit
	}
	t.path = append(t.path, models.LambdaTrial{Lambda: lambda, Rounds: fit.iteration.Taken, Objective: r.Objective,
		HeldOut: r.HeldOut, HeldOutOf: fit.Learner.Log.HeldOutOf})
}

// finish learns from all rows with the chosen λ, or keeps the fit of the trial if no time is left.
func (t *lambdaTrials) finish(ctx context.Context) (*Fit, error) {
	limit, left := t.limit.Share(1)
	if !left {
		t.training.AddNotef("time limit %s reached: the weights are from the trial, which did not use the held-out "+
			"rows, %s", t.options.Time, report.OneIn(t.folds))
		return t.best, nil
	}
	t.training.Job.Progress.Notef("lambda %g, on all rows:", t.lambda[t.chosen])
	end := t.options
	end.Time, end.Patience = limit, 0
	if t.options.Patience > 0 {
		end.Rounds = max(1, t.path[t.chosen].Rounds)
		if t.start != nil {
			end.Rounds = max(minRoundsFromTrial, end.Rounds)
		}
	}
	t.start = t.init
	if t.anyStart() {
		t.start = t.best.linear
		end.Needed = minRoundsFromTrial
	}
	p := t.training.Prepared
	t.rows, t.weights = p.Counts.Used, p.Weights() // the sample stays
	return t.run(ctx, t.lambda[t.chosen:t.chosen+1], 0, t.start, end)
}

// noteEdge adds a note if the chosen λ is the first or last value.
func (t *lambdaTrials) noteEdge() {
	switch {
	case len(t.lambda) == 1: // no other was tried
	case t.chosen == 0:
		t.training.AddNotef("%g is the largest lambda that was tried; a larger one may do better", t.lambda[t.chosen])
	case t.chosen == len(t.lambda)-1 && len(t.path) == len(t.lambda):
		t.training.AddNotef("%g is the smallest lambda that was tried; a smaller one may do better", t.lambda[t.chosen])
	}
}

// Names of the files of a certificate in a model directory.
const (
	StateFile = "state.safetensors"
	DualFile  = "dual-%05d.safetensors" // one per partition
)

// maxStored is the largest size of a stored certificate in bytes. Larger models have their gap in the manifest,
// but cannot be verified.
const maxStored = 256 << 20

// keepCertificate adds the chosen state and its dual variables to the model directory, unless they are too
// large.
func (r *roundFit) keepCertificate(ctx context.Context, f *Fit) error {
	c := f.iteration
	if f.Learner.Log.Gap == nil {
		return nil
	}
	kept := []storage.File{{Name: StateFile, Data: c.State}}
	size := len(c.State)
	for p := range f.Learner.Log.Partitions {
		var carried []byte // nil before the first round: dual variables are 0
		if c.Taken > 0 {
			var err error
			name := learn.CarriedFile(c.Pass, c.Taken-1, p)
			if carried, err = storage.ReadState(ctx, name, transforms.MaxState); err != nil {
				return err
			}
		}
		size += len(carried)
		if size > maxStored {
			r.training.AddNotef("the dual variables take more than %s and are not stored: bochner verify cannot verify "+
				"this model", report.Bytes(maxStored))
			return nil
		}
		kept = append(kept, storage.File{Name: fmt.Sprintf(DualFile, p), Data: carried})
	}
	f.files = append(f.files, kept...)
	return nil
}

// survey counts the rows outside the first fold, and maps a sample of them to features, as far as the learner
// needs it.
func (r *roundFit) survey(ctx context.Context) error {
	t := r.training
	p := t.Prepared
	l, folds := r.learner, r.folds
	scalesTargets := p.Target.Grid != nil && l.Common().Init == "" // otherwise initial weights determine the scale
	samples := l.Needs(iterative.Size{Features: p.Recipe.Dim}).Sample
	if folds == 0 && samples == 0 && !scalesTargets {
		r.rows, r.weights = p.Counts.Used, p.Weights()
		return nil
	}
	sampleRows := 0
	if l.Joint() {
		sampleRows = max(samples, 1000) // targets are scaled by the spread in the sample, too
	}
	sum, err := t.SurveyRows(ctx, folds, sampleRows)
	if err != nil {
		return err
	}
	r.weights = cmp.Or(sum.Result().Weights, p.Weights())
	if r.rows, err = t.LearnedFrom(sum, folds); err != nil {
		return err
	}
	var from, to *linear.TargetGrid
	if scalesTargets {
		from = &p.Target.Grid[0]
		to = iterative.SampleGrid(sum, *from)
		p.Target.Grid = linear.Grids{*to}
	}
	if samples > 0 {
		if r.sample, err = t.sampled(sum, from, to, samples); err != nil {
			return err
		}
	}
	if l.Joint() {
		r.sampleFile, err = t.KeepSample(ctx, iterative.EncodeSample(r.sample))
		r.sample = iterative.Block{}
	}
	return err
}

// sampled calls iterative.SampleFeatures with the feature map of the training run.
func (t *Training) sampled(sum *profile.Sum, from, to *linear.TargetGrid, rows int) (iterative.Block, error) {
	recipe, err := t.Prepared.Recipe.Sealed.Open()
	if err != nil {
		return iterative.Block{}, err
	}
	m, err := recipe.New()
	if err != nil {
		return iterative.Block{}, err
	}
	return iterative.SampleFeatures(sum, m, from, to, rows), nil
}
