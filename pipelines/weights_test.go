package pipelines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// weightedTable has rows of two numbers, a weight and a class or, with targets, a number. Weights
// are drawn from those given.
func weightedTable(n int, targets bool, weights ...string) (lines, repeated []string) {
	r := rand.New(rand.NewPCG(5, uint64(n)))
	lines, repeated = []string{"a,b,w,y\n"}, []string{"a,b,y\n"}
	for range n {
		a, b := r.NormFloat64(), 2*r.NormFloat64()
		w := weights[r.IntN(len(weights))]
		y := fmt.Sprintf("%.3f", a*b+r.NormFloat64())
		if !targets {
			y = "no"
			if a*b+0.5*r.NormFloat64() > 0.4 {
				y = "yes"
			}
		}
		lines = append(lines, fmt.Sprintf("%.7f,%.7f,%s,%s\n", a, b, w, y))
		times := 0
		fmt.Sscan(w, &times)
		for range times {
			repeated = append(repeated, fmt.Sprintf("%.7f,%.7f,%s\n", a, b, y))
		}
	}
	return lines, repeated
}

func weightedOptions(t *testing.T, lines []string, weight string) options.Train {
	t.Helper()
	dir := t.TempDir()
	name := jobtest.Write(t, dir, "data.csv", strings.Join(lines, ""))
	return options.Train{
		Prepare: options.Prepare{
			Data:   dataset.Options{Files: []string{name}, Label: "y", Roles: dataset.Roles{Weight: weight}},
			Kernel: &fourier.GaussianOptions{Features: 64}, Seed: 1,
		},
		Decision: options.Decision{Calibrate: "none"}, // curves of probabilities trust rows, not weights
		Model:    filepath.Join(dir, "model"),
	}
}

func mustTrain(t *testing.T, o options.Train) (*results.Train, []byte, *models.Manifest) {
	t.Helper()
	r, err := trainPlain(jobtest.Ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	weights, err := os.ReadFile(filepath.Join(o.Model, models.WeightsFile))
	if err != nil {
		t.Fatal(err)
	}
	m, err := models.CheckDir(jobtest.Ctx, o.Model)
	if err != nil {
		t.Fatal(err)
	}
	return r, weights, m
}

// A file with weights gives the weights of a file with repeated rows, byte for byte, and the same errors for
// every λ, for all ways to read it. Copies are too few here to be assigned to folds separately.
func TestWeightedTableEqualsRepeatedRows(t *testing.T) {
	for _, targets := range []bool{false, true} {
		lines, repeated := weightedTable(9000, targets, "0", "1", "1", "2", "3")
		for name, l := range map[string]*ridge.LearnerOptions{"ridge": nil,
			"balanced": {Grid: features.Bits8, Weights: []string{"balanced"}}} {
			if targets && l != nil {
				continue
			}
			plain := weightedOptions(t, repeated, "")
			weighted := weightedOptions(t, lines, "w")
			if l != nil {
				plain.Learner, weighted.Learner = l, l
			}
			want, bytesOf, _ := mustTrain(t, plain)
			for _, cut := range []int64{0, 20_000} {
				weighted.Job.ShardBytes, weighted.Job.Engine.Threads = cut, 1+int(cut%3)
				weighted.Model = filepath.Join(t.TempDir(), "model")
				got, own, m := mustTrain(t, weighted)
				if !bytes.Equal(own, bytesOf) || got.Lambda != want.Lambda || len(want.Path) < 2 {
					t.Errorf("%s, targets %v, shards of %d: lambda %g, want %g; equal weights %v", name, targets, cut, got.Lambda,
						want.Lambda, bytes.Equal(own, bytesOf))
				}
				for i, row := range want.Path {
					if g := got.Path[i]; g.MSE != row.MSE || g.Train != row.Train || g.StdErr != row.StdErr {
						t.Errorf("%s: lambda %g: %+v, want %+v", name, row.Lambda, g, row)
					}
				}
				rows := got.Rows
				if rows.Weightless == 0 || rows.Read != 9000 || rows.Used+rows.Weightless != rows.Read ||
					want.Rows.Used != int64(len(repeated)-1) {
					t.Errorf("rows %+v", rows)
				}
				if w := m.Weights; w == nil || w.Column != "w" || w.Sum != float64(want.Rows.Used) || !w.Grid.Exact {
					t.Errorf("weights of the manifest %+v", w)
				}
			}
			// Weighted rows have the scores of repeated rows.
			evaluate := func(o options.Train) *results.Evaluate {
				r, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: o.Model, Data: dataset.Options{Files: o.Data.Files}})
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			a, b := evaluate(weighted), evaluate(plain)
			if a.Weights == nil || a.Weights.Column != "w" || b.Weights != nil {
				t.Fatalf("weights %+v, %+v", a.Weights, b.Weights)
			}
			if targets {
				a.Targets.Rows, b.Targets.Rows = 0, 0
				// Rows of weights are less certain than so many rows of their own.
				if x, y := a.Targets.RMSEInterval, b.Targets.RMSEInterval; x[1]-x[0] < 1.2*(y[1]-y[0]) {
					t.Errorf("intervals %v of weights and %v of rows", *x, *y)
				}
				for _, r := range []*score.TargetReport{a.Targets, b.Targets} {
					r.RMSEInterval, r.MAEInterval, r.R2Interval = nil, nil, nil
				}
				if !reflect.DeepEqual(a.Targets, b.Targets) {
					t.Errorf("%+v, want %+v", a.Targets, b.Targets)
				}
				continue
			}
			x, y := a.Classes, b.Classes
			if x.Accuracy != y.Accuracy || x.BalancedAccuracy != y.BalancedAccuracy || x.MacroF1 != y.MacroF1 ||
				*x.Ranking.AUC != *y.Ranking.AUC ||
				*x.Ranking.AveragePrecision != *y.Ranking.AveragePrecision || x.Rows != a.Rows.Used {
				t.Errorf("%+v, want %+v", x, y)
			}
			if !(x.ErrorLow < x.Error && x.Error < x.ErrorHigh) || !(x.ErrorHigh-x.ErrorLow > y.ErrorHigh-y.ErrorLow) {
				t.Errorf("%g in %g to %g; of repeated rows %g to %g", x.Error, x.ErrorLow, x.ErrorHigh, y.ErrorLow, y.ErrorHigh)
			}
		}
	}
}

