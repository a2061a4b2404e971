// Package evaluate has four jobs that judge models and features. Evaluate scores a model on labelled data and
// checks gates (Gates). CompareModels compares two models on the same rows. Verify checks the certificate of an
// svm model. CompareKernel measures how well features approximate their kernel (after Daniely, Frostig, Gupta
// and Singer, "Random Features for Compositional Kernels", 2017, Fig. 3).
package evaluate

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/paired"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/apply"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/scoring"
	"github.com/bochner-ml/bochner/transforms/survey"
)

// Evaluate applies a model to labelled data and scores its predictions. If a gate is not passed, the error is
// an *exit.GateError and the result is complete.
func Evaluate(ctx context.Context, o options.Evaluate) (result *results.Evaluate, err error) {
	g, err := ParseGates(o.Gate)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(prepare.CheckFraction(o.MaxBadFraction), report.CheckPicture(o.ReliabilityPlot),
		report.CheckPage(o.Report)); err != nil {
		return nil, err
	}
	e, err := openEvaluation(ctx, o, g)
	if err != nil {
		return nil, err
	}
	j, err := job.NewScratch(ctx, o.Job)
	if err != nil {
		return nil, err
	}
	defer func() { err = j.Close(ctx, err) }()
	if result, err = e.run(ctx, j); err != nil {
		return nil, err
	}
	err = g.checkResult(result)
	if o.ReliabilityPlot != "" {
		drawn := report.WritePicture(ctx, o.ReliabilityPlot, ReliabilityDiagram(result.Probabilities), 14, 12)
		err = errors.Join(err, exit.AfterPublish("", drawn))
	}
	return result, err
}

// evaluation scores the predictions of a model for labelled rows.
type evaluation struct {
	openedModel
	options   options.Evaluate
	threshold *models.Threshold // nil: the model's own is used
	slices    []scoring.Slice
}

// openEvaluation opens the model and the data, with the columns that group and slice its rows.
func openEvaluation(ctx context.Context, o options.Evaluate, g Gates) (e *evaluation, err error) {
	e = &evaluation{}
	if e.manifest, e.data, err = openModel(ctx, &o.Model, &o.Data, o.Job); err != nil {
		return nil, err
	}
	e.name, e.options = o.Model, o
	scoring.WithMissing(e.manifest, e.data)
	if e.threshold, err = thresholdFor(o, e.manifest, e.data, g); err != nil {
		return nil, err
	}
	groups := groupsOf(o.Group, o.Job.Log, e.data, e.manifest)
	if e.slices, err = e.openColumns(ctx, groups, o.Slices, o.Data); err != nil {
		return nil, err
	}
	dir, err := storage.Abs(o.Model)
	e.Model = scoring.Model{Dir: dir, SHA256: e.manifest.SHA256, Threshold: e.threshold}
	return e, err
}

// run reads the rows and scores the predictions for them.
func (e *evaluation) run(ctx context.Context, j *job.Job) (*results.Evaluate, error) {
	o, d := e.options, e.data
	pass := &scoring.Score{
		Pass: transforms.Pass{Data: *d, Shards: job.Shards(j.Options, d), Mode: prepare.Mode(o.MaxBadFraction),
			Target: &transforms.Labeling{}},
		Model: e.Model, Classifies: e.manifest.Task == models.Classification, Slices: e.slices,
	}
	if o.Report != "" {
		pass.Worst = worstRows
	}
	weights, err := weigh(ctx, j, d, pass.Pass, e.manifest.Task)
	if err != nil {
		return nil, err
	}
	pass.Grid = profile.NewScoringGrid(weights)
	if pass.Grid == nil {
		pass.EqualWeights = d.Weighted
	}
	j.Progress.Phase("evaluating", 0)
	var scores scoring.Scores
	reports, err := j.ScanSum(ctx, pass, "score", &scores)
	if err != nil {
		return nil, err
	}
	j.Progress.Done()
	result := &results.Evaluate{Model: e.name, Threshold: apply.Decision(e.threshold, e.manifest), Gate: o.Gate}
	if d.Weighted {
		result.Weights = &models.RowWeights{Column: o.Data.Weight, Weights: *weights}
	}
	if err := e.count(ctx, j, result, reports); err != nil {
		return nil, err
	}
	if err := addScores(result, pass, scores, e.manifest, weights.Effective); err != nil {
		return nil, err
	}
	if o.Report != "" {
		keepForReport(result, scores)
	}
	return result, nil
}

