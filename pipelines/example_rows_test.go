package pipelines_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"

	//lint:ignore SA1019 the direct runner is the fastest on one machine
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/direct"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/transforms/stats"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/transforms/rows"
)

// Click is a row of a program's own type.
type Click struct {
	ID     int     `bochner:",key"`
	X      float64 `bochner:"x1"`
	Y      float64 `bochner:"x2"`
	Moon   string  `bochner:"y,label"`
	Second int64
}

func init() {
	beam.RegisterType(reflect.TypeFor[Click]())
	beam.RegisterFunction(click)
	beam.RegisterFunction(moonOf)
	beam.RegisterFunction(show)
	beam.RegisterFunction(showFitted)
}

// click is the source: one click a second, and every fourth is of the other moon.
func click(i int, emit func(beam.EventTime, Click)) {
	c := Click{ID: i, X: -1, Y: 0.1, Moon: "1", Second: int64(i)}
	if i%4 == 0 {
		c.X, c.Y, c.Moon = 2, 0.3, "-1"
	}
	emit(beam.EventTime(1000*c.Second), c)
}

func moonOf(p rows.Prediction) string { return p.Class }

func show(class string, n int) { fmt.Println("class", class, "is predicted", n, "times") }

func showFitted(m pipelines.WindowModel) {
	fmt.Println("model", filepath.Base(m.Dir), "of", m.Rows, "rows")
}

// A pipeline of another program classifies each click, and makes a model of each minute of clicks, by the
// recipe of the first one.
func Example_rows() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	model, train := filepath.Join(dir, "model"), filepath.Join(dir, "train.csv")
	if _, err := pipelines.Generate(ctx, options.Generate{Set: "moons", Rows: 1000, Seed: 1, Noise: -1,
		Out: train}); err != nil {
		panic(err)
	}
	if _, err := pipelines.Train(ctx, options.Train{
		Prepare: options.Prepare{Data: dataset.Options{Files: []string{train}, Label: "y"},
			Kernel: &fourier.GaussianOptions{Features: 64}, Seed: 1},
		Lambda: options.Lambda{Path: []float64{1e-4}},
		Model:  model, Search: "none",
	}); err != nil {
		panic(err)
	}
	recipe, err := rows.ReadRecipe(ctx, model)
	if err != nil {
		panic(err)
	}

	p, s := beam.NewPipelineWithRoot()
	ids := make([]int, 120)
	for i := range ids {
		ids[i] = i
	}
	clicks := beam.ParDo(s, click, beam.CreateList(s, ids))
	predictions, _ := rows.Predict(s, rows.Model{Name: model, Every: time.Minute}, clicks)
	beam.ParDo0(s, show, stats.Count(s, beam.ParDo(s, moonOf, predictions)))

	minutes := beam.WindowInto(s, window.NewFixedWindows(time.Minute), clicks)
	sums := rows.Store(s, recipe, filepath.Join(dir, "sums"), rows.Sum(s, recipe, minutes))
	fitted, _ := pipelines.FitStored(s, filepath.Join(dir, "models"), sums)
	beam.ParDo0(s, showFitted, fitted)
	if _, err := direct.Execute(ctx, p); err != nil {
		panic(err)
	}

	// Unordered output:
	// class 1 is predicted 90 times
	// class -1 is predicted 30 times
	// model dt=1970-01-01T000000 of 60 rows
	// model dt=1970-01-01T000100 of 60 rows
}
