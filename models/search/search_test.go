package search

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

// made returns a pilot of normal numbers, whose targets are f plus noise.
func made(n, d int, noise float64, f func(x []float32) float64) *Pilot {
	return madeLabels(n, d, noise, false, f)
}

// madeClasses is made for the signs of the targets.
func madeClasses(n, d int, noise float64, f func(x []float32) float64) *Pilot {
	return madeLabels(n, d, noise, true, f)
}

func madeLabels(n, d int, noise float64, classes bool, f func(x []float32) float64) *Pilot {
	r := rand.New(rand.NewPCG(uint64(n), 3))
	p := &Pilot{N: n, D: d, X: make([]float32, n*d), Y: make([]float64, n)}
	for i := range p.X {
		p.X[i] = float32(r.NormFloat64())
	}
	for i := range n {
		y := f(p.X[i*d:(i+1)*d]) + noise*r.NormFloat64()
		p.Y[i] = y
		if classes {
			p.Classes, p.Y[i] = 2, 0
			if y > 0 {
				p.Y[i] = 1
			}
		}
	}
	return p
}

func ridgeLine(x []float32) float64 { return math.Sin(2 * float64(x[0]+x[1])) }

func options(p *Pilot) Options {
	at := make([]float32, p.D)
	for j := range at {
		at[j] = 1
	}
	return Options{
		Views:   []View{{Name: "none"}, {Name: "clipped", Steps: []features.Recipe{preprocess.Clip{At: at}}}},
		Kernels: []kernel.Options{&fourier.GaussianOptions{}, &fourier.LaplaceOptions{}, &fourier.MaternOptions{}},
		Seed:    1, Threads: 2,
	}
}

