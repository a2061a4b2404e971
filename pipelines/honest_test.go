package pipelines

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/identity"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/features/maxout"
	"github.com/bochner-ml/bochner/features/skeleton"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/sgd"
	"github.com/bochner-ml/bochner/models/svm"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// coins are rows of standard normal numbers whose labels a coin has tossed: nothing
// can be learned from them, so a held-out error that is not one half has seen the labels.
func coins(n, d int, seed uint64) []string {
	r := rand.New(rand.NewPCG(seed, 5))
	lines := make([]string, n+1)
	for j := range d {
		lines[0] += fmt.Sprintf("x%d,", j)
	}
	lines[0] += "y\n"
	for i := range n {
		var b strings.Builder
		for range d {
			fmt.Fprintf(&b, "%.4f,", r.NormFloat64())
		}
		fmt.Fprintf(&b, "%s\n", []string{"heads", "tails"}[r.IntN(2)])
		lines[i+1] = b.String()
	}
	return lines
}

// honestKernels are all kernels, small.
func honestKernels(t *testing.T, d int) map[string]options.Prepare {
	t.Helper()
	parsed, err := skeleton.Parse(fmt.Appendf(nil,
		"columns: %d\nspace: {circle: 2}\nlayers:\n  - {full: true, activation: {exponential: 1}}\n", d))
	if err != nil {
		t.Fatal(err)
	}
	kernels := map[string]options.Prepare{
		"skeleton": {Kernel: &skeleton.Options{Skeleton: parsed, Features: 128}, Scale: []string{"minmax"}, Seed: 3},
	}
	for name, k := range map[string]kernel.Options{
		"gaussian": &fourier.GaussianOptions{Features: 128}, "laplace": &fourier.LaplaceOptions{Features: 128},
		"cauchy": &fourier.CauchyOptions{Features: 128},
		"matern": &fourier.MaternOptions{Features: 128}, "maxout": &maxout.Options{Features: 128},
		"linear":  &identity.Options{},
		"learned": &learned.Options{Features: 300}, "harmonic": &learned.HarmonicOptions{Features: 200},
		"lkrf": &learned.Options{Features: 100},
	} {
		kernels[name] = options.Prepare{Kernel: k, Seed: 3}
	}
	kernels["searched"] = options.Prepare{Kernel: &fourier.GaussianOptions{Features: 128}, Seed: 3}
	return kernels
}

// honestLearners are learners in all the ways in which held-out rows choose λ, stop, or calibrate them.
var honestLearners = map[string]options.Train{
	"ridge":        {},
	"ridge, platt": {Decision: options.Decision{Calibrate: "platt"}},
	"ridge, one λ": {Decision: options.Decision{Calibrate: "platt"}, Lambda: options.Lambda{Path: []float64{1e-4}}},
	"ridge, folds": {Lambda: options.Lambda{Path: []float64{1e-3}, Folds: 3}},
	"svm": {Learner: &svm.LearnerOptions{Shared: iterative.Shared{Stop: iterative.Stop{Rounds: 3}}},
		Lambda: options.Lambda{Path: []float64{1e-3, 1e-5}}},
	"svm, patience": {
		Learner: &svm.LearnerOptions{Shared: iterative.Shared{Objective: iterative.Objective{Loss: "logistic"},
			Stop: iterative.Stop{Rounds: 6, Patience: 2}}},
		Lambda: options.Lambda{Path: []float64{1e-4}}, Decision: options.Decision{Calibrate: "platt"},
	},
	"sgd": {Learner: &sgd.LearnerOptions{Shared: iterative.Shared{Stop: iterative.Stop{Rounds: 4}}},
		Lambda: options.Lambda{Path: []float64{1e-3, 1e-5}}},
	"sgd, patience": {Learner: &sgd.LearnerOptions{Shared: iterative.Shared{Stop: iterative.Stop{Rounds: 6, Patience: 2}}},
		Lambda: options.Lambda{Path: []float64{1e-4}}},
	"sgd, platt": {
		Learner: &sgd.LearnerOptions{Shared: iterative.Shared{Objective: iterative.Objective{Loss: "hinge"},
			Stop: iterative.Stop{Rounds: 3}}}, Lambda: options.Lambda{Path: []float64{1e-4, 1e-5}},
		Decision: options.Decision{Calibrate: "platt"},
	},
}

