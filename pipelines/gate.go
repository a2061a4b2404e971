package pipelines

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/internal/spell"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// gate is a bound that a score must satisfy.
type gate struct {
	score string  // one of gateScores
	least bool    // the score must be at least the bound, else at most
	bound float64 // not NaN
}

// gateScore is a score that a gate can name, for one kind of model.
type gateScore struct {
	classes func(*score.ClassReport) float64  // nil for a regression
	targets func(*score.TargetReport) float64 // nil for a classifier
}

var gateScores = map[string]gateScore{
	"accuracy": {classes: func(c *score.ClassReport) float64 { return c.Accuracy }},
	"error":    {classes: func(c *score.ClassReport) float64 { return c.Error }},
	"macro_f1": {classes: func(c *score.ClassReport) float64 { return c.MacroF1 }},
	"r2":       {targets: func(t *score.TargetReport) float64 { return t.R2 }},
	"rmse":     {targets: func(t *score.TargetReport) float64 { return t.RMSE }},
	"mae":      {targets: func(t *score.TargetReport) float64 { return t.MAE }},
}

// parseGate reads a gate such as accuracy>=0.95 or rmse<=3; nil for the empty text.
func parseGate(text string) (*gate, error) {
	if text == "" {
		return nil, nil
	}
	for _, op := range []string{">=", "<="} {
		name, bound, found := strings.Cut(text, op)
		if !found {
			continue
		}
		g := &gate{score: strings.TrimSpace(name), least: op == ">="}
		if _, ok := gateScores[g.score]; !ok {
			return nil, exit.Usage("--gate: unknown score %q%s; have %s", g.score, spell.DidYouMean(g.score, spell.Names(gateScores)), strings.Join(spell.Names(gateScores), ", "))
		}
		var err error
		if g.bound, err = strconv.ParseFloat(strings.TrimSpace(bound), 64); err != nil || math.IsNaN(g.bound) {
			return nil, exit.Usage("--gate: %q is not a number", bound)
		}
		return g, nil
	}
	return nil, exit.Usage("--gate: %q is not of the form accuracy>=0.95 or rmse<=3", text)
}

// fits returns an error if models of this kind do not have the gate's score. A nil gate fits
// all models.
func (g *gate) fits(classes bool) error {
	if g == nil || classes == (gateScores[g.score].classes != nil) {
		return nil
	}
	var have []string
	for _, name := range spell.Names(gateScores) {
		if classes == (gateScores[name].classes != nil) {
			have = append(have, name)
		}
	}
	return exit.Usage("--gate: this model has no %s; it has %s", g.score, strings.Join(have, ", "))
}

// check returns a *GateError if the result, of a model that the gate fits, does not satisfy
// the bound. A NaN score fails, and so does one that excludes rows because their predictions
// are not finite.
func (g *gate) check(r *EvaluateResult) error {
	if g == nil {
		return nil
	}
	var value float64
	if of := gateScores[g.score]; of.classes != nil {
		value = of.classes(r.Classes)
	} else {
		if n := r.Targets.NotFinite; n > 0 {
			return &exit.GateError{Message: fmt.Sprintf("gate not passed: %s excludes %d rows whose predictions are not finite", g.score, n)}
		}
		value = of.targets(r.Targets)
	}
	op, passed := "<=", value <= g.bound
	if g.least {
		op, passed = ">=", value >= g.bound
	}
	if !passed {
		return &exit.GateError{Message: fmt.Sprintf("gate not passed: %s is %.6g, want %s %g", g.score, value, op, g.bound)}
	}
	return nil
}
