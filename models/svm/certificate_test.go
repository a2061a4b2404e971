package svm

import (
	"math"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/models/linear"
)

// Weights that somebody has changed differ in the objective, and not only in their bits.
func TestChangedWeightsHaveAnotherObjective(t *testing.T) {
	for _, name := range []string{"hinge/3", "hinge/2", "huber/targets"} {
		o, s := cases(120, 9)[name](2)
		r := start(t, o, s.blocks(2, 30))
		for range 30 {
			r.round(t)
		}
		good := r.certify(t)
		if c := r.certifyOf(t, r.model(t)); c != good {
			t.Errorf("%s: %+v of the model, %+v of the state", name, c, good)
		}
		for what, edit := range map[string]func(*linear.Model){
			"the first weight":   func(m *linear.Model) { m.W[0] += 1 },
			"the last weight":    func(m *linear.Model) { m.W[len(m.W)-1] -= 1 },
			"the last intercept": func(m *linear.Model) { m.B[m.K-1] += 1 },
		} {
			m := r.model(t)
			edit(m)
			c := r.certifyOf(t, m)
			if c.Same || !(c.Primal > good.Primal+1e-4) || c.Dual != good.Dual || c.Gap != c.Primal-c.Dual ||
				c.Drift != good.Drift {
				t.Errorf("%s: %s changed: %+v, was %+v", name, what, c, good)
			}
		}
		m := r.model(t)
		m.W[1] = math.Nextafter32(m.W[1], 9)
		if c := r.certifyOf(t, m); c.Same || math.Abs(c.Gap-good.Gap) > 1e-6 {
			t.Errorf("%s: one bit changed: %+v", name, c)
		}
	}
}

func TestVerifyRejectsForeignParts(t *testing.T) {
	o, s := cases(60, 5)["hinge/3"](2)
	r := start(t, o, s.blocks(2, 20))
	r.round(t)
	r.round(t)
	old := r.part(t, nil, 0)
	r.round(t)
	verify := func() *verifier {
		v, err := r.learner.verify(r.state, nil)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	open := verify()
	if err := open.partition(r.carried[0]); err != nil {
		t.Fatal(err)
	}
	_, _, unfinished := open.End()
	half := verify()
	if err := half.merge(r.part(t, nil, 0)); err != nil {
		t.Fatal(err)
	}
	_, missing := half.certificate()
	swapped := verify()
	swapped.partition(r.carried[1])
	first, _ := r.learner.Start(r.model(t))
	for want, err := range map[string]error{
		"another state":          verify().merge(old),
		"part: safetensors":      verify().merge([]byte("damaged")),
		"for 30 missing rows":    unfinished,
		"30 rows, the options":   missing,
		"does not fit its label": swapped.Take(r.parts[0][0]),
		"weights of 2 outputs on": verifyError(r, r.state,
			&linear.Model{K: 2, D: 5, W: make([]float32, 10), B: make([]float32, 2)}),
		"are not finite": verifyError(r, r.state,
			&linear.Model{K: 3, D: 5, W: append(make([]float32, 14), float32(math.NaN())), B: make([]float32, 3)}),
		"run a round first": verifyError(r, first, nil),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func verifyError(r *run, state []byte, m *linear.Model) error {
	_, err := r.learner.verify(state, m)
	return err
}
