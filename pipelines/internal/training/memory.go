package training

import (
	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
)

// Memory estimates the memory from the results of the profile pass; components is not 0 for an
// embedding.
func (t *Training) Memory(components int) spec.Memory {
	var nonzero int64
	for _, c := range t.Profile.Columns {
		nonzero += c.Nonzero
	}
	f := spec.Facts{
		Rows: t.Counts.Used, RowFacts: spec.RowFacts{Dim: t.Profile.Dim, Scaled: t.Profile.Dim,
			Values: float64(nonzero) / float64(t.Counts.Used), Unnamed: !t.Data.Schema.Traits().Columns, Prepared: true,
			Patches: prepare.PatchNumbers(t.opts.Scale, t.Data.Schema)},
		Features: t.Recipe.Dim,
		Outputs:  1, Components: components, Reading: t.Data.Memory(), Weighted: t.Profile.Weights != nil &&
			!t.EqualWeights(),
	}
	if s := t.Recipe.Scaling; s != nil { // otherwise it is part of a recipe that was read
		f.Scaled, f.Prepared = s.Dim, len(s.Steps) > 0
		f.Short, _ = features.ShortRow(s.Steps) // of valid steps
	}
	if table := t.Data.Schema.Table; table != nil {
		_, _, f.Levels = preprocess.ColumnBounds(table, t.opts.Encode, 1)
		f.Summed = preprocess.SummedLevels(table, t.opts.Encode)
	}
	if t.given != nil {
		stored := spec.FoldingOf(&t.given.Recipe.Rule)
		stored.Levels = len(t.levels)
		f.Stored = &stored
	}
	o := t.opts
	if components > 0 {
		o.Lambda = LambdaOptions{Path: []float64{0}} // one sum, without targets
	} else {
		f.Outputs, f.Regression = t.Outputs(), t.Target.Grid != nil
	}
	return o.Memory(f, t.Engine, max(1, min(t.Engine.Lanes, len(t.Shards))))
}

// Fits reports the memory of the training, returns an error if the machine cannot provide it,
// and sets the collector's limit. Memory that only the profile needed is released.
func (t *Training) Fits(m spec.Memory) error {
	t.Sum, t.stripes = nil, m.Stripes
	if s := t.Recipe.Scaling; s != nil && !t.opts.Resizes() {
		s.Sample = nil
	}
	if note := m.Bounded(t.Engine); note != "" {
		t.Progress.Note("%s", note)
	}
	if !t.Engine.InProcess() {
		return nil
	}
	note, err := m.Fits(t.opts)
	if err != nil {
		return err
	}
	if note != "" {
		t.Progress.Note("%s", note)
	}
	t.LimitMemory(m.Peak)
	return nil
}