// Iterative learners minimise the same objective on weighted and on repeated rows; equal weights change
// nothing, for every learner.
func TestEveryLearnerTakesWeights(t *testing.T) {
	lines, repeated := weightedTable(700, false, "0", "1", "2", "4")
	equal, _ := weightedTable(300, false, "2.5")
	for _, name := range []string{"svm", "sgd", "cg"} {
		set := func(s *iterative.Shared) {
			if s.Rounds = 30; name != "cg" {
				s.Loss = "logistic"
			}
		}
		a, b := weightedOptions(t, lines, "w"), weightedOptions(t, repeated, "")
		for _, o := range []*options.Train{&a, &b} {
			o.Learner, o.Lambda.Path = jobtest.Iterative(name, set), []float64{1e-2}
			// The width of the kernel depends on the sample, which has distinct rows.
			o.Kernel = &fourier.GaussianOptions{Features: 64, Width: 1.5}
		}
		x, _, m := mustTrain(t, a)
		y, _, _ := mustTrain(t, b)
		if p, q := x.Log.Objective, y.Log.Objective; math.Abs(p-q) > 0.01*q {
			t.Errorf("%s: objective %g, of repeated rows %g", name, p, q)
		}
		if m.Weights == nil || m.Weights.Grid != nil {
			t.Errorf("%s: weights of the manifest %+v", name, m.Weights)
		}
		if name == "svm" {
			v, err := VerifyOptimum(jobtest.Ctx, options.VerifyOptimum{Model: a.Model, Data: dataset.Options{Files: a.Data.Files}})
			if err != nil || !v.Certificate.Same || math.Abs(v.Certificate.Primal-x.Log.Objective) > 1e-7 {
				t.Errorf("verified: %+v, %v; objective %g", v, err, x.Log.Objective)
			}
		}
	}
	for _, name := range []string{"ridge", "svm", "sgd", "cg"} {
		a, b := weightedOptions(t, equal, "w"), weightedOptions(t, equal, "")
		b.Data.Drop = []string{"w"}
		for _, o := range []*options.Train{&a, &b} {
			if name != "ridge" {
				o.Learner = jobtest.Iterative(name, func(s *iterative.Shared) { s.Rounds = 5 })
			}
			o.Lambda.Path = []float64{1e-3, 1e-2}
		}
		x, own, _ := mustTrain(t, a)
		y, want, _ := mustTrain(t, b)
		if !bytes.Equal(own, want) || !reflect.DeepEqual(x.Path, y.Path) {
			t.Errorf("%s: equal weights change the model", name)
		}
	}
}

func TestWeightsThatCannotBeUsedAreNamed(t *testing.T) {
	for want, w := range map[string]string{
		`data.csv:3: the weight is missing`: "", `data.csv:3: weight -1 is below 0`: "-1",
		`data.csv:3: weight "x" is not a number`:  "x",
		`data.csv:3: weight +Inf is out of range`: "inf", `data.csv:3: the weight is missing (NaN)`: "nan",
	} {
		lines, _ := weightedTable(50, false, "1", "2")
		fields := strings.Split(lines[2], ",")
		fields[2] = w
		lines[2] = strings.Join(fields, ",")
		_, err := trainPlain(jobtest.Ctx, weightedOptions(t, lines, "w"))
		if err == nil || exit.CodeOf(err) != exit.CodeData || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %s", w, err, want)
		}
	}
	lines, _ := weightedTable(50, false, "0")
	if _, err := trainPlain(jobtest.Ctx, weightedOptions(t, lines, "w")); err == nil ||
		!strings.Contains(err.Error(), "no usable rows") {
		t.Errorf("only rows of weight 0: %v", err)
	}
	lines, _ = weightedTable(50, false, "1", "2")
	o := weightedOptions(t, lines, "w")
	o.Kernel = &learned.Options{}
	if _, err := trainPlain(jobtest.Ctx, o); exit.CodeOf(err) != exit.CodeUsage ||
		!strings.Contains(err.Error(), "rows with weights") {
		t.Errorf("learned features: %v", err)
	}
}

