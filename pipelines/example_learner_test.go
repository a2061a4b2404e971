package pipelines_test

import (
	"encoding/json"

	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/loss"
)

func init() {
	iterative.Register(iterative.Definition{Name: "descent", Summary: "gradient descent",
		Open: iterative.OpenerOf(newDescent),
		New:  func() iterative.Options { return &descentOptions{iterative.Defaults(), 1} }})
}

type descentOptions struct {
	iterative.Shared
	Step float64 `flag:"step" help:"For descent: factor of the gradient."`
}

func (o *descentOptions) WithDefaults() iterative.LearnerOptions {
	return &descentOptions{o.WithRounds(100), o.Step}
}
func (o *descentOptions) DefaultLoss(bool) string { return "squared" }
func (o *descentOptions) Seal(p loss.Problem, _ iterative.Setting) (any, error) {
	return newDescent(descent{Problem: p, Step: o.Step})
}

type descent struct { // the learner; with a state a round; with a partial result a worker
	loss.Problem
	Step              float64
	loss              *loss.Loss
	iterative.Linear  `json:"-"`
	iterative.Partial `json:"-"`
}

func newDescent(d descent) (*descent, error) {
	var err error
	d.loss, err = d.Validate()
	return &d, err
}
func (d descent) Start(m *linear.Model) ([]byte, error) {
	return iterative.FirstState(m, d.Outputs, d.Dim)
}
func (d descent) Open(state []byte) (iterative.Round, error) {
	return &d, json.Unmarshal(state, &d.State)
}
func (d descent) Worker(int, []byte) (iterative.Worker, error) { d.Clear(d.Problem); return &d, nil }
func (d *descent) Take(b iterative.Block) error {
	scores, slopes := make([]float32, b.N*d.Outputs), make([]float32, d.Outputs)
	d.State.Scores(scores, b.Phi, b.N)
	for i, y := range b.Y {
		row := scores[i*d.Outputs:][:d.Outputs]
		d.Add(b, i, d.loss.Row(slopes, row, y), d.Wrong(row, y), slopes)
	}
	return nil
}
func (d descent) Update(next func() ([]byte, error)) ([]byte, iterative.Report, error) {
	all, err := iterative.MergePartials(next, d.Problem)
	if err != nil {
		return nil, iterative.Report{}, err
	}
	after := &linear.Model{K: d.Outputs, D: d.Dim, B: d.State.B}
	for j, w := range d.State.W {
		after.W = append(after.W, w-float32(d.Step*(all.Gradient[j]/float64(d.Rows)+float64(d.Lambda*float64(w)))))
	}
	state, err := json.Marshal(after)
	return state, iterative.NewReport(all.Learn, all.HeldOut, d.Penalty(d.State.W)), err
}
