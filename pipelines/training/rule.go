package training

import (
	"github.com/bochner-ml/bochner/models/sums"
)

// profile returns what a model directory says of the rows it was trained on, and how later data
// is trained on in the same way.
func (t *Training) profile() *sums.Profile {
	p := &sums.Profile{Kernel: t.Recipe.Name, Rule: t.rule(), Rows: t.Statistics}
	if t.Target != nil && t.Target.Classes != nil {
		p.Classes = t.Target.Classes.Classes
	}
	return p
}

// rule says how the rows were summed; nil for iterative learners.
func (t *Training) rule() *sums.Rule {
	pass := t.summed.pass
	if pass == nil {
		return nil
	}
	r := &sums.Rule{Folds: pass.Fold.Folds, Cut: pass.Fold.Cut, First: pass.Fold.First, Steps: pass.Fold.Steps, Components: pass.Fold.Components, Weights: t.grid}
	if r.Components == 0 {
		r.Lambda, r.C = t.opts.Lambda.Path, t.opts.Lambda.C
		if _, folds := t.opts.Lambda.Values(1); folds == 1 {
			r.Folds, r.Cut = 1, 0 // held-out rows served to calibrate only
		}
	}
	if w := t.Profile.Weights; w != nil {
		if r.WeightColumn = t.rowWeights().Column; w.Equal() {
			r.Weight = w.Max
		}
	}
	if r.Folds > 1 || t.Recipe.Recodes {
		r.Frequent = t.Copies.Frequency()
	}
	return r
}
