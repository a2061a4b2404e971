package training

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/about"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/transforms"
)

// minSVMRounds is the number of rounds after which svm has moved away from initial weights.
const minSVMRounds = 2

// fitRounds fits the weights by an iterative learner. If there are several λ, or rows are held out for a
// calibration, it chooses the λ with the least error on held-out rows, and then learns from all rows.
func (t *Training) fitRounds(ctx context.Context, b byRounds) error {
	begun, shared := time.Now(), b.Common()
	lambda, folds := b.Values(t.opts, t.Weights().Sum)
	init, err := t.initialWeights(ctx, shared.Init)
	if err != nil {
		return err
	}
	o := job.RoundOptions{Stop: shared.Stop, Running: shared.Running, Needed: neededRounds(init, init)}
	surveyed, err := t.survey(ctx, b, folds)
	if err != nil {
		return err
	}
	if _, err := spec.Augmented(b.Augments(), t.Data.Schema, t.Recipe, t.opts.Seed); err != nil {
		return err
	}
	t.Progress.Note("training on %s of %s: %s, %d features; %s", report.Counted64(t.Counts.Used, "row"),
		report.Counted(t.Profile.Dim, "number"), t.Recipe.Name, t.Recipe.Dim,
		b.Summary(cmp.Or(shared.Loss, b.DefaultLoss(t.Target.Classes != nil))))
	t.Progress.Phase("training", 0)
	defer t.Progress.Done()
	// A joint learner (cg) that holds out rows continues below: like ridge, it finally learns from all rows.
	if len(lambda) == 1 && !t.opts.HoldsOut() && !(b.Joint() && folds > 0) {
		c, err := t.runRounds(ctx, b, lambda, folds, surveyed, init, o)
		if err == nil { // the fit has not used the first fold
			err = t.useWeightsWithout(ctx, t.linear, folds)
		}
		if err != nil {
			return err
		}
		return t.keepCertificate(ctx, c)
	}
	f := roundTrials{Training: t, b: b, lambda: lambda, folds: folds, surveyed: surveyed, init: init, start: init,
		options: o, limit: job.Limit{Begun: begun, Total: o.Time}}
	if err := f.compare(ctx); err != nil {
		return err
	}
	if err := t.useWeightsWithout(ctx, f.best.linear, folds); err != nil {
		return err
	}
	if err := f.finish(ctx); err != nil {
		return err
	}
	if err := t.keepCertificate(ctx, f.iteration); err != nil {
		return err
	}
	t.Learner.Folds, t.Learner.Log.Path = folds, f.path
	f.noteEdge()
	return nil
}

// useWeightsWithout fits probabilities, threshold and intervals to the first of folds, with weights that were
// fitted without it.
func (t *Training) useWeightsWithout(ctx context.Context, without *models.Linear, folds int) (err error) {
	calibrates, why := t.willCalibrate()
	t.noteProbabilities(why)
	conforms := t.opts.Intervals != spec.NoIntervals && (t.Target.Classes == nil || t.probabilities != nil)
	if folds == 0 || !calibrates && !conforms && !t.opts.HoldsOut() {
		return nil
	}
	held := scorer{file: storage.Join(t.Work.Dir, "held.safetensors")}
	if held.sum, err = transforms.StoreWeights(ctx, held.file, without); err != nil {
		return err
	}
	if calibrates && !t.opts.Calibrates() {
		if err := t.calibrate(ctx, held, folds); err != nil {
			return err
		}
	}
	return t.useHeldOut(ctx, held, folds)
}

// roundTrials compares values of λ by fits without the held-out rows.
type roundTrials struct {
	*Training
	b        byRounds
	lambda   []float64
	folds    int
	surveyed *surveyed
	init     *models.Linear // initial weights; nil for none
	start    *models.Linear // weights that the next fit starts from
	options  job.RoundOptions
	limit    job.Limit // time limit of all fits

	path      []models.Trial
	chosen    int            // position of the best trial in path
	best      Fitted         // fit of the best trial
	iteration *job.Iteration // rounds of the best trial
}

// compare fits each λ, or each group of λ that the learner fits together, until the time limit.
func (f *roundTrials) compare(ctx context.Context) error {
	groups := f.b.Groups(f.lambda)
	for i, group := range groups {
		end, left := f.options, true
		if end.Time, left = f.limit.Share(len(groups) - i + 1); !left && i > 0 {
			f.Notes = append(f.Notes, fmt.Sprintf("time limit %s reached: %s not tried", f.options.Time,
				lambdaList(f.lambda[i:])))
			return nil
		}
		end.Needed = neededRounds(f.start, f.init)
		f.Progress.Note("%s:", lambdaList(group))
		c, err := f.runRounds(ctx, f.b, group, f.folds, f.surveyed, f.start, end)
		if err != nil {
			return err
		}
		reports := []iterative.Report{c.Report()}
		if len(group) > 1 && (json.Unmarshal(reports[0].Detail, &reports) != nil || len(reports) != len(group)) {
			return exit.Refuse("pipelines: the rounds ended before %d values of lambda could be compared; allow more --rounds",
				len(group))
		}
		if f.b.Resumes() {
			f.start = f.linear
		}
		f.limit.Least = time.Duration(neededRounds(f.start, f.init)+1) * c.Each
		for j, r := range reports { // the stored weights belong to the best λ
			f.add(group[j], r, c)
		}
	}
	return nil
}

