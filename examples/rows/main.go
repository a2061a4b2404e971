// Command rows shows a Beam pipeline on rows of a type of your own. A model predicts and scores points of three
// days, which are read from a CSV file. New models are trained on them: one with the recipe of the model, and
// one for each day with a new recipe.
//
//	rows --runner=direct MODEL POINTS.csv OUT
//
// It writes OUT/predictions, OUT/scores, the models of days to OUT/days/models, and the model with the same
// recipe to OUT/models/sums, and prints its digest. Importing io/formats registers the formats of training data
// that recipes name.
package main

import (
	"context"
	"encoding/csv"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"os"
	"reflect"
	"strconv"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/textio"
	//lint:ignore SA1019 the direct runner is the fastest on one machine
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/direct"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal"

	_ "github.com/bochner-ml/bochner/io/formats"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/transforms/rows"
)

// Point is a row: its tags name the columns of the model.
type Point struct {
	Line int64   `bochner:",key"`
	X    float64 `bochner:"x1"`
	Y    float64 `bochner:"x2"`
	Side string  `bochner:"y,label"`
}

func init() {
	beam.RegisterType(reflect.TypeFor[Point]())
	beam.RegisterFunction(read)
	beam.RegisterFunction(describe)
	beam.RegisterFunction(failed)
	beam.RegisterFunction(withTime)
	beam.RegisterFunction(scored)
}

// read is the source of the points.
func read(file string, emit func(Point)) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return err
	}
	for i, fields := range records[1:] {
		x, _ := strconv.ParseFloat(fields[0], 64)
		y, _ := strconv.ParseFloat(fields[1], 64)
		emit(Point{int64(i), x, y, fields[2]})
	}
	return nil
}

// describe formats a point with its prediction.
func describe(point Point, p rows.Prediction) string {
	return fmt.Sprintf("%d %s %g", point.Line, p.Class, p.Scores)
}

// withTime gives each point a timestamp on another day than the previous one.
func withTime(p Point, emit func(beam.EventTime, Point)) {
	emit(mtime.FromTime(time.Date(2026, 11, 20+int(p.Line%3), 12, 0, 0, 0, time.UTC)), p)
}

func scored(w beam.Window, s rows.Score) string {
	return fmt.Sprintf("%s %d %g", w, s.Rows, *s.Error)
}

func failed(r rows.Rejected) string { return r.Key + " " + r.Reason }

var runner = flag.String("runner", "direct", "Beam runner")

func main() {
	flag.Parse()
	beam.Init()
	if flag.NArg() != 3 {
		log.Fatal("usage: rows --runner=direct MODEL POINTS.csv OUT")
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // Beam's runners describe their plans
	digest, err := run(context.Background(), flag.Arg(0), flag.Arg(1), flag.Arg(2))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(digest)
}

func run(ctx context.Context, model, points, out string) (digest string, err error) {
	recipe, err := rows.ReadRecipe(ctx, model)
	if err != nil {
		return "", err
	}
	p, s := beam.NewPipelineWithRoot()
	all := beam.ParDo(s, read, beam.Create(s, points))
	predictions, _ := rows.WithPredictions(s, rows.Model{Name: model}, all)
	textio.Write(s, out+"/predictions", beam.ParDo(s, describe, predictions))
	sums := rows.Sum(s, recipe, all)
	textio.Write(s, out+"/rejected", beam.ParDo(s, failed, sums.Rejected))
	pipelines.FitStored(s, out+"/models", rows.Store(s, recipe, out+"/sums", sums))

	days := beam.WindowInto(s, window.NewFixedWindows(24*time.Hour), beam.ParDo(s, withTime, all))
	scores, _ := rows.Evaluate(s, rows.Model{Name: model}, days)
	textio.Write(s, out+"/scores", beam.WindowInto(s, window.NewGlobalWindows(), beam.ParDo(s, scored, scores)))
	pipelines.TrainRows(s, pipelines.TrainRowsOptions{Dir: out + "/days", Sample: 500, Features: 64,
		Lambda: []float64{1e-4}}, days)
	if _, err := beam.Run(ctx, *runner, p); err != nil {
		return "", err
	}
	m, err := models.ReadManifest(ctx, out+"/models/sums")
	if err != nil {
		return "", err
	}
	return m.SHA256, nil
}
