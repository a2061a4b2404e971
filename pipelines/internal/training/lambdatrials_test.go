package training

import (
	"testing"

	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/transforms"
)

func TestLogLossChoosesLambdaForClassesOfManyRows(t *testing.T) {
	for name, c := range map[string]struct {
		rows   int64
		change func(*Training)
		want   bool
	}{
		"many rows": {1500, func(*Training) {}, true},
		"few rows":  {1499, func(*Training) {}, false},
		"a number":  {1500, func(t *Training) { t.Prepared.Target.Classes = nil }, false},
		"weights of classes, which log losses do not count": {1500, func(t *Training) {
			t.spec.Learner = &ridge.LearnerOptions{Weights: []string{"balanced"}}
		}, false},
		"sizes, which squared errors compare": {1500, func(t *Training) { t.spec.Size.MinGain = 0.01 }, false},
		"lambda is set":                       {1500, func(t *Training) { t.spec.Lambda.Path = []float64{1e-3} }, false},
		"another choice is set":               {1500, func(t *Training) { t.spec.Lambda.Select = options.SelectError }, false},
	} {
		p := &prepare.Prepared{Target: &transforms.Labeling{Classes: new(schema.Vocabulary)}}
		p.Counts.Used = c.rows
		tr := &Training{Session: &prepare.Session{Prepared: p}}
		c.change(tr)
		if got := tr.logLossChooses(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
