package svm

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
)

func TestWarmStartKeepsTheGap(t *testing.T) {
	for name, c := range cases(200, 12) {
		o, s := c(2)
		parts := s.blocks(2, 64)
		r := start(t, o, parts)
		for range 60 {
			r.round(t)
		}
		round, err := r.learner.Open(r.state)
		if err != nil {
			t.Fatal(err)
		}
		model := round.(iterative.LinearRound).Model()
		done := r.certify(t)
		again := start(t, o, parts)
		if again.state, err = again.learner.Start(model); err != nil {
			t.Fatal(err)
		}
		first := again.round(t)
		if _, ok := first.Gap(); ok || math.Abs(first.Objective-done.Primal) > 1e-6*done.Primal {
			t.Errorf("%s: objective of the given weights is %.9g, want %.9g: %+v", name, first.Objective, done.Primal, first)
		}
		// Smooth losses have the dual variables by the weights. Others lose those at
		// the kink, but are no worse than nothing.
		cert := again.certify(t)
		if cert.Dual < 0 || cert.Drift > 1e-9 {
			t.Errorf("%s: %+v", name, cert)
		}
		if !math.IsInf(again.learner.loss.Scalar.Smooth(), 1) && cert.Gap > 100*done.Gap+1e-5 {
			t.Errorf("%s: gap %g after the start, %g before", name, cert.Gap, done.Gap)
		}
		again.until(t, 1e-3, 300)
	}
}

func TestWeightsAreUnchangedUntilADualPointImproves(t *testing.T) {
	for name, c := range cases(200, 12) {
		for _, parts := range []int{1, 3} {
			for _, factor := range []float64{0.01, 1, 10} {
				if !campaign.Whole() && (factor == 1) != (parts == 1) {
					continue
				}
				o, s := c(parts)
				r := start(t, o, s.blocks(parts, 64))
				r.until(t, 1e-3, 500)
				model := r.model(t)
				o.Lambda *= factor
				on := start(t, o, s.blocks(parts, 64))
				var err error
				if on.state, err = on.learner.Start(model); err != nil {
					t.Fatal(err)
				}
				first := on.round(t)
				certificate := on.certifyOf(t, model)
				second := on.round(t)
				if second.Objective != first.Objective || second.Loss != first.Loss || second.HeldOutLoss != first.HeldOutLoss {
					t.Errorf("%s, %d partitions, λ×%g: objective %g and then %g", name, parts, factor, first.Objective,
						second.Objective)
				}
				gap, known := second.Gap()
				if !known || gap < 0 || !certificate.Same || math.Abs(certificate.Gap-gap) > 1e-6*(1+second.Objective) ||
					certificate.Drift > 1e-9 {
					t.Errorf("%s, %d partitions, λ×%g: gap %g, %t; verified %+v", name, parts, factor, gap, known, certificate)
				}
				if third := on.round(t); third.Objective == second.Objective || *third.Dual < *second.Dual-1e-7*second.Objective {
					t.Errorf("%s, %d partitions, λ×%g: round 2 has objective %g and dual %g, round 1 %g and %g",
						name, parts, factor, third.Objective, *third.Dual, second.Objective, *second.Dual)
				}
			}
		}
	}
}

func TestModelScoresAsTheRoundDid(t *testing.T) {
	for _, name := range []string{"hinge/2", "hinge/3", "huber/targets"} {
		o, s := cases(120, 9)[name](2)
		r := start(t, o, s.blocks(2, 60))
		for range 3 {
			r.round(t)
		}
		round, _ := r.learner.Open(r.state)
		m := round.(iterative.LinearRound).Model()
		rep := r.round(t)
		scores := make([]float32, s.learn.N*m.K)
		m.Scores(scores, s.learn.Phi, s.learn.N)
		var errors int64
		var sum float64
		for i, y := range s.learn.Y {
			row := scores[i*m.K : (i+1)*m.K]
			sum += r.learner.loss.Row(nil, row, y)
			if r.learner.Wrong(row, y) {
				errors++
			}
		}
		if errors != rep.Errors || math.Abs(sum/120-rep.Loss) > 1e-6 {
			t.Errorf("%s: %d errors, loss %g; reported %+v", name, errors, sum/120, rep)
		}
	}
}

