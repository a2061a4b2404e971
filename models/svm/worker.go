package svm

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/models/iterative"
)

var (
	roundOrder = stream.PurposeOf("svm round")
	stepOrder  = stream.PurposeOf("svm steps")
)

// worker iterates over one partition.
type worker struct {
	*round
	partition int
	threads   int
	seed      uint64  // of this partition and round
	unit      float64 // a step δ moves view by unit·c·δ·φ

	before  dualVariables // left by the previous round
	known   bool          // there was a previous round
	now     dualVariables
	rows    int // training rows so far
	block   rowBlock
	window  window
	partial *partial

	ascent
	scratch
}

// ascent holds the sums, weights and gains that the steps of a window change.
type ascent struct {
	turn      uint32    // number of calls of ascend
	steps     []float64 // p×d: Σ c_i δ_i φ_i of the steps of the window
	stepsBias []float64 // p
	view      []float32 // p×d: w + σ'Δw, the weights for scores of steps
	viewBias  []float64 // p
	gained    []float64 // p: gain of the steps in the dual, times n
}

// scratch is memory that blocks and windows reuse.
type scratch struct {
	scores    []float32 // n×p, of a block or the window
	was, lead []float64 // n×p, of a block: see window
	lists     [][]int32 // p
	coef      []float64 // of rows that moved
	moved     []float32 // their features
	outs      []float32 // Outputs
}

func (r *round) Worker(partition int, carried []byte) (iterative.Worker, error) {
	p, d := r.problems(), r.Dim
	if carried != nil && r.round == 0 {
		return nil, fmt.Errorf("svm: partition %d: there are dual variables before the first round", partition)
	}
	before, err := decodeDual(p, carried)
	if err != nil {
		return nil, fmt.Errorf("svm: partition %d: dual variables: %w", partition, err)
	}
	index := uint64(r.round)<<32 | uint64(uint32(partition))
	w := &worker{
		round: r, partition: partition, threads: 1, before: before, known: r.round > 0,
		seed:    stream.New(r.Seed, roundOrder, index).Uint64(),
		unit:    float64(r.Partitions) / (r.Lambda * float64(r.Rows)),
		partial: newPartial(r.learner),
		ascent: ascent{steps: make([]float64, p*d), stepsBias: make([]float64, p), view: make([]float32, p*d),
			viewBias: make([]float64, p), gained: make([]float64, p)},
		scratch: scratch{lists: make([][]int32, p), outs: make([]float32, r.Outputs)},
	}
	w.account()
	return w, nil
}

// Threads implements iterative.Threaded. It helps a single partition on several cores.
func (w *worker) Threads(n int) { w.threads = max(1, n) }

// Take implements iterative.Worker. It panics if rows have another length.
func (w *worker) Take(b iterative.Block) error {
	p := w.problems()
	b.Check("svm", w.Dim)
	if err := w.CheckLabels(b.Y); err != nil {
		return fmt.Errorf("svm: partition %d: %w", w.partition, err)
	}
	if !b.HeldOut && w.window.n+b.N > w.windowRows() {
		w.settle()
	}
	blas.Scores(blas.Grow(&w.scores, b.N*p), b.Phi, b.N, b.D, w.published, p, w.threads)
	if b.HeldOut {
		return w.heldOut(b)
	}
	first := w.rows
	if w.known && (first+b.N)*p > len(w.before.a) {
		return w.changed()
	}
	w.rows += b.N
	w.now.a = append(w.now.a, make([]float32, b.N*p)...)
	a := w.now.a[first*p:]
	clear(blas.Grow(&w.was, b.N*p))
	clear(blas.Grow(&w.lead, b.N*p))
	if w.known {
		w.before.mix(w.was, w.lead, first*p, w.scale)
	}
	s := &w.block
	s.c = s.c[:0]
	for i, y := range b.Y {
		s.c = append(s.c, float64(b.Weight(i)*w.Weight(y)))
	}
	if err := w.measure(b, a); err != nil {
		return err
	}
	s.n, s.phi, s.y, s.norms, s.a = b.N, b.Phi, b.Y, s.norms[:0], a
	if !w.given {
		for i := range s.n {
			row := s.phi[i*w.Dim : (i+1)*w.Dim]
			s.norms = append(s.norms, float64(blas.Dot(row, row))+float64(w.Bias*w.Bias))
		}
		w.ascend(s, 1, 0)
	}
	for i := range b.N {
		was, lead := w.was[i*p:(i+1)*p], w.lead[i*p:(i+1)*p]
		for c, x := range was {
			if float64(a[i*p+c]) != x || lead[c] != 0 {
				w.keep(s, i, first+i, was, lead)
				break
			}
		}
	}
	return nil
}

