package report

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/pipelines/registry"
)

// AddFacts adds facts about a model, except for its features.
func AddFacts(t *Facts, m *models.Manifest) {
	t.Addf("learner", "%s, lambda %g", m.Learner.Kind, m.Learner.Lambda)
	if m.Learner.Steps > 0 {
		t.Addf("grid", "%s", GridText(m.Learner.Steps))
	}
	if split := m.Learner.Split; split != nil {
		t.Addf("held out", "by %s of %s", split.By, SomeOf(split.Columns))
	}
	if m.Probabilities == nil && m.Task == models.Classification {
		t.Addf("output", "no probabilities; %s", HowToGetProbabilities)
	}
	t.Addf("output", "%s", ProbabilitiesText(m.Probabilities))
	if m.Threshold != nil {
		t.Addf("output", "%s", ThresholdText(m.Threshold, m.Vocabulary.Classes[m.PositiveClass()]))
	}
	if v := m.Intervals; v != nil {
		by := fmt.Sprintf("from %s held-out rows, for levels up to %.4g (predict --interval)", Groups(v.Rows),
			v.Highest())
		if half, one := IntervalHalfWidth(v, m.Sketch, m.TargetGrid); one {
			by = fmt.Sprintf("%g%% of new rows within ±%s of the prediction, %s", 100*models.DefaultLevel,
				picture.Number(half, 3), by)
		}
		t.Addf("interval", "%s", by)
	}
	if s := m.Segments; s != nil {
		t.Addf("segments", "%s of %s with weights of their own", Counted(len(s.Of), "value"), Word(s.Column, 40))
	}
	for c, r2 := range m.Learner.TargetR2 {
		t.Addf("R²", "%.4f on held-out rows for %s", r2, Word(m.Input.Labels[c], 40))
	}
	if m.Weights != nil {
		t.Addf("weights", "%s", WeightsText(m.Weights))
	}
	t.Addf("rows", "%s", RowsText(m.Rows.Read, m.Rows.Used, m.Rows.SetAside))
}

// AddLineage adds what a model was made from, nothing for nil.
func AddLineage(t *Facts, l *registry.Lineage) {
	if l == nil {
		return
	}
	var files, parts []string
	for _, p := range l.Sources {
		parts = append(parts, p.Name)
		for _, f := range p.Files {
			files = append(files, f.Name)
		}
	}
	if len(parts) == 1 {
		t.Addf("made of", "%s", SomeOf(files))
	} else if len(parts) > 1 {
		t.Addf("made of", "%s of the data with %s: %s", Counted(len(parts), "part"), Counted(len(files), "file"),
			SomeOf(parts))
	}
	if n := len(l.Forgotten); n > 0 {
		t.Addf("forgotten", "%s of rows, whose sums were subtracted", Counted(n, "set"))
	}
	switch {
	case l.Redrawn != "":
		t.Addf("recipe", "drawn for this model: %s", l.Redrawn)
	case l.Recipe != "":
		t.Addf("recipe", "of %s", l.Recipe)
	case l.RecipeSHA256 != "":
		t.Addf("recipe", "of the sums, %.16s", l.RecipeSHA256)
	}
	for _, x := range []struct {
		what string
		of   *registry.Parent
	}{{"initial weights", l.Init}, {"learned features", l.Features}} {
		if x.of != nil {
			t.Addf("follows", "%s, its %s (%.16s)", x.of.Name, x.what, x.of.SHA256)
		}
	}
	if l.HeldOut != nil {
		t.Addf("judged by", "%s", l.HeldOut.Name)
	}
}

// IntervalHalfWidth returns half the width of the intervals of the default level, for a row with the mean leverage of
// the training rows. It returns false for models with more or less than one target.
func IntervalHalfWidth(v *models.Intervals, sketch *models.Sketch, targets linear.Grids) (half float64, one bool) {
	if v == nil || len(targets) != 1 {
		return 0, false
	}
	score, err := v.Score(0, models.DefaultLevel)
	if err != nil {
		return 0, false
	}
	half = score * targets[0].Half()
	if v.Scaled {
		half *= math.Sqrt(1 + sketch.Leverage)
	}
	return half, true
}
