package pipelines

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/internal/testing/stattest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/models/svm"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// fixed is a training whose features do not depend on which rows there are.
func fixed(seed uint64) options.Train {
	return options.Train{Prepare: options.Prepare{Scale: []string{"none"},
		Kernel: &fourier.GaussianOptions{Width: 0.5, Features: 64}, Seed: seed}}
}

// scoresOf returns what a model says of lines, with their classes.
func scoresOf(t *testing.T, m *models.Model, lines []string) (scores []float32, class []int32) {
	t.Helper()
	in, out := m.Map.Dims()
	phi, s := make([]float32, out), make([]float32, m.Linear.K)
	for _, line := range lines {
		x, label := parse(t, line)
		if len(x) != in {
			t.Fatal("row length")
		}
		y, ok := m.Manifest.Vocabulary.Index([]byte(label))
		if !ok {
			t.Fatal("unknown class ", label)
		}
		m.Map.Apply(phi, x, 1)
		m.Linear.Scores(s, phi, 1)
		scores, class = append(scores, s...), append(class, int32(y))
	}
	return scores, class
}

// The curves are fitted to the scores of the first fold by a model that was trained without these
// rows. The weights are the same as without calibration.
func TestCalibrationUsesHeldOutRows(t *testing.T) {
	const seed = 3
	lines := jobtest.Made(t, "moons", 400, 1)
	train, held := []string{lines[0]}, []string(nil)
	for _, line := range lines[1:] {
		if x, _ := parse(t, line); foldOf(seed, x, spec.DefaultFolds) == 0 {
			held = append(held, line)
		} else {
			train = append(train, line)
		}
	}
	path := options.Lambda{Path: []float64{1e-4, 1e-2}}
	one := options.Lambda{Path: []float64{1e-3}}
	for name, c := range map[string]struct {
		lambda options.Lambda
		method options.Calibration
	}{
		"one lambda, platt": {one, score.Platt}, "one lambda, isotonic": {one, score.Isotonic},
		"folds that were asked for": {options.Lambda{Path: one.Path, Folds: 5}, score.Platt}, "path": {path,
			score.Platt},
	} {
		o := fixed(seed)
		o.Lambda = c.lambda
		_, plain := trainedModel(t, lines, o)
		o.Calibrate = c.method
		result, got := trainedModel(t, lines, o)
		if !reflect.DeepEqual(got.Linear.W, plain.Linear.W) ||
			!reflect.DeepEqual(got.Manifest.Learner, plain.Manifest.Learner) {
			t.Errorf("%s: calibration has changed the weights or the learner", name)
		}
		alone := fixed(seed)
		alone.Lambda.Path = []float64{result.Lambda}
		_, scoring := trainedModel(t, train, alone)
		curvesAre(t, name, got, scoring, held, c.method)
	}
	// A learner in rounds that gets folds holds out the first of them.
	o := fixed(seed)
	o.Lambda, o.Learner = options.Lambda{Path: one.Path,
		Folds: spec.DefaultFolds}, &svm.LearnerOptions{Shared: iterative.Shared{Stop: iterative.Stop{Rounds: 3},
		Running: iterative.Running{Partitions: 2}}, Bias: 1}
	_, scoring := trainedModel(t, lines, o)
	o.Lambda.Folds, o.Calibrate = 0, score.Platt
	_, got := trainedModel(t, lines, o)
	curvesAre(t, "svm", got, scoring, held, score.Platt)
	if c := got.Manifest.Learner.Log; c.Rows != 400 || c.HeldOutRows != 0 || len(c.Path) != 1 ||
		c.Path[0].HeldOutRows != int64(len(held)) {
		t.Errorf("the last rounds were not of all rows: %+v", c)
	}
	// With several λ the model of the best one scores, which is not the last here.
	o.Lambda.Path = []float64{1e-3, 1e-9}
	_, got = trainedModel(t, lines, o)
	if got.Manifest.Learner.Lambda != 1e-3 {
		t.Fatalf("chose lambda %g", got.Manifest.Learner.Lambda)
	}
	curvesAre(t, "svm, a path", got, scoring, held, score.Platt)
}