func TestOptionErrorsNameTheField(t *testing.T) {
	for want, edit := range map[string]func(*options){
		"softmax takes all outputs": func(o *options) { o.Loss = "softmax" },
		"unknown loss":              func(o *options) { o.Loss = "x" },
		"lambda is 0":               func(o *options) { o.Lambda = 0 },
		"to 1e+06 (have -1)":        func(o *options) { o.Bias = -1 },
		"to 1e+06 (have NaN)":       func(o *options) { o.Bias = math.NaN() },
		"0 partitions":              func(o *options) { o.Partitions = 0 },
		"or 0 for 50 (have -1)":     func(o *options) { o.Passes = -1 },
		"window is -1":              func(o *options) { o.Window = -1 },
	} {
		o, _ := cases(10, 3)["hinge/3"](1)
		edit(&o)
		if _, err := newLearner(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	o, _ := cases(10, 3)["hinge/3"](1)
	l, err := newLearner(o)
	if err != nil {
		t.Fatal(err)
	}
	for want, m := range map[string]*linear.Model{
		"2 outputs on 3": {K: 2, D: 3, W: make([]float32, 6), B: make([]float32, 2)},
		"not finite":     {K: 3, D: 3, W: []float32{0, 0, 0, 0, float32(math.Inf(1)), 0, 0, 0, 0}, B: make([]float32, 3)},
	} {
		if _, err := l.Start(m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	o.Bias = 0
	l, _ = newLearner(o)
	if _, err := l.Start(&linear.Model{K: 3, D: 3, W: make([]float32, 9), B: []float32{0, 1, 0}}); err == nil {
		t.Error("an intercept cannot be taken up")
	}
}

func TestChangedRowsAreErrors(t *testing.T) {
	o, s := cases(60, 5)["hinge/3"](1)
	r := start(t, o, s.blocks(1, 20))
	r.round(t)
	round, _ := r.learner.Open(r.state)
	take := func(own []byte, blocks []iterative.Block) error {
		w, err := round.Worker(0, own)
		if err != nil {
			return err
		}
		for _, b := range blocks {
			if err := w.Take(b); err != nil {
				return err
			}
		}
		_, _, err = w.End()
		return err
	}
	blocks := r.parts[0]
	nan := part(s.learn, 0, 20, 0)
	nan.Phi = append([]float32{float32(math.NaN())}, nan.Phi[1:]...)
	label := part(s.learn, 0, 20, 0)
	label.Y = append([]float32{7}, label.Y[1:]...)
	for want, err := range map[string]error{
		"more or fewer":    take(r.carried[0], blocks[:2]),
		"for 60 rows":      take(r.carried[0], append(blocks[:len(blocks):len(blocks)], blocks[0])),
		"for 0 rows":       take(nil, blocks),
		"does not fit":     take(r.carried[0], []iterative.Block{blocks[1], blocks[0], blocks[2]}),
		"score is not":     take(r.carried[0], []iterative.Block{nan}),
		"label 7":          take(r.carried[0], []iterative.Block{label}),
		"dual variables: ": take([]byte("damaged"), blocks),
		"before the first ": func() error {
			q, _ := r.learner.Start(nil)
			x, _ := r.learner.Open(q)
			_, err := x.Worker(0, r.carried[0])
			return err
		}(),
		"40 training rows": func() error { _, _, err := round.Update(feed([][]byte{partialOf(t, r, 40)})); return err }(),
		"partition 0":      func() error { _, _, err := round.Update(feed([][]byte{{1, 2}})); return err }(),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// foundOf is what a worker finds in that many rows.
func partialOf(t *testing.T, r *run, rows int) []byte {
	f := newPartial(r.learner)
	f.learn.Rows = int64(rows)
	return f.encode(r.learner)
}

func FuzzBytes(f *testing.F) {
	o, s := cases(20, 3)["hinge/3"](1)
	o.Bias = 1
	r := start(f, o, s.blocks(1, 20))
	f.Add(r.state)
	r.round(f)
	f.Add(r.state)
	f.Add(r.carried[0])
	r.round(f)
	f.Add(r.carried[0])
	part := r.part(f, nil, 0)
	f.Add(part)
	f.Add(newPartial(r.learner).encode(r.learner))
	f.Add(bytes.Replace(r.state, []byte(`"round":"1"`), []byte(`"round":"9"`), 1))
	earlier := start(f, o, r.parts)
	earlier.state, _ = r.learner.Start(r.model(f))
	earlier.round(f)
	f.Add(earlier.state)
	good, err := r.learner.Open(r.state)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if round, err := r.learner.Open(data); err == nil {
			s := round.(interface{ Model() *linear.Model }).Model()
			if len(s.W) != 9 || len(s.B) != 3 {
				t.Fatal("weights of another shape")
			}
		}
		if w, err := good.Worker(0, data); err == nil {
			for _, b := range r.parts[0] {
				if err := w.Take(b); err != nil {
					return
				}
			}
			w.End()
		}
		good.Update(feed([][]byte{data}))
		v, err := r.learner.verify(r.state, nil)
		if err != nil {
			t.Fatal(err)
		}
		v.merge(data)
		v.partition(data)
	})
}
