package sgd

import (
	"bytes"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/loss"
)

var tests = stream.PurposeOf("sgd test")

// sample draws n rows with features of norm about 1 and labels by a random rule.
func sample(n, d, outputs int, regression bool) iterative.Block {
	b := iterative.Block{N: n, D: d, Phi: make([]float32, n*d), Y: make([]float32, n)}
	r := stream.New(1, tests, 0)
	rule := make([]float64, d*outputs)
	for i := range rule {
		rule[i] = 2 * r.Normal()
	}
	for i := range n {
		scores := make([]float64, outputs)
		for c := range scores {
			scores[c] = r.Normal() + 0.5*float64(c%2)
		}
		for j := range d {
			x := float32(r.Normal() / math.Sqrt(float64(d)))
			b.Phi[i*d+j] = x
			for c := range scores {
				scores[c] += rule[j*outputs+c] * float64(x)
			}
		}
		if regression {
			b.Y[i] = float32(math.Tanh(scores[0] / 3))
			continue
		}
		for c, s := range scores {
			if s > scores[int(b.Y[i])] {
				b.Y[i] = float32(c)
			}
		}
	}
	return b
}

func part(b iterative.Block, from, to int, held bool) iterative.Block {
	return iterative.Block{N: to - from, D: b.D, Phi: b.Phi[from*b.D : to*b.D], Y: b.Y[from:to], HeldOut: held}
}

