package pipelines

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/calibrate"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/jobtest"
)

// The threshold that evaluate names has the balanced accuracy that it names, for scores and for
// probabilities; predictions are by it, too. What does not depend on it stays as it is.
func TestThresholdsDecide(t *testing.T) {
	dir := t.TempDir()
	var uneven []string
	for i, line := range jobtest.Made(t, "moons", 600, 1) {
		if i == 0 || strings.HasSuffix(line, ",1\n") || i%5 == 0 {
			uneven = append(uneven, line)
		}
	}
	data := dataset.Options{Data: []string{jobtest.Write(t, dir, "data.csv", strings.Join(uneven, ""))}, Label: "y"}
	for _, method := range []string{"", calibrate.Platt, calibrate.Isotonic} {
		o := fixed(1)
		o.Data, o.Model, o.Lambda.Path, o.Calibrate = data, filepath.Join(dir, "model"+method), []float64{1e-1}, method
		if _, err := Train(jobtest.Ctx, o); err != nil {
			t.Fatal(err)
		}
		evaluate := func(threshold *float64) *EvaluateResult {
			r, err := Evaluate(jobtest.Ctx, EvaluateOptions{Model: o.Model, Data: data, Threshold: threshold})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		plain := evaluate(nil)
		best := plain.Classes.Ranking
		if *best.BestBalanced <= plain.Classes.BalancedAccuracy {
			t.Fatalf("%q: no threshold is better than %g", method, plain.Classes.BalancedAccuracy)
		}
		got := evaluate(best.Threshold)
		if got.Classes.BalancedAccuracy != *best.BestBalanced {
			t.Errorf("%q: threshold %g: balanced accuracy %g, want %g", method, *best.Threshold, got.Classes.BalancedAccuracy, *best.BestBalanced)
		}
		if !reflect.DeepEqual(got.Classes.Ranking, best) || !reflect.DeepEqual(got.Probabilities, plain.Probabilities) {
			t.Errorf("%q: the threshold changes ranks or probabilities", method)
		}
		of := map[bool]string{true: "score", false: "probability"}[method == ""]
		if got.Threshold.Of != of || !strings.Contains(jobtest.Text(t, got), `a row is of class "1" if `) {
			t.Errorf("%q: %+v", method, got.Threshold)
		}
		predicted, err := Predict(jobtest.Ctx, PredictOptions{Model: o.Model, Data: data, Out: filepath.Join(dir, "out"+method), Threshold: best.Threshold})
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(predicted.Out, predicted.Parts[0].Names[0]))
		if err != nil {
			t.Fatal(err)
		}
		ones := int64(0)
		for _, line := range strings.Split(string(text), "\n") {
			if line == "1" {
				ones++
			}
		}
		if ones != got.Classes.Classes[1].Predicted || predicted.Threshold == nil {
			t.Errorf("%q: %d rows predicted to be 1, %d evaluated", method, ones, got.Classes.Classes[1].Predicted)
		}
	}
}

func TestThresholdRefusals(t *testing.T) {
	number := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		value *float64
		of    *models.Manifest
		want  string
	}{
		{number(0.5), classifier(3, true), "two classes; the model m is for classification with 3 outputs"},
		{number(0.5), &models.Manifest{Task: models.Regression, Outputs: 1}, "is for regression"},
		{number(math.NaN()), classifier(2, true), "must be a number"},
		{number(1e300), classifier(2, false), "must be a number"},
		{number(1.5), classifier(2, true), "between 0 and 1"},
	} {
		_, err := thresholdOf(c.value, "m", c.of)
		jobtest.WantError(t, c.want, err, exit.CodeUsage, "--threshold", c.want)
	}
	if got, err := thresholdOf(nil, "m", classifier(3, false)); got != nil || err != nil || got.rounded() != nil {
		t.Errorf("%v, %v", got, err)
	}
}
