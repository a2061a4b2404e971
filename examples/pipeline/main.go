// Command pipeline shows a model in a Beam pipeline of your own: a DoFn classifies generated rows, and
// transforms.WriteLines writes the number of rows of each class.
//
//	pipeline MODEL FILE
package main

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"math"
	"os"
	"reflect"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	//lint:ignore SA1019 the direct runner is the fastest on one machine
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/direct"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/transforms/stats"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/transforms"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[*classifyFn]())
	beam.RegisterFunction(line)
}

// classifyFn emits the class of a row. Each worker loads the model once.
type classifyFn struct {
	Model string
	m     *models.Model
}

func (f *classifyFn) Setup(ctx context.Context) (err error) {
	f.m, err = models.LoadURI(ctx, f.Model)
	return err
}

func (f *classifyFn) ProcessElement(_ context.Context, row []float64) (string, error) {
	class := make([]float64, 1)
	if err := f.m.Predict(class, row); err != nil {
		return "", err
	}
	return f.m.Class(class[0]), nil
}

func line(class string, n int) []byte { return fmt.Appendf(nil, "%s: %d", class, n) }

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: pipeline MODEL FILE")
	}
	beam.Init()
	slog.SetDefault(slog.New(slog.DiscardHandler)) // Beam's runner describes its plan
	counts, err := run(context.Background(), os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(counts)
}

func run(ctx context.Context, model, file string) (counts string, err error) {
	var rows [][]float64
	for i := range 200 {
		sin, cos := math.Sincos(float64(i%100) * math.Pi / 100)
		if i < 100 {
			rows = append(rows, []float64{cos, sin})
		} else {
			rows = append(rows, []float64{1 - cos, 0.5 - sin})
		}
	}
	p, s := beam.NewPipelineWithRoot()
	classes := beam.ParDo(s, &classifyFn{Model: model}, beam.CreateList(s, rows))
	transforms.WriteLines(s, file, beam.ParDo(s, line, stats.Count(s, classes)))
	if _, err := direct.Execute(ctx, p); err != nil {
		return "", err
	}
	text, err := storage.ReadState(ctx, file, 1<<20)
	return strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", ", "), err
}
