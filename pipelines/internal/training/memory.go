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
func (t *Training) Memory(components int) results.Memory {
	return t.memoryWith(t.Prepared.Recipe, components)
}

// memoryWith is Memory with another recipe.
func (t *Training) memoryWith(r prepare.Recipe, components int) results.Memory {
	p := t.Prepared
	var nonzero int64
	for _, c := range p.Profile.Columns {
		nonzero += c.Nonzero
	}
	f := spec.Facts{
		Rows: p.Counts.Used, RowFacts: spec.RowFacts{Dim: p.Profile.Dim, Scaled: p.Profile.Dim, Measured: t.measured,
			Values: float64(nonzero) / float64(p.Counts.Used), Unnamed: !p.Data.Schema.Traits().Columns, Prepared: true,
			Patches: prepare.PatchNumbers(t.spec.Scale, p.Data.Schema)},
		Features: r.Dim, Outputs: 1, Components: components, Stored: t.stored,
		Reading: p.Data.Memory(), Weighted: p.Profile.Weights != nil && !p.EqualWeights(),
	}
	if s := r.Scaling; s != nil { // nil if the recipe was read from a model
		f.Scaled, f.Prepared = s.Dim, len(s.Steps) > 0
		f.Short, _ = features.ShortRow(s.Steps) // of valid steps
	}
	if table := p.Data.Schema.Table; table != nil {
		_, _, f.Levels = preprocess.ColumnBounds(table, t.spec.Encode, 1)
		f.Summed = preprocess.SummedLevels(table, t.spec.Encode)
	}
	o := t.spec
	if components > 0 {
		o.Lambda = options.Lambda{Path: []float64{0}} // one sum, without targets
	} else {
		f.Outputs, f.Regression = p.Outputs(), t.regression()
	}
	return o.Memory(f, t.Job.Engine, max(1, min(t.Job.Engine.Readers, len(p.Shards))))
}

// Reserve prepares the job for passes and solves that take this memory. It returns an error if the machine cannot
// provide it, and notes in the log that it may not. It drops the sum of the profile, which only choices by the profile
// need, and the sample of the recipe unless the number of features is still to be chosen. It sets the number of
// stripes and the limit of the garbage collector.
func (t *Training) Reserve(m results.Memory) error {
	t.Prepared.Sum = nil
	t.stripes = m.Stripes
	if s := t.Prepared.Recipe.Scaling; s != nil && !t.spec.ChoosesSize() {
		s.Sample = nil
	}
	if note := m.ExceedsWorker(t.Job.Engine); note != "" {
		t.Job.Progress.Notef("%s", note)
	}
	if !t.Job.Engine.InProcess() {
		return nil
	}
	note, err := t.spec.CheckMachine(m)
	if note != "" {
		t.Job.Progress.Notef("%s", note)
	}
	if err == nil {
		t.Job.LimitMemory(m.Peak)
	}
	return err
}
