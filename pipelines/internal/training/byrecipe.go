package training

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/about"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/gram"
)

// ByRecipe has the options of training with the recipe of another model. The profile of the rows does not
// affect the features.
type ByRecipe struct {
	Recipe *sums.Recipe
	Parent string // name of the model with the recipe, for the lineage; "" if unknown
	Data   dataset.Options
	// Lambda says how λ is chosen; the recipe has the defaults, and the folds.
	Lambda         LambdaOptions
	Calibrate      string  // score.Platt gives a classifier probabilities; none or "" does not
	MaxBadFraction float64 // share of rows that may be set aside, 0 to 1
	spec.Reporting
	MinRows   int64 // levels with fewer rows are pooled
	Job       job.Options
	Contents  bool // put hashes of rows into Summed.Reports, unless there are more than sums.MostContents
	Positions bool // put hashes and positions of all rows into Summed.Reports
}

// listsContents reports whether reports have hashes, for that many rows.
func (a ByRecipe) listsContents(rows int64) bool {
	return a.Positions || a.Contents && rows <= sums.MostContents
}

// options returns training options that match the recipe.
func (a ByRecipe) options(model string) Options {
	l := a.Lambda
	if l.Auto() {
		l.Path, l.C = a.Recipe.Rule.Lambda, a.Recipe.Rule.C
	}
	l.Folds = max(a.Recipe.Rule.Folds, a.Recipe.Rule.Cut)
	return Options{
		Reporting: a.Reporting,
		Spec: prepare.Spec{
			Data: a.Data, Kernel: &fourier.GaussianOptions{Features: a.Recipe.Dim, Form: fourier.Offset}, Seed: a.Recipe.Seed,
			MaxBadFraction: a.MaxBadFraction, Job: a.Job,
		},
		Model: model, Learner: ridge.NewTraining(), Lambda: l,
	}
}

// Begin begins a job that creates the directory out: it opens and profiles the data. The caller
// closes the job.
func (a ByRecipe) Begin(ctx context.Context, out string) (*Training, error) {
	if err := a.Job.Vacant(ctx, out); err != nil {
		return nil, err
	}
	d, err := prepare.OpenByRecipe(ctx, a.Job, a.Data, a.Recipe)
	if err != nil {
		return nil, err
	}
	t, err := a.session(ctx, out)
	if err != nil {
		return nil, err
	}
	err = t.Timed(ctx, "profile", func(ctx context.Context) (err error) {
		t.Prepared, err = prepare.ProfileByRecipe(ctx, t.Job, d, a.MaxBadFraction, a.Recipe)
		return err
	})
	if err == nil {
		t.grid = a.Recipe.Rule.Weights.For(t.Profile.Weights)
		t.levels, err = a.levels(t.Prepared)
	}
	if err == nil {
		m := t.Memory(a.Recipe.Rule.Components)
		switch {
		case a.Positions:
			m.Peak += 640 * t.Counts.Used // hashes and positions in reports, and a certificate
		case a.listsContents(t.Counts.Used):
			m.Peak += 72 * t.Counts.Used // hashes in reports, as text and sorted
		}
		err = t.Fits(m)
	}
	if err != nil {
		return nil, t.Close(ctx, err)
	}
	return t, nil
}

// levels returns the levels whose rows get separate sums, nil if all rows are summed together.
func (a ByRecipe) levels(p *prepare.Prepared) ([][]sums.Member, error) {
	if p.Data.Levels == nil {
		return nil, nil
	}
	columns := strings.Join(p.Data.Levels.Columns, ", ")
	if p.Levels.Many {
		return nil, exit.Refuse("--by %s: the rows have more than %d different levels; choose columns with fewer values",
			columns, profile.MostLevels)
	}
	levels := sums.PoolLevels(p.Levels.Rows, a.MinRows)
	if len(levels) > sums.MostLevels {
		return nil, exit.Refuse("--by %s: there are %d levels of at least %d rows, each of which has sums of its own; the "+
			"limit is %d: pool those with few rows by a larger --min_rows", columns, len(levels), max(1, a.MinRows),
			sums.MostLevels)
	}
	return levels, nil
}

// session begins a job, before any data is read.
func (a ByRecipe) session(ctx context.Context, out string) (*Training, error) {
	if err := spec.CheckSummed(a.Calibrate, a.Recipe); err != nil {
		return nil, err
	}
	j, err := job.New(ctx, a.Job, out)
	if err != nil {
		return nil, err
	}
	if err := j.ShareFiles(ctx, a.Recipe.Kept); err != nil {
		return nil, j.Close(ctx, err)
	}
	o := a.options(out)
	session := &prepare.Session{Job: j, Spec: o.Spec}
	return &Training{Session: session, opts: o, given: &a, Fitted: Fitted{grid: a.Recipe.Rule.Weights}}, nil
}