// epoch goes once over the rows, in blocks of size rows, assigned to partitions.
func epoch(t testing.TB, l *learner, state []byte, b iterative.Block, partitions, size int) ([]byte, iterative.Report) {
	t.Helper()
	r, err := l.Open(state)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for p := range partitions {
		w, err := r.Worker(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		for from, to := p*b.N/partitions, (p+1)*b.N/partitions; from < to; from += size {
			if err := w.Take(part(b, from, min(from+size, to), false)); err != nil {
				t.Fatal(err)
			}
			if err := w.Take(part(b, from, from+1, true)); err != nil {
				t.Fatal(err)
			}
		}
		found, own, err := w.End()
		if err != nil || own != nil {
			t.Fatal(err, own)
		}
		all = append(all, found)
	}
	state, report, err := r.Update(feed(all))
	if err != nil {
		t.Fatal(err)
	}
	return state, report
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

func begin(t testing.TB, o options) (*learner, []byte) {
	t.Helper()
	l, err := newLearner(o)
	if err != nil {
		t.Fatal(err)
	}
	state, err := l.Start(nil)
	if err != nil {
		t.Fatal(err)
	}
	return l, state
}

func modelOf(t testing.TB, l *learner, state []byte) *linear.Model {
	t.Helper()
	r, err := l.Open(state)
	if err != nil {
		t.Fatal(err)
	}
	return r.(iterative.LinearRound).Model()
}

// best returns the least objective, by gradient descent with Nesterov's momentum
// on all rows in float64.
func best(p loss.Problem, b iterative.Block) float64 {
	l, err := p.Validate()
	if err != nil {
		panic(err)
	}
	k, d := p.Outputs, p.Dim
	w, v := make([]float64, k*(d+1)), make([]float64, k*(d+1))
	objective := func(w, grad []float64) float64 {
		var sum float64
		clear(grad)
		scores, u := make([]float64, k), make([]float64, k)
		for i, y := range b.Y {
			phi := b.Phi[i*d : (i+1)*d]
			top := math.Inf(-1)
			for c := range k {
				scores[c] = w[c*(d+1)+d]
				for j, x := range phi {
					scores[c] += w[c*(d+1)+j] * float64(x)
				}
				top = max(top, scores[c])
			}
			weight := p.Weight(y) / float64(b.N)
			if l.Scalar == nil {
				var z float64
				for c := range k {
					u[c] = math.Exp(scores[c] - top)
					z += u[c]
				}
				for c := range k {
					u[c] /= z
				}
				sum += weight * (math.Log(z) + top - scores[int(y)])
				u[int(y)]--
			} else {
				for c := range k {
					sum += weight * l.Scalar.Value(l.Code(y, c), scores[c])
					u[c] = l.Scalar.Slope(l.Code(y, c), scores[c])
				}
			}
			for c := range k {
				for j, x := range phi {
					grad[c*(d+1)+j] += weight * u[c] * float64(x)
				}
				grad[c*(d+1)+d] += weight * u[c]
			}
		}
		for i, x := range w {
			if i%(d+1) == d {
				continue
			}
			sum += p.Lambda / 2 * x * x
			grad[i] += p.Lambda * x
		}
		return sum
	}
	grad, before := make([]float64, len(w)), make([]float64, len(w))
	rate := 1 / (l.Smooth()*3*3 + p.Lambda) // of rows with ‖φ‖² + 1 below 3 and weights below 3
	for range 1500 {
		objective(v, grad)
		copy(before, w)
		for i, g := range grad {
			w[i] = v[i] - rate*g
			v[i] = w[i] + 0.97*(w[i]-before[i])
		}
	}
	return objective(w, grad)
}

func problems() map[string]loss.Problem {
	all := map[string]loss.Problem{}
	for _, name := range loss.Names(true) {
		all[name+"/3"] = loss.Problem{Loss: name, Outputs: 3}
	}
	all["softmax/weights"] = loss.Problem{Loss: "softmax", Outputs: 3, Weights: []float64{0.5, 1, 2}}
	for _, name := range loss.Names(false) {
		all[name+"/targets"] = loss.Problem{Loss: name, Outputs: 1, Regression: true, Epsilon: 0.05}
	}
	for name, p := range all {
		p.Dim, p.Rows, p.Lambda = 8, 96, 0.1
		all[name] = p
	}
	return all
}

func TestSmoothLossesReachTheOptimumOfFullBatches(t *testing.T) {
	for name, p := range problems() {
		if l, _ := p.Validate(); math.IsInf(l.Smooth(), 1) {
			continue
		}
		b := sample(int(p.Rows), p.Dim, p.Outputs, p.Regression)
		want := best(p, b)
		for method, rate := range map[Method]float64{SGD: 2, AdaGrad: 0.3} {
			// All rows in one batch: nothing is random, and the optimum a fixed point.
			l, state := begin(t, options{Problem: p, Method: method, Rate: rate, Batch: 96, Partitions: 1})
			var rep iterative.Report
			there := 0 // epochs at the optimum, which it must not leave
			for i := 0; i < 700 && there < 5; i++ {
				state, rep = epoch(t, l, state, b, 1, 96)
				if there++; !(math.Abs(rep.Objective-want) < 1e-6) {
					there = 0
				}
			}
			if there == 0 {
				t.Errorf("%s, %s: objective %.9g, the least is %.9g", name, method, rep.Objective, want)
			}
		}
	}
}

func TestEveryLossFallsOnEveryNumberOfPartitions(t *testing.T) {
	for name, p := range problems() {
		b := sample(int(p.Rows), p.Dim, p.Outputs, p.Regression)
		for _, method := range []Method{SGD, AdaGrad, Momentum} {
			o := options{Problem: p, Method: method, Batch: 8}
			var err error
			if o.Rate, err = searchRate(withPartitions(o, 1), b, 1); err != nil {
				t.Fatal(err)
			}
			ends := map[int]float64{}
			var first float64
			for _, partitions := range []int{1, 2, 4, 8} {
				if (partitions == 2 || partitions == 4) && !campaign.Whole() {
					continue
				}
				o.Partitions = partitions
				l, state := begin(t, o)
				var rep iterative.Report
				for i := range 80 {
					state, rep = epoch(t, l, state, b, partitions, 5)
					if i == 0 {
						first = rep.Objective
					}
				}
				if rep.Rows != p.Rows || rep.HeldOutRows == 0 {
					t.Fatalf("%+v", rep)
				}
				ends[partitions] = rep.Objective
			}
			for partitions, end := range ends {
				if math.Abs(end-ends[1]) > 0.05*first || !(end < first) {
					t.Errorf("%s, %s: from %g to %g with %d partitions, to %g with one", name, method, first, end, partitions, ends[1])
				}
			}
		}
	}
}

func withPartitions(o options, n int) options { o.Partitions = n; return o }

func TestBlockSizesDoNotChangeTheState(t *testing.T) {
	p := problems()["softmax/weights"]
	b := sample(int(p.Rows), p.Dim, p.Outputs, false)
	for _, method := range []Method{SGD, AdaGrad, Momentum} {
		l, first := begin(t, options{Problem: p, Method: method, Rate: 1, Batch: 7, Partitions: 2})
		want := first
		for range 3 {
			want, _ = epoch(t, l, want, b, 2, 48)
		}
		for _, size := range []int{1, 5, 7, 14, 20} {
			got := first
			for range 3 {
				got, _ = epoch(t, l, got, b, 2, size)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s: blocks of %d rows make another state", method, size)
			}
		}
	}
}

func TestAverageIsWeightedByRows(t *testing.T) {
	p := problems()["softmax/3"]
	b := sample(int(p.Rows), p.Dim, p.Outputs, false)
	l, state := begin(t, options{Problem: p, Method: SGD, Rate: 1, Batch: 4, Partitions: 3})
	r, _ := l.Open(state)
	var all [][]byte
	var mean []float64
	for i, cut := range [][2]int{{0, 60}, {60, 96}, {96, 96}} {
		w, _ := r.Worker(i, nil)
		if err := w.Take(part(b, cut[0], cut[1], false)); err != nil {
			t.Fatal(err)
		}
		found, _, err := w.End()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found)
		f, err := decodePartial(l, found, false)
		if err != nil {
			t.Fatal(err)
		}
		if mean == nil {
			mean = make([]float64, len(f.weights))
		}
		for j, x := range f.weights {
			mean[j] += float64(x) * float64(cut[1]-cut[0]) / 96
		}
	}
	next, _, err := r.Update(feed(all))
	if err != nil {
		t.Fatal(err)
	}
	for j, x := range modelOf(t, l, next).W {
		if math.Abs(float64(x)-mean[j]) > 1e-6 {
			t.Fatalf("weight %d is %g, the mean %g", j, x, mean[j])
		}
	}
}

func TestWarmStartKeepsTheObjective(t *testing.T) {
	p := problems()["softmax/3"]
	b := sample(int(p.Rows), p.Dim, p.Outputs, false)
	l, state := begin(t, options{Problem: p, Method: AdaGrad, Rate: 0.3, Batch: 8, Partitions: 1})
	for range 20 {
		state, _ = epoch(t, l, state, b, 1, 96)
	}
	m := modelOf(t, l, state)
	_, want := epoch(t, l, state, b, 1, 96)
	again, err := l.Start(m)
	if err != nil {
		t.Fatal(err)
	}
	if _, got := epoch(t, l, again, b, 1, 96); got.Objective != want.Objective || got.Errors != want.Errors ||
		got.Round != 0 {
		t.Errorf("%+v, want %+v", got, want)
	}
	m.W[3] = float32(math.NaN())
	if _, err := l.Start(m); err == nil {
		t.Error("NaN is taken for a weight")
	}
	if _, err := l.Start(&linear.Model{K: 2, D: 8, W: make([]float32, 16), B: make([]float32, 2)}); err == nil ||
		!strings.Contains(err.Error(), "2 outputs") {
		t.Errorf("%v", err)
	}
}

func TestRateTooLargeIsAnError(t *testing.T) {
	p := problems()["squared/targets"]
	b := sample(int(p.Rows), p.Dim, 1, true)
	l, state := begin(t, options{Problem: p, Method: SGD, Rate: 1e5, Batch: 4, Partitions: 1})
	r, _ := l.Open(state)
	w, _ := r.Worker(0, nil)
	if err := w.Take(b); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.End(); err == nil || !strings.Contains(err.Error(), "lower the rate") {
		t.Errorf("%v", err)
	}
}

func TestOptionErrorsNameTheField(t *testing.T) {
	for want, edit := range map[string]func(*options){
		"unknown method": func(o *options) { o.Method = "adam" },
		"rate is 0":      func(o *options) { o.Rate = 0 },
		"rows of a batch must be 1 to 1048576 (have -1)": func(o *options) { o.Batch = -1 },
		"0 partitions": func(o *options) { o.Partitions = 0 },
		"unknown loss": func(o *options) { o.Loss = "" },
	} {
		o := options{Problem: problems()["softmax/3"], Method: SGD, Rate: 1, Partitions: 1}
		edit(&o)
		if _, err := newLearner(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func FuzzBytes(f *testing.F) {
	p := problems()["softmax/3"]
	b := sample(int(p.Rows), p.Dim, p.Outputs, false)
	l, state := begin(f, options{Problem: p, Method: AdaGrad, Rate: 1, Batch: 4, Partitions: 1})
	f.Add(state)
	next, _ := epoch(f, l, state, b, 1, 96)
	f.Add(next)
	f.Add((&partial{state: state0(l)}).encode(l))
	r, err := l.Open(state)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := l.Open(data); err == nil {
			if m := r.(iterative.LinearRound).Model(); len(m.W) != 24 || len(m.B) != 3 {
				t.Fatal("weights of another shape")
			}
			w, err := r.Worker(0, nil)
			if err != nil {
				t.Fatal(err)
			}
			if w.Take(b) == nil {
				w.End()
			}
		}
		r.Update(feed([][]byte{data}))
		if data != nil {
			if _, err := r.Worker(0, data); err == nil {
				t.Fatal("there is nothing to keep")
			}
		}
	})
}

func state0(l *learner) state {
	k, d := l.Outputs, l.Dim
	return state{weights: make([]float32, k*d), intercept: make([]float32, k), kept: make([]float32, k*d),
		interceptKept: make([]float32, k)}
}
