package pipelines

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/pca"
	"github.com/bochner-ml/bochner/models/svm"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// levelRows are rows of a number and of a category with so many levels, each of which has a share
// of heads, from lowest to 1−lowest, that does not depend on the seed.
func levelRows(n, levels int, lowest float64, seed uint64) []string {
	r, own := rand.New(rand.NewPCG(seed, 7)), rand.New(rand.NewPCG(9, 9))
	heads := make([]float64, levels)
	for i := range heads {
		heads[i] = lowest + (1-2*lowest)*own.Float64()
	}
	lines := []string{"x,level,y\n"}
	for range n {
		level := r.IntN(levels)
		label := "tails"
		if r.Float64() < heads[level] {
			label = "heads"
		}
		lines = append(lines, fmt.Sprintf("%.4f,L%d,%s\n", r.NormFloat64(), level, label))
	}
	return lines
}

// encodedBy returns options that encode categories so.
func encodedBy(o options.Train, e preprocess.Encoding) options.Train {
	o.Prepare = options.Prepare{Kernel: &fourier.GaussianOptions{Features: 64}, Encode: preprocess.ColumnOptions{Encode: e},
		Seed: 3}
	o.Prepare.Types.MaxLevels = 100_000
	return o
}

func errorOn(t *testing.T, r *results.Train, lines []string) float64 {
	t.Helper()
	name := jobtest.Write(t, t.TempDir(), "other.csv", strings.Join(lines, ""))
	score, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: r.Model,
		Data: dataset.Options{Files: []string{name}, Label: "y"}})
	if err != nil {
		t.Fatal(err)
	}
	return 1 - score.Classes.Accuracy
}

// Coin flips cannot be predicted from target statistics, for any number of rows of a category value.
func TestTargetStatisticsOfCoinFlipsMatchChance(t *testing.T) {
	const n, levels, others = 4000, 1000, 2000
	test := levelRows(others, levels, 0.5, 2)
	for _, name := range []string{"ridge", "ridge, one λ", "svm", "svm, patience", "sgd, platt"} {
		t.Run(name, func(t *testing.T) {
			r, m := trainedModel(t, levelRows(n, levels, 0.5, 1), encodedBy(honestLearners[name], preprocess.TargetEncoding))
			judge(t, r, m, n)
			if e, se := errorOn(t, r, test), 0.5/math.Sqrt(others); math.Abs(e-0.5) > 4*se {
				t.Errorf("error %.2f ± %.2f%% on other rows", 100*e, 100*se)
			}
		})
	}
}

// With four rows of each category value, target statistics predict better than a number for each value.
func TestTargetStatisticsFindMoreThanLevels(t *testing.T) {
	campaign.Long(t)
	const n, levels = 4000, 1000
	test := levelRows(2000, levels, 0.02, 2)
	for _, name := range []string{"ridge", "svm"} {
		r, m := trainedModel(t, levelRows(n, levels, 0.02, 1), encodedBy(honestLearners[name], preprocess.TargetEncoding))
		target := errorOn(t, r, test)
		one, _ := trainedModel(t, levelRows(n, levels, 0.02, 1), encodedBy(honestLearners[name], preprocess.OneHotEncoding))
		if hot := errorOn(t, one, test); !(target < 0.35 && hot > target+0.05) {
			t.Errorf("%s: error %.3f by target statistics, %.3f by one-hot levels", name, target, hot)
		}
		// Held-out rows are encoded as new ones are.
		for _, row := range r.Path {
			if row.Lambda != m.Manifest.Learner.Lambda || row.HeldOutRows == 0 {
				continue
			}
			held := float64(row.HeldOutErrors) / float64(row.HeldOutRows)
			if se := 0.5 / math.Sqrt(float64(row.HeldOutRows)); math.Abs(held-target) > 5*se {
				t.Errorf("%s: held-out error %.3f, error on other rows %.3f", name, held, target)
			}
		}
	}
}

// An uninformative category does not take from the columns that are informative, as it would if training rows
// knew their own labels.
func TestTargetStatisticsOfNoiseDoNoHarm(t *testing.T) {
	campaign.Long(t)
	noise := func(n int, seed uint64) []string {
		r := rand.New(rand.NewPCG(seed, 11))
		lines := []string{"x,level,y\n"}
		for range n {
			x, label := r.NormFloat64(), "heads"
			if x+0.5*r.NormFloat64() < 0 {
				label = "tails"
			}
			lines = append(lines, fmt.Sprintf("%.4f,L%d,%s\n", x, r.IntN(1000), label))
		}
		return lines
	}
	train, test := noise(2000, 1), noise(4000, 2)
	for _, name := range []string{"ridge", "svm", "svm, patience", "sgd"} {
		o := encodedBy(honestLearners[name], preprocess.TargetEncoding)
		r, _ := trainedModel(t, train, o)
		without, _ := trainedModel(t, train, encodedBy(honestLearners[name], preprocess.CountEncoding))
		with, best := errorOn(t, r, test), errorOn(t, without, test)
		if se := math.Sqrt(best * (1 - best) / 4000); with > best+4*se {
			t.Errorf("%s: error %.3f with the labels of other rows, %.3f ± %.3f with their number", name, with, best, se)
		}
	}
}

