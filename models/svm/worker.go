package svm

import (
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models/rounds"
)

var (
	roundOrder = stream.PurposeOf("svm round")
	blockOrder = stream.PurposeOf("svm block")
)

// worker walks over one partition.
type worker struct {
	*round
	partition int
	seed      uint64 // of this partition's round

	a     []float32 // dual variables, p for each row
	rows  int       // learned from so far
	kept  bool      // a came from the round before
	found *found

	view     []float32 // p×d: v = w + σ'Δw
	viewBias []float64 // p
	stale    int       // rows whose steps went into view since it was computed from found

	scores []float32 // n×p, of a block
	coef   []float64 // n×p: c_i Δa_i of a block
	norms  []float64 // n: ‖φ_i‖² with the constant feature
	order  []int32   // rows still to be visited
	outs   []float32 // Outputs
	steps  []float32 // p
}

// Worker implements rounds.Round.
func (r *round) Worker(partition int, own []byte) (rounds.Worker, error) {
	p := r.problems()
	if own != nil && r.round == 0 {
		return nil, fmt.Errorf("svm: partition %d: dual variables are kept before the first round", partition)
	}
	a, err := decodeOwn(p, own)
	if err != nil {
		return nil, fmt.Errorf("svm: partition %d: dual variables: %w", partition, err)
	}
	index := uint64(r.round)<<32 | uint64(uint32(partition))
	w := &worker{
		round: r, partition: partition, a: a, kept: r.round > 0,
		seed:  stream.New(r.Seed, roundOrder, index).Uint64(),
		found: newFound(r.Learner),
		outs:  make([]float32, r.Outputs), steps: make([]float32, p),
	}
	if !r.given {
		w.view, w.viewBias = slices.Clone(r.published), slices.Clone(r.bias)
	}
	return w, nil
}

// Fold implements rounds.Worker. It panics if the block has rows of another
// length.
func (w *worker) Fold(b rounds.Block) error {
	p := w.problems()
	if b.D != w.Dim || b.N < 0 || len(b.Phi) < b.N*b.D || len(b.Y) != b.N {
		panic("svm: block of another shape")
	}
	if err := w.CheckLabels(b.Y); err != nil {
		return fmt.Errorf("svm: partition %d: %w", w.partition, err)
	}
	w.scores = slices.Grow(w.scores[:0], b.N*p)[:b.N*p]
	blas.Scores(w.scores, b.Phi, b.N, b.D, w.published, p, 1)
	if b.Held {
		return w.held(b)
	}
	first := w.rows * p
	switch {
	case w.kept && first+b.N*p > len(w.a):
		return w.changed()
	case !w.kept:
		w.a = append(w.a, make([]float32, b.N*p)...)
	}
	w.rows += b.N
	a := w.a[first : first+b.N*p]
	w.coef = slices.Grow(w.coef[:0], b.N*p)[:b.N*p]
	if err := w.measure(b, a); err != nil {
		return err
	}
	if !w.given {
		w.ascend(b, a)
	}
	if slices.ContainsFunc(w.coef, func(x float64) bool { return x != 0 }) {
		blas.Gradient64(w.found.delta, w.coef, b.Phi, b.N, b.D, p, 1)
		for c := range p {
			var sum float64
			for i := range b.N {
				sum += w.coef[i*p+c]
			}
			w.found.bias[c] += float64(sum * w.Bias)
		}
	}
	return nil
}

func (w *worker) changed() error {
	return fmt.Errorf("svm: partition %d: dual variables of %d rows are kept, and it has more or fewer; have the files changed?", w.partition, len(w.a)/w.problems())
}

// score adds the intercept to a score and stores it for every output.
func (w *worker) score(i, c int) float64 {
	s := w.scores[i*w.problems()+c] + w.intercept[c]
	w.outs[c] = s
	if w.mirrored() {
		w.outs[1] = -s
	}
	return float64(s)
}

func (w *worker) notFinite(i int) error {
	return fmt.Errorf("svm: partition %d: row %d of the block: the score is not finite; are the features, or too large?", w.partition, i)
}

// held counts rows held out.
func (w *worker) held(b rounds.Block) error {
	for i, y := range b.Y {
		var sum float64
		for c := range w.problems() {
			sum += w.loss.Scalar.Value(w.loss.Code(y, c), w.score(i, c))
		}
		if sum-sum != 0 {
			return w.notFinite(i)
		}
		w.found.held.Add(float64(float64(w.copies()*w.Weight(y))*sum), w.Wrong(w.outs, y))
	}
	return nil
}

// measure counts the rows of a block at the published weights, with what each
// adds to the gap, and begins coef: with nothing, or with all of the dual
// variables where they are being found.
func (w *worker) measure(b rounds.Block, a []float32) error {
	p, l := w.problems(), w.loss.Scalar
	for i, y := range b.Y {
		weight := w.Weight(y)
		var sum float64
		for c := range p {
			at := i*p + c
			code, s := w.loss.Code(y, c), w.score(i, c)
			value := l.Value(code, s)
			if value-value != 0 {
				return w.notFinite(i)
			}
			sum += value
			if w.given {
				a[at] = feasible(l, code, -l.Slope(code, s))
				w.found.dual[c] -= float64(weight * l.Conjugate(code, -float64(a[at])))
				w.coef[at] = float64(weight * float64(a[at]))
				continue
			}
			was := float64(w.scale[c] * float64(a[at]))
			gap := value + (l.Conjugate(code, -was) + float64(was*s))
			if math.IsInf(gap, 0) {
				return fmt.Errorf("svm: partition %d: row %d of the block: kept dual variable %g does not fit its label %g; have the files changed?", w.partition, i, was, y)
			}
			w.found.gap[c] += float64(weight * max(0, gap))
			// The rounding of a scaled one counts as a step.
			a[at] = float32(was)
			w.coef[at] = float64(weight * (float64(a[at]) - was))
		}
		w.found.learn.Add(float64(float64(w.copies()*weight)*sum), w.Wrong(w.outs, y))
	}
	return nil
}

// End implements rounds.Worker.
func (w *worker) End() (found, own []byte, err error) {
	if w.rows*w.problems() != len(w.a) {
		return nil, nil, w.changed()
	}
	return w.found.encode(w.Learner), encodeOwn(w.problems(), w.a), nil
}
