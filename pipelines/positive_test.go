package pipelines

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// frauds writes a table of two classes, of which the first is rarer, under these names.
func frauds(t *testing.T, dir, name string, seed uint64, rare, usual string) dataset.Options {
	var b strings.Builder
	for i, line := range jobtest.Made(t, "moons", 3000, seed) {
		switch line = strings.TrimSuffix(line, "\n") + "\n"; {
		case i == 0:
			b.WriteString(line)
		case strings.HasSuffix(line, ",1\n"):
			b.WriteString(strings.TrimSuffix(line, "1\n") + usual + "\n")
		case i%5 == 0:
			b.WriteString(strings.TrimSuffix(line, "-1\n") + rare + "\n")
		}
	}
	return dataset.Options{Files: []string{jobtest.Write(t, dir, name, b.String())}, Label: "y"}
}

// Thresholds, gates and scores are of the rarer class, also if its name is the second.
func TestRarerClassIsPositive(t *testing.T) {
	for _, method := range []options.Calibration{"", options.CalibrationPlatt} {
		type figures struct{ threshold, expected, plain, f1, precision, auc, average float64 }
		var got []figures
		for _, names := range [][2]string{{"fraud", "ok"}, {"zfraud", "ok"}} {
			dir := t.TempDir()
			o := fixed(1)
			o.Data, o.Model, o.Lambda.Path, o.Calibrate, o.Threshold = frauds(t, dir, "train.csv", 1, names[0],
				names[1]), filepath.Join(dir, "model"), []float64{1e-1}, method, string(score.ByF1)
			trained, err := trainPlain(jobtest.Ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			if text := jobtest.Text(t, trained); trained.Positive != names[0] ||
				!strings.Contains(text, "2 classes, positive: "+names[0]) ||
				!strings.Contains(text, fmt.Sprintf("a row is of class %q if", names[0])) {
				t.Errorf("%q is positive:\n%s", trained.Positive, text)
			}
			manifest, err := models.CheckDir(jobtest.Ctx, o.Model)
			if err != nil || manifest.Positive != names[0] {
				t.Errorf("%v, positive %q", err, manifest.Positive)
			}
			test := frauds(t, dir, "test.csv", 2, names[0], names[1])
			r, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: o.Model, Data: test, Gate: "recall>=0.999"})
			if _, gated := errors.AsType[*exit.GateError](err); !gated ||
				!strings.Contains(err.Error(), "recall of class "+names[0]+" is ") {
				t.Errorf("gate: %v", err)
			}
			class := r.Classes.Classes[manifest.PositiveClass()]
			if class.Class != names[0] || r.Classes.Ranking.Positive != names[0] || r.Threshold.Class != names[0] {
				t.Errorf("the class %+v, ranked %q, threshold of %q", class, r.Classes.Ranking.Positive, r.Threshold.Class)
			}
			predicted, err := Predict(jobtest.Ctx, options.Predict{Model: o.Model, Data: test, Out: filepath.Join(dir, "out")})
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(predicted.Out, predicted.Parts[0].Names[0]))
			if n := int64(strings.Count(string(text), names[0]+"\n")); err != nil || n != class.Predicted {
				t.Errorf("%d rows predicted to be %s, %d evaluated, %v", n, names[0], class.Predicted, err)
			}
			got = append(got, figures{float64(trained.Threshold.Value), *trained.Threshold.Expected, *trained.Threshold.Plain,
				class.F1, class.Precision, *r.Classes.Ranking.AUC, *r.Classes.Ranking.AveragePrecision})
		}
		a, b := got[0], got[1]
		for _, c := range [][2]float64{{a.threshold, b.threshold}, {a.expected, b.expected}, {a.plain, b.plain}, {a.f1, b.f1},
			{a.precision, b.precision}, {a.auc, b.auc}, {a.average, b.average}} {
			if math.Abs(c[0]-c[1]) > 1e-5 {
				t.Errorf("%q: the order of the names matters: %+v, %+v", method, a, b)
				break
			}
		}
		if a.expected <= a.plain && method == "" {
			t.Errorf("%q: the threshold does not help: %+v", method, a)
		}
	}
}

// The positive class that a user sets is recorded, and a model by the recipe of another has its class, even if
// it is not the rarer one there.
func TestPositiveClassCanBeGiven(t *testing.T) {
	dir := t.TempDir()
	o := fixed(1)
	o.Data, o.Model, o.Lambda.Path, o.Positive = frauds(t, dir, "train.csv", 1, "fraud", "ok"), filepath.Join(dir,
		"model"), []float64{1e-1}, "ok"
	if r, err := trainPlain(jobtest.Ctx, o); err != nil || r.Positive != "ok" {
		t.Fatalf("%+v, %v", r, err)
	}
	later := options.Train{Recipe: o.Model, Model: filepath.Join(dir, "later")}
	later.Data = frauds(t, dir, "later.csv", 3, "ok", "fraud")
	if r, err := Train(jobtest.Ctx, later); err != nil || r.Positive != "ok" {
		t.Errorf("%+v, %v", r, err)
	}
	balanced := o
	balanced.Positive, balanced.Model = "", filepath.Join(dir, "balanced")
	balanced.Data.Files = []string{jobtest.Write(t, dir, "balanced.csv",
		"x,y\n"+strings.Repeat("1,b\n2,b\n3,a\n4,a\n", 20))}
	if r, err := trainPlain(jobtest.Ctx, balanced); err != nil || r.Positive != "b" {
		t.Errorf("of equally frequent classes %q is positive, %v", r.Positive, err)
	}
	three := o
	three.Positive, three.Model = "a", filepath.Join(dir, "three")
	three.Data.Files = []string{jobtest.Write(t, dir, "three.csv", "x,y\n"+strings.Repeat("1,b\n2,b\n3,a\n4,c\n", 20))}
	_, err := trainPlain(jobtest.Ctx, three)
	jobtest.WantError(t, "three classes", err, exit.CodeUsage, "--positive names one of two classes; the data has 3")
	o.Positive, o.Model = "frauds", filepath.Join(dir, "unknown")
	_, err = trainPlain(jobtest.Ctx, o)
	jobtest.WantError(t, "unknown class", err, exit.CodeUsage,
		`--positive: there is no class "frauds" (did you mean "fraud"?); the classes are fraud, ok`)
	o.Positive, o.Task = "1", "regression"
	o.Data.Files = []string{jobtest.Write(t, dir, "numbers.csv",
		"x,y\n"+strings.Repeat("1,1.5\n2,2.5\n3,1.25\n4,0.5\n", 20))}
	_, err = trainPlain(jobtest.Ctx, o)
	jobtest.WantError(t, "numbers", err, exit.CodeUsage, "--positive names one of two classes; the labels are numbers")
}