// curvesAre fails the test unless the curves of the model got are fitted to the scores of lines by
// the model scoring.
func curvesAre(t *testing.T, what string, got, scoring *models.Model, lines []string, method score.Method) {
	t.Helper()
	scores, class := scoresOf(t, scoring, lines)
	counts := score.NewCalibrationCounts(2)
	for i, y := range class {
		counts.Add(scores[2*i:2*i+2], int(y), 1)
	}
	want := counts.Fit(method)
	p := got.Manifest.Probabilities
	if p == nil || p.Kind != method || p.Rows != int64(len(lines)) || p.Folds != spec.DefaultFolds ||
		!reflect.DeepEqual(p.Curves, want.Curves) {
		t.Errorf("%s: %+v, want the curves %+v of %d rows", what, p, want.Curves, len(lines))
	}
}

// Calibrated probabilities are nearer to the truth on new rows than two without calibration: scores of least
// squares, which estimate 2p − 1, cut to 0 and 1, and the softmax of the scores.
func TestCalibrationLowersTheErrorOfRidgeProbabilities(t *testing.T) {
	const sets = 12
	test := jobtest.Made(t, "moons", 3000, 1000)[1:]
	gains := map[string][]float64{}
	for seed := range uint64(sets) {
		o := fixed(1)
		o.Lambda.Path, o.Calibrate = []float64{1e-5}, score.Platt
		_, m := trainedModel(t, jobtest.Made(t, "moons", 1500, seed+1), o)
		scores, class := scoresOf(t, m, test)
		n := len(class)
		ece := func(p []float32) float64 {
			r := score.NewReliability(2, 10)
			for i, y := range class {
				row := p[2*i : 2*i+2]
				if err := r.Add(row, int(y), slices.Index(row, slices.Max(row)), 1); err != nil {
					t.Fatal(err)
				}
			}
			return r.Report(1).ECE
		}
		p := make([]float32, 2*n)
		m.Manifest.Probabilities.Apply(p, scores, n, 2)
		calibrated := ece(p)
		(&models.Probabilities{Kind: models.Softmax}).Apply(p, scores, n, 2)
		gains["softmax"] = append(gains["softmax"], ece(p)-calibrated)
		for i := range n {
			q := min(max((float64(scores[2*i])-float64(scores[2*i+1])+2)/4, 0), 1)
			p[2*i], p[2*i+1] = float32(q), float32(1-q)
		}
		gains["cut"] = append(gains["cut"], ece(p)-calibrated)
	}
	for name, v := range gains {
		gain := stattest.MeanOf(v)
		t.Logf("%s: the calibration error falls by %.4f ± %.4f", name, gain.Value, gain.SE)
		if !(gain.Value > 4*gain.SE) {
			t.Errorf("%s: the calibration error falls by %.4f ± %.4f", name, gain.Value, gain.SE)
		}
	}
}

