package days

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/parts"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/gram"
)

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

// Audit compares sums with the rows of o.Data, by ridge.Audit, and o.Model with the sums, by ridge.CheckWeights.
// One of the two may be missing. If something is not confirmed, the error is an *exit.GateError and the
// result is complete.
func Audit(ctx context.Context, o ForgetOptions) (result *AuditResult, err error) {
	if len(o.Data.Data) == 0 && o.Model == "" || o.Certificate != "" {
		return nil, exit.Usage("--audit compares sums with the rows of --data, with --model, or with both, and takes no --certificate")
	}
	if err := cmp.Or(prepare.ValidFraction(o.MaxBadFraction),
		o.Job.Validate(o.Data, "", job.Place{Flag: "model", Name: o.Model})); err != nil {
		return nil, err
	}
	terms, err := o.Open(ctx)
	if err != nil {
		return nil, err
	}
	var model *models.Model
	if o.Model != "" {
		if model, err = models.LoadURI(ctx, o.Model); err != nil {
			return nil, err
		}
	}
	all, err := parts.Add(ctx, terms)
	if err != nil {
		return nil, err
	}
	j, err := job.NewScratch(ctx, o.Job)
	if err != nil {
		return nil, err
	}
	defer func() { err = j.Close(ctx, err) }()
	result = &AuditResult{Rows: all.Added.Rows.Used, Folds: all.Recipe.Rule.Folds}
	if err := result.compare(ctx, o, j, all, model); err != nil {
		return nil, err
	}
	if result.Holds = len(result.Why) == 0; !result.Holds {
		err = &exit.GateError{Message: "the audit does not confirm this: " + strings.Join(result.Why, "; ")}
	}
	return result, err
}

// compare reads the rows, if there are any, and then the sums.
func (r *AuditResult) compare(ctx context.Context, o ForgetOptions, j *job.Job, all *parts.Total,
	model *models.Model) error {
	recipe, read := all.Recipe, len(o.Data.Data) > 0
	l := &prepare.Prepared{Data: new(dataset.Dataset)}
	var classes []string
	if all.Added.Classes != nil {
		classes = all.Added.Classes.Classes
	}
	if err := l.Take(recipe, classes); err != nil {
		return exit.Refuse("pipelines: %w", err)
	}
	pass := &gram.Audit{Pass: gram.Pass{Pass: transforms.Pass{Seed: recipe.Seed, Target: l.Target, Rule: recipe.Rule.Split},
		Fold: gram.SpecOf(recipe, len(classes))}}
	shape := pass.Shape(recipe.Dim)
	pass.Fold.Random = exact.RandomResidues(shape.RandomLen())
	var found gram.Audited
	if read {
		if err := r.read(ctx, o, j, all, pass, &found); err != nil {
			return err
		}
	}
	audit, n, total := ridge.NewAudit(shape, pass.Fold.Random), shape.AuditLen(), (*ridge.Sum)(nil)
	if model != nil {
		total = ridge.NewSum(shape)
	}
	if err := all.Each(ctx, shape, func(fold, part int, sum []float64) {
		if read {
			audit.Subtract(found.Left[fold*n:][:n], part, sum)
		}
		if total != nil {
			total.AddPart(part, sum) // they are of one shape
		}
	}); err != nil {
		return err
	}
	for f := range len(found.Left) / n {
		if wrong := audit.Wrong(found.Left[f*n:][:n]); wrong != "" {
			r.not("fold %d does not match the rows: %s", f, wrong)
		}
	}
	if model == nil {
		return nil
	}
	return r.weights(j, all, &pass.Pass, total, model)
}

// read sets found to what the rows leave.
func (r *AuditResult) read(ctx context.Context, o ForgetOptions, j *job.Job, all *parts.Total, pass *gram.Audit,
	found *gram.Audited) error {
	d, err := prepare.OpenByRecipe(ctx, o.Job, o.Data, all.Recipe)
	if err != nil {
		return err
	}
	if err := j.ShareFiles(ctx, all.Recipe.Kept); err != nil {
		return err
	}
	pass.Data, pass.Shards, pass.Mode = *d, j.Opts.Shards(d), prepare.Mode(o.MaxBadFraction)
	pass.EqualWeights = all.Recipe.Rule.Weights == nil && d.Weighted
	j.Progress.Phase("reading rows", r.Rows)
	defer j.Progress.Done()
	reports, err := j.ScanSum(ctx, pass, "audit", found)
	if err != nil {
		return err
	}
	counts, err := job.Count(d, reports, o.MaxBadFraction)
	if err != nil {
		return err
	}
	for f := range r.Folds {
		if w := found.Left[f*len(found.Left)/r.Folds]; w > ridge.MaxAudited {
			return exit.Refuse("pipelines: the weights of fold %d add up to %d, and audits are sure up to %d; audit parts of the data", f, w, ridge.MaxAudited)
		}
	}
	if r.Data = &counts; counts.Used != r.Rows {
		r.not("the data have %s, and the sums say %s", report.Counted64(counts.Used, "row"), report.Groups(r.Rows))
	}
	if !bytes.Equal(profile.AppendContents(nil, found.Copies), profile.AppendContents(nil, all.Added.Copies)) {
		r.not("all folds: the frequent rows that are counted apart are others")
	}
	return nil
}

// weights compares the model with the total, which it overwrites.
func (r *AuditResult) weights(j *job.Job, all *parts.Total, pass *gram.Pass, total *ridge.Sum, m *models.Model) error {
	if pass.Fold.Components > 0 || m.Linear.K != total.Shape().Outputs || m.Linear.D != total.Shape().Dim {
		return exit.Refuse("pipelines: the model is an embedding, or has another number of features or outputs than the sums; name the model that was fitted to them, or none")
	}
	mapped, err := j.Worker.Gridded(all.Recipe.Recipe)
	if err != nil {
		return err
	}
	pass.Fold.Lambda = []float64{m.Manifest.Learner.Lambda}
	w, err := pass.CheckWeights(total, all.Added.Copies, mapped, m.Linear, j.Engine.Threads)
	if err != nil {
		r.not("weights: the sums of all folds lead to none: %v", err)
	} else if r.Weights = &w; w.Different > 0 || w.Relative > w.Bound {
		r.not("weights: %d of %d are not what the sums of all folds lead to; the relative residual is %.2g, and rounding explains %.2g", w.Different, len(m.Linear.W)+len(m.Linear.B), w.Relative, w.Bound)
	}
	return nil
}

// WriteTo prints the result for people.
func (r *AuditResult) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "sums      %s in %s\n", report.Counted64(r.Rows, "row"), report.Counted(r.Folds, "fold"))
	if r.Data != nil {
		fmt.Fprintf(&b, "rows      %s; wrong sums pass with a probability below 2⁻⁶⁰\n", r.Data)
	}
	if s := r.Weights; s != nil {
		fmt.Fprintf(&b, "weights   %d differ; relative residual %.2g, of which rounding explains %.2g\n", s.Different, s.Relative, s.Bound)
	}
	fmt.Fprintf(&b, "audit     %s\n", map[bool]string{true: "confirmed", false: "not confirmed"}[r.Holds])
	return b.WriteTo(w)
}
