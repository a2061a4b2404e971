package sgd

import (
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/models/iterative"
)

// worker iterates over one partition.
type worker struct {
	*round
	partition int
	partial   *partial // its weights lack the factor

	factor float64   // for sgd: the weights are factor·partial.weights
	grad   []float32 // k×d: sum over the rows of the batch so far
	bias   []float64 // k: the same for the intercept
	batch  int       // number of rows of the batch so far
	seen   int64     // number of rows of earlier batches

	keeps   float64 // β of momentum
	threads int

	scores, slopes []float32 // n×k
}

// Worker implements iterative.Round. A worker has no carried state, so carried is nil.
func (r *round) Worker(partition int, carried []byte) (iterative.Worker, error) {
	if carried != nil {
		return nil, fmt.Errorf("sgd: partition %d: has %d bytes of carried state, want none", partition, len(carried))
	}
	w := &worker{
		round: r, partition: partition, factor: 1, keeps: r.beta(), threads: 1,
		partial: &partial{state: state{
			weights: slices.Clone(r.weights), intercept: slices.Clone(r.intercept),
			kept: slices.Clone(r.kept), interceptKept: slices.Clone(r.interceptKept),
		}},
		grad: make([]float32, len(r.weights)), bias: make([]float64, r.Outputs),
	}
	if r.last() {
		w.partial.slope, w.partial.biasSlope = w.grad, w.bias
	}
	return w, nil
}

func (w *worker) Threads(n int) { w.threads = max(n, 1) }

// threadsFor returns the number of threads worth using for a product with a number of rows.
func (w *worker) threadsFor(rows int) int {
	if rows*w.Dim*w.Outputs < 1<<20 {
		return 1
	}
	return w.threads
}

// Take implements iterative.Worker. It panics if rows have another length.
func (w *worker) Take(b iterative.Block) error {
	b.Check("sgd", w.Dim)
	if err := w.CheckLabels(b.Y); err != nil {
		return fmt.Errorf("sgd: partition %d: %w", w.partition, err)
	}
	if err := w.measure(b); err != nil {
		return err
	}
	switch {
	case b.HeldOut:
		return nil
	case w.last():
		w.sum(b, 0, b.N)
		return nil
	}
	for row := 0; row < b.N; {
		n := min(b.N-row, w.Batch-w.batch)
		w.sum(b, row, row+n)
		w.batch += n
		row += n
		if w.batch == w.Batch {
			w.step()
		}
	}
	return nil
}

// measure scores the rows with the weights of the state.
func (w *worker) measure(b iterative.Block) error {
	k := w.Outputs
	blas.Scores(blas.Grow(&w.scores, b.N*k), b.Phi, b.N, b.D, w.weights, k, w.threadsFor(b.N))
	tally := &w.partial.learn
	if b.HeldOut {
		tally = &w.partial.heldOut
	}
	for i, y := range b.Y {
		scores := w.scores[i*k : (i+1)*k]
		for c := range scores {
			scores[c] += w.intercept[c]
		}
		weight := b.Weight(i)
		value := float64(weight * float64(w.Weight(y)*w.loss.Row(nil, scores, y)))
		if !exact.Finite(value) {
			return fmt.Errorf("sgd: partition %d: row %d of the block: the loss is not finite; check that the features are "+
				"finite, or lower the rate", w.partition, i)
		}
		tally.Add(weight, value, w.Wrong(scores, y))
	}
	return nil
}

// sum adds the gradient over the rows of b from first up to end, at the current weights.
func (w *worker) sum(b iterative.Block, first, end int) {
	phi, labels := b.Phi[first*b.D:end*b.D], b.Y[first:end]
	n, k := len(labels), w.Outputs
	blas.Grow(&w.slopes, n*k)
	blas.Scores(blas.Grow(&w.scores, n*k), phi, n, w.Dim, w.partial.weights, k, w.threadsFor(n))
	factor := float32(w.factor)
	for i, y := range labels {
		scores, slopes := w.scores[i*k:(i+1)*k], w.slopes[i*k:(i+1)*k]
		for c, s := range scores {
			scores[c] = float32(factor*s) + w.partial.intercept[c]
		}
		w.loss.Row(slopes, scores, y)
		weight := float32(w.Weight(y) * b.Weight(first+i))
		for c := range slopes {
			slopes[c] *= weight
			w.bias[c] += float64(slopes[c])
		}
	}
	blas.Gradient(w.grad, w.slopes, phi, n, w.Dim, k, w.threadsFor(n))
}

// step completes a batch.
func (w *worker) step() {
	n := float64(w.batch)
	switch w.Method {
	case AdaGrad:
		w.adagrad(n)
	case Momentum:
		w.move(n)
	default:
		w.descend(n)
	}
	w.seen += int64(w.batch)
	w.batch = 0
	clear(w.grad)
	clear(w.bias)
}

// smallest is the value of factor below which it is multiplied into the weights.
const smallest = 0x1p-16

// descend makes a step of sgd. The proximal part goes into factor, so that the weights are written only
// once: factor·(W − η/(n·factor)·grad)/(1 + ηλ).
func (w *worker) descend(n float64) {
	epochs := float64(w.round.round) + float64(w.seen)*float64(w.Partitions)/float64(w.Rows)
	eta := w.Rate / math.Sqrt(1+epochs)
	blas.Axpy(float32(-eta/float64(n*w.factor)), w.grad, w.partial.weights)
	w.factor *= 1 / (1 + float64(eta*w.Lambda))
	if w.factor < smallest {
		w.settle()
	}
	for c, g := range w.bias {
		w.partial.intercept[c] = float32(float64(w.partial.intercept[c]) - float64(eta/n*g))
	}
}

// settle multiplies the weights by the factor.
func (w *worker) settle() {
	f := float32(w.factor)
	for i, x := range w.partial.weights {
		w.partial.weights[i] = float32(f * x)
	}
	w.factor = 1
}

// each calls move for the weights, and for the intercepts: with their sums of squares (adagrad) or their velocity
// (momentum), the summed gradient, and λ, which is 0 for intercepts.
func (w *worker) each(move func(x, kept, grad []float32, lambda float32)) {
	move(w.partial.weights, w.partial.kept, w.grad, float32(w.Lambda))
	grad := make([]float32, len(w.bias))
	for c, g := range w.bias {
		grad[c] = float32(g)
	}
	move(w.partial.intercept, w.partial.interceptKept, grad, 0)
}

// adagrad makes a step of AdaGrad with a batch of n rows.
func (w *worker) adagrad(n float64) {
	scale, rate := float32(1/n), float32(w.Rate)
	w.each(func(x, a, grad []float32, lambda float32) {
		a, grad = a[:len(x)], grad[:len(x)]
		for i, v := range x {
			g := float32(scale*grad[i]) + float32(lambda*v)
			s := a[i] + float32(g*g)
			a[i] = s
			x[i] = v - float32(rate*g)/(float32(math.Sqrt(float64(s)))+1e-8)
		}
	})
}

func (w *worker) End() (partial, carried []byte, err error) {
	if w.batch > 0 {
		w.step()
	}
	w.settle()
	ok := true
	w.partial.arrays(w.learner, func(_ string, v *[]float32, _ ...int) { ok = ok && exact.AllFinite(*v) })
	if !ok {
		return nil, nil, fmt.Errorf("sgd: partition %d: weights overflow in round %d; lower the rate from %g", w.partition,
			w.round.round, w.Rate)
	}
	return w.partial.encode(w.learner), nil, nil
}
