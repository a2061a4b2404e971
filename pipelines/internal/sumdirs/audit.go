package sumdirs

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/audit"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/training"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms/gram"
)

func refutef(r *results.AuditSums, format string, args ...any) {
	r.Why = append(r.Why, fmt.Sprintf(format, args...))
}

// Audit compares sums with the rows of o.Data, by package audit, and the weights of o.Model with
// the sums, by ridge.CheckWeights. One of the two may be missing. It compares the total of several
// directories, but each segment of a single directory. If a comparison fails, the error is an
// *exit.GateError and the result is complete.
func Audit(ctx context.Context, o options.AuditSums) (r *results.AuditSums, err error) {
	if len(o.Data.Files) == 0 && o.Model == "" {
		return nil, exit.Usagef("--audit compares sums with rows, with a model, or with both: name --data or --model")
	}
	if err := cmp.Or(prepare.CheckFraction(o.MaxBadFraction),
		job.Validate(o.Job, o.Data, "", job.Dir{Flag: "model", Name: o.Model})); err != nil {
		return nil, err
	}
	terms, err := Open(ctx, o.SumDirs)
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
	defer func() { err = t.Training.Job.Close(ctx, err) }()
	a := &auditState{job: t.Training.Job, all: all,
		AuditSums: &results.AuditSums{Rows: all.Added.Rows.Used, Folds: all.Recipe.Rule.Folds},
		pass:      &gram.Audit{Pass: gram.Pass{Pass: t.Training.Pass(1), Spec: gram.SpecOf(all.Recipe, all.ClassCount())}}}
	if err := a.compare(ctx, o); err != nil {
		return nil, err
	}
	const limit = 10 // reasons in a message
	n := len(a.Why)
	a.Holds = n == 0
	if a.Holds {
		return a.AuditSums, nil
	}
	reasons := strings.Join(a.Why[:min(n, limit)], "; ")
	if n > limit {
		reasons += fmt.Sprintf("; and %d more, which --json lists", n-limit)
	}
	return a.AuditSums, &exit.GateError{Message: "the audit does not confirm this: " + reasons}
}

// auditState is the state of an audit.
type auditState struct {
	*results.AuditSums
	job   *job.Job
	all   *Total
	pass  *gram.Audit
	found gram.Audited // fingerprints of the rows, minus the fingerprints of the segments so far
	total *ridge.Sum   // over all folds; nil if no model is compared
}

// compare reads the rows, if there are any, and then the sums.
func (a *auditState) compare(ctx context.Context, o options.AuditSums) error {
	shape := a.pass.Shape(a.all.Recipe.Dim)
	a.pass.Spec.Random = exact.RandomResidues(audit.RandomLen(shape))
	each, err := a.all.segments(ctx)
	if err != nil {
		return err
	}
	if each[0] != a.all {
		o.Data.Segments = a.all.Terms[0].SegmentColumns
		a.Segments = len(each)
		for _, d := range a.all.Terms {
			a.pass.Spec.Segments = append(a.pass.Spec.Segments, sums.NamesOf(d.Members))
		}
		a.pass.Spec.Segments = append(a.pass.Spec.Segments, nil)
		if o.Where == "" && len(o.Without) == 0 {
			each = append(each, &Total{Recipe: a.all.Recipe}) // no sums: there must be no rows of other segments
		}
	}
	var model *models.Model
	if o.Model != "" {
		if model, err = models.LoadURI(ctx, o.Model); err != nil {
			return err
		}
		switch a.total = ridge.NewSum(shape); {
		case model.Manifest.Segments != nil:
			return exit.Dataf("%s has segments, whose weights an audit cannot compare with sums; "+
				"audit the sums without --model", o.Model)
		case a.pass.Spec.Components > 0 || model.Linear.K != shape.Outputs || model.Linear.D != shape.Dim:
			return exit.Dataf("%s is an embedding, or has another number of features or outputs than the "+
				"sums; name the model that was fitted to them, or none", o.Model)
		}
	}
	if len(o.Data.Files) > 0 {
		if err := a.read(ctx, o); err != nil {
			return err
		}
		if a.Data.Used != a.Rows && len(each) != a.Segments { // else there may be rows of other segments
			hint := ""
			if o.Where != "" || len(o.Without) > 0 {
				hint = " (of several directories, --data must have only the rows that meet --where and --without)"
			}
			refutef(a.AuditSums, "the data have %s, and the sums say %s%s", report.Counted64(a.Data.Used, "row"), report.Groups(a.Rows), hint)
		}
	}
	for i, l := range each {
		if err := a.subtract(ctx, i, l, shape); err != nil {
			return err
		}
	}
	if model == nil {
		return nil
	}
	return a.checkWeights(model)
}