// add appends the report on a fit to the path, and keeps the fit if it is the best.
func (f *roundTrials) add(lambda float64, r iterative.Report, c *job.Iteration) {
	if len(f.path) == 0 || r.Better(f.path[f.chosen].HeldOut) {
		f.Learner.Lambda = lambda
		f.chosen, f.best, f.iteration = len(f.path), f.Fitted, c
	}
	f.path = append(f.path, models.Trial{
		Lambda: lambda, Rounds: c.Taken, Objective: r.Objective, HeldOut: r.HeldOut, HeldOutOf: f.Learner.Log.HeldOutOf,
	})
}

// finish learns from all rows with the chosen λ, or keeps the fit of the trial if no time is left.
func (f *roundTrials) finish(ctx context.Context) (err error) {
	end, left := f.options, true
	if end.Time, left = f.limit.Share(1); !left {
		f.Fitted = f.best
		f.Notes = append(f.Notes, fmt.Sprintf("time limit %s reached: the weights are those of the trial, which did not "+
			"use the held-out rows, %s", f.options.Time, report.OneIn(f.folds)))
		return nil
	}
	f.Progress.Note("lambda %g, on all rows:", f.lambda[f.chosen])
	end.Patience = 0
	if f.options.Patience > 0 {
		end.Rounds = max(1, f.path[f.chosen].Rounds)
		if f.start != nil {
			end.Rounds = max(minSVMRounds, end.Rounds)
		}
	}
	if f.start = f.init; f.b.Resumes() {
		f.start, end.Needed = f.best.linear, minSVMRounds
	}
	f.surveyed.rows, f.surveyed.weights = f.Counts.Used, f.Weights()
	f.iteration, err = f.runRounds(ctx, f.b, f.lambda[f.chosen:f.chosen+1], 0, f.surveyed, f.start, end)
	return err
}

// noteEdge adds a note if the chosen λ is the first or last value.
func (f *roundTrials) noteEdge() {
	switch {
	case len(f.lambda) == 1:
	case f.chosen == 0:
		f.Notes = append(f.Notes, fmt.Sprintf("%g is the largest lambda that was tried; a larger one may do better",
			f.lambda[f.chosen]))
	case f.chosen == len(f.lambda)-1 && len(f.path) == len(f.lambda):
		f.Notes = append(f.Notes, fmt.Sprintf("%g is the smallest lambda that was tried; a smaller one may do better",
			f.lambda[f.chosen]))
	}
}

func lambdaList(lambda []float64) string {
	var words []string
	for _, l := range lambda {
		words = append(words, fmt.Sprintf("%g", l))
	}
	return "lambda " + strings.Join(words, ", ")
}