// Class weights change the predicted class but not its probability: over many rows the mean probability of a
// class is its share of the rows, and the predictions still find rows of the rare class.
func TestProbabilitiesDoNotContainTheWeightsOfClasses(t *testing.T) {
	lines := func(n int, seed uint64) []string {
		r, rows := rand.New(rand.NewPCG(seed, 1)), []string{"a,b,y\n"}
		for range n {
			a, b, class := r.NormFloat64(), r.NormFloat64(), "usual"
			if r.Float64() < 1/(1+math.Exp(5-2*a-b*b)) {
				class = "rare"
			}
			rows = append(rows, fmt.Sprintf("%.4f,%.4f,%s\n", a, b, class))
		}
		return rows
	}
	balanced := func(name, loss string) iterative.Options {
		return jobtest.Iterative(name, func(s *iterative.Shared) {
			s.Rounds, s.Loss, s.Weights = 30, loss,
				[]string{"balanced"}
		})
	}
	test := lines(4000, 2)[1:]
	for name, c := range map[string]struct {
		learner   iterative.Options
		calibrate options.Calibration
	}{
		"softmax": {balanced("sgd", "softmax"), ""}, "logistic": {balanced("sgd", "logistic"), ""},
		"svm, platt": {balanced("svm", ""), score.Platt}, "ridge, isotonic": {&ridge.LearnerOptions{Weights: []string{"balanced"}},
			score.Isotonic},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options.Train{Prepare: options.Prepare{Scale: []string{"none"},
				Kernel: &fourier.GaussianOptions{Width: 2, Features: 64}, Seed: 1}, Learner: c.learner,
				Decision: options.Decision{Calibrate: c.calibrate}}
			o.Lambda.Path = []float64{1e-4}
			_, m := trainedModel(t, lines(3000, 1), o)
			scores, class := scoresOf(t, m, test)
			n, rare := len(class), slices.Index(m.Manifest.Vocabulary.Classes, "rare")
			p, predicted := make([]float32, 2*n), make([]int32, n)
			m.Manifest.Probabilities.Apply(p, scores, n, 2)
			m.Manifest.Probabilities.Classes(predicted, p, scores, n, 2)
			var mean, share, found float64
			for i := range n {
				mean += float64(p[2*i+rare]) / float64(n)
				if int(class[i]) == rare {
					share += 1 / float64(n)
					if predicted[i] == class[i] {
						found += 1 / float64(n)
					}
				}
			}
			if math.Abs(mean-share) > 0.025 || found < 0.6*share {
				t.Errorf("the rare class has a mean probability of %.3f and %.3f of the rows, of which predictions find %.3f", mean,
					share, found)
			}
		})
	}
}

// One sigmoid for three classes could not undo what their weights do to the scores.
func TestSharesOfWeightedClassesArePredictedByDefault(t *testing.T) {
	lines := func(n int, seed uint64) []string {
		r, rows := rand.New(rand.NewPCG(seed, 1)), []string{"a,b,y\n"}
		for range n {
			a, b := r.NormFloat64(), r.NormFloat64()
			class := "abc"[min(max(int(a+b*b+r.NormFloat64()+1), 0), 2)]
			rows = append(rows, fmt.Sprintf("%.4f,%.4f,%c\n", a, b, class))
		}
		return rows
	}
	o := options.Train{Prepare: options.Prepare{Scale: []string{"none"},
		Kernel: &fourier.GaussianOptions{Width: 2, Features: 64}, Seed: 1},
		Learner: &ridge.LearnerOptions{Weights: []string{"a=8", "b=1", "c=1"}}}
	o.Lambda.Path = []float64{1e-4, 1e-3}
	_, m := trainedModel(t, lines(2000, 1), o)
	scores, class := scoresOf(t, m, lines(3000, 2)[1:])
	n := len(class)
	p, mean, share := make([]float32, 3*n), make([]float64, 3), make([]float64, 3)
	m.Manifest.Probabilities.Apply(p, scores, n, 3)
	for i, v := range p {
		mean[i%3] += float64(v) / float64(n)
	}
	for _, c := range class {
		share[c] += 1 / float64(n)
	}
	for c, v := range mean {
		if math.Abs(v-share[c]) > 0.03 {
			t.Errorf("the mean probabilities are %.3f, the shares of rows %.3f", mean, share)
			break
		}
	}
}

