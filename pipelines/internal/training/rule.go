package training

import (
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/sums"
)

// mostValues is the largest number of distinct targets of a regression that are listed.
const mostValues = 256

// profile returns the profile of a model directory: statistics of the training rows, and the rule by which
// later data can be summed in the same way. It lists the targets of a regression only if they have at most
// mostValues distinct values, because a longer list says little and would be most of the file.
func (t *Training) profile() *sums.Profile {
	p := &sums.Profile{Kernel: t.Recipe.Name, Rule: t.rule(), Rows: t.Statistics}
	if l := t.Statistics.Labels; l != nil && t.Target != nil && t.Target.Grid != nil && len(l.Counts) > mostValues {
		rows, few := *t.Statistics, *l
		few.Vocabulary, few.Counts, few.Weights = nil, nil, nil
		rows.Labels, p.Rows = &few, &rows
	}
	if t.Target != nil && t.Target.Classes != nil {
		p.Classes, p.Positive, p.Shapes = t.Target.Classes.Classes, t.positive, t.shapes
	}
	return p
}

// rule returns how the rows were summed, nil for iterative learners.
func (t *Training) rule() *sums.Rule {
	pass := t.summed.pass
	if pass == nil {
		return nil
	}
	r := &sums.Rule{Steps: pass.Spec.Steps, Components: pass.Spec.Components, Weights: t.grid}
	plan := pass.Spec.FoldPlan
	if t.allJudge() { // later training with this recipe holds out the first fold
		plan = t.opts.Folding(t.Weights().Sum, true).FoldPlan
	}
	r.Folds, r.Cut, r.First = plan.Folds, plan.Cut, plan.Judge == ridge.JudgeFirst
	if r.Components == 0 {
		r.Lambda, r.C = t.opts.Lambda.Path, t.opts.Lambda.C
		if _, folds := t.opts.Lambda.Values(1); folds == 1 && t.shapes == nil {
			r.Folds, r.Cut = 1, 0 // held-out rows were only used to calibrate
		}
	}
	if w := t.Profile.Weights; w != nil {
		if r.WeightColumn = t.rowWeights().Column; w.Equal() {
			r.Weight = w.Max
		}
	}
	if r.Folds > 1 || t.Recipe.Recodes {
		r.Frequent, r.Split = t.Copies.Frequency(), t.Rule
	}
	return r
}
