package training

import (
	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// Memory estimates the memory from the results of the profile pass. components is the number of components of an
// embedding, and otherwise 0.
func (t *Training) Memory(components int) results.Memory { return t.memoryWith(t.Recipe, components) }

// memoryWith is Memory with another recipe.
func (t *Training) memoryWith(r prepare.Recipe, components int) results.Memory {
	var nonzero int64
	for _, c := range t.Profile.Columns {
		nonzero += c.Nonzero
	}
	f := spec.Facts{
		Rows: t.Counts.Used, RowFacts: spec.RowFacts{Dim: t.Profile.Dim, Scaled: t.Profile.Dim, Measured: t.measured,
			Values: float64(nonzero) / float64(t.Counts.Used), Unnamed: !t.Data.Schema.Traits().Columns, Prepared: true,
			Patches: prepare.PatchNumbers(t.opts.Scale, t.Data.Schema)},
		Features: r.Dim, Outputs: 1, Components: components, Stored: t.stored,
		Reading: t.Data.Memory(), Weighted: t.Profile.Weights != nil && !t.EqualWeights(),
	}
	if s := r.Scaling; s != nil { // nil if the recipe was read from a model
		f.Scaled, f.Prepared = s.Dim, len(s.Steps) > 0
		f.Short, _ = features.ShortRow(s.Steps) // of valid steps
	}
	if table := t.Data.Schema.Table; table != nil {
		_, _, f.Levels = preprocess.ColumnBounds(table, t.opts.Encode, 1)
		f.Summed = preprocess.SummedLevels(table, t.opts.Encode)
	}
	o := t.opts
	if components > 0 {
		o.Lambda = options.Lambda{Path: []float64{0}} // one sum, without targets
	} else {
		f.Outputs, f.Regression = t.Outputs(), t.regression()
	}
	return o.Memory(f, t.Engine, max(1, min(t.Engine.Readers, len(t.Shards))))
}

// Reserve prepares the job for passes and solves that take this memory. It returns an error if the machine cannot
// provide it, and notes in the log that it may not. It drops t.Sum, which only choices by the profile need, and the
// sample of the recipe unless the number of features is still to be chosen. It sets the number of stripes and the
// limit of the garbage collector.
func (t *Training) Reserve(m results.Memory) error {
	t.Sum, t.stripes = nil, m.Stripes
	if s := t.Recipe.Scaling; s != nil && !t.opts.ChoosesSize() {
		s.Sample = nil
	}
	if err := t.checkMachine(m); err != nil {
		return err
	}
	if t.Engine.InProcess() {
		t.LimitMemory(m.Peak)
	}
	return nil
}

// checkMachine returns an error if the machine cannot provide the memory, and notes in the log that it may not.
func (t *Training) checkMachine(m results.Memory) error {
	if note := m.ExceedsWorker(t.Engine); note != "" {
		t.Progress.Note("%s", note)
	}
	if !t.Engine.InProcess() {
		return nil
	}
	note, err := t.opts.CheckMachine(m)
	if note != "" {
		t.Progress.Note("%s", note)
	}
	return err
}
