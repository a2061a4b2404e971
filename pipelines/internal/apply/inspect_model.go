package apply

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/models/stretch"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/about"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/registry"
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
	// Dependences and Drift are set with InspectOptions.Whole. If there are no effects, NoEffects is then the
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
		return nil, models.Bad(dir, err)
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

// clip cuts a text off after that many bytes, and marks the cut with an ellipsis.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:most] + " …"
}