// Added describes the rows of sums that earlier jobs have made.
type Added struct {
	Rows        models.Rows
	Classes     *schema.Vocabulary // nil if there are none
	ClassCounts []int64
	Copies      []profile.Content // frequent rows, which are counted instead of summed
}

// BeginAdded begins a job that creates the directory out from sums of the rows of. The caller closes the job.
func (a ByRecipe) BeginAdded(ctx context.Context, out string, of Added) (*Training, error) {
	if err := a.Job.Vacant(ctx, out); err != nil {
		return nil, err
	}
	t, err := a.session(ctx, out)
	if err != nil {
		return nil, err
	}
	r := a.Recipe
	t.Prepared = &prepare.Prepared{
		Data:     &dataset.Dataset{Schema: *r.Schema, Labeled: r.Task != models.Embedding, Label: r.Input.Label},
		Counts:   job.Counts{Read: of.Rows.Read, Used: of.Rows.Used, SetAside: of.Rows.SetAside},
		Profiles: prepare.Profiles{Profile: profile.Profile{Rows: of.Rows.Used, Dim: r.Input.Dim}}, Rule: r.Rule.Split,
	}
	var others []string
	if of.Classes != nil {
		others = of.Classes.Classes
		t.Profile.Labels = &schema.LabelSummary{Rows: of.Rows.Used, Vocabulary: of.Classes, Counts: of.ClassCounts}
	}
	if err := t.Prepared.Take(r, others); err != nil {
		return nil, t.Close(ctx, exit.Refuse("pipelines: %w", err))
	}
	return t, nil
}

// foldOf returns the specification of the sums of the recipe, without values of λ.
func (t *Training) foldOf() gram.Spec {
	s := gram.SpecOf(t.given.Recipe, t.classes())
	for _, members := range t.levels {
		s.Levels = append(s.Levels, sums.NamesOf(members))
	}
	return s
}

func (t *Training) classes() int {
	if t.Target == nil || t.Target.Classes == nil {
		return 0
	}
	return len(t.Target.Classes.Classes)
}

// Summed describes sums in the work directory of a job.
type Summed struct {
	State   gram.State
	Shape   ridge.Shape
	Folds   int
	Copies  []profile.Content // frequent rows, which are counted instead of summed
	Levels  []SummedLevel     // nil if all rows are summed together
	Reports []gram.Report
}

// SumRows sums the rows in one pass.
func (t *Training) SumRows(ctx context.Context) (*Summed, error) {
	pass := &gram.Pass{Pass: t.Pass(1), Spec: t.foldOf()}
	pass.Spec.Contents, pass.Spec.Positions = t.given.listsContents(t.Counts.Used), t.given.Positions
	pass.Copies = nil
	// If the recipe has weights, use them even if all are equal, because rows of other sums may have other
	// weights.
	pass.EqualWeights = t.given.Recipe.Rule.Weights == nil && t.Profile.Weights != nil
	s := &Summed{State: t.stateOf(pass), Shape: pass.Shape(t.Recipe.Dim), Folds: pass.Spec.Folds}
	if err := s.Shape.Validate(); err != nil {
		return nil, exit.Refuse("pipelines: %w", err)
	}
	if err := t.tooMany(s.Shape, pass.Spec.Steps); err != nil {
		return nil, err
	}
	t.Progress.Note("summing %s of %s: %s, %d features on %s, %s",
		report.Counted64(t.Counts.Used, "row"), report.Counted(t.Profile.Dim, "number"), t.Recipe.Name, t.Recipe.Dim,
		about.GridText(pass.Spec.Steps), t.stripe(pass, s.Shape))
	counts, lines, err := t.countSummed(ctx, pass, s.State, t.sum(ctx, pass, s.State))
	if err != nil {
		return nil, err
	}
	if counts.Used != t.Counts.Used {
		return nil, fmt.Errorf("pipelines: the first pass used %d rows, the second %d", t.Counts.Used, counts.Used)
	}
	s.Reports = lines
	if t.levels != nil {
		return s, s.byLevel(t.levels)
	}
	s.Copies, err = gram.Copies(lines)
	return s, err
}

// sum runs a pass that sums rows without a solve, unless its sums exist.
func (t *Training) sum(ctx context.Context, pass *gram.Pass, st gram.State) error {
	if err := job.ForgetFaults(ctx, t.Job, st.Reports,
		func(r gram.Report) dataset.Report { return r.Report }); err != nil {
		return err
	}
	summed, err := t.Intact(ctx, st.Sum, st.Reports)
	if err != nil {
		return err
	}
	if summed {
		stored, err := gram.OpenSums(ctx, st, pass.Spec.Sums(), pass.Shape(t.Recipe.Dim))
		if err == nil {
			err = stored.Check(ctx)
		}
		if err == nil {
			t.Progress.Note("found the sums of all rows in the work directory")
		}
		if !exit.Damaged(err) {
			return err
		}
		t.Damage(err)
	}
	sc, err := t.Store(ctx, pass)
	if err != nil {
		return err
	}
	t.Progress.Phase("summing", t.Counts.Used*int64(sc.Stripes))
	defer t.Progress.Done()
	return t.Run(ctx, func(s beam.Scope) {
		parts, reports := gram.Sums(s, sc, st)
		gram.Index(s, sc, st, gram.Merge(s, sc, st, parts), reports)
	})
}

