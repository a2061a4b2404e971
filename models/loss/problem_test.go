package loss

import (
	"math"
	"strings"
	"testing"
)

func TestProblemNamesTheFault(t *testing.T) {
	for want, edit := range map[string]func(*Problem){
		"unknown loss": func(p *Problem) { p.Loss = "hing" },
		"features must be 1 to 16777216 (have 0)": func(p *Problem) { p.Dim = 0 },
		"outputs must be 1 to 131072 (have 0)":    func(p *Problem) { p.Outputs = 0 },
		"1 class":                                 func(p *Problem) { p.Outputs = 1 },
		"3 targets":                               func(p *Problem) { p.Regression, p.Loss = true, "huber" },
		"0 training rows":                         func(p *Problem) { p.Rows = 0 },
		"lambda is -1":                            func(p *Problem) { p.Lambda = -1 },
		"lambda is NaN":                           func(p *Problem) { p.Lambda = math.NaN() },
		"2 weights for 3":                         func(p *Problem) { p.Weights = []float64{1, 1} },
		"weight 2 is 0":                           func(p *Problem) { p.Weights = []float64{1, 1, 0} },
		"class weights in a ": func(p *Problem) {
			p.Regression, p.Loss, p.Outputs, p.Weights = true, "huber", 1,
				[]float64{1}
		},
	} {
		p := Problem{Loss: "hinge", Epsilon: 0.05, Outputs: 3, Dim: 5, Rows: 10, Lambda: 1}
		if _, err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		edit(&p)
		if _, err := p.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestLabelsOutsideAreErrors(t *testing.T) {
	nan := float32(math.NaN())
	classes := Problem{Outputs: 3, Weights: []float64{1, 2, 3}}
	if err := classes.CheckLabels([]float32{0, 1, 2}); err != nil {
		t.Error(err)
	}
	for _, y := range []float32{3, -1, 0.5, nan} {
		if err := classes.CheckLabels([]float32{0, y}); err == nil || !strings.Contains(err.Error(), "row 1") {
			t.Errorf("label %g: %v", y, err)
		}
	}
	targets := Problem{Regression: true, Outputs: 1}
	if err := targets.CheckLabels([]float32{0.5, -3}); err != nil {
		t.Error(err)
	}
	if targets.CheckLabels([]float32{nan}) == nil {
		t.Error("NaN was accepted as a target")
	}
	if classes.Weight(2) != 3 || targets.Weight(2) != 1 {
		t.Error("weights")
	}
	if !classes.Wrong([]float32{1, 1, 0}, 1) || classes.Wrong([]float32{1, 1, 0}, 0) || targets.Wrong([]float32{1}, 0) {
		t.Error("wrong rows")
	}
	var a Tally
	a.Add(3, 2, true)
	a.Merge(Tally{Rows: 1, Loss: 1, Weight: 1})
	if a != (Tally{2, 1, 3, 4, 3}) || a.Mean() != 0.75 || a.Error() != 0.75 || (Tally{}).Mean() != 0 ||
		(Tally{}).Error() != 0 {
		t.Errorf("%+v", a)
	}
}
