package apply

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/models/stretch"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/about"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/transforms"
)

// ModelReport describes a model.
type ModelReport struct {
	Directory string `json:"directory"`
	// Lineage says what the model was made from; nil if it has none.
	Lineage *registry.Lineage `json:"lineage,omitempty"`
	*models.Manifest
	// Stretch says how much the metric of the recipe stretches distances; nil without a metric.
	Stretch *stretch.Distances `json:"stretch,omitempty"`
	// Effects has the effects of columns on predictions; nil without data.
	Effects *report.EffectsReport `json:"effects,omitempty"`
	// Dependences and Drift are set with options.Inspect.Whole. If there are no effects, NoEffects is then the
	// reason.
	Dependences []report.Dependence `json:"-"`
	Drift       *sums.DriftReport   `json:"-"`
	NoEffects   string              `json:"-"`

	table *schema.Table // nil for rows of plain numbers
	roles []string      // descriptions of columns that are not features
}

// InspectModel loads a model, verifies its checksums, and describes it.
func InspectModel(ctx context.Context, dir string) (*ModelReport, error) {
	dir, err := models.Resolve(ctx, dir)
	if err != nil {
		return nil, err
	}
	m, err := models.LoadURI(ctx, dir)
	if err != nil {
		return nil, err
	}
	return describe(ctx, dir, m)
}

// describe returns the report on a loaded model.
func describe(ctx context.Context, dir string, m *models.Model) (r *ModelReport, err error) {
	r = &ModelReport{Directory: dir, Manifest: m.Manifest, table: m.Table()}
	if r.Lineage, err = registry.ReadLineage(ctx, dir); err != nil {
		return nil, err
	}
	if r.Stretch, err = stretch.Of(m.Manifest); err != nil {
		return nil, models.NewError(dir, err)
	}
	s, err := SchemaOf(dir, m.Manifest)
	if err != nil {
		return nil, err
	}
	if of, ok := s.Layout.(dataset.Tabular); ok {
		r.roles = of.Table().RoleNames()
	}
	return r, nil
}

// DrawImportance plots the effects of columns to a file, .png or .svg. r.Effects must not be nil.
func (r *ModelReport) DrawImportance(ctx context.Context, file string) error {
	if r.Effects == nil {
		return exit.Usage("--importance needs --data: the effects of columns are measured on predictions for its rows")
	}
	bars := report.EffectsPicture(r.Effects)
	return report.WritePicture(ctx, file, bars, 16, 3+0.5*float64(len(bars.Names)))
}

// WriteTo prints the report for people.
func (r *ModelReport) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	m := r.Manifest
	fmt.Fprintf(&b, "model     %s, intact; format %d, written by bochner %s\n", r.Directory, m.Format, m.Program)
	fmt.Fprintf(&b, "task      %s, %d outputs\n", m.Task, m.Outputs)
	what := fmt.Sprintf("%d numbers", m.Input.Dim)
	if r.table != nil {
		what = r.table.String()
	}
	fmt.Fprintf(&b, "input     %s, trained on %s\n", what, m.Input.Format)
	if len(r.roles) > 0 {
		fmt.Fprintf(&b, "columns   %s\n", strings.Join(r.roles, ", "))
	}
	if m.Vocabulary != nil {
		fmt.Fprintf(&b, "classes   %s\n", prepare.SomeOf(m.Vocabulary.Classes))
		if m.Outputs == 2 {
			fmt.Fprintf(&b, "positive  %s\n", score.Name(m.Vocabulary.Classes[m.PositiveClass()]))
		}
	}
	if len(m.Input.Labels) > 0 {
		fmt.Fprintf(&b, "targets   %s; errors by lambda are in standard deviations of each, averaged\n",
			prepare.SomeOf(m.Input.Labels))
	}
	fmt.Fprintf(&b, "features  %d, recipe %s\n", m.Features, clip(string(m.Recipe.JSON), 400))
	report.WriteStretch(&b, r.Stretch)
	report.WriteEffects(&b, r.Effects)
	if len(m.Learner.Table) > 0 {
		about.WritePath(&b, m.Task, len(m.Input.Labels), m.Learner.Table, m.Learner.Lambda)
	}
	about.WriteFacts(&b, m, r.Lineage)
	if r.table != nil {
		report.WriteColumns(&b, r.table.Describe())
	}
	return b.WriteTo(w)
}

