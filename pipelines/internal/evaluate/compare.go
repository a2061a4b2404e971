package evaluate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/paired"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/apply"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/scoring"
)

// CompareModels applies two models to the same labelled rows and compares their predictions. If the gate is not
// passed, the error is an *exit.GateError and the result is complete.
func CompareModels(ctx context.Context, o options.CompareModels) (result *results.CompareModels, err error) {
	if err := checkComparison(ctx, &o); err != nil {
		return nil, err
	}
	p, err := openPair(ctx, o)
	if err != nil {
		return nil, err
	}
	conditions, err := FitConditions("gate", o.Gate, p.champion.manifest, p.challenger.manifest)
	if err != nil {
		return nil, err
	}
	j, err := job.NewScratch(ctx, o.Job)
	if err != nil {
		return nil, err
	}
	defer func() { err = j.Close(ctx, err) }()
	result, sum, err := p.run(ctx, j, o)
	if err != nil {
		return nil, err
	}
	var failed []string
	for _, c := range conditions {
		v := sum.Decide(c, p.unit)
		result.Gate = append(result.Gate, v)
		if !v.Holds {
			failed = append(failed, fmt.Sprintf("%s: %s", v.Condition, v.Why))
		}
	}
	return result, exit.NotPassed(failed)
}

// run reads the rows and compares the predictions for them.
func (p *pair) run(ctx context.Context, j *job.Job, o options.CompareModels) (*results.CompareModels,
	*scoring.Compared, error) {
	pass := &scoring.Compare{
		Pass: transforms.Pass{Data: *p.champion.data, Shards: job.Shards(j.Options, p.champion.data), Mode: dataset.KeepPlace,
			Target: &transforms.Labeling{}},
		Champion: p.champion.Model, Challenger: p.challenger.Model, Other: p.other, Metrics: p.metrics, Unit: p.unit,
		Slices: p.slices,
	}
	weights, err := weigh(ctx, j, p.champion.data, pass.Pass, p.champion.manifest.Task)
	if err != nil {
		return nil, nil, err
	}
	pass.Grid = profile.NewScoringGrid(weights)
	j.Progress.Phase("comparing", 0)
	var sum scoring.Compared
	reports, err := j.ScanSum(ctx, pass, "compare", &sum)
	if err != nil {
		return nil, nil, err
	}
	j.Progress.Done()
	result := &results.CompareModels{
		Champion: p.champion.summary(o.Champion), Challenger: p.challenger.summary(o.Challenger),
		NotFinite: sum.NotFinite(), Comparisons: sum.Report(p.unit),
	}
	result.Champion.UnseenLabels, result.Challenger.UnseenLabels = unseenLabels(&sum.Champion),
		unseenLabels(&sum.Challenger)
	if result.Rows, err = job.Count(p.champion.data, reports, o.MaxBadFraction); err != nil {
		return nil, nil, err
	}
	result.SetAside = result.Rows.Listed
	if err := p.checkUnseen(ctx, j, result.Rows.Used, reports); err != nil {
		return nil, nil, err
	}
	if p.champion.data.Weighted {
		result.Weights = &models.RowWeights{Column: p.weight, Weights: *weights}
	}
	if key := p.champion.data.Key; key != nil {
		result.Groups = key.Columns
	}
	for i := range p.slices {
		result.Slices = append(result.Slices, sum.Slices[i].Report(p.slices[i].Name, p.unit))
	}
	if p.metrics[0] == paired.Error && pass.Grid == nil && len(result.Groups) == 0 {
		result.RowsNeeded = rowsNeeded(sum.Pairs().Discordance())
	}
	return result, &sum, nil
}

// checkComparison refuses options that cannot be used together, and finds the models.
func checkComparison(ctx context.Context, o *options.CompareModels) (err error) {
	if _, err := ParseConditions("gate", o.Gate); err != nil {
		return err
	}
	if err := cmp.Or(prepare.CheckFraction(o.MaxBadFraction), report.CheckPage(o.Report)); err != nil {
		return err
	}
	if len(o.Slices) > scoring.MaxCompared {
		return exit.Usagef("--slices: %d columns, at most %d", len(o.Slices), scoring.MaxCompared)
	}
	if o.Champion == "" || o.Challenger == "" {
		return exit.Usagef("--champion or --challenger is missing: name the directories of two models")
	}
	for _, name := range []*string{&o.Champion, &o.Challenger} {
		if *name, err = job.FindModel(ctx, *name, o.Job.Log); err != nil {
			return err
		}
	}
	return job.Validate(o.Job, o.Data, "", job.Dir{Flag: "champion", Name: o.Champion},
		job.Dir{Flag: "challenger", Name: o.Challenger})
}

