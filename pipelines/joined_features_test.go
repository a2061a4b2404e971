package pipelines

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// joinedOptions holds the options of a Gaussian kernel in a diagonal metric, next to bins of the first
// column.
type joinedOptions struct {
	Features int `flag:"features" help:"Number of Fourier features."`
}

func init() {
	kernel.Register(kernel.Family{Name: "joinedtest", New: func() kernel.Options { return &joinedOptions{} }})
}

func (o *joinedOptions) Validate() error { return nil }

func (o *joinedOptions) Size(in int) kernel.Size {
	return kernel.Size{Features: o.Features + 8, Map: 4 * int64(in*o.Features), TakesShort: true}
}

func (o *joinedOptions) Choose(d *kernel.Data) (*kernel.Choice, error) {
	width, how, err := kernel.Median.Choose(d, kernel.Euclidean)
	if err != nil {
		return nil, err
	}
	a := make(features.Floats, d.In)
	for j := range a {
		a[j] = 1
	}
	a[1] = 0.1
	draw := func(out int, seed uint64) features.Recipe {
		return preprocess.Join{Parts: []features.Recipe{
			features.Chain{Steps: []features.Recipe{preprocess.DiagonalMetric{A: a},
				fourier.Gaussian{In: d.In, Out: o.Features, Width: width, Seed: seed}}},
			preprocess.Bins{In: d.In, Weight: 0.3,
				Columns: []preprocess.BinColumn{{Index: 0, Cuts: features.Floats{-1.2, -0.7, -0.3, 0, 0.3, 0.7, 1.2}}}},
		}}
	}
	return &kernel.Choice{Recipe: draw(o.Features+8, d.Seed), Summary: "joined kernel, " + how, Width: width,
		Draw: draw}, nil
}

// Every job works with joined features in a metric, also for rows in their short form.
func TestJoinedFeaturesWorkInEveryJob(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var lines []string
	for range 500 {
		a, c := r.NormFloat64(), r.IntN(30)
		y := "no"
		if a*a > 0.5 != (c%3 == 0) {
			y = "yes"
		}
		lines = append(lines, fmt.Sprintf("%.4f,%.4f,k%d,%s\n", a, r.NormFloat64(), c, y))
	}
	head := "a,b,c,y\n"
	dir := t.TempDir()
	train := func(name string, set func(o *options.Train), cuts ...int) string {
		o := fixed(3)
		o.Kernel, o.Scale, o.Lambda.Path, o.Calibrate = &joinedOptions{Features: 256}, nil, []float64{1e-3, 1e-5}, "none"
		o.Model = filepath.Join(dir, name)
		from := 0
		for k, to := range append(cuts, len(lines)) {
			o.Data.Files = append(o.Data.Files, jobtest.Write(t, dir, fmt.Sprintf("%s-%d.csv", name, k),
				head+strings.Join(lines[from:to], "")))
			from = to
		}
		o.Data.Label = "y"
		set(&o)
		if _, err := trainPlain(jobtest.Ctx, o); err != nil {
			t.Fatal(name, err)
		}
		return o.Model
	}
	read := func(model, file string) []byte {
		data, err := os.ReadFile(filepath.Join(model, file))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	model := train("one", func(*options.Train) {})
	if cut := train("cut", func(*options.Train) {}, 7, 300); !bytes.Equal(read(model, "weights.safetensors"),
		read(cut, "weights.safetensors")) {
		t.Error("other files of the same rows give other weights")
	}
	data := dataset.Options{Files: []string{filepath.Join(dir, "one-0.csv")}, Label: "y"}
	e, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: model, Data: data})
	if err != nil || e.Classes.Accuracy < 0.85 {
		t.Errorf("accuracy %v: %v", e.Classes, err)
	}
	if _, err := Predict(jobtest.Ctx, options.Predict{Model: model, Data: data,
		Out: filepath.Join(dir, "predicted")}); err != nil {
		t.Error(err)
	}
	spec := options.Prepare{Data: data}
	if f, err := Featurize(jobtest.Ctx, options.Featurize{Prepare: spec, Model: model,
		Out: filepath.Join(dir, "features")}); err != nil || f.Features != 256+8 || f.Rows.Used != 500 {
		t.Errorf("features %+v: %v", f, err)
	}
	i, err := InspectModel(jobtest.Ctx, options.InspectModel{Model: model})
	if err != nil {
		t.Fatal(err)
	}
	if text := jobtest.Text(t, i); !strings.Contains(text, "metric    stretches squared distances along ") {
		t.Errorf("the metric is not in\n%s", text)
	}
	picture := filepath.Join(dir, "importance.svg")
	_, err = InspectModel(jobtest.Ctx, options.InspectModel{Model: model, EffectsPlot: picture})
	if err == nil || !strings.Contains(err.Error(), "--data") {
		t.Errorf("a picture of the metric as importance: %v", err)
	}
	machine := train("svm", func(o *options.Train) {
		o.Learner, o.Lambda.Path = jobtest.Iterative("svm", func(s *iterative.Shared) { s.Rounds = 3 }), []float64{1e-3}
	})
	if _, err := VerifyOptimum(jobtest.Ctx, options.VerifyOptimum{Model: machine,
		Data: dataset.Options{Files: []string{filepath.Join(dir, "svm-0.csv")}, Label: "y"}}); err != nil {
		t.Error(err)
	}
}