// clip cuts a text off after most bytes, and marks the cut with an ellipsis.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:most] + " …"
}

// InspectEffects is InspectModel with the effects of columns on predictions for a sample of the data. It needs
// no labels, and ignores weights of rows.
func InspectEffects(ctx context.Context, model string, o options.Inspect) (result *ModelReport, err error) {
	if err := prepare.CheckFraction(o.MaxBadFraction); err != nil {
		return nil, err
	}
	if model, err = job.FindModel(ctx, model, o.Job.Log); err != nil {
		return nil, err
	}
	if err := job.Validate(o.Job, o.Data, "", job.Place{Flag: "model", Name: model}); err != nil {
		return nil, err
	}
	_, d, err := OpenForModel(ctx, model, o.Data, o.Job.Log)
	if err != nil {
		return nil, err
	}
	m, err := models.LoadURI(ctx, model)
	if err != nil {
		return nil, err
	}
	if result, err = describe(ctx, model, m); err != nil {
		return nil, err
	}
	j, err := job.NewScratch(ctx, o.Job)
	if err != nil {
		return nil, err
	}
	defer func() { err = j.Close(ctx, err) }()
	defer j.Progress.Done()
	j.Progress.Phase("reading", 0)
	x, n, of, sum, err := sample(ctx, j, d, m, o.MaxBadFraction)
	if err != nil {
		return nil, err
	}
	j.Progress.Phase("predicting", 0)
	result.Effects, err = report.EffectsOf(ctx, m, x, n, j.Engine.Threads)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && o.Whole: // the report has the reason
		result.NoEffects, result.Effects, err = err.Error(), &report.EffectsReport{}, nil
	case err != nil:
		return nil, &exit.DataError{Err: err}
	}
	// Rows of the sample are not independent if they share a group.
	if size := m.Manifest.Learner.Split.GroupSize(); size > 1 {
		together := math.Sqrt(1 + (size-1)*float64(n)/float64(max(1, of)))
		for i := range result.Effects.Columns {
			result.Effects.Columns[i].StdErr *= together
		}
	}
	if o.Whole {
		err = result.addWhole(ctx, m, d, sum, x, n)
	}
	return result, err
}

// mostDependences is the number of columns whose partial dependence is measured.
const mostDependences = 6

// addWhole adds drift, and the partial dependence on the columns with the largest effects.
func (r *ModelReport) addWhole(ctx context.Context, m *models.Model, d *dataset.Dataset, sum *profile.Sum, x []float32,
	n int) (err error) {
	var names []string
	for _, e := range r.Effects.Columns[:min(len(r.Effects.Columns), mostDependences)] {
		names = append(names, e.Column)
	}
	if r.Dependences, err = report.DependenceOf(ctx, m, x, n, names); err != nil {
		return err
	}
	k, err := newDriftCheck(ctx, r.Directory, m.Manifest, d, 0)
	if err != nil || k.statistics == nil || len(sum.Statistics().Columns) != len(k.statistics.Columns) {
		return err
	}
	r.Drift = sums.DriftOfSum(k.statistics, sum, k.cluster, k.names)
	r.Drift.Schema = k.schema
	return nil
}

// sample returns n rows of the data as a model takes them. They are the rows with the least hashes: their order
// is random, and does not depend on the order of the rows in the data.
func sample(ctx context.Context, j *job.Job, d *dataset.Dataset, m *models.Model,
	maxBad float64) (x []float32, n int, of int64, sum *profile.Sum, err error) {
	p, _, err := prepare.ProfileRows(ctx, j, d, maxBad, 0, &transforms.Labeling{Open: true})
	if err != nil {
		return nil, 0, 0, nil, err
	}
	found, n, width := p.Sum.Sample()
	dim, _ := m.Map.Dims()
	x = make([]float32, n*dim)
	for i := range n { // sparse rows may be shorter than the rows of the model
		copy(x[i*dim:(i+1)*dim], found[i*width:(i+1)*width])
	}
	return x, n, p.Counts.Used, &p.Sum, nil
}
