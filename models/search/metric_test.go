package search

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

// If a rough kernel leads in a view in which no smooth one was tried, metrics are learned in this
// view and in the view of the best smooth candidate.
func TestRoughLeaderDoesNotEndTheSearchForMetrics(t *testing.T) {
	p := made(250, 4, 0.1, ridgeLine)
	r, rungs, err := newRunner(p, options(p))
	if err != nil {
		t.Fatal(err)
	}
	candidates := []*entry{
		{Candidate: Candidate{View: "clipped", Kernel: "laplace", Width: 1}, start: coarse},
		{Candidate: Candidate{View: "none", Kernel: "gaussian", Width: 1}, start: coarse},
	}
	spec := rungs[len(rungs)-1]
	if err := r.tryAll(t.Context(), candidates, spec); err != nil {
		t.Fatal(err)
	}
	for i := range candidates[0].loss { // so that it leads
		candidates[0].loss[i] = 0.99 * candidates[1].loss[i]
	}
	if candidates, err = r.metrics(t.Context(), candidates, spec); err != nil {
		t.Fatal(err)
	}
	for _, view := range []string{"clipped", "none"} {
		for _, kind := range []string{diagonalMetric, fullMetric} {
			if !slices.ContainsFunc(candidates, func(e *entry) bool {
				return e.View == view && e.Metric == kind && e.judged != nil
			}) {
				t.Errorf("no %s metric was tried in the view %s", kind, view)
			}
		}
	}
}

// brokenKernel fails when its recipe is chosen.
type brokenKernel struct{ fourier.GaussianOptions }

var errBroken = errors.New("broken")

func (*brokenKernel) Choose(*kernel.Data) (*kernel.Choice, error) { return nil, errBroken }

// Metrics are skipped only if the numbers allow none, such as gradients of 0. Other errors end the search.
func TestOnlyNumericalErrorsSkipMetrics(t *testing.T) {
	r, spec, candidates := screened(t, made(250, 4, 0.1, ridgeLine))
	parent := candidates[0]
	try := func() ([]*entry, error) {
		return r.refine(t.Context(), parent, diagonalMetric, 1, []string{parent.Kernel}, spec)
	}
	x := r.views[parent.View].x
	r.views[parent.View].x = make([]float32, len(x))
	if tried, err := try(); tried != nil || err != nil {
		t.Errorf("equal rows: tried %d candidates, error %v", len(tried), err)
	}
	r.views[parent.View].x = x
	r.kernels[parent.Kernel] = kernelOf{options: new(brokenKernel), smooth: true}
	if _, err := try(); !errors.Is(err, errBroken) {
		t.Errorf("error %v, want %v", err, errBroken)
	}
	if _, err := r.metrics(t.Context(), candidates, spec); !errors.Is(err, errBroken) {
		t.Errorf("metrics: error %v, want %v", err, errBroken)
	}
}

// If only rough kernels were tried, whose frequencies have no second moment, metrics are learned from a
// Gaussian, which is not chosen.
func TestRoughKernelsGetAMetricFromAGaussian(t *testing.T) {
	for _, k := range []kernel.Options{&fourier.LaplaceOptions{}, &fourier.ExponentialOptions{Exponent: 1.4}} {
		if KernelName(k) == "laplace" && !campaign.Whole() {
			continue
		}
		p := made(400, 5, 0.05, func(x []float32) float64 { return math.Sin(2 * float64(x[1])) })
		o := options(p)
		o.Kernels = []kernel.Options{k}
		r := run(t, p, o)
		if r.Chosen.Kernel != KernelName(k) || r.Chosen.Metric == noMetric || r.Chosen.Loss > 0.7*r.Default.Loss {
			t.Errorf("%s: chose %v with loss %.4f, the default has %.4f", KernelName(k), r.Chosen.Candidate, r.Chosen.Loss,
				r.Default.Loss)
		}
	}
}

// Rougher kernels than the best one are tried while the loss falls.
func TestRoughnessOfTheKernelIsFound(t *testing.T) {
	p := made(400, 1, 0.01, func(x []float32) (sum float64) { // Weierstrass (1872)
		for k := range 12 {
			sum += math.Pow(2, -float64(k)/4) * math.Cos(math.Pow(2, float64(k))*float64(x[0]))
		}
		return sum
	})
	o := options(p)
	o.Kernels = []kernel.Options{&fourier.GaussianOptions{}, &fourier.MaternOptions{}}
	few := run(t, p, o)
	o.Kernels = append(o.Kernels, &fourier.ExponentialOptions{Exponent: 1.4}, &fourier.ExponentialOptions{Exponent: 1})
	more := run(t, p, o)
	if few.Chosen.Kernel == more.Chosen.Kernel || !(more.Chosen.Loss < few.Chosen.Loss) {
		t.Errorf("chose %v with loss %.4f, without rough kernels %v with %.4f", more.Chosen.Candidate, more.Chosen.Loss,
			few.Chosen.Candidate, few.Chosen.Loss)
	}
}

// Candidates with the same metric share the median distances of its rows; another metric has its own.
func TestMediansOfAMetricAreComputedOnce(t *testing.T) {
	s := newEmptyRows(2)
	s.x = []float32{0, 0, 1, 0, 2, 1, 5, 3}
	metric := func(a ...float32) *learnedMetric { return &learnedMetric{recipe: preprocess.DiagonalMetric{A: a}} }
	median := func(m *learnedMetric, of kernel.Distance, rows bool) float64 {
		x, err := m.apply(s)
		if err != nil {
			t.Fatal(err)
		}
		if !rows {
			clear(x.x)
		}
		v, err := x.median(of)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	m := metric(1, 2)
	first := median(m, kernel.Euclidean, true)
	if again := median(m, kernel.Euclidean, false); again != first {
		t.Errorf("the median is %v, at first %v", again, first)
	}
	if l1 := median(m, kernel.L1, true); l1 == first {
		t.Errorf("both distances have the median %v", l1)
	}
	if wide := median(metric(2, 4), kernel.Euclidean, true); wide != 2*first {
		t.Errorf("twice the metric has the median %v, want %v", wide, 2*first)
	}
}
