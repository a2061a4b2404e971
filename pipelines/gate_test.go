package pipelines

import (
	"math"
	"testing"

	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/jobtest"
)

func TestGates(t *testing.T) {
	classes := &EvaluateResult{Classes: &score.ClassReport{Accuracy: 0.9, Error: 0.1, MacroF1: 0.8}}
	targets := &EvaluateResult{Targets: &score.TargetReport{R2: math.NaN(), RMSE: 2, MAE: 1}}
	for _, c := range []struct {
		text   string
		result *EvaluateResult
		pass   bool
	}{
		{"accuracy>=0.9", classes, true},
		{" accuracy >= 0.91 ", classes, false},
		{"accuracy<=0.5", classes, false},
		{"error<=0.1", classes, true},
		{"macro_f1>=1e-3", classes, true},
		{"rmse<=2", targets, true},
		{"rmse<=1.9", targets, false},
		{"mae>=0.5", targets, true},
		{"r2>=-1", targets, false}, // which is not a number here
		{"r2<=1", targets, false},
	} {
		g, err := parseGate(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.fits(c.result.Classes != nil); err != nil {
			t.Errorf("%s: %v", c.text, err)
		}
		jobtest.WantError(t, c.text, g.fits(c.result.Classes == nil), exit.CodeUsage, "this model has no "+g.score)
		switch err := g.check(c.result); {
		case c.pass && err != nil:
			t.Errorf("%s: %v", c.text, err)
		case !c.pass:
			jobtest.WantError(t, c.text, err, exit.CodeGate, g.score)
		}
	}
}

func TestAGateIsNotPassedByLeavingRowsOut(t *testing.T) {
	g, err := parseGate("rmse<=1")
	if err != nil {
		t.Fatal(err)
	}
	r := &EvaluateResult{Targets: &score.TargetReport{Rows: 5, RMSE: 0.5}}
	if err := g.check(r); err != nil {
		t.Error(err)
	}
	r.Targets.NotFinite = 2
	jobtest.WantError(t, "", g.check(r), exit.CodeGate, "2 rows")
}

func TestGateRefusals(t *testing.T) {
	for text, word := range map[string]string{
		"acuracy>=1": `did you mean "accuracy"`, "accuracy": "not of the form", "accuracy>1": "not of the form", "accuracy=1": "not of the form",
		">=1": "unknown score", "accuracy>=": "is not a number", "accuracy>=x": "is not a number", "accuracy>=1>=2": "is not a number", "accuracy>=NaN": "is not a number",
	} {
		_, err := parseGate(text)
		jobtest.WantError(t, text, err, exit.CodeUsage, word)
	}
	if g, err := parseGate(""); g != nil || err != nil || g.fits(true) != nil || g.check(nil) != nil {
		t.Error("no gate is not passed")
	}
}