func run(t *testing.T, p *Pilot, o Options) *Result {
	t.Helper()
	r, err := Run(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A metric finds the one of five directions on which the labels depend.
func TestSearchFindsTheDirectionThatMatters(t *testing.T) {
	for _, classes := range []bool{false, true} {
		r := run(t, madeLabels(400, 5, 0.05, classes, ridgeLine), options(&Pilot{D: 5}))
		if r.Chosen.Metric == noMetric || r.Chosen.Loss > 0.7*r.Default.Loss {
			t.Errorf("classes %v: chose %v with loss %.4f, the default has %.4f", classes, r.Chosen.Candidate, r.Chosen.Loss,
				r.Default.Loss)
		}
		if r.Chosen.Metric == fullMetric && len(r.Metric) == 0 || len(r.Steps) == 0 && r.Joined == nil || r.Kernel == nil {
			t.Errorf("classes %v: the recipe is not complete: %d bytes, %d steps", classes, len(r.Metric), len(r.Steps))
		}
	}
}

// If labels are coin flips, the best of many candidates is not better than chance by more than such a choice
// explains.
func TestLossesOfCoinFlipsMatchChance(t *testing.T) {
	p := madeClasses(400, 4, 1, func([]float32) float64 { return 0 })
	r := run(t, p, options(p))
	for _, trial := range r.Trials {
		if se := 0.5 / math.Sqrt(float64(trial.Judged)); math.Abs(trial.Error-0.5) > 4.5*se {
			t.Errorf("%v on %d rows: error %.3f of labels that nobody can know", trial.Candidate, trial.Judged, trial.Error)
		}
		if trial.Loss < math.Ln2-0.03 {
			t.Errorf("%v on %d rows: log loss %.4f of labels that nobody can know", trial.Candidate, trial.Judged, trial.Loss)
		}
	}
}

// With few rows of noise the search chooses the default, not a candidate that fits the noise.
func TestFewRowsOfNoiseKeepTheDefault(t *testing.T) {
	changed := 0
	for seed := range 6 {
		p := madeLabels(60+seed, 5, 1, seed%2 == 0, func([]float32) float64 { return 0 })
		if r := run(t, p, options(p)); r.Chosen.Candidate != r.Default.Candidate {
			changed++
		}
	}
	if changed > 1 {
		t.Errorf("%d of 6 searches in noise changed the default", changed)
	}
}

// A search that ends early has made the first trials of the whole search, and chooses among trials
// of one size.
func TestSearchThatEndsEarlyIsTheBeginningOfAWhole(t *testing.T) {
	p := made(campaign.Pick(300, 800), 3, 0.1, ridgeLine)
	o := options(p)
	o.Kernels = o.Kernels[:2]
	whole := run(t, p, o)
	if whole.Stopped {
		t.Error("a search that nothing ends was ended")
	}
	for asked := int64(0); ; asked += int64(campaign.Pick(11, 5)) {
		var calls atomic.Int64
		o.Stop = func() bool { return calls.Add(1) > asked }
		r := run(t, p, o)
		n := len(r.Trials)
		if n == 0 || n > len(whole.Trials) || !slices.Equal(r.Trials, whole.Trials[:n]) {
			t.Fatalf("ended when asked %d times: %d trials are not the first of %d", asked, n, len(whole.Trials))
		}
		for _, one := range []Trial{r.Default, r.Chosen} {
			if !slices.Contains(r.Trials, one) {
				t.Errorf("ended when asked %d times: %+v is not among the trials", asked, one)
			}
		}
		if r.Kernel == nil || !(r.Chosen.Loss <= r.Default.Loss) || r.Default.Rows != r.Chosen.Rows {
			t.Errorf("ended when asked %d times: chose %+v, the default is %+v", asked, r.Chosen, r.Default)
		}
		if !r.Stopped {
			if n != len(whole.Trials) || r.Chosen != whole.Chosen || asked == 0 {
				t.Errorf("asked %d times: not ended after %d of %d trials", asked, n, len(whole.Trials))
			}
			return
		}
	}
}

// Neither threads nor the processor change a bit of the result.
func TestSearchDependsOnThePilotOnly(t *testing.T) {
	p := madeClasses(140, 3, 0.3, ridgeLine)
	p.Weights = make([]float64, p.N)
	for i := range p.Weights {
		p.Weights[i] = float64(1 + i%3)
	}
	var want []byte
	level := blas.Level()
	defer blas.SetLevel(level)
	for _, l := range blas.Levels() {
		if err := blas.SetLevel(l); err != nil {
			t.Fatal(err)
		}
		for _, threads := range []int{1, 5} {
			if threads > 1 && l != level {
				continue
			}
			o := options(p)
			o.Threads, o.Views, o.Kernels = threads, o.Views[:1], o.Kernels[:1]
			r := run(t, p, o)
			got, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r.Metric...)
			if want == nil {
				want = got
			}
			if !bytes.Equal(got, want) {
				t.Errorf("level %s, %d threads: another result", l, threads)
			}
		}
	}
}

// A candidate and its metric are not fitted to rows that judge it, or to equal rows, unless
// Pilot.Fold separates these.
func TestJudgingRowsAreNotFitted(t *testing.T) {
	for _, n := range []int{50, 300, 900, 3000, 9000} {
		p := made(n, 2, 1, ridgeLine)
		for i := range n / 2 { // copies of other rows
			copy(p.X[2*(n-1-i):2*(n-i)], p.X[2*i:2*i+2])
		}
		for _, spec := range newRungs(p.split(), false) {
			if len(spec.train) != len(spec.judge) {
				t.Fatal("folds differ in number")
			}
			for fold := range spec.train {
				fitted := map[[2]float32]bool{}
				for _, i := range spec.train[fold] {
					fitted[[2]float32(p.X[2*i:])] = true
				}
				for _, i := range spec.judge[fold] {
					if fitted[[2]float32(p.X[2*i:])] {
						t.Errorf("%d rows: row %d is judged and fitted to", n, i)
					}
				}
				if len(fitted) == 0 || len(spec.judge[fold]) == 0 {
					t.Errorf("%d rows: a fold without rows", n)
				}
			}
		}
	}
}

// No candidate explains noise, even if one row that is not judged has nearly all of the variance, because
// losses are divided by the variance of the judged rows.
func TestNothingExplainsNoise(t *testing.T) {
	p := made(campaign.Pick(600, 1500), 2, 1, func([]float32) float64 { return 0 })
	for i := range p.N {
		was := p.Y[i]
		p.Y[i] = 100
		of := newRungs(p.split(), false)
		if !slices.ContainsFunc(of[len(of)-1].judge, func(rows []int) bool { return slices.Contains(rows, i) }) {
			break
		}
		p.Y[i] = was
	}
	if slices.Max(p.Y) != 100 {
		t.Fatal("all rows are judged")
	}
	o := options(p)
	o.Kernels, o.Views = o.Kernels[:1], o.Views[:1]
	got := run(t, p, o)
	if got.Default.Loss < 0.9 || got.Chosen.Loss < 0.9 {
		t.Errorf("by default a loss of %g, chosen %g", got.Default.Loss, got.Chosen.Loss)
	}
}

func TestInvalidPilotsAreRejected(t *testing.T) {
	good := func() *Pilot { return madeClasses(50, 2, 1, ridgeLine) }
	for name, spoil := range map[string]func(p *Pilot){
		"no rows": func(p *Pilot) { p.N = 0 }, "short": func(p *Pilot) { p.X = p.X[1:] },
		"one class": func(p *Pilot) { p.Classes = 1 },
		"class":     func(p *Pilot) { p.Y[7] = 2 }, "half a class": func(p *Pilot) { p.Y[7] = 0.5 },
		"NaN":     func(p *Pilot) { p.Y[7] = math.NaN() },
		"weights": func(p *Pilot) { p.Weights = []float64{1} },
	} {
		p := good()
		spoil(p)
		if _, err := Run(t.Context(), p, options(p)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