// The probabilities of weighted rows are fitted to their weights.
func TestProbabilitiesFollowWeights(t *testing.T) {
	lines, _ := weightedTable(4000, false, "1", "3", "0.25")
	o := weightedOptions(t, lines, "w")
	o.Calibrate, o.Lambda.Path, o.Learner = "platt", []float64{1e-3}, ridge.NewLearnerOptions()
	_, _, m := mustTrain(t, o)
	r, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: o.Model, Data: dataset.Options{Files: o.Data.Files}})
	if err != nil {
		t.Fatal(err)
	}
	if m.Probabilities == nil || m.Probabilities.Rows <= 0 || m.Probabilities.Rows > m.Rows.Used ||
		r.Probabilities.ECE > 0.06 || r.Probabilities.Rows != r.Rows.Used {
		t.Errorf("%+v; %+v", m.Probabilities, r.Probabilities)
	}
	if !m.Weights.Grid.Exact || m.Weights.Unit != 0.25 {
		t.Errorf("%+v", m.Weights)
	}
	// Counts are the same as with equal weights.
	ones := strings.NewReplacer(",3,", ",1,", ",0.25,", ",1,").Replace(strings.Join(lines, ""))
	equal, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: o.Model,
		Data: dataset.Options{Files: []string{jobtest.Write(t, t.TempDir(), "ones.csv", ones)}}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Classes.Ranking.Rows != equal.Classes.Ranking.Rows || r.Probabilities.Floored != equal.Probabilities.Floored {
		t.Errorf("%+v, want the counts of %+v", r.Classes.Ranking, equal.Classes.Ranking)
	}
	for i, b := range r.Probabilities.Bins {
		if want := equal.Probabilities.Bins[i].Rows; b.Rows != want {
			t.Errorf("bin up to %g: %d rows, want %d", b.High, b.Rows, want)
		}
	}
}

// The error is the mean over rows by weight; rows of the same weight count equally.
func TestScoresUseWeightsAsTheyAre(t *testing.T) {
	lines, _ := weightedTable(1000, false, "0.1", "0.7", "3", "300")
	o := weightedOptions(t, lines, "w")
	o.Lambda.Path, o.Learner = []float64{1e-3}, ridge.NewLearnerOptions()
	mustTrain(t, o)
	for i, line := range lines { // a column of a slice cannot be the one of weights
		lines[i] = strings.Replace(strings.Split(line, ",")[2], "w", "copy", 1) + "," + line
	}
	data := dataset.Options{Files: []string{jobtest.Write(t, t.TempDir(), "data.csv", strings.Join(lines, ""))}}
	r, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: o.Model, Data: data, Slices: []string{"copy"}})
	if err != nil {
		t.Fatal(err)
	}
	var wrong, all float64
	for _, s := range r.Slices[0].Slices {
		w, err := strconv.ParseFloat(s.Value, 32)
		if err != nil {
			t.Fatal(err)
		}
		wrong, all = wrong+w*float64(s.Rows)**s.Error, all+w*float64(s.Rows)
	}
	if want := wrong / all; math.Abs(r.Classes.Error-want) > 1e-9 {
		t.Errorf("error %g, want %g", r.Classes.Error, want)
	}
}

// Rows without a label are not scored, so their weights do not narrow intervals.
func TestWeightsOfRowsWithoutLabelsDoNotCount(t *testing.T) {
	for _, targets := range []bool{false, true} {
		lines, _ := weightedTable(400, targets, "1", "2", "5")
		o := weightedOptions(t, lines, "w")
		o.Lambda.Path, o.Learner = []float64{1e-3}, ridge.NewLearnerOptions()
		mustTrain(t, o)
		other := o
		other.Model, other.Seed = o.Model+"-2", 2
		mustTrain(t, other)
		lines, _ = weightedTable(300, targets, "1", "2", "5")
		var scored [2][]byte
		for i := range scored {
			data := dataset.Options{Files: []string{jobtest.Write(t, t.TempDir(), "data.csv", strings.Join(lines, ""))}}
			r, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: o.Model, Data: data})
			if err != nil {
				t.Fatal(err)
			}
			c, err := CompareModels(jobtest.Ctx, options.CompareModels{Champion: o.Model, Challenger: other.Model, Data: data})
			if err != nil {
				t.Fatal(err)
			}
			r.Rows, c.Rows, r.SetAside, c.SetAside = results.RowCounts{}, results.RowCounts{}, nil, nil
			if scored[i], err = json.Marshal([]any{r, c}); err != nil {
				t.Fatal(err)
			}
			for _, line := range lines[1:] {
				lines = append(lines, line[:strings.LastIndexByte(line, ',')+1]+"\n")
			}
		}
		if !bytes.Equal(scored[0], scored[1]) {
			t.Errorf("targets %v: %s\nwith rows without labels: %s", targets, scored[0], scored[1])
		}
	}
}