func TestEvaluateScoresProbabilities(t *testing.T) {
	dir := t.TempDir()
	lines := jobtest.Made(t, "moons", 500, 1)
	data := dataset.Options{Files: []string{jobtest.Write(t, dir, "data.csv", strings.Join(lines, ""))}, Label: "y"}
	o := fixed(1)
	o.Data, o.Model, o.Lambda.Path, o.Calibrate = data, filepath.Join(dir, "model"), []float64{1e-4}, score.Isotonic
	if _, err := trainPlain(jobtest.Ctx, o); err != nil {
		t.Fatal(err)
	}
	m, err := models.LoadURI(jobtest.Ctx, o.Model)
	if err != nil {
		t.Fatal(err)
	}
	// A label never seen is one that the model says is impossible.
	odd := append(lines[1:101:101], strings.Replace(lines[1], lines[1][strings.LastIndexByte(lines[1], ','):], ",7\n", 1))
	data.Files = []string{jobtest.Write(t, dir, "odd.csv", lines[0]+strings.Join(odd, ""))}
	for _, format := range []string{"svg", "png"} {
		picture := filepath.Join(dir, "reliability."+format)
		r, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: o.Model, Data: data, Reliability: picture})
		if err != nil {
			t.Fatal(err)
		}
		want := score.NewReliability(2, 10)
		scores, class := scoresOf(t, m, append(odd[:100:100], lines[1]))
		class[100] = score.Unseen
		p, predicted := make([]float32, 202), make([]int32, 101)
		m.Manifest.Probabilities.Apply(p, scores, 101, 2)
		m.Manifest.Probabilities.Classes(predicted, p, scores, 101, 2)
		for i, y := range class {
			if err := want.Add(p[2*i:2*i+2], int(y), int(predicted[i]), 1); err != nil {
				t.Fatal(err)
			}
		}
		if p := r.Probabilities; !reflect.DeepEqual(p.ReliabilityReport, want.Report(1)) || p.NotFinite != 0 || p.Rows != 101 ||
			r.Classes.Rows != 101 {
			t.Errorf("%+v, want %+v", r.Probabilities, want.Report(1))
		}
		for _, word := range []string{"log loss ", "Brier score ", "expected calibration error ", "0.9 to 1"} {
			if !strings.Contains(jobtest.Text(t, r), word) {
				t.Errorf("%q is not in\n%s", word, jobtest.Text(t, r))
			}
		}
		drawn, err := os.ReadFile(picture)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"share of rows of this class", "probability of the most probable class", "101 rows"} {
			if format == "svg" && !strings.Contains(string(drawn), word) {
				t.Errorf("the picture has no text %q", word)
			}
		}
	}
	report, err := InspectModel(jobtest.Ctx, options.InspectModel{Model: o.Model})
	if err != nil || !strings.Contains(jobtest.Text(t, report),
		"probabilities by an increasing step function for each class (isotonic), fitted to the scores of ") {
		t.Errorf("%v\n%s", err, jobtest.Text(t, report))
	}
}

func TestUnavailableCalibrationsAreRejected(t *testing.T) {
	dir := t.TempDir()
	data := dataset.Options{Files: []string{jobtest.Write(t, dir, "data.csv",
		strings.Join(jobtest.Made(t, "moons", 60, 1), "")+"\n9,9,7\n")}, Label: "y"}
	for name, c := range map[string]struct {
		change func(*options.Train)
		code   exit.Code
		words  []string
	}{
		"a method there is not": {func(o *options.Train) { o.Calibrate = "isotone" }, exit.CodeUsage,
			[]string{`have "isotone"`, `did you mean "isotonic"?`}},
		"one fold": {func(o *options.Train) { o.Lambda.Folds = 1 }, exit.CodeUsage,
			[]string{"--folds must be 2 or more"}},
		"numbers": {func(o *options.Train) { o.Task = "regression" }, exit.CodeUsage,
			[]string{"the labels are numbers"}},
		"a class of one row": {func(o *options.Train) {}, exit.CodeData, []string{`class "7": 0 of the `, "use more rows"}},
		"a class of one row, in rounds": {func(o *options.Train) {
			o.Learner = &svm.LearnerOptions{Shared: iterative.Shared{Stop: iterative.Stop{Rounds: 1}}, Bias: 1}
		}, exit.CodeData, []string{`class "7": 0 of the `, "use more rows"}},
	} {
		o := fixed(1)
		o.Data, o.Model, o.Lambda.Path, o.Calibrate = data, filepath.Join(dir, "model"), []float64{1e-3}, score.Platt
		c.change(&o)
		_, err := trainPlain(jobtest.Ctx, o)
		jobtest.WantError(t, name, err, c.code, c.words...)
		if _, err := os.Stat(o.Model); err == nil {
			t.Fatalf("%s: a model was made", name)
		}
	}
}