// NewSummed returns the names of files for the total of other sums, which have that digest.
func (t *Training) NewSummed(digest string) *Summed {
	pass := t.passOf(digest)
	return &Summed{State: t.stateOf(pass), Shape: pass.Shape(t.Recipe.Dim), Folds: pass.Spec.Folds}
}

// passOf returns a pass that reads no rows, only the sums with that digest.
func (t *Training) passOf(digest string) *gram.Pass {
	fold := t.foldOf()
	fold.NoPassFollows = true
	// The digest takes the place of the data in the names of files, so that state of other sums is not used.
	return &gram.Pass{Pass: transforms.Pass{Seed: t.given.Recipe.Seed, Target: t.Target, Rule: t.given.Recipe.Rule.Split,
		Data: dataset.Dataset{Schema: dataset.Schema{Format: t.given.Recipe.Schema.Format, Columns: []string{digest}}}},
		Spec: fold}
}

// SolveSums fits the model to the sums with that digest.
func (t *Training) SolveSums(ctx context.Context, s *Summed, digest string) error {
	t.Digest = digest
	stored, err := gram.OpenSums(ctx, s.State, s.Folds, s.Shape)
	if err != nil {
		return err
	}
	head, err := stored.Head(ctx, s.Folds, s.Shape)
	if err != nil {
		return err
	}
	t.weightSum, t.grid = t.given.Recipe.Rule.Weigh(head, s.Copies, s.Shape.Regression)
	pass := t.passOf(digest)
	pass.Spec.HeldOut = t.given.Calibrate == score.Platt
	if fold := &pass.Spec; fold.Components == 0 {
		fold.Lambda, _ = t.opts.Lambda.Values(t.weightSum)
		fold.StartLambda = t.startLambda()
		if t.opts.Lambda.Auto() {
			fold.Smaller = ridge.SmallerOn(fold.Steps, false)
		}
	}
	st := t.stateOf(pass)
	st.Sum, st.Reports = s.State.Sum, s.State.Reports
	fitted, err := t.fitted(ctx, st)
	if err != nil {
		return err
	}
	t.Progress.Note("solving on %s rows: %s", report.Groups(t.Counts.Used),
		report.Bytes(spec.FoldingOf(&t.given.Recipe.Rule).Solve(s.Shape, t.Counts.Used, false, t.Engine.Threads)))
	if !fitted {
		sc, err := t.Store(ctx, pass)
		if err != nil {
			return err
		}
		t.Progress.Phase("solving", 0)
		defer t.Progress.Done()
		if err := t.Run(ctx, func(b beam.Scope) {
			transforms.Write(b, st.Fit,
				gram.Solve(b, sc, st, beam.Impulse(b)))
		}); err != nil {
			return err
		}
	}
	fit, err := t.loadFit(ctx, st, max(s.Shape.Outputs, pass.Spec.Components))
	if err != nil {
		return err
	}
	if fit.Rows != t.Counts.Used {
		return fmt.Errorf("pipelines: %d rows were used, %d were summed", t.Counts.Used, fit.Rows)
	}
	t.summed = summed{fit: fit}
	r := t.given.Recipe.Rule
	t.Learner = models.Learner{Kind: t.given.Recipe.Learner, Lambda: fit.Lambda, Folds: r.FoldPlan().Judges(),
		Table: fit.Table, RuledOut: ruledOut(pass.Spec.Lambda, fit.Table), Steps: r.Steps, Components: fit.Components}
	t.Learner.ClassWeights = t.gridWeights()
	if pass.Spec.HeldOut {
		t.probabilities = &models.Probabilities{Kind: score.Platt, Rows: fit.FirstRows, Folds: r.FoldPlan().Parts(),
			Curves: t.given.Recipe.Curves(t.Target.Classes.Classes, fit.Discriminants), Weights: t.Learner.ClassWeights}
	}
	return nil
}

// recipeWeights describes the weights of rows whose sums were fitted with a recipe, nil if they have none. Sums
// do not record everything; the rest is that of the recipe's rows.
func (t *Training) recipeWeights() *models.RowWeights {
	r, was := &t.given.Recipe.Rule, t.given.Recipe.Profile.Rows.Weights
	if r.WeightColumn == "" || was == nil {
		return nil
	}
	n := t.Counts.Used
	w := &models.RowWeights{Column: r.WeightColumn, Weights: profile.Weights{
		Rows: n, Sum: max(t.weightSum, was.Max), Min: was.Min, Max: was.Max, Unit: was.Unit,
		Effective: float64(n) * was.Effective / float64(was.Rows),
	}}
	if !w.Equal() {
		w.Grid = t.grid
	}
	return w
}