func (w *worker) changed() error {
	return fmt.Errorf("svm: partition %d: there are dual variables for %d rows, and it has more or fewer; have the "+
		"files changed?", w.partition, len(w.before.a)/w.problems())
}

// score adds the intercept to score c of row i, stores the sum for every output, and returns it.
func (w *worker) score(i, c int) float64 {
	s := w.scores[i*w.problems()+c] + w.intercept[c]
	w.outs[c] = s
	if w.mirrored() {
		w.outs[1] = -s
	}
	return float64(s)
}

func (w *worker) notFinite(i int) error {
	return fmt.Errorf("svm: partition %d: row %d of the block: the score is not finite; check that the features are "+
		"finite and not too large", w.partition, i)
}

// heldOut scores held-out rows.
func (w *worker) heldOut(b iterative.Block) error {
	for i, y := range b.Y {
		var sum float64
		for c := range w.problems() {
			sum += w.loss.Scalar.Value(w.loss.Code(y, c), w.score(i, c))
		}
		if !exact.Finite(sum) {
			return w.notFinite(i)
		}
		weight := b.Weight(i)
		w.partial.heldOut.Add(weight, float64(float64(w.copies()*float64(weight*w.Weight(y)))*sum), w.Wrong(w.outs, y))
	}
	return nil
}

// measure scores the rows of a block at the published weights and adds each row's term of the gap. It
// stores in a the dual variables at the start of the round: was rounded to float32, or those that match the
// scores of an earlier model's weights.
func (w *worker) measure(b iterative.Block, a []float32) error {
	p, l := w.problems(), w.loss.Scalar
	for i, y := range b.Y {
		weight := w.block.c[i]
		var sum float64
		for c := range p {
			at := i*p + c
			code, s := w.loss.Code(y, c), w.score(i, c)
			value := l.Value(code, s)
			if !exact.Finite(value) {
				return w.notFinite(i)
			}
			sum += value
			if w.given {
				a[at] = feasible(l, code, -l.Slope(code, s))
				continue
			}
			was := w.was[at]
			gap := value + (l.Conjugate(code, -was) + float64(was*s))
			if math.IsInf(gap, 0) {
				return fmt.Errorf("svm: partition %d: row %d of the block: dual variable %g does not fit its label %g; have the "+
					"files changed?", w.partition, i, was, y)
			}
			w.partial.gap[c] += float64(weight * max(0, gap))
			a[at] = feasible(l, code, was)
			if w.lead[at] == 0 {
				continue
			}
			w.lead[at] = float64(w.momentum(c) * w.lead[at])
			// If momentum would leave the domain, the row is not moved, and view is corrected, as it
			// includes the whole step.
			if on := was + w.lead[at]; !math.IsInf(l.Conjugate(code, -on), 1) {
				a[at] = feasible(l, code, on)
			}
		}
		w.partial.learn.Add(b.Weight(i), float64(float64(w.copies()*weight)*sum), w.Wrong(w.outs, y))
	}
	return nil
}

func (w *worker) End() (partial, carried []byte, err error) {
	if w.known && w.rows*w.problems() != len(w.before.a) {
		return nil, nil, w.changed()
	}
	w.settle()
	for i, x := range w.steps {
		w.partial.delta[i] += x
	}
	for c, x := range w.stepsBias {
		w.partial.bias[c] += x
	}
	return w.partial.encode(w.learner), w.now.encode(w.problems()), nil
}
