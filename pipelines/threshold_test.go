package pipelines

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// The threshold that evaluate names has the balanced accuracy that it states, for scores and for probabilities;
// predictions use it too. Figures that do not depend on it do not change.
func TestThresholdsDecide(t *testing.T) {
	dir := t.TempDir()
	var uneven []string
	for i, line := range jobtest.Made(t, "moons", 600, 1) {
		if i == 0 || strings.HasSuffix(line, ",1\n") || i%5 == 0 {
			uneven = append(uneven, line)
		}
	}
	data := dataset.Options{Files: []string{jobtest.Write(t, dir, "data.csv", strings.Join(uneven, ""))}, Label: "y"}
	for _, method := range []options.Calibration{"", options.CalibrationPlatt, options.CalibrationIsotonic} {
		o := fixed(1)
		o.Data, o.Model, o.Lambda.Path, o.Calibrate = data, filepath.Join(dir, "model"+string(method)), []float64{1e-1}, method
		if _, err := trainPlain(jobtest.Ctx, o); err != nil {
			t.Fatal(err)
		}
		evaluate := func(threshold *float64) *results.Evaluate {
			r, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: o.Model, Data: data, Threshold: threshold})
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
			t.Errorf("%q: threshold %g: balanced accuracy %g, want %g", method, *best.Threshold, got.Classes.BalancedAccuracy,
				*best.BestBalanced)
		}
		if !reflect.DeepEqual(got.Classes.Ranking, best) || !reflect.DeepEqual(got.Probabilities, plain.Probabilities) {
			t.Errorf("%q: the threshold changes ranks or probabilities", method)
		}
		of := map[bool]string{true: "score", false: "probability"}[method == ""]
		if got.Threshold.Of != of || !strings.Contains(jobtest.Text(t, got),
			fmt.Sprintf("a row is of class %q if ", best.Positive)) {
			t.Errorf("%q: %+v", method, got.Threshold)
		}
		predicted, err := Predict(jobtest.Ctx,
			options.Predict{Model: o.Model, Data: data, Out: filepath.Join(dir, "out"+string(method)),
				Content: options.Content{Threshold: best.Threshold}})
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

// A threshold that training chooses is in the model: evaluations, predictions and programs decide by it, and
// the figures that training expects hold on other rows. It is the same for every cut and runner of the data.
func TestTrainingChoosesThresholds(t *testing.T) {
	dir := t.TempDir()
	uneven := func(seed int) dataset.Options {
		var lines []string
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		for i, line := range jobtest.Made(t, "moons", 2000, uint64(seed)) {
			if strings.HasSuffix(line, ",1\n") && r.IntN(8) == 0 {
				line = line[:len(line)-2] + "-1\n"
			}
			if i == 0 || strings.HasSuffix(line, ",-1\n") || i%3 == 0 {
				lines = append(lines, line)
			}
		}
		return dataset.Options{Files: []string{jobtest.Write(t, dir, fmt.Sprintf("data%d.csv", seed),
			strings.Join(lines, ""))}, Label: "y"}
	}
	data, other := uneven(1), uneven(2)
	for _, method := range []options.Calibration{"", options.CalibrationPlatt} {
		for _, by := range []score.Criterion{score.ByError, score.ByF1, score.ByBalanced} {
			o := fixed(1)
			o.Data, o.Model, o.Lambda.Path, o.Calibrate, o.Threshold = data, filepath.Join(dir,
				"model"+string(method)+string(by)), []float64{1e-1}, method, string(by)
			trained, err := trainPlain(jobtest.Ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			r, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: o.Model, Data: other})
			if err != nil {
				t.Fatal(err)
			}
			th := trained.Threshold
			if r.Threshold == nil || !reflect.DeepEqual(r.Threshold.Threshold, *th) || th.By != by || th.Folds != 5 {
				t.Fatalf("%s %s: %+v, evaluated with %+v", method, by, th, r.Threshold)
			}
			classes := r.Classes
			got := map[score.Criterion]float64{score.ByError: classes.Accuracy, score.ByF1: classes.Classes[1].F1,
				score.ByBalanced: classes.BalancedAccuracy}[by]
			// The second class has about 60 rows in the fold that chooses.
			if math.Abs(got-*th.Expected) > 0.12 || *th.Expected < *th.Plain-0.02 {
				t.Errorf("%s %s: %.3f on other rows, expected %.3f, %.3f without", method, by, got, *th.Expected, *th.Plain)
			}
			text := jobtest.Text(t, trained)
			if !strings.Contains(text, "the threshold that the other half chooses") ||
				!strings.Contains(text, fmt.Sprintf("threshold %g", th.Value)) {
				t.Errorf("the summary lacks the threshold:\n%s", text)
			}
			if by != score.ByF1 {
				continue
			}
			o.Model += " again"
			o.Job.ShardBytes, o.Job.Engine.Threads = 500, 2
			if _, err := trainPlain(jobtest.Ctx, o); err != nil {
				t.Fatal(err)
			}
			a, err := models.CheckDir(jobtest.Ctx, strings.TrimSuffix(o.Model, " again"))
			if err != nil {
				t.Fatal(err)
			}
			if b, err := models.CheckDir(jobtest.Ctx, o.Model); err != nil || a.SHA256 != b.SHA256 {
				t.Errorf("the model depends on shards: %+v, %+v, %v", a.Threshold, b.Threshold, err)
			}
		}
	}
}
