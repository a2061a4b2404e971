package rows_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/metrics"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/prismtest"
	_ "github.com/bochner-ml/bochner/io/formats"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/rows"
)

func TestMain(m *testing.M) { prismtest.Main(m) }

func init() {
	beam.RegisterType(reflect.TypeFor[point]())
	beam.RegisterDoFn(reflect.TypeFor[*gatherFn]())
	beam.RegisterFunction(pointOf)
	beam.RegisterFunction(pairOf)
	beam.RegisterFunction(timed)
	beam.RegisterFunction(longRow)
	beam.RegisterFunction(keyAndScores)
	beam.RegisterFunction(predictionOf)
	beam.RegisterFunction(keyAndFeatures)
}

// point is a row of two columns.
type point struct {
	ID   string  `bochner:",key"`
	X    float64 `bochner:"x"`
	Y    float64 `bochner:"y"`
	Seen int64   // seconds, its time
}

// pointOf returns one of the points of the tests; every hundredth is not a number.
func pointOf(i int) point {
	p := point{ID: fmt.Sprint("p", i), X: math.Sin(float64(i)), Y: math.Cos(float64(i * i)), Seen: int64(i % 97)}
	if i%100 == 99 {
		p.Y = math.NaN()
	}
	return p
}

// longNumbers is the length of rows of which a block has 512.
const longNumbers = 8192

// longRow returns one of the long rows.
func longRow(i int) rows.Row {
	r := rows.Row{Key: fmt.Sprint("r", i)}
	for j := range longNumbers {
		r.Values = append(r.Values, math.Sin(float64(i+j*j)))
	}
	return r
}

func pairOf(p point) (int8, point) { return int8(p.Seen), p }

// timed gives points their times.
func timed(p point, emit func(beam.EventTime, point)) { emit(beam.EventTime(p.Seen*1000), p) }

// gatherFn keeps what it sees, with its window and its time.
type gatherFn struct{ Name string }

func (f *gatherFn) ProcessElement(w beam.Window, at beam.EventTime, x beam.X) {
	where := fmt.Sprint("global ", at)
	if i, ok := w.(window.IntervalWindow); ok {
		where = fmt.Sprint(i.Start, " ", i.End, " ", at)
	}
	lines.Lock()
	defer lines.Unlock()
	lines.of[f.Name] = append(lines.of[f.Name], fmt.Sprintf("%s: %+v", where, x))
}

var lines = struct {
	sync.Mutex
	of map[string][]string
}{of: map[string][]string{}}

// gather returns what a pipeline on a runner puts into collections, as sorted lines.
func gather(t *testing.T, runner string, build func(beam.Scope) []beam.PCollection) (out [][]string,
	r beam.PipelineResult) {
	t.Helper()
	p, s := beam.NewPipelineWithRoot()
	cols := build(s)
	name := func(i int) string { return fmt.Sprint(t.Name(), runner, i) }
	for i, col := range cols {
		beam.ParDo0(s, &gatherFn{name(i)}, col)
	}
	r, err := prismtest.Runners[strings.Fields(runner)[0]](t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	lines.Lock()
	defer lines.Unlock()
	for i := range cols {
		out = append(out, slices.Sorted(slices.Values(lines.of[name(i)])))
		delete(lines.of, name(i))
	}
	return out, r
}

// classifier makes a model of two classes, the number in it making it one of many, and returns its
// directory.
func classifier(t *testing.T, dir string, number int) string {
	t.Helper()
	return made(t, dir, number, fourier.Gaussian{In: 2, Out: 64, Width: 1, Seed: 1}, "x", "y")
}

// made makes a classifier for rows of these columns, or of columns without names.
func made(t *testing.T, dir string, number int, g fourier.Gaussian, columns ...string) string {
	t.Helper()
	recipe, err := features.Seal(g)
	if err != nil {
		t.Fatal(err)
	}
	m := &models.Model{
		Manifest: &models.Manifest{
			Program: "test", Task: models.Classification, Recipe: recipe, Learner: models.Learner{Kind: "sgd", Folds: 1},
			Input: models.Input{Format: "csv", Dim: g.In,
				Columns: columns},
			Targets:    models.Targets{Vocabulary: schema.NewVocabulary([]string{"in", "out"})},
			Extensions: models.Extensions{Probabilities: &models.Probabilities{Kind: models.Softmax}},
		},
		Linear: &linear.Model{K: 2, D: g.Out, B: make([]float32, 2)},
	}
	for i := range 2 * m.Linear.D {
		m.Linear.W = append(m.Linear.W, float32(math.Cos(float64(i*(number+1)))))
	}
	files, err := models.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, fmt.Sprint("model", number))
	if err := os.MkdirAll(name, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(name, f.Name), f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return name
}

// counters returns the committed Beam counters of a pipeline.
func counters(r beam.PipelineResult) map[string]int64 {
	out := map[string]int64{}
	for _, c := range r.Metrics().Query(func(m metrics.SingleResult) bool {
		return m.Namespace() == transforms.MetricsNamespace && strings.HasPrefix(m.Name(), "rows_")
	}).Counters() {
		out[c.Name()] += c.Committed
	}
	return out
}