// Models with target statistics do not depend on the order of rows or on files.
func TestTargetStatisticsDoNotDependOnOrderAndFiles(t *testing.T) {
	lines := levelRows(600, 50, 0.1, 1)
	lines = append(lines, lines[1:300]...) // rows that repeat
	digest := func(o options.Train, files ...[]string) []byte {
		t.Helper()
		dir := t.TempDir()
		for i, f := range files {
			o.Data.Files = append(o.Data.Files, jobtest.Write(t, dir, fmt.Sprintf("d%d.csv", i), strings.Join(f, "")))
		}
		o.Data.Label, o.Model = "y", filepath.Join(dir, "model")
		if _, err := trainPlain(jobtest.Ctx, o); err != nil {
			t.Fatal(err)
		}
		weights, err := os.ReadFile(filepath.Join(o.Model, models.WeightsFile))
		if err != nil {
			t.Fatal(err)
		}
		return weights
	}
	o := encodedBy(options.Train{}, preprocess.TargetEncoding)
	want := digest(o, lines)
	shuffled := slices.Clone(lines[1:])
	rand.New(rand.NewPCG(3, 3)).Shuffle(len(shuffled),
		func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	cut := encodedBy(options.Train{}, preprocess.TargetEncoding)
	cut.Job.ShardBytes = 2000
	if !bytes.Equal(digest(cut, append(lines[:1:1], shuffled[:200]...), append(lines[:1:1], shuffled[200:]...)), want) {
		t.Error("another order and cut gives another model")
	}
}

// A certificate holds for the rows as the training run has encoded them.
func TestCertificatesOfTargetStatisticsHold(t *testing.T) {
	for name, change := range map[string]func(*options.Train){
		"all rows":   func(o *options.Train) { o.Lambda.Path = []float64{1e-3} },
		"early end":  func(o *options.Train) { o.Lambda.Path, o.Learner.(*svm.LearnerOptions).Patience = []float64{1e-3}, 2 },
		"path":       func(o *options.Train) { o.Lambda.Path = []float64{1e-2, 1e-3} },
		"calibrated": func(o *options.Train) { o.Lambda.Path, o.Calibrate = []float64{1e-3}, "platt" },
	} {
		o := encodedBy(options.Train{Learner: &svm.LearnerOptions{Shared: iterative.Shared{Stop: iterative.Stop{Rounds: 6,
			Gap: 1e-9}}, Bias: 1}}, preprocess.TargetEncoding)
		change(&o)
		lines := levelRows(500, 40, 0.1, 1)
		lines = append(lines, lines[1:200]...)
		dir := t.TempDir()
		o.Data = dataset.Options{Files: []string{jobtest.Write(t, dir, "train.csv", strings.Join(lines, ""))}, Label: "y"}
		o.Model = filepath.Join(dir, "model")
		if _, err := trainPlain(jobtest.Ctx, o); err != nil {
			t.Fatal(name, err)
		}
		if _, err := VerifyOptimum(jobtest.Ctx, options.VerifyOptimum{Model: o.Model, Data: o.Data}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The statistics of a regression are the mean targets of each category value.
func TestTargetStatisticsOfRegressionsAreMeanTargets(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	lines := []string{"x,level,y\n"}
	for i := range 3000 {
		level := i % 300
		lines = append(lines, fmt.Sprintf("%.4f,L%d,%.4f\n", r.NormFloat64(), level,
			float64(level*7919%300)/100+0.1*r.NormFloat64()))
	}
	result, m := trainedModel(t, lines, encodedBy(options.Train{}, preprocess.TargetEncoding))
	for _, row := range result.Path {
		if row.Lambda == m.Manifest.Learner.Lambda && !(row.MSE < 0.1) { // of a variance of 0.75
			t.Errorf("held-out squared error %.3f", row.MSE)
		}
	}
	// Ten rows of a level, drawn to the mean of all by as many rows.
	recipe, err := m.Manifest.Recipe.Open()
	if err != nil {
		t.Fatal(err)
	}
	if preprocess.TargetEncoderOf(recipe) == nil {
		t.Error("the recipe does not say which rows have other statistics")
	}
}

// Embed works with texts encoded by counts, with and without labels.
func TestEmbedEncodesCategoriesByCounts(t *testing.T) {
	dir := t.TempDir()
	spec := encodedBy(options.Train{}, preprocess.CountEncoding).Prepare
	spec.Kernel = &fourier.GaussianOptions{Features: 16}
	for _, label := range []string{"", "y"} {
		spec.Data = dataset.Options{Files: []string{jobtest.Write(t, dir, "d.csv",
			strings.Join(levelRows(100, 20, 0.1, 1), ""))}, Label: label}
		if _, err := Embed(jobtest.Ctx, options.Embed{Prepare: spec, LearnerOptions: pca.LearnerOptions{Components: 2},
			Model: filepath.Join(dir, "m"+label)}); err != nil {
			t.Errorf("label %q: %v", label, err)
		}
	}
}

func TestTargetStatisticsRequireTraining(t *testing.T) {
	dir := t.TempDir()
	spec := encodedBy(options.Train{}, preprocess.TargetEncoding).Prepare
	spec.Data = dataset.Options{Files: []string{jobtest.Write(t, dir, "d.csv",
		strings.Join(levelRows(100, 20, 0.1, 1), ""))}, Label: "y"}
	_, err := Embed(jobtest.Ctx, options.Embed{Prepare: spec, LearnerOptions: pca.LearnerOptions{Components: 2},
		Model: filepath.Join(dir, "m")})
	jobtest.WantError(t, "embed", err, exit.CodeUsage, "--encode target learns from labels")
	_, err = Featurize(jobtest.Ctx, options.Featurize{Prepare: spec, Out: filepath.Join(dir, "f")})
	jobtest.WantError(t, "featurize", err, exit.CodeUsage, "--encode target learns from labels")
	spec.Kernel = &learned.Options{Features: 8}
	_, err = trainPlain(jobtest.Ctx, options.Train{Prepare: spec, Model: filepath.Join(dir, "m"),
		Lambda: options.Lambda{Path: []float64{1}}})
	jobtest.WantError(t, "learned", err, exit.CodeUsage, "--encode target cannot be used with --kernel learned")
}
