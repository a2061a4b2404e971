package pipelines_test

import (
	"encoding/json"
	"errors"

	"github.com/bochner-ml/bochner/models/learner"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/loss"
	"github.com/bochner-ml/bochner/models/rounds"
)

func init() {
	learner.Register(learner.Learner{Name: "descent", Summary: "gradient descent", Open: rounds.OpenerOf(newDescent),
		New: func() learner.Options { return &descentOptions{learner.Defaults(), 1} }})
}

type descentOptions struct {
	learner.Shared
	Step float64 `flag:"step" help:"For descent: factor of the gradient."`
}

func (o *descentOptions) Complete() learner.Iterative { return &descentOptions{o.Chosen(100), o.Step} }
func (o *descentOptions) DefaultLoss(bool) string     { return "squared" }
func (o *descentOptions) Seal(p loss.Problem, _ learner.Setting) (any, error) {
	return newDescent(descent{Problem: p, Step: o.Step})
}

type descent struct { // the learner; with a state a round; with a partial result a worker
	loss.Problem
	Step           float64
	loss           *loss.Loss
	rounds.Linear  `json:"-"`
	rounds.Partial `json:"-"`
}

func newDescent(d descent) (_ *descent, err error)      { d.loss, err = d.Validate(); return &d, err }
func (d descent) Start(m *linear.Model) ([]byte, error) { return rounds.First(m, d.Outputs, d.Dim) }
func (d descent) Open(state []byte) (rounds.Round, error) {
	return &d, json.Unmarshal(state, &d.State)
}
func (d descent) Worker(int, []byte) (rounds.Worker, error) { d.Clear(d.Problem); return &d, nil }
func (d *descent) Fold(b rounds.Block) error {
	scores, slopes := make([]float32, b.N*d.Outputs), make([]float32, d.Outputs)
	d.State.Scores(scores, b.Phi, b.N)
	for i, y := range b.Y {
		row := scores[i*d.Outputs:][:d.Outputs]
		d.Add(b, i, d.loss.Row(slopes, row, y), d.Wrong(row, y), slopes)
	}
	return nil
}
func (d descent) Update(next func() ([]byte, error)) ([]byte, rounds.Report, error) {
	all, err := rounds.Merge(next, d.Problem)
	after := &linear.Model{K: d.Outputs, D: d.Dim, B: d.State.B}
	for j, w := range d.State.W {
		after.W = append(after.W, w-float32(d.Step*(all.Gradient[j]/float64(d.Rows)+float64(d.Lambda*float64(w)))))
	}
	state, bad := json.Marshal(after)
	return state, rounds.Measured(all.Learn, all.HeldOut, d.Penalty(d.State.W)), errors.Join(err, bad)
}