// fewHonest are the pairs that each run of the tests takes; BOCHNER_HONEST=1 takes all.
var fewHonest = []string{
	"learned/ridge, platt", "learned/svm, patience", "lkrf/ridge, one λ", "gaussian/sgd", "searched/ridge, platt",
}

// For every kernel and learner, each held-out error on coin flips is 50%, and calibrated probabilities neither
// know nor claim more than chance.
func TestHeldOutFiguresOfCoinFlipsMatchChance(t *testing.T) {
	const d = 12
	test := coins(2000, d, 2)
	all := os.Getenv("BOCHNER_HONEST") != ""
	dir := t.TempDir()
	unseen := dataset.Options{Files: []string{jobtest.Write(t, dir, "test.csv", strings.Join(test, ""))}, Label: "y"}
	for family, maps := range honestKernels(t, d) {
		for learner, o := range honestLearners {
			name := family + "/" + learner
			if !all && !slices.Contains(fewHonest, name) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				o.Prepare = maps
				o.Learned = options.Game{Chains: 40, Steps: 15, Harmonics: 1500, LKRF: options.LKRF{Proposals: 20000}, Rate: 3}
				if family == "lkrf" {
					o.Learned.By = "lkrf"
				}
				if family == "searched" {
					o.Search, o.Kernels = options.SearchAuto, []kernel.Options{maps.Kernel, &fourier.LaplaceOptions{Features: 128}}
				}
				n := 500
				if o.Calibrate != "" {
					n = 1500 // curves of fewer rows follow their noise
				}
				r, m := trainedModel(t, coins(n, d, 1), o)
				judge(t, r, m, n)
				if o.Calibrate == "" {
					return
				}
				score, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: r.Model, Data: unseen})
				if err != nil {
					t.Fatal(err)
				}
				// The loss of chance is log 2; one row's differs from it by what its
				// probability differs from ½. Curves of few rows cost a little.
				p := score.Probabilities
				if !(p.LogLoss >= math.Ln2-0.01 && p.LogLoss <= math.Ln2+0.06) {
					t.Errorf("calibrated probabilities have a log loss of %.4f on other rows, chance has %.4f", p.LogLoss, math.Ln2)
				}
			})
		}
	}
}

// judge checks all that a training names held-out.
func judge(t *testing.T, r *results.Train, m *models.Model, n int) {
	t.Helper()
	judged := 0
	for _, row := range r.Path {
		if row.Failed != "" {
			continue
		}
		judged++
		if row.HeldOutRows > 0 {
			e := float64(row.HeldOutErrors) / float64(row.HeldOutRows)
			if se := 0.5 / math.Sqrt(float64(row.HeldOutRows)); math.Abs(e-0.5) > 4*se {
				t.Errorf("lambda %g: held-out error %.2f ± %.2f%% of labels that nobody can know", row.Lambda, 100*e, 100*se)
			}
		} else {
			t.Errorf("lambda %g: no row held out was scored", row.Lambda)
		}
		// Scores s for codes ±1 that nobody can know have the squared error 2(1 + s²) in
		// the mean over rows, give or take 4s/√rows.
		rows := float64(n)
		if row.Folds == 1 {
			rows = float64(n) / float64(max(2, m.Manifest.Learner.Folds))
		}
		s := math.Sqrt(max(row.MSE/2-1, 0.05))
		if least := 2 - 4*4*s/math.Sqrt(rows); row.MSE < least {
			t.Errorf("lambda %g: held-out squared error %.3f in %d folds, of labels that nobody can know it is 2 or more (at least %.3f)", row.Lambda, row.MSE, row.Folds, least)
		}
	}
	half := func(what string, errors, rows int64) {
		judged++
		e := float64(errors) / float64(rows)
		if se := 0.5 / math.Sqrt(float64(rows)); math.Abs(e-0.5) > 4*se {
			t.Errorf("%s: held-out error %.2f ± %.2f%% of labels that nobody can know", what, 100*e, 100*se)
		}
	}
	if c := r.Log; c != nil {
		for _, tried := range c.Path {
			half(fmt.Sprintf("lambda %g", tried.Lambda), tried.HeldOutErrors, tried.HeldOutRows)
		}
		if c.HeldOutRows > 0 {
			half("the round that was taken", c.HeldOutErrors, c.HeldOutRows)
		}
	}
	if judged == 0 && r.Probabilities == nil {
		t.Error("nothing was judged: the test sees nothing")
	}
}

