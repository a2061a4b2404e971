package spec

import (
	"math"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
)

func TestLambdaValuesAndFoldsFollowFromOptions(t *testing.T) {
	for _, c := range []struct {
		o      options.Lambda
		n      int64
		lambda []float64
		folds  int
	}{
		{options.Lambda{}, 10, ridge.AutoLambda(), 5},
		{options.Lambda{Folds: 3}, 10, ridge.AutoLambda(), 3},
		{options.Lambda{Path: []float64{0.1}}, 10, []float64{0.1}, 1},
		{options.Lambda{Path: []float64{0.1}, Folds: 4}, 10, []float64{0.1}, 4},
		{options.Lambda{Path: []float64{0.1}, Folds: 1}, 10, []float64{0.1}, 1},
		{options.Lambda{Path: []float64{0, 1}}, 10, []float64{0, 1}, 5},
		{options.Lambda{C: 4}, 50, []float64{1. / 200}, 1}, // C = 1/(λn)
		{options.Lambda{C: 0.5, Folds: 2}, 50, []float64{1. / 25}, 2},
	} {
		if err := ValidateLambda(c.o); err != nil {
			t.Errorf("%+v: %v", c.o, err)
		}
		lambda, folds := LambdaValues(c.o, float64(c.n))
		if !slices.Equal(lambda, c.lambda) || folds != c.folds {
			t.Errorf("%+v: %v in %d folds, want %v in %d", c.o, lambda, folds, c.lambda, c.folds)
		}
	}
}

func TestValidateLambdaRejectsInvalidOptions(t *testing.T) {
	for _, o := range []options.Lambda{
		{Path: []float64{-1}}, {Path: []float64{1, math.NaN()}}, {Path: []float64{math.Inf(1)}},
		{C: -1}, {C: math.NaN()}, {C: math.Inf(1)}, {C: 1, Path: []float64{1}},
		{Folds: -1}, {Folds: 101}, {Folds: 1}, {Folds: 1, Path: []float64{1, 2}},
	} {
		jobtest.WantError(t, "", ValidateLambda(o), exit.CodeUsage, "--")
	}
}

func TestFlagsNameTheValuesThatOptionsTake(t *testing.T) {
	values := map[string][]string{}
	for _, o := range option.List(new(Options)) {
		values[o.Name] = o.Values
	}
	if !slices.Equal(values["select"], selections()) || !slices.Equal(values["search"], searches()) {
		t.Errorf("--select takes %q, want %q; --search %q, want %q", values["select"], selections(), values["search"],
			searches())
	}
}

func TestThresholdRejectsInvalidValues(t *testing.T) {
	for text, want := range map[string]string{"1e300": "--threshold 1e300 is not a finite float32 number",
		"nan": "not a finite", "f2": `unknown criterion "f2"`} {
		o := Options{Train: options.Train{Decision: options.Decision{Threshold: text}}}
		jobtest.WantError(t, text, o.validateThreshold(), exit.CodeUsage, want)
	}
}
