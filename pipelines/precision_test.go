package pipelines

import (
	"bufio"
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// scoredTwice trains on lines, scores and predicts others, and returns what evaluation says
// with the targets and what is predicted.
func scoredTwice(t *testing.T, train, test []string, o options.Train) (r *results.Evaluate, truth, predicted []float64) {
	t.Helper()
	dir := t.TempDir()
	o.Data = dataset.Options{Files: []string{jobtest.Write(t, dir, "train.csv", strings.Join(train, ""))}, Label: "y"}
	o.Model = filepath.Join(dir, "model")
	if _, err := trainPlain(jobtest.Ctx, o); err != nil {
		t.Fatal(err)
	}
	data := dataset.Options{Files: []string{jobtest.Write(t, dir, "test.csv", strings.Join(test, ""))}, Label: "y"}
	r, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: o.Model, Data: data})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Predict(jobtest.Ctx, options.Predict{Model: o.Model, Data: data, Out: filepath.Join(dir, "out"),
		Content: options.Content{Format: "csv"}})
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "out", "part-*.csv"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	content, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Scan()
	for lines.Scan() {
		v, err := strconv.ParseFloat(lines.Text(), 64)
		if err != nil {
			t.Fatal(err)
		}
		predicted = append(predicted, v)
	}
	for _, line := range test[1:] {
		line = strings.TrimSpace(line)
		v, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ',')+1:], 64)
		if err != nil {
			t.Fatal(err)
		}
		truth = append(truth, v)
	}
	return r, truth, predicted
}

// Targets keep the precision of the file up to the score: targets far from zero have the scores of targets
// close to it.
func TestTargetsFarFromZeroAreScoredAsTheyAre(t *testing.T) {
	for _, offset := range []float64{0, 1e8, -1.7e9} {
		r := rand.New(rand.NewPCG(3, 4))
		draw := func(n int) [][]float64 {
			var rows [][]float64
			for range n {
				x := r.NormFloat64()
				rows = append(rows, []float64{x, offset + 10*math.Sin(2*x) + r.NormFloat64()})
			}
			return rows
		}
		result, truth, predicted := scoredTwice(t, written(draw(500)), written(draw(300)), options.Train{
			Prepare: options.Prepare{Kernel: &fourier.GaussianOptions{Features: 64},
				Seed: 1}, Lambda: options.Lambda{Path: []float64{1e-4}},
		})
		var mae, mean, squares float64
		n := float64(len(truth))
		for i, y := range truth {
			mae += math.Abs(predicted[i]-y) / n
			mean += (y - offset) / n
		}
		for _, y := range truth {
			squares += (y - offset - mean) * (y - offset - mean) / n
		}
		s := result.Targets
		if !(math.Abs(s.MAE-mae) < 1e-5*mae) || !(math.Abs(s.TargetDev-math.Sqrt(squares)) < 1e-6) {
			t.Errorf("offset %g: MAE %.9g, of the predictions %.9g; deviation %.9g, want %.9g", offset, s.MAE, mae, s.TargetDev,
				math.Sqrt(squares))
		}
		if !(s.MAE < 1.1 && *s.R2 > 0.95) {
			t.Errorf("offset %g: MAE %g, R² %g", offset, s.MAE, *s.R2)
		}
	}
}

// Columns far from zero predict like columns close to it: seconds since 1970, and numbers that are equal in
// float32.
func TestColumnsFarFromZeroAreLearnedFrom(t *testing.T) {
	accuracy := map[float64]float64{}
	for _, offset := range []float64{0, 1.7e9, 1e15} {
		r := rand.New(rand.NewPCG(5, 6))
		draw := func(n int) (lines []string) {
			lines = []string{"when,x,y\n"}
			for range n {
				when, x := math.Round(2000*r.Float64()), r.NormFloat64()
				class := "day"
				if math.Sin(when/300)+0.3*x > 0 {
					class = "night"
				}
				lines = append(lines, strconv.FormatFloat(offset+when, 'f', -1, 64)+","+strconv.FormatFloat(x, 'g', -1, 64)+","+
					class+"\n")
			}
			return lines
		}
		train, test := draw(2000), draw(1000)
		dir := t.TempDir()
		model := filepath.Join(dir, "model")
		if _, err := trainPlain(jobtest.Ctx, options.Train{
			Prepare: options.Prepare{
				Data:   dataset.Options{Files: []string{jobtest.Write(t, dir, "train.csv", strings.Join(train, ""))}, Label: "y"},
				Kernel: &fourier.GaussianOptions{Features: 128, Width: 1}, Seed: 1,
			},
			Lambda: options.Lambda{Path: []float64{1e-6}}, Model: model,
		}); err != nil {
			t.Fatal(err)
		}
		result, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: model,
			Data: dataset.Options{Files: []string{jobtest.Write(t, dir, "test.csv", strings.Join(test, ""))}, Label: "y"}})
		if err != nil {
			t.Fatal(err)
		}
		accuracy[offset] = result.Classes.Accuracy
	}
	for offset, have := range accuracy {
		if math.Abs(have-accuracy[0]) > 0.003 || have < 0.95 {
			t.Errorf("offset %g: accuracy %g, at 0 %g", offset, have, accuracy[0])
		}
	}
}