// pair holds two opened models, and the data on which they are compared.
type pair struct {
	champion, challenger openedModel
	other                *dataset.Dataset // see scoring.Compare
	metrics              []paired.Metric
	unit                 float64 // unit of the errors of predicted numbers
	slices               []scoring.Slice
	weight               string // column of weights
}

// openedModel is a model, and the data opened for it.
type openedModel struct {
	scoring.Model
	name     string
	manifest *models.Manifest
	data     *dataset.Dataset
}

// openPair opens the models and the data.
func openPair(ctx context.Context, o options.CompareModels) (p *pair, err error) {
	if o.Data, err = apply.WithWeights(ctx, o.Champion, o.Data); err != nil {
		return nil, err
	}
	p = &pair{unit: 1, weight: o.Data.Weight}
	if p.champion, err = openOne(ctx, o.Champion, o.Data, o.Job); err != nil {
		return nil, err
	}
	if o.Data.Label == "" && len(p.champion.manifest.Input.Labels) == 0 {
		o.Data.Label = p.champion.data.Label // for both models
	}
	quiet := o.Job
	quiet.Log = nil
	if p.challenger, err = openOne(ctx, o.Challenger, o.Data, quiet); err != nil {
		return nil, err
	}
	a, b := p.champion.manifest, p.challenger.manifest
	if a.Task != b.Task {
		return nil, exit.Usagef("%s is a model of %s, %s one of %s: they have no score in common", o.Champion, a.Task,
			o.Challenger, b.Task)
	}
	if a.Task == models.Embedding {
		return nil, exit.Usagef("%s is an embedding, which predicts no labels, so it cannot be compared", o.Champion)
	}
	switch {
	case a.Task == models.Regression && (a.Outputs > 1 || b.Outputs > 1):
		return nil, exit.Usagef("%s predicts %d numbers, %s predicts %d; models of one number can be compared", o.Champion,
			a.Outputs, o.Challenger, b.Outputs)
	case a.Task == models.Regression:
		if half := a.TargetGrid[0].Half(); half > 0 {
			p.unit = half
		}
	}
	p.metrics = metrics(a, b)
	same, err := sameInput(p.champion.data, p.challenger.data)
	if err != nil {
		return nil, err
	}
	if !same {
		other := *p.challenger.data
		other.Weighted = false // the champion's rows have weights
		p.other = &other
	}
	groups := groupsOf(o.Group, o.Job.Log, p.champion.data, a, b)
	p.slices, err = p.champion.openColumns(ctx, groups, o.Slices, o.Data)
	return p, err
}

// groupsOf returns the columns that name the groups of rows: the given ones, or the columns that group a
// model's folds, if the data has them.
func groupsOf(given []string, log io.Writer, d *dataset.Dataset, manifests ...*models.Manifest) []string {
	if len(given) > 0 {
		return given
	}
	for _, m := range manifests {
		split := m.Learner.Split
		if split == nil || split.By != profile.ByGroup {
			continue
		}
		missing := slices.IndexFunc(split.Columns, func(c string) bool { return !slices.Contains(d.Fields, c) })
		if missing < 0 {
			return split.Columns
		}
		if log != nil {
			fmt.Fprintf(log, "note: the data has no column %q, by which the rows of a model were grouped, so rows are taken "+
				"as independent; name another column with --group_column\n", split.Columns[missing])
		}
	}
	return nil
}

// openOne opens a model and the data for it.
func openOne(ctx context.Context, model string, data dataset.Options, j options.Job) (m openedModel, err error) {
	m.name = model
	if m.manifest, m.data, err = apply.OpenForModel(ctx, model, data, j.Log); err != nil {
		return m, err
	}
	scoring.WithMissing(m.manifest, m.data)
	if err := prepare.CheckLabeled(m.data); err != nil {
		return m, err
	}
	dir, err := storage.Abs(model)
	m.Model = scoring.Model{Dir: dir, SHA256: m.manifest.SHA256}
	return m, err
}

