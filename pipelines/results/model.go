package results

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/drift"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/models/stretch"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/registry"
)

// InspectModel describes a model.
type InspectModel struct {
	Directory string `json:"directory"`
	// Lineage lists what the model was made from; nil if it has none.
	Lineage *registry.Lineage `json:"lineage,omitempty"`
	*models.Manifest
	// Stretch describes how the metric of the recipe stretches distances; nil without a metric.
	Stretch *stretch.Distances `json:"stretch,omitempty"`
	// Effects holds the effects of columns on predictions; nil without data.
	Effects *EffectsReport `json:"effects,omitempty"`
	// Dependences and Drift are for a report on the model. If there are no effects, NoEffects is then the reason.
	Dependences []Dependence  `json:"-"`
	Drift       *drift.Report `json:"-"`
	NoEffects   string        `json:"-"`

	Table *schema.Table `json:"-"` // nil for rows of plain numbers
	Roles []string      `json:"-"` // descriptions of columns that are not features
}

// WriteTo prints the report for people.
func (r *InspectModel) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	m := r.Manifest
	fmt.Fprintf(&b, "model     %s, intact; format %d, written by bochner %s\n", r.Directory, m.Format, m.Program)
	fmt.Fprintf(&b, "task      %s, %d outputs\n", m.Task, m.Outputs)
	what := fmt.Sprintf("%d numbers", m.Input.Dim)
	if r.Table != nil {
		what = r.Table.String()
	}
	fmt.Fprintf(&b, "input     %s, trained on %s\n", what, m.Input.Format)
	if len(r.Roles) > 0 {
		fmt.Fprintf(&b, "columns   %s\n", strings.Join(r.Roles, ", "))
	}
	if m.Vocabulary != nil {
		fmt.Fprintf(&b, "classes   %s\n", report.SomeOf(m.Vocabulary.Classes))
		if m.Outputs == 2 {
			fmt.Fprintf(&b, "positive  %s\n", score.DisplayName(m.Vocabulary.Classes[m.PositiveClass()]))
		}
	}
	if len(m.Input.Labels) > 0 {
		fmt.Fprintf(&b, "targets   %s; errors by lambda are in standard deviations of each, averaged\n",
			report.SomeOf(m.Input.Labels))
	}
	fmt.Fprintf(&b, "features  %d, recipe %s\n", m.Features, report.Clip(string(m.Recipe.JSON), 400))
	report.WriteStretch(&b, r.Stretch)
	writeEffects(&b, r.Effects)
	if len(m.Learner.Table) > 0 {
		report.WritePath(&b, m.Task, len(m.Input.Labels), m.Learner.Table, m.Learner.Lambda)
	}
	var facts report.Facts
	report.AddFacts(&facts, m)
	facts.Addf("data", "fingerprint %s", m.Fingerprint)
	report.AddLineage(&facts, r.Lineage)
	facts.Write(&b, 10)
	if r.Table != nil {
		report.WriteColumns(&b, r.Table.Describe())
	}
	return b.WriteTo(w)
}

// Effect is the total effect of a column j on the scores f of a model,
//
//	Share = E‖f(x) − f(x′)‖² / 2 E‖f(x) − E f‖²,   x′ is x with column j of another row
//
// the estimator of Jansen (1999, Computer Physics Communications 117, 35) of the total-effect index
// of Sobol'. If columns are independent, it is the share of the variance that the other columns do
// not explain. If they are dependent, x′ may be unlike any row of the data, shares may exceed 1,
// and the effect of two redundant columns may go to either. All outputs have the same weight:
// targets are in units of half their range, and scores of classes range from −1 to 1.
type Effect struct {
	Column string `json:"column"`
	// ≥ 0; the sum over all columns is 1 for a sum of functions of one column each, otherwise more
	Share  float64 `json:"share"`
	StdErr float64 `json:"std_err"` // of Share, over the sample of rows
}

// EffectsReport holds the effects of all columns, the largest first.
type EffectsReport struct {
	Rows    int      `json:"rows"`  // number of predicted rows
	Draws   int      `json:"draws"` // other rows for each of them
	Columns []Effect `json:"columns"`
}

// writeEffects prints the effects of the first columns on predictions. It prints nothing for nil.
func writeEffects(w io.Writer, r *EffectsReport) {
	if r == nil {
		return
	}
	fmt.Fprintf(w, "effects   on predictions for %s: %s\n", report.Counted64(int64(r.Rows), "row"),
		report.ListFirst(len(r.Columns), func(k int) string {
			e := r.Columns[k]
			return fmt.Sprintf("%s %s ± %.1f", report.Word(e.Column, 40), report.Percent(e.Share), 100*e.StdErr)
		}))
	fmt.Fprintf(w,
		"          (importance: the share of their variance that changes with a column alone, if it gets values of other "+
			"rows)\n")
}

// Dependence is the partial dependence of predictions on a column (Friedman 2001, Annals of Statistics 29, 1189):
// the mean prediction for rows that all get the same value of the column.
type Dependence struct {
	Column  string
	Numeric bool // X are numbers; otherwise values are texts in the order of their frequency
	X       []float64
	Values  []string // as texts
	Outputs []string // what is predicted: the target, or classes
	// Mean[o][v] is the mean of output o at value v, and StdErr its standard error over the sample of rows.
	Mean, StdErr [][]float64
}