// segments returns the total of each segment if the terms are all segments of one directory, and
// otherwise only t itself.
func (t *Total) segments(ctx context.Context) (each []*Total, err error) {
	for i, d := range t.Terms {
		if d.Members == nil || d.Path != t.Terms[0].Path {
			return []*Total{t}, nil
		}
		l := &Total{Terms: t.Terms[i : i+1], Recipe: t.Recipe, Added: training.AddedRows{Classes: t.Added.Classes}}
		if l.Added.Copies, err = t.copiesOf(ctx, d); err != nil {
			return nil, err
		}
		each = append(each, l)
	}
	return each, nil
}

// read sets a.found from the rows.
func (a *auditState) read(ctx context.Context, o options.AuditSums) error {
	d, err := prepare.OpenByRecipe(ctx, o.Job, o.Data, a.all.Recipe)
	if err != nil {
		return err
	}
	a.pass.Data, a.pass.Shards = *d, job.Shards(a.job.Options, d)
	a.pass.EqualWeights = a.all.Recipe.Rule.Weights == nil && d.Weighted
	a.job.Progress.Phase("reading rows", a.Rows)
	defer a.job.Progress.Done()
	reports, err := a.job.ScanSum(ctx, a.pass, "audit", &a.found)
	if err != nil {
		return err
	}
	counts, err := job.Count(d, reports, o.MaxBadFraction)
	a.Data = &counts
	return err
}

// subtract subtracts segment i from a.found, and adds it to a.total.
func (a *auditState) subtract(ctx context.Context, i int, segment *Total, shape ridge.Shape) error {
	name := ""
	switch {
	case i < a.Segments:
		name = segment.Terms[0].Leaves[0].Name + ", "
	case a.Segments > 0:
		name = "rows of other segments, "
	}
	test, n := audit.Audit{Shape: shape, Random: a.pass.Spec.Random}, audit.Len(shape)
	for fold := range a.Folds {
		var left []uint64
		if a.Data != nil {
			left = a.found.Left[(i*a.Folds+fold)*n:][:n]
		}
		if err := segment.eachPart(ctx, segment.Terms, shape, fold, func(part int, sum []float64) error {
			if left != nil {
				test.Subtract(left, part, sum)
			}
			if a.total != nil {
				return a.total.AddPart(part, sum)
			}
			return nil
		}); err != nil {
			return err
		}
		if wrong := test.Wrong(left); wrong != "" {
			refutef(a.AuditSums, "%sfold %d does not match the rows: %s", name, fold, wrong)
		}
	}
	if a.Data != nil && !bytes.Equal(profile.AppendFrequentRows(nil, a.found.Copies[i]),
		profile.AppendFrequentRows(nil, segment.Added.Copies)) {
		refutef(a.AuditSums, "%sall folds: the frequent rows that are counted apart differ", name)
	}
	return nil
}

// checkWeights compares the weights of a model with a.total.
func (a *auditState) checkWeights(model *models.Model) error {
	r, threads := a.all.Recipe, a.job.Engine.Threads
	m, err := a.job.Worker.Gridded(r.Features)
	if err != nil {
		return err
	}
	for f := range a.Folds {
		if err := gram.SumCopies(a.total, f, r, m, a.all.Added.Copies, threads); err != nil {
			return err
		}
	}
	o := ridge.Options{Search: ridge.LambdaSearch{Lambda: []float64{model.Manifest.Learner.Lambda}}, Threads: threads}
	o.Units.Step, o.Units.Ranges = ridge.GridOf(m, r.Rule.Steps)
	o.Units.Grid, o.Units.Weights = r.TargetGrid, r.Rule.Weights
	w, err := ridge.CheckWeights(a.total, o, model.Linear)
	if err != nil {
		refutef(a.AuditSums, "weights: the equations of the sums of all folds have no solution: %v", err)
	} else if a.Weights = &w; w.Different > 0 || w.Relative > w.Bound {
		refutef(a.AuditSums, "weights: %d of %d differ from the solution for the sums of all folds; the relative residual is "+
			"%.2g, rounding explains %.2g", w.Different, len(model.Linear.W)+len(model.Linear.B), w.Relative, w.Bound)
	}
	return nil
}