// sameInput reports whether two models read the rows of the same files in the same form.
func sameInput(a, b *dataset.Dataset) (bool, error) {
	if len(a.Files) != len(b.Files) {
		return false, errChanged
	}
	for i := range a.Files {
		if x, y := a.Files[i].Object, b.Files[i].Object; x.URI != y.URI || x.Size != y.Size {
			return false, errChanged
		}
	}
	x, err := json.Marshal(a)
	if err != nil {
		return false, err
	}
	y, err := json.Marshal(b)
	return bytes.Equal(x, y), err
}

var errChanged = exit.Dataf("files of --data have changed while they were listed; start again")

func (m *openedModel) summary(model string) results.ComparedModel {
	return results.ComparedModel{Model: model, SHA256: m.manifest.SHA256, Rule: report.DecisionRule(m.manifest)}
}

// checkUnseen returns an error if a model was trained on some of these rows, because scores on them are optimistic.
func (p *pair) checkUnseen(ctx context.Context, j *job.Job, used int64, reports []dataset.Report) error {
	for _, m := range []*openedModel{&p.champion, &p.challenger} {
		seen, err := m.trainingRows(ctx, j, used, reports)
		switch {
		case err != nil:
			return err
		case seen == 0: // this model has seen none of the rows
		case seen == used:
			return exit.Dataf("%s was trained on files of these rows, so they do not tell how good it is on others; "+
				"compare on rows that neither model has seen", m.name)
		default:
			return exit.Dataf("%s of %s rows are of files that %s was trained on, so they do not tell how good it "+
				"is on others; compare on rows that neither model has seen",
				report.Groups(seen), report.Groups(used), m.name)
		}
	}
	return nil
}

// rowsNeeded returns the numbers of rows that tests of typical differences of error rates need, given the share
// of rows on which the models disagree.
func rowsNeeded(discordance float64) (all []results.RowsNeeded) {
	for _, d := range []float64{0.0005, 0.001, 0.002, 0.005, 0.01, 0.02} {
		t := paired.Design{Discordance: discordance, Confidence: 0.95, Power: 0.8, Margin: d}
		n := results.RowsNeeded{Difference: d, NotWorse: int64(t.Rows())}
		t.Margin, t.Difference = 0, -d
		if rows := t.Rows(); !math.IsInf(rows, 0) {
			n.Better = int64(rows)
		}
		all = append(all, n)
	}
	return all
}

// ParseConditions parses the conditions of a flag on the difference of two models, separated by commas.
func ParseConditions(flag, text string) ([]paired.Condition, error) {
	return parseAll(text, func(one string) (paired.Condition, error) {
		c, err := paired.ParseCondition(one)
		if err != nil {
			err = exit.Usagef("--%s: %w", flag, err)
		}
		return c, err
	})
}

// parseAll parses the elements of a list separated by commas. It returns nil for the empty text.
func parseAll[T any](text string, parse func(string) (T, error)) (all []T, err error) {
	if text == "" {
		return nil, nil
	}
	for _, one := range strings.Split(text, ",") {
		v, err := parse(one)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// FitConditions parses the conditions of a flag for two models. It returns an error if the models are not
// compared by a metric of a condition.
func FitConditions(flag, text string, champion, challenger *models.Manifest) ([]paired.Condition, error) {
	all, err := ParseConditions(flag, text)
	if err != nil {
		return nil, err
	}
	s := paired.NewSum(metrics(champion, challenger)...)
	for i, c := range all {
		if all[i], err = s.Complete(c); err != nil {
			return nil, exit.Usagef("--%s: %w", flag, err)
		}
	}
	return all, nil
}

// metrics returns the metrics by which two models of the same task are compared.
func metrics(champion, challenger *models.Manifest) []paired.Metric {
	switch {
	case champion.Task == models.Regression:
		return []paired.Metric{paired.MSE, paired.MAE}
	case champion.Probabilities != nil && challenger.Probabilities != nil:
		return []paired.Metric{paired.Error, paired.LogLoss, paired.Brier}
	}
	return []paired.Metric{paired.Error}
}
