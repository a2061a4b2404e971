package training

import (
	"testing"

	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/transforms"
)

func TestTheLogLossChoosesLambdaForClassesOfManyRows(t *testing.T) {
	for name, c := range map[string]struct {
		rows   int64
		change func(*Training)
		want   string
	}{
		"many rows": {1500, func(*Training) {}, options.SelectLogLoss},
		"few rows":  {1499, func(*Training) {}, ""},
		"a number":  {1500, func(t *Training) { t.Target.Classes = nil }, ""},
		"weights of classes, which log losses do not count": {1500, func(t *Training) {
			t.opts.Learner = &ridge.Training{Weights: []string{"balanced"}}
		}, ""},
		"sizes, which squared errors compare": {1500, func(t *Training) { t.opts.Size.Worth = 0.01 }, ""},
		"lambda is set":                       {1500, func(t *Training) { t.opts.Lambda.Path = []float64{1e-3} }, ""},
		"another choice is set":               {1500, func(t *Training) { t.opts.Lambda.Select = options.SelectError }, options.SelectError},
	} {
		p := &prepare.Prepared{Target: &transforms.Labeling{Classes: new(schema.Vocabulary)}}
		p.Counts.Used = c.rows
		tr := &Training{Session: &prepare.Session{Prepared: p}}
		c.change(tr)
		byMSE := tr.judgeByLogLoss()
		if got := tr.opts.Lambda.Select; got != c.want || byMSE != (got == options.SelectLogLoss) {
			t.Errorf("%s: by %q, led by squared errors %t; want %q", name, got, byMSE, c.want)
		}
	}
}
