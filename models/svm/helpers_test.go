package svm

import (
	"io"
	"math"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/loss"
)

var tests = stream.PurposeOf("svm test")

// data is a set of rows with features of norm about 1, a quarter of them held out.
type data struct {
	learn, heldOut iterative.Block
}

// sample draws n rows to learn from: labels follow a random linear rule with
// noise.
func sample(n, d, outputs int, regression bool) data {
	rule := make([]float64, d*outputs)
	r := stream.New(1, tests, 1<<40)
	for i := range rule {
		rule[i] = 3 * r.Normal()
	}
	draw := func(n int, first uint64) iterative.Block {
		b := iterative.Block{N: n, D: d, Phi: make([]float32, n*d), Y: make([]float32, n)}
		for i := range n {
			r := stream.New(1, tests, first+uint64(i))
			scores := make([]float64, outputs)
			for j := range d {
				x := float32(r.Normal() / math.Sqrt(float64(d)))
				b.Phi[i*d+j] = x
				for c := range scores {
					scores[c] += rule[j*outputs+c] * float64(x)
				}
			}
			for c := range scores {
				scores[c] += r.Normal()
			}
			if regression {
				b.Y[i] = float32(math.Tanh(scores[0] / 3))
				continue
			}
			best := 0
			for c, s := range scores {
				if s > scores[best] {
					best = c
				}
			}
			b.Y[i] = float32(best)
		}
		return b
	}
	s := data{learn: draw(n, 0), heldOut: draw(n/4, 1<<30)}
	s.heldOut.HeldOut = true
	return s
}

// part is a stretch of a block.
func part(b iterative.Block, from, to, index int) iterative.Block {
	return iterative.Block{N: to - from, D: b.D, Phi: b.Phi[from*b.D : to*b.D], Y: b.Y[from:to], HeldOut: b.HeldOut,
		Index: index}
}

// blocks deals the rows to partitions, each in blocks of size rows.
func (s data) blocks(partitions, size int) [][]iterative.Block {
	all := make([][]iterative.Block, partitions)
	for _, b := range []iterative.Block{s.learn, s.heldOut} {
		for p := range all {
			from, to, index := p*b.N/partitions, (p+1)*b.N/partitions, 0
			for ; from < to; from += size {
				all[p] = append(all[p], part(b, from, min(from+size, to), index))
				index++
			}
		}
	}
	return all
}

// run is the state of a run over partitions.
type run struct {
	learner *learner
	parts   [][]iterative.Block
	state   []byte
	carried [][]byte
	threads int
}

func start(t testing.TB, o options, parts [][]iterative.Block) *run {
	t.Helper()
	l, err := newLearner(o)
	if err != nil {
		t.Fatal(err)
	}
	state, err := l.Start(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &run{learner: l, parts: parts, state: state, carried: make([][]byte, len(parts))}
}

// round does a round, on new copies of all blocks, and returns its report.
func (r *run) round(t testing.TB) iterative.Report {
	t.Helper()
	round, err := r.learner.Open(r.state)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for p, blocks := range r.parts {
		w, err := round.Worker(p, r.carried[p])
		if err != nil {
			t.Fatal(err)
		}
		w.(*worker).Threads(r.threads)
		for _, b := range blocks {
			if err := w.Take(b); err != nil {
				t.Fatal(err)
			}
		}
		found, own, err := w.End()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found)
		r.carried[p] = own
	}
	state, report, err := round.Update(feed(all))
	if err != nil {
		t.Fatal(err)
	}
	r.state = state
	return report
}

func feed(all [][]byte) func() ([]byte, error) {
	all = slices.Clone(all)
	return func() ([]byte, error) {
		if len(all) == 0 {
			return nil, io.EOF
		}
		f := all[0]
		all = all[1:]
		return f, nil
	}
}

// until does rounds until the gap is below tol times the objective of no weights,
// which it returns, and fails after most.
func (r *run) until(t testing.TB, tol float64, most int) float64 {
	t.Helper()
	var first, gap float64
	for i := range most {
		rep := r.round(t)
		if i == 0 {
			first = rep.Objective
		}
		var ok bool
		if gap, ok = rep.Gap(); !ok || !(gap >= 0) {
			t.Fatalf("round %d: gap %g, %t", i, gap, ok)
		}
		if gap <= tol*first {
			return first
		}
	}
	t.Fatalf("gap is %g of %g after %d rounds", gap, first, most)
	return 0
}

// part verifies one partition and returns the encoded result.
func (r *run) part(t testing.TB, m *linear.Model, p int) []byte {
	t.Helper()
	v, err := r.learner.verify(r.state, m)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.partition(r.carried[p]); err != nil {
		t.Fatal(err)
	}
	for _, b := range r.parts[p] {
		if err := v.Take(b); err != nil {
			t.Fatal(err)
		}
	}
	data, _, err := v.End()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// certifyOf verifies the weights of m, or of the state if m is nil, part by part.
func (r *run) certifyOf(t testing.TB, m *linear.Model) Certificate {
	t.Helper()
	v, err := r.learner.verify(r.state, m)
	if err != nil {
		t.Fatal(err)
	}
	for p := range r.parts {
		if err := v.merge(r.part(t, m, p)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := v.certificate()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (r *run) certify(t testing.TB) Certificate {
	t.Helper()
	c := r.certifyOf(t, nil)
	if !c.Same {
		t.Fatal("the certificate says that the state's weights are others")
	}
	return c
}

// model returns the weights of the state.
func (r *run) model(t testing.TB) *linear.Model {
	t.Helper()
	round, err := r.learner.Open(r.state)
	if err != nil {
		t.Fatal(err)
	}
	return round.(iterative.LinearRound).Model()
}

// cases are options of every loss, with rows.
func cases(n, d int) map[string]func(partitions int) (options, data) {
	all := map[string]func(int) (options, data){}
	add := func(name, lossName string, outputs int, regression bool, weights []float64) {
		all[name] = func(partitions int) (options, data) {
			return options{
				Problem: loss.Problem{
					Loss: lossName, Regression: regression, Outputs: outputs, Dim: d, Rows: int64(n),
					Epsilon: 0.05, Lambda: 0.03, Weights: weights,
				},
				Bias: 1, Partitions: partitions, Passes: 10, Seed: 7,
			}, sample(n, d, outputs, regression)
		}
	}
	for _, name := range []string{"squared", "logistic", "hinge", "squared_hinge"} {
		add(name+"/3", name, 3, false, nil)
		add(name+"/2", name, 2, false, nil)
		add(name+"/weights", name, 3, false, []float64{0.5, 1, 3})
	}
	for _, name := range []string{"squared", "huber", "epsilon_insensitive"} {
		add(name+"/targets", name, 1, true, nil)
	}
	return all
}
