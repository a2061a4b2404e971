package parts

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/audit"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/training"
	"github.com/bochner-ml/bochner/transforms/gram"
)

// AuditOptions says which sums to compare with which rows, and which model with the sums.
type AuditOptions struct {
	Parts
	Model          string          // directory or alias; "" for none
	Data           dataset.Options // with no Data for none
	MaxBadFraction float64
	Job            job.Options
}

// AuditResult says whether sums are those of rows, and a model that of sums.
type AuditResult struct {
	Rows    int64           `json:"rows"` // of the sums
	Folds   int             `json:"folds"`
	Data    *job.Counts     `json:"data,omitempty"`    // rows that the sums were compared with; nil if with none
	Weights *ridge.Residual `json:"weights,omitempty"` // nil if there was no model, or the sums can have none
	Holds   bool            `json:"holds"`
	Why     []string        `json:"why,omitempty"` // it does not hold
}

func (r *AuditResult) not(format string, args ...any) {
	r.Why = append(r.Why, fmt.Sprintf(format, args...))
}

// Audit compares sums with the rows of o.Data, by package audit, and o.Model with the sums, by ridge.CheckWeights.
// One of the two may be missing. If something is not confirmed, the error is an *exit.GateError and the
// result is complete.
func Audit(ctx context.Context, o AuditOptions) (r *AuditResult, err error) {
	if len(o.Data.Data) == 0 && o.Model == "" {
		return nil, exit.Usage("--audit compares sums with the rows of --data, with --model, or with both: name one of them")
	}
	if err := cmp.Or(prepare.ValidFraction(o.MaxBadFraction),
		o.Job.Validate(o.Data, "", job.Place{Flag: "model", Name: o.Model})); err != nil {
		return nil, err
	}
	terms, err := o.Open(ctx)
	if err != nil {
		return nil, err
	}
	all, err := Add(ctx, terms)
	if err != nil {
		return nil, err
	}
	scratch, err := job.NewScratch(ctx, o.Job)
	if err != nil {
		return nil, err
	}
	defer func() { err = scratch.Close(ctx, err) }()
	again := training.ByRecipe{Recipe: all.Recipe, Data: o.Data, MaxBadFraction: o.MaxBadFraction, Job: o.Job}
	again.Job.Work, again.Job.Resume = "", false
	t, err := again.BeginAdded(ctx, storage.Join(scratch.Work.Dir, "audit"), all.Added)
	if err != nil {
		return nil, err
	}
	defer func() { err = t.Close(ctx, err) }()
	r = &AuditResult{Rows: all.Added.Rows.Used, Folds: all.Recipe.Rule.Folds}
	pass := &gram.Audit{Pass: gram.Pass{Pass: t.Pass(1), Fold: gram.SpecOf(all.Recipe, all.ClassCount())}}
	if err := r.compare(ctx, o, t, all, pass); err != nil {
		return nil, err
	}
	if r.Holds = len(r.Why) == 0; !r.Holds {
		err = &exit.GateError{Message: "the audit does not confirm this: " + strings.Join(r.Why, "; ")}
	}
	return r, err
}

// compare reads the rows, if there are any, and then the sums.
func (r *AuditResult) compare(ctx context.Context, o AuditOptions, t *training.Training, all *Total,
	pass *gram.Audit) (err error) {
	shape := pass.Shape(all.Recipe.Dim)
	pass.Fold.Random = exact.RandomResidues(audit.RandomLen(shape))
	test, n := audit.Audit{Shape: shape, Random: pass.Fold.Random}, audit.Len(shape)
	var found gram.Audited
	if len(o.Data.Data) > 0 {
		if err := r.read(ctx, o, t, all, pass, &found); err != nil {
			return err
		}
	}
	var model *models.Model
	var total *ridge.Sum
	if o.Model != "" {
		if model, err = models.LoadURI(ctx, o.Model); err != nil {
			return err
		}
		total = ridge.NewSum(shape)
		if pass.Fold.Components > 0 || model.Linear.K != shape.Outputs || model.Linear.D != shape.Dim {
			return exit.Refuse("pipelines: %s is an embedding, or has another number of features or outputs than the sums; name the model that was fitted to them, or none", o.Model)
		}
	}
	if err := all.Each(ctx, shape, func(fold, part int, sum []float64) {
		if r.Data != nil {
			test.Subtract(found.Left[fold*n:][:n], part, sum)
		}
		if total != nil {
			total.AddPart(part, sum) // they are of one shape
		}
	}); err != nil {
		return err
	}
	for f := range len(found.Left) / n {
		if wrong := test.Wrong(found.Left[f*n:][:n]); wrong != "" {
			r.not("fold %d does not match the rows: %s", f, wrong)
		}
	}
	if model == nil {
		return nil
	}
	m, err := t.Worker.Gridded(all.Recipe.Recipe)
	if err != nil {
		return err
	}
	pass.Fold.Lambda = []float64{model.Manifest.Learner.Lambda}
	w, err := pass.CheckWeights(total, all.Added.Copies, m, model.Linear, t.Engine.Threads)
	if err != nil {
		r.not("weights: the sums of all folds lead to none: %v", err)
	} else if r.Weights = &w; w.Different > 0 || w.Relative > w.Bound {
		r.not("weights: %d of %d are not what the sums of all folds lead to; the relative residual is %.2g, and rounding explains %.2g", w.Different, len(model.Linear.W)+len(model.Linear.B), w.Relative, w.Bound)
	}
	return nil
}

// read sets found to what the rows leave.
func (r *AuditResult) read(ctx context.Context, o AuditOptions, t *training.Training, all *Total,
	pass *gram.Audit, found *gram.Audited) error {
	d, err := prepare.OpenByRecipe(ctx, o.Job, o.Data, all.Recipe)
	if err != nil {
		return err
	}
	pass.Data, pass.Shards, pass.EqualWeights = *d, t.Opts.Shards(d), all.Recipe.Rule.Weights == nil && d.Weighted
	t.Progress.Phase("reading rows", r.Rows)
	defer t.Progress.Done()
	reports, err := t.ScanSum(ctx, pass, "audit", found)
	if err != nil {
		return err
	}
	counts, err := job.Count(d, reports, o.MaxBadFraction)
	if r.Data = &counts; counts.Used != r.Rows {
		r.not("the data have %s, and the sums say %s", report.Counted64(counts.Used, "row"), report.Groups(r.Rows))
	}
	if !bytes.Equal(profile.AppendContents(nil, found.Copies), profile.AppendContents(nil, all.Added.Copies)) {
		r.not("all folds: the frequent rows that are counted apart are others")
	}
	return err
}

// WriteTo prints the result for people.
func (r *AuditResult) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "sums      %s in %s\n", report.Counted64(r.Rows, "row"), report.Counted(r.Folds, "fold"))
	if r.Data != nil {
		fmt.Fprintf(&b, "rows      %s; wrong sums pass with a probability below 2⁻⁶⁰\n", r.Data)
	}
	if s := r.Weights; s != nil {
		fmt.Fprintf(&b, "weights   %d differ; relative residual %.2g, of which rounding explains %.2g\n", s.Different,
			s.Relative, s.Bound)
	}
	fmt.Fprintf(&b, "audit     %s\n", map[bool]string{true: "confirmed", false: "not confirmed"}[r.Holds])
	return b.WriteTo(w)
}
