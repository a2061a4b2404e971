package models

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/models/score"
)

func platt() *Probabilities {
	return &Probabilities{Kind: score.Platt, Rows: 20, Folds: 5,
		Curves: []score.CalibrationCurve{{Slope: 2, Offset: -0.5}, {Slope: 1}, {Slope: 3, Offset: 1}}}
}

func isotonic() *Probabilities {
	curve := score.CalibrationCurve{Score: []float64{-1, 0, 2}, Probability: []float64{0, 0.25, 1}}
	return &Probabilities{Kind: score.Isotonic, Rows: 20, Folds: 5, Curves: []score.CalibrationCurve{curve, curve, curve}}
}

func TestProbabilitiesMatchHandComputedExamples(t *testing.T) {
	ln3 := float32(math.Log(3))
	for _, c := range []struct {
		p            *Probabilities
		scores, want []float32
	}{
		{&Probabilities{Kind: Softmax}, []float32{0, ln3, 0, 1000, 1000, -1000}, []float32{0.2, 0.6, 0.2, 0.5, 0.5, 0}},
		{&Probabilities{Kind: Logistic}, []float32{0, ln3, -ln3, -ln3, -ln3, -ln3},
			[]float32{0.5 / 1.5, 0.75 / 1.5, 0.25 / 1.5, 1. / 3, 1. / 3, 1. / 3}},
		{&Probabilities{Kind: Softmax, Weights: []float64{1, 3, 2}}, []float32{0, ln3, 0, 1000, 1000, -1000},
			[]float32{0.4, 0.4, 0.2, 0.75, 0.25, 0}},
		{&Probabilities{Kind: Logistic, Weights: []float64{2, 0.5, 1}}, []float32{0, 0, 0, -ln3, 0, 0},
			[]float32{0.5 / 3.5, 2 / 3.5, 1 / 3.5, 0.125 / 1.625, 1 / 1.625, 0.5 / 1.625}},
		{platt(), []float32{0.25, 0, -1. / 3, 0.25, 0, -1. / 3}, slices.Repeat([]float32{1. / 3}, 6)},
		{isotonic(), []float32{1, 0, -9, -2, -2, -2}, []float32{0.625 / 0.875, 0.25 / 0.875, 0, 1. / 3, 1. / 3, 1. / 3}},
	} {
		got := make([]float32, 6)
		c.p.Apply(got, c.scores, 2, 3)
		for i, v := range got {
			if math.Abs(float64(v-c.want[i])) > 1e-6 {
				t.Errorf("%s: %v of %v, want %v", c.p.Kind, got, c.scores, c.want)
				break
			}
		}
		c.p.Apply(c.scores, c.scores, 2, 3)
		if !slices.Equal(c.scores, got) {
			t.Errorf("%s: other probabilities in the place of the scores", c.p.Kind)
		}
	}
}

// The class has the largest probability, then the largest score, then the lowest number; curves cross, have
// steps, and give equal probabilities.
func TestClassIsTheMostProbableOne(t *testing.T) {
	cross := &Probabilities{Kind: score.Platt,
		Curves: []score.CalibrationCurve{{Slope: 1, Offset: -2}, {Slope: 1}, {Slope: 1}}}
	step := score.CalibrationCurve{Score: []float64{0, 1}, Probability: []float64{0.5, 0.5}}
	steps := &Probabilities{Kind: score.Isotonic, Curves: []score.CalibrationCurve{step, step, step}}
	for _, c := range []struct {
		p      *Probabilities
		scores []float32
		want   int32
	}{
		{cross, []float32{1, 0, -1}, 1}, // class 0 has the largest score
		{cross, []float32{3, 0, -1}, 0},
		{cross, []float32{0, 1, 1}, 1},
		{steps, []float32{1, 2, -5}, 1}, // all are as probable
		{steps, []float32{-1, 2, 2}, 1},
		{steps, []float32{3, 3, 3}, 0},
		{&Probabilities{Kind: Softmax}, []float32{1000, 1001, -1000}, 1},
		{&Probabilities{Kind: Logistic}, []float32{1000, 1001, 0}, 1}, // both are 1 in float32
	} {
		p, class := make([]float32, 3), make([]int32, 1)
		c.p.Apply(p, c.scores, 1, 3)
		c.p.Classes(class, p, c.scores, 1, 3)
		if class[0] != c.want || p[class[0]] != slices.Max(p) {
			t.Errorf("%s of %v: class %d of %v, want %d", c.p.Kind, c.scores, class[0], p, c.want)
		}
	}
}

func TestProbabilitiesRoundTripInTheManifest(t *testing.T) {
	for _, p := range []*Probabilities{{Kind: Softmax}, {Kind: Logistic, Weights: []float64{1, 2, 0.5}}, platt(),
		isotonic()} {
		m := classifier(t)
		m.Manifest.Probabilities = p
		manifest, weights := encode(t, m)
		got, _, err := decode(manifest, weights)
		if err != nil || !reflect.DeepEqual(got.Probabilities, p) {
			t.Errorf("%s: %+v, %v", p.Kind, got, err)
		}
	}
}

func TestInvalidProbabilitiesAreRejected(t *testing.T) {
	for want, spoil := range map[string]func(*Manifest){
		"2 curves for 3 outputs":                                       func(m *Manifest) { m.Probabilities.Curves = m.Probabilities.Curves[:2] },
		"the kind softmax with 3 curves":                               func(m *Manifest) { m.Probabilities.Kind = Softmax },
		`unknown kind of probabilities "plat" (did you mean "platt"?)`: func(m *Manifest) { m.Probabilities.Kind = "plat" },
		"2 weights of classes for 3 outputs":                           func(m *Manifest) { m.Probabilities.Weights = []float64{1, 1} },
		"the weight 0 of class 1":                                      func(m *Manifest) { m.Probabilities.Weights = []float64{1, 0, 1} },
		"fitted to 0 rows of one fold of 5":                            func(m *Manifest) { m.Probabilities.Rows = 0 },
		"curve 1: the number of points must be 1 to 4096":              func(m *Manifest) { m.Probabilities = isotonic(); m.Probabilities.Curves[1] = score.CalibrationCurve{} },
		"probabilities without classes": func(m *Manifest) {
			*m = *regressor(t).Manifest
			m.Probabilities = &Probabilities{Kind: Softmax}
		},
	} {
		m := classifier(t)
		m.Manifest.Probabilities = platt()
		spoil(m.Manifest)
		if _, err := m.Manifest.Encode(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