// runRounds learns with a group of values of λ, and gives the model the weights of the best value.
func (t *Training) runRounds(ctx context.Context, b byRounds, group []float64, folds int, found *surveyed,
	init *models.Linear, end job.RoundOptions) (*job.Iteration, error) {
	lambda := group[0]
	problem, err := b.problem(t, found.rows, lambda)
	if err != nil {
		return nil, err
	}
	sealed, recorded, err := b.Sealed(problem, iterative.Setting{
		Seed: t.opts.Seed, Heaviest: found.weights.Max / found.weights.Mean(), Sample: found.sample, Path: group,
		Trial: folds > 0, SampleFile: found.file,
	})
	if err != nil {
		return nil, err
	}
	pass := t.LearnPass(sealed, folds, end.Partitions)
	if t.Profile.Weights != nil && !t.EqualWeights() {
		pass.MeanWeight = found.weights.Mean()
	}
	if pass.Augment, err = spec.Augmented(b.Augments(), t.Data.Schema, t.Recipe, t.opts.Seed); err != nil {
		return nil, err
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
	r := c.Report()
	if r.Objective-r.Objective != 0 {
		return nil, exit.Refuse("pipelines: after %d rounds the objective is %g: the weights diverge; try a larger lambda "+
			"or a smaller rate", r.Round, r.Objective)
	}
	t.linear = round.(iterative.Fitted).Model()
	t.Learner = models.Learner{Kind: b.Name(), Lambda: lambda, Folds: max(1, folds), Log: &models.TrainingLog{
		Loss: problem.Loss, Options: recorded, Partitions: end.Partitions, Rounds: c.Taken, Ended: c.Why,
		Rows: r.Rows, Objective: r.Objective, HeldOut: r.HeldOut,
		HeldOutOf: end.Compared(c.History, c.Taken),
	}}
	near, _ := Converged(r)
	t.Learner.Log.Optimality = models.Optimality{Dual: r.Dual, Above: r.Above, Residual: r.Residual, Converged: &near}
	if gap, known := r.Gap(); known {
		t.Learner.Log.Gap = &gap
	}
	t.history = c.History[:c.Taken+1]
	curve, err := json.MarshalIndent(t.history, "", " ")
	if err != nil {
		return nil, err
	}
	t.files = []storage.File{{Name: about.CurveFile, Data: append(curve, '\n')}}
	return c, nil
}

// initialWeights loads the weights of the model init and checks that it has the same features and classes. It
// returns nil if init is "".
func (t *Training) initialWeights(ctx context.Context, init string) (*models.Linear, error) {
	if init == "" {
		return nil, nil
	}
	dir, err := job.FindModel(ctx, init, t.Job.Opts.Log)
	if err != nil {
		return nil, err
	}
	m, err := models.LoadURI(ctx, dir)
	if err != nil {
		return nil, err
	}
	what := ""
	switch {
	case m.Manifest.Task != t.task():
		what = fmt.Sprintf("is for %s, the data for %s", m.Manifest.Task, t.task())
	case !m.Manifest.Recipe.Equal(t.Recipe.Sealed):
		what = "has different features; give the same --kernel, --features and --seed, and give --width and --scale as " +
			"numbers, because their defaults depend on the data"
	case t.Target.Classes != nil && !slices.Equal(m.Manifest.Vocabulary.Classes, t.Target.Classes.Classes):
		what = "has different classes"
	}
	if what != "" {
		return nil, exit.Usage("--init %s: the model %s", init, what)
	}
	if t.Target.Grid != nil {
		t.Target.Grid = m.Manifest.TargetGrid // the weights are in the units of this grid
	}
	_, name := storage.Split(strings.TrimRight(dir, "/"))
	t.init = &registry.Parent{Name: name, SHA256: m.Manifest.SHA256}
	return m.Linear, nil
}

// surveyed has the number of rows to learn from, and a sample of them.
type surveyed struct {
	rows    int64
	weights *profile.Weights // of those rows
	sample  iterative.Block  // the sample as features
	file    string           // name of the file with the sample, for a joint learner
}

// survey counts the rows outside the first fold, and maps a sample of them to features, as far as the learner
// needs it.
func (t *Training) survey(ctx context.Context, b byRounds, folds int) (*surveyed, error) {
	// Initial weights determine the scale of the targets.
	scales, samples, most := t.Target.Grid != nil && b.Common().Init == "", b.Samples(t.Recipe.Dim), 0
	if b.Joint() {
		most = max(samples, 1000) // targets are scaled by the spread in the sample, too
	}
	if folds == 0 && samples == 0 && !scales {
		return &surveyed{rows: t.Counts.Used, weights: t.Weights()}, nil
	}
	sum, err := t.SurveyRows(ctx, folds, most)
	if err != nil {
		return nil, err
	}
	s := &surveyed{weights: sum.Result().Weights}
	if s.weights == nil {
		s.weights = t.Weights()
	}
	if s.rows, err = t.LearnedFrom(sum, folds); err != nil {
		return nil, err
	}
	var from, to *linear.TargetGrid
	if scales {
		from, to = &t.Target.Grid[0], iterative.SampleSpread(sum, t.Target.Grid[0])
		t.Target.Grid = linear.Grids{*to}
	}
	if samples > 0 {
		s.sample, err = t.sampled(sum, from, to, samples)
	}
	if err == nil && b.Joint() {
		s.file, err = t.KeepSample(ctx, iterative.EncodeSample(s.sample))
		s.sample = iterative.Block{}
	}
	return s, err
}

// sample returns a sample of all rows with their labels.
func (t *Training) sample(ctx context.Context) (iterative.Block, error) {
	sum, err := t.SurveyRows(ctx, 0, 0)
	if err != nil {
		return iterative.Block{}, err
	}
	return t.sampled(sum, nil, nil, iterative.SampleRows(t.Recipe.Dim))
}

// sampled calls iterative.SampleFeatures with the feature map of the training run.
func (t *Training) sampled(sum *profile.Sum, from, to *linear.TargetGrid, most int) (iterative.Block, error) {
	recipe, err := t.Recipe.Sealed.Open()
	if err != nil {
		return iterative.Block{}, err
	}
	m, err := recipe.New()
	if err != nil {
		return iterative.Block{}, err
	}
	return iterative.SampleFeatures(sum, m, from, to, most), nil
}