// thresholdFor returns the threshold that was given, if any. It returns an error if the options cannot be used with the
// model or the data.
func thresholdFor(o options.Evaluate, m *models.Manifest, d *dataset.Dataset, g Gates) (*models.Threshold, error) {
	if m.Task == models.Embedding {
		return nil, exit.Usagef("%s is an embedding, which predicts no labels, so it cannot be evaluated", o.Model)
	}
	if o.ReliabilityPlot != "" {
		if err := apply.NeedProbabilities("reliability", o.Model, m); err != nil {
			return nil, err
		}
	}
	threshold, err := apply.ThresholdOf(o.Threshold, o.Model, m)
	if err != nil {
		return nil, err
	}
	return threshold, cmp.Or(prepare.CheckLabeled(d), g.CheckModel(m))
}

// count adds the counts of the rows, their groups, and the number of them that are training rows.
func (e *evaluation) count(ctx context.Context, j *job.Job, r *results.Evaluate, reports []dataset.Report) (err error) {
	d := e.data
	if r.Rows, err = job.Count(d, reports, e.options.MaxBadFraction); err != nil {
		return err
	}
	r.SetAside = r.Rows.Listed
	if d.Key != nil {
		r.Groups = d.Key.Columns
	}
	if d.TestSplit != nil && d.TestSplit.Test { // the rows were held out of the training data
		return nil
	}
	r.TrainingRows, err = e.trainingRows(ctx, j, r.Rows.Used, reports)
	return err
}

// addScores adds the scores of classes or targets. effective is the effective number of weighted rows.
func addScores(r *results.Evaluate, pass *scoring.Score, scores scoring.Scores, m *models.Manifest,
	effective float64) error {
	var coverage []score.Coverage
	var counted []score.Slices
	if c := scores.Classes; c != nil {
		if err := addClasses(r, c, m, effective); err != nil {
			return err
		}
		coverage, counted = c.Coverage, c.Slices
	} else {
		addTargets(r, scores.Targets, m, pass.Grid != nil, effective)
		coverage, counted = scores.Targets.Coverage, scores.Targets.Slices
	}
	if pass.Grid == nil {
		effective = float64(r.Rows.Used)
	}
	addIntervals(r, coverage, m, effective)
	r.Slices = sliceReports(pass.Slices, counted, m)
	return nil
}

// Limits of a report.
const (
	worstRows   = 20
	curvePoints = 150 // points of a curve
)

// keepForReport sets the fields that only a report shows.
func keepForReport(r *results.Evaluate, scores scoring.Scores) {
	if scores.Classes == nil {
		r.WorstRows = scores.Targets.Worst.Rows()
		return
	}
	r.WorstRows = scores.Classes.Worst.Rows()
	r.Curves = scores.Classes.Ranking.Curves(curvePoints)
	if len(r.Curves) > 1 { // keep the classes that are hardest to predict
		slices.SortStableFunc(r.Curves, func(a, b score.Curve) int { return cmp.Compare(a.Area, b.Area) })
	}
}

