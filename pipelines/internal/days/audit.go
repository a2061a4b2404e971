package days

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/parts"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/internal/training"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/gram"
)

// AuditResult says whether sums are those of rows, and weights those of sums.
type AuditResult struct {
	Rows     int64       `json:"rows"` // of the sums
	Folds    int         `json:"folds"`
	Features int         `json:"features"`
	Data     *job.Counts `json:"data,omitempty"` // rows that the sums were compared with; nil if with none
	// Weights are about the weights of the model; nil without one, or if the sums cannot have one.
	Weights *ridge.Residual `json:"weights,omitempty"`
	Holds   bool            `json:"holds"`
	Why     []string        `json:"why,omitempty"` // it does not hold
}

// audit is a running Audit.
type audit struct {
	*job.Job
	*AuditResult
	all   *parts.Total
	pass  *gram.Audit
	shape ridge.Shape
	model *models.Model // nil if there is none
}

func (a *audit) not(format string, args ...any) { a.Why = append(a.Why, fmt.Sprintf(format, args...)) }

// Audit compares sums with the rows of o.Data, by ridge.Audit, and the weights of o.Model with the sums, by
// ridge.CheckWeights. One of the two may be missing. If something is not confirmed, the error is an
// *exit.GateError and the result is complete.
func Audit(ctx context.Context, o ForgetOptions) (result *AuditResult, err error) {
	rows := len(o.Data.Data) > 0
	switch {
	case !rows && o.Model == "":
		return nil, exit.Usage("--audit needs --data, the rows to compare the sums with, or --model, whose weights to compare with the sums")
	case o.Certificate != "":
		return nil, exit.Usage("--audit and --certificate cannot be used together: verify one after the other")
	}
	if err := prepare.ValidFraction(o.MaxBadFraction); err != nil {
		return nil, err
	}
	if err := o.Job.Validate(o.Data, "", job.Place{Flag: "model", Name: o.Model}); err != nil {
		return nil, err
	}
	terms, err := o.Open(ctx)
	if err != nil {
		return nil, err
	}
	a := &audit{}
	if a.all, err = parts.Add(ctx, terms); err != nil {
		return nil, err
	}
	recipe := a.all.Recipe
	a.AuditResult = &AuditResult{Rows: a.all.Added.Rows.Used, Folds: recipe.Rule.Folds, Features: recipe.Dim}
	if a.Job, err = job.NewScratch(ctx, o.Job); err != nil {
		return nil, err
	}
	defer func() { err = a.Close(ctx, err) }()
	if err := a.ShareFiles(ctx, recipe.Kept); err != nil {
		return nil, err
	}
	if err := a.prepare(ctx, o); err != nil {
		return nil, err
	}
	if o.Model != "" {
		if err := a.open(ctx, o, terms); err != nil {
			return nil, err
		}
	}
	if err := a.compare(ctx, o, rows); err != nil {
		return nil, err
	}
	if a.Holds = len(a.Why) == 0; !a.Holds {
		err = &exit.GateError{Message: "the audit does not confirm this: " + strings.Join(a.Why, "; ")}
	}
	return a.AuditResult, err
}

// prepare sets the pass over the rows.
func (a *audit) prepare(ctx context.Context, o ForgetOptions) (err error) {
	r := a.all.Recipe
	l := &prepare.Prepared{Data: &dataset.Dataset{Schema: *r.Schema}}
	if len(o.Data.Data) > 0 {
		if l.Data, err = prepare.OpenByRecipe(ctx, o.Job, o.Data, r); err != nil {
			return err
		}
	}
	var classes []string
	if v := a.all.Added.Classes; v != nil {
		classes = v.Classes
	}
	if err := l.Take(r, classes); err != nil {
		return exit.Refuse("pipelines: %w", err)
	}
	a.pass = &gram.Audit{Pass: gram.Pass{
		Pass: transforms.Pass{Data: *l.Data, Shards: a.Opts.Shards(l.Data), Mode: prepare.Mode(o.MaxBadFraction),
			Seed: r.Seed, Target: l.Target, Rule: r.Rule.Split, EqualWeights: r.Rule.Weights == nil && l.Data.Weighted},
		Fold: gram.SpecOf(r, a.all.ClassCount()),
	}}
	a.shape = a.pass.Shape(r.Dim)
	return nil
}

// open loads the model, which must be one of the sums.
func (a *audit) open(ctx context.Context, o ForgetOptions, terms []parts.Term) (err error) {
	r := a.all.Recipe
	if r.Rule.Components > 0 {
		return exit.Usage("--audit with --model: %s is an embedding, whose weights solve no equations; leave the model out, or fit the sums and compare the directories", o.Model)
	}
	memory := spec.MemoryOfSums(r, a.all.ClassCount(), a.Rows, 0, a.Engine.Threads)
	if _, err := memory.Fits(spec.Options{Learner: ridge.NewTraining()}); err != nil {
		return err
	}
	name, err := job.FindModel(ctx, o.Model, o.Job.Log)
	if err != nil {
		return err
	}
	own, err := training.ReadRecipe(ctx, name, nil)
	if err != nil {
		return err
	}
	if own.Digest != r.Digest {
		return exit.Refuse("pipelines: %s has sums by another recipe than that of %s; name the sums that it was fitted to",
			terms[0].Place, name)
	}
	if a.model, err = models.LoadURI(ctx, name); err != nil {
		return err
	}
	if v := a.model.Manifest.Vocabulary; v != nil && !slices.Equal(v.Classes, a.all.Added.Classes.Classes) {
		return exit.Refuse("pipelines: %s has the classes %s, and the sums have %s; name all sums that it was fitted to, and no others",
			name, prepare.SomeOf(v.Classes), prepare.SomeOf(a.all.Added.Classes.Classes))
	}
	return nil
}