// Features that align has found are judged by rows that it has not used, like features that are found in
// training; if it has used all rows, they are rejected as judges.
func TestFrequenciesJudgeByRowsThatAlignHasNotSeen(t *testing.T) {
	const d, n = 12, 600
	dir := t.TempDir()
	data := dataset.Options{Files: []string{jobtest.Write(t, dir, "train.csv", strings.Join(coins(n, d, 1), ""))},
		Label: "y"}
	maps := options.Prepare{Data: data, Kernel: &learned.Options{Features: 64}, Seed: 3}
	search := options.Game{Chains: 20, Steps: 10, Rate: 3}
	align := func(out string, folds int) *results.Align {
		t.Helper()
		r, err := Align(jobtest.Ctx, options.Align{Prepare: maps, Learned: search, Out: filepath.Join(dir, out), Folds: folds})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	train := func(model, frequencies string, seed uint64) (*results.Train, error) {
		o := options.Train{Prepare: maps, Model: filepath.Join(dir, model)}
		if o.Seed = seed; frequencies == "" {
			o.Learned = search
		} else {
			o.Kernel = &learned.Options{Features: 64, Frequencies: filepath.Join(dir, frequencies)}
		}
		return trainPlain(jobtest.Ctx, o)
	}
	if r := align("some", 0); r.HeldOut != spec.DefaultFolds || !(r.Learned.Rows < n && r.Learned.Rows > n/2) {
		t.Errorf("align has held out one part in %d and found from %d of %d rows", r.HeldOut, r.Learned.Rows, n)
	}
	if r := align("all", 1); r.HeldOut != 0 || r.Learned.Rows != n {
		t.Errorf("align --folds 1 has held out one part in %d and found from %d of %d rows", r.HeldOut, r.Learned.Rows, n)
	}
	two, err := train("two", "some", 3)
	if err != nil {
		t.Fatal(err)
	}
	m, err := models.LoadURI(jobtest.Ctx, two.Model)
	if err != nil {
		t.Fatal(err)
	}
	judge(t, two, m, n)
	if _, err := train("one", "", 3); err != nil {
		t.Fatal(err)
	}
	one, err := os.ReadFile(filepath.Join(dir, "one", models.WeightsFile))
	if err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadFile(filepath.Join(dir, "two", models.WeightsFile))
	if err != nil {
		t.Fatal(err)
	}
	if string(one) != string(again) {
		t.Error("train --kernel learned makes other weights than align and train --frequencies")
	}
	for _, c := range []struct {
		frequencies string
		seed        uint64
		want        string
	}{{"all", 3, "learned from all of these rows, so held-out"}, {"all", 4,
		"learned from all of these rows, so held-out"}, {"some", 4, "give --folds 5 --seed 3"}} {
		if _, err := train("refused", c.frequencies, c.seed); exit.CodeOf(err) != exit.CodeUsage ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("--frequencies %s --seed %d: %v", c.frequencies, c.seed, err)
		}
	}
}