// addClasses adds the scores of a classifier. effective is the number of independent rows with the same
// precision.
func addClasses(r *results.Evaluate, scored *scoring.ClassScores, m *models.Manifest, effective float64) error {
	names, counted := m.Vocabulary.Classes, scored.Weighted
	if counted == nil {
		counted, effective = &scored.Hits, float64(r.Rows.Used)
	}
	if scored.Groups != nil {
		wrong := counted.Report(names).Error
		effective = min(effective, scored.Groups[0].EffectiveRows(paired.Error, wrong*(1-wrong)))
		r.Independent = effective
	}
	hits := scored.Hits.WeightedReport(names, counted, effective)
	hits.Ranking = scored.Ranking.Report(names, effective)
	r.Classes = &hits
	r.UnseenLabels, r.UnseenHint = unseenLabels(&scored.Unseen), labelHint(&scored.Unseen, hits.Classes)
	if hits.Unseen > 0 && hits.Unseen == hits.Rows {
		return exit.Dataf("none of the %s rows has a label that is a class of the model %s: labels are %s; its "+
			"classes are %s%s",
			report.Groups(hits.Rows), r.Model, results.UnseenText(r.UnseenLabels), report.SomeOf(names), report.Prefixed("; ", r.UnseenHint))
	}
	if scored.Probabilities != nil {
		tests := scored.Probabilities.Report(effective / float64(max(1, counted.Rows())))
		r.Probabilities = &results.ProbabilityReport{ReliabilityReport: tests, NotFinite: hits.Rows - tests.Rows}
	}
	return nil
}

// openModel resolves the alias of a model, and opens the model and data for it, with the column of weights that
// it was trained with.
func openModel(ctx context.Context, model *string, data *dataset.Options,
	j options.Job) (_ *models.Manifest, _ *dataset.Dataset, err error) {
	if *model, err = job.FindModel(ctx, *model, j.Log); err != nil {
		return nil, nil, err
	}
	if err := job.Validate(j, *data, "", job.Dir{Flag: "model", Name: *model}); err != nil {
		return nil, nil, err
	}
	if *data, err = apply.WithWeights(ctx, *model, *data); err != nil {
		return nil, nil, err
	}
	return apply.OpenForModel(ctx, *model, *data, j.Log)
}

// addTargets adds the scores of a regression. weighted is true if rows were counted by their weights; effective
// is then their effective number.
func addTargets(r *results.Evaluate, scored *scoring.TargetScores, m *models.Manifest, weighted bool,
	effective float64) {
	names := (&models.Model{Manifest: m}).Outputs()
	for c := range scored.Targets {
		one, grid := scored.Targets[c].Report(), m.TargetGrid[c]
		rows := float64(one.Rows)
		if weighted {
			rows = effective
		}
		if scored.Groups != nil {
			variance := scored.Targets[c].SquareVariance(&one)
			rows = min(rows, scored.Groups[c].EffectiveRows(paired.MSE, variance))
			if c == 0 {
				r.Independent = rows
			}
		}
		scored.Targets[c].SetIntervals(&one, rows)
		one.OutOfRange = scored.OutOfRange[c].Unscaled(grid.Low, grid.High)
		if len(scored.Targets) == 1 {
			r.Targets = &one
			return
		}
		r.ByTarget = append(r.ByTarget, results.TargetReport{Target: names[c], TargetReport: one})
	}
	mean := 0.0
	for i := range r.ByTarget {
		if r.ByTarget[i].R2 == nil {
			return
		}
		mean += *r.ByTarget[i].R2 / float64(len(r.ByTarget))
	}
	r.MeanR2 = &mean
}

// forTarget returns the result for one of several targets.
func forTarget(r *results.Evaluate, target int) *results.Evaluate {
	one := *r
	one.Targets, one.ByTarget, one.MeanR2 = &r.ByTarget[target].TargetReport, nil, nil
	return &one
}

// weigh returns the weights of the rows that the pass p will score. It runs a pass unless rows have no weights.
func weigh(ctx context.Context, j *job.Job, d *dataset.Dataset, p transforms.Pass,
	task models.Task) (*profile.Weights, error) {
	if !d.Weighted {
		return profile.UnitWeights(1), nil
	}
	j.Progress.Phase("reading weights", 0)
	defer j.Progress.Done()
	if task == models.Classification {
		p.Target = nil // labels that the model does not know are scored, too
	}
	var sum profile.WeightSum
	if _, err := j.ScanSum(ctx, &survey.Weights{Pass: p}, "weigh", &sum); err != nil {
		return nil, err
	}
	if w := sum.Result(); w != nil {
		return w, nil
	}
	return profile.UnitWeights(1), nil // no row can be used; the next pass reports that
}