// compare reads the rows, and then the sums once.
func (a *audit) compare(ctx context.Context, o ForgetOptions, rows bool) error {
	var found gram.Audited
	if rows {
		if err := a.read(ctx, o, &found); err != nil {
			return err
		}
	}
	var total *ridge.Sum
	if a.model != nil {
		total = ridge.NewSum(a.shape)
	}
	a.Progress.Phase("reading sums", 0)
	defer a.Progress.Done()
	var mu sync.Mutex
	err := a.all.Each(ctx, a.shape, a.Engine.Threads, func(fold, part int, sum []float64) error {
		if rows {
			found.Folds[fold].Subtract(part, sum)
		}
		if total == nil {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		return total.AddPart(part, sum)
	})
	if err != nil {
		return err
	}
	var classes []string
	if v := a.all.Added.Classes; v != nil {
		classes = v.Classes
	}
	for f, fold := range found.Folds {
		for _, why := range fold.Wrong(classes) {
			a.not("fold %d: %s", f, why)
		}
	}
	if total != nil {
		return a.weights(total)
	}
	return nil
}

// read adds up what the sums are compared with.
func (a *audit) read(ctx context.Context, o ForgetOptions, found *gram.Audited) error {
	a.pass.Fold.Random = gram.RandomResidues(a.shape.RandomLen())
	a.Progress.Phase("reading rows", a.Rows)
	defer a.Progress.Done()
	reports, err := a.ScanSum(ctx, a.pass, "audit", found)
	if err != nil {
		return err
	}
	counts, err := job.Count(&a.pass.Data, reports, o.MaxBadFraction)
	if err != nil {
		return err
	}
	if a.Data = &counts; counts.Used != a.Rows {
		a.not("the data have %s, and the sums say %s", report.Counted64(counts.Used, "row"), report.Groups(a.Rows))
	}
	for f, fold := range found.Folds {
		found.Folds[f] = ridge.NewAudit(a.shape, a.pass.Fold.Random)
		found.Folds[f].Merge(fold)
		if w := fold.Weight(); w > ridge.MaxAudited {
			return exit.Refuse("pipelines: the weights of fold %d add up to %.0f, and the test is sure up to %d; audit parts of the data", f, w, ridge.MaxAudited)
		}
	}
	if !bytes.Equal(profile.AppendContents(nil, found.Copies), profile.AppendContents(nil, a.all.Added.Copies)) {
		a.not("the frequent rows that sums count apart are not those of the data, or not as often")
	}
	return nil
}

// weights compares the weights of the model with the total, which it overwrites.
func (a *audit) weights(total *ridge.Sum) error {
	m, err := a.Worker.Gridded(a.all.Recipe.Recipe)
	if err != nil {
		return err
	}
	w, lambda := a.model.Linear, a.model.Manifest.Learner.Lambda
	r, err := a.pass.CheckWeights(total, a.all.Added.Copies, m, lambda, w, a.Engine.Threads)
	if err != nil {
		a.not("all folds: %v", err)
		return nil
	}
	if a.Weights = &r; r.OfBound > 1 {
		a.not("weights: the equation of feature %d and output %d is off by %.3g times what rounding explains",
			r.Feature+1, r.Output+1, r.OfBound)
	}
	if r.Different > 0 {
		a.not("weights: %s of %s weights and intercepts are not what the sums of all folds lead to at lambda %g",
			report.Groups(int64(r.Different)), report.Groups(int64(len(w.W)+len(w.B))), lambda)
	}
	return nil
}

// WriteTo prints the result for people.
func (r *AuditResult) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "sums      %s in %s, %s\n", report.Counted64(r.Rows, "row"), report.Counted(r.Folds, "fold"),
		report.Counted(r.Features, "feature"))
	if r.Data != nil {
		fmt.Fprintf(&b, "rows      %s, for which the audit misses wrong sums with a probability below 2⁻⁶⁰\n", r.Data)
	}
	if r.Weights != nil {
		fmt.Fprintf(&b, "weights   relative residual %.2g, %.2g of what rounding explains; %s differ from the solution\n",
			r.Weights.Relative, r.Weights.OfBound, report.Groups(int64(r.Weights.Different)))
	}
	if r.Holds {
		b.WriteString("audit     confirmed\n")
	}
	for _, why := range r.Why {
		fmt.Fprintf(&b, "wrong     %s\n", why)
	}
	return b.WriteTo(w)
}
