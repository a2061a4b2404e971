package iterative

import (
	"encoding/json"
	"fmt"

	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/loss"
)

// Linear has the methods of a Round whose state is a linear model, that reads rows in every round and never
// ends by itself.
type Linear struct{ State *linear.Model }

// Model returns the state.
func (l Linear) Model() *linear.Model { return l.State }

// Reads returns true.
func (Linear) Reads() bool { return true }

// Done returns false.
func (Linear) Done() bool { return false }

// FirstState returns a linear model in JSON as a state: init, or zeros if it is nil. Errors are as from CheckInit.
func FirstState(init *linear.Model, outputs, dim int) ([]byte, error) {
	if init == nil {
		init = &linear.Model{K: outputs, D: dim, W: make([]float32, outputs*dim), B: make([]float32, outputs)}
	}
	if err := CheckInit(init, outputs, dim); err != nil {
		return nil, err
	}
	return json.Marshal(init)
}

// Partial is the partial result of a learner that needs the gradient of the loss: tallies of rows, and the
// sum of their gradients. A Worker may embed it for its method End.
type Partial struct {
	Learn, HeldOut loss.Tally
	Gradient       []float64 // outputs×features
}

// Clear makes p empty.
func (p *Partial) Clear(problem loss.Problem) {
	*p = Partial{Gradient: make([]float64, problem.Outputs*problem.Dim)}
}

// Add counts a row of a block and, unless it is held out, adds its gradient. slopes are the derivatives of
// its loss with respect to the scores. Both are multiplied by the weight of the row.
func (p *Partial) Add(b Block, row int, value float64, wrong bool, slopes []float32) {
	weight := b.Weight(row)
	if b.HeldOut {
		p.HeldOut.Add(weight, weight*value, wrong)
		return
	}
	p.Learn.Add(weight, weight*value, wrong)
	phi := b.Phi[row*b.D:][:b.D]
	for c, slope := range slopes {
		slope = float32(weight * float64(slope))
		sum := p.Gradient[c*b.D:][:b.D]
		for j, x := range phi {
			sum[j] += float64(slope) * float64(x) // the product is exact, so compilers cannot round it differently
		}
	}
}

// End returns p in JSON, and no carried state.
func (p *Partial) End() (partial, carried []byte, err error) {
	partial, err = json.Marshal(p)
	return partial, nil, err
}

// MergePartials adds the partial results of Partial.End, in the order of the partitions.
func MergePartials(next func() ([]byte, error), problem loss.Problem) (*Partial, error) {
	all := new(Partial)
	all.Clear(problem)
	size := len(all.Gradient)
	err := EachPartial(next, func(partition int, data []byte) error {
		var p Partial
		if err := json.Unmarshal(data, &p); err != nil {
			return fmt.Errorf("iterative: partition %d: partial result: %w", partition, err)
		}
		if len(p.Gradient) != size {
			return fmt.Errorf("iterative: partition %d: partial result of %d numbers, want %d", partition, len(p.Gradient), size)
		}
		all.Learn.Merge(p.Learn)
		all.HeldOut.Merge(p.HeldOut)
		for i, x := range p.Gradient {
			all.Gradient[i] += x
		}
		return nil
	})
	return all, err
}

// NewReport returns the report on a state whose objective is the mean loss plus a penalty.
func NewReport(learn, heldOut loss.Tally, penalty float64) Report {
	mean := learn.Loss / float64(max(learn.Rows, 1)) // weights have mean 1
	r := Report{
		Rows: learn.Rows, Objective: mean + penalty, Loss: mean, Errors: learn.Errors,
		HeldOut: HeldOut{HeldOutRows: heldOut.Rows, HeldOutLoss: heldOut.Mean(), HeldOutErrors: heldOut.Errors},
	}
	if heldOut.Weight != float64(heldOut.Rows) {
		r.HeldOutError = heldOut.Error()
	}
	return r
}
