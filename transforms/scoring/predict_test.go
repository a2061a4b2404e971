package scoring

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/transforms"
)

// plainMap has the numbers of a row for features.
type plainMap struct{ dim int }

func (m plainMap) Dims() (in, out int)           { return m.dim, m.dim }
func (m plainMap) Apply(dst, x []float32, n int) { copy(dst[:n*m.dim], x) }

// modelOf has scores that are the numbers of a row.
func modelOf(classes ...string) *models.Model {
	m := &models.Model{Manifest: &models.Manifest{Task: models.Regression, Outputs: 1,
		Targets: models.Targets{TargetGrid: linear.Grids{{Low: -1, High: 1}}}}}
	k := max(1, len(classes))
	if len(classes) > 0 {
		m.Manifest.Task, m.Manifest.Outputs, m.Manifest.Vocabulary = models.Classification, k, schema.NewVocabulary(classes)
	}
	m.Map = plainMap{k}
	m.Linear = &linear.Model{K: k, D: k, W: make([]float32, k*k), B: make([]float32, k)}
	for c := range k {
		m.Linear.W[c*k+c] = 1
	}
	return m
}

// someReader is the only reader of a job.
func someReader(t testing.TB) *transforms.Reader {
	t.Helper()
	f := transforms.Fn{Scan: transforms.Scan{Pass: t.TempDir() + "/pass.json", Readers: 1, Threads: 1}}
	f.Setup()
	t.Cleanup(f.Teardown)
	return transforms.NewReader(f, 0)
}

// written returns the lines for a block.
func written(t *testing.T, m *models.Model, c Content, b *rowio.Block) []string {
	t.Helper()
	return writtenBy(t, m, &Predict{Content: c}, b)
}

func writtenBy(t *testing.T, m *models.Model, p *Predict, b *rowio.Block) []string {
	t.Helper()
	var out bytes.Buffer
	a := newApplier(someReader(t), m)
	table, format, err := p.file(a)
	if err != nil {
		t.Fatal(err)
	}
	w := format.New(&out)
	block, err := table.Block(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(block), w.Close()); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// Every row has one line that a reader of the format understands: rows that could not be read, and those whose
// numbers have no features, have one without a prediction.
func TestEveryRowHasALineOfPredictions(t *testing.T) {
	nan, big := float32(math.NaN()), float32(math.Inf(1))
	names := modelOf("a,\"b\"\n", "é <&>")
	numeric := modelOf("-1", "2.5")
	target := modelOf()
	two := &rowio.Block{N: 4, D: 2, X: []float32{2, 1, 0, 0, 1, 3, nan, big}, Bad: []int{1}}
	one := &rowio.Block{N: 3, D: 1, X: []float32{0.25, 0, nan}, Bad: []int{1}}
	for name, c := range map[string]struct {
		got, want []string
	}{
		"csv classes": {written(t, numeric, Content{Format: "csv"}, two),
			[]string{"prediction", "-1", `""`, "2.5", `""`}},
		"csv scores": {written(t, numeric, Content{Format: "csv", Scores: true}, two),
			[]string{"prediction,score_-1,score_2.5", "-1,2,1", ",,", "2.5,1,3", ",,"}},
		"csv targets": {written(t, target, Content{Format: "csv"}, one), []string{"prediction", "0.25", `""`, `""`}},
		"jsonl classes": {written(t, numeric, Content{Format: "jsonl"}, two),
			[]string{`{"prediction":-1}`, `{"prediction":null}`, `{"prediction":2.5}`, `{"prediction":null}`}},
		"jsonl targets": {written(t, target, Content{Format: "jsonl", Scores: true}, one),
			[]string{`{"prediction":0.25,"scores":{"target":0.25}}`, `{"prediction":null}`, `{"prediction":null}`}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %q, want %q", name, c.got, c.want)
		}
	}
	var out bytes.Buffer
	for _, line := range written(t, names, Content{Format: "jsonl", Scores: true}, two) {
		var v struct {
			Prediction *string            `json:"prediction"`
			Scores     map[string]float64 `json:"scores"`
		}
		if err := json.Unmarshal([]byte(line), &v); err != nil || v.Prediction != nil &&
			!slices.Contains(names.Outputs(), *v.Prediction) {
			t.Errorf("%s: %v", line, err)
		}
	}
	text := strings.Join(written(t, names, Content{Format: "csv", Scores: true}, two), "\n")
	out.WriteString(text)
	records, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(records) != 5 || records[1][0] != names.Outputs()[0] {
		t.Errorf("%q: %v", records, err)
	}
}

// A row whose novelty overflows has no prediction, like one whose scores do, since JSON has no infinity.
func TestRowsWithoutAFiniteNoveltyHaveNoPrediction(t *testing.T) {
	o := &output{block: &rowio.Block{N: 3, Bad: []int{0}}}
	o.Scores, o.Novelty = []float32{0, 1, 2}, []float32{0, float32(math.Inf(1)), 1}
	if bad := o.bad(nil); !slices.Equal(bad, []int{0, 1}) {
		t.Errorf("bad rows %v, want 0 and 1", bad)
	}
}

// Evaluation leaves out the rows for which Predict has no interval, and counts an interval that is wider than float32.
func TestCoverageCountsFiniteIntervalsOnly(t *testing.T) {
	m := modelOf()
	m.Manifest.TargetGrid = linear.Grids{{Low: -1e30, High: 1e30}}
	m.Manifest.Intervals = &models.Intervals{Rows: 9, Folds: 2, Scaled: true, Scores: [][]float32{slices.Repeat([]float32{1}, 9)}}
	m.Manifest.Sketch = &models.Sketch{Probes: 1, Leverage: 1}
	level, err := m.Level(0.8)
	if err != nil {
		t.Fatal(err)
	}
	infinite := float32(math.Inf(1))
	scores := []float32{0, 0, infinite, 0, 0}
	output := models.Applied{Scores: scores, Targets: make([]float64, 5), Novelty: []float32{0, infinite, infinite, 1e30, 0}}
	sums := make([]score.Coverage, 1)
	(&covering{level: level}).targets(sums, output, []float64{1, 1, 1, 1, 2e30}, []int64{1, 1, 1, 1, 1})
	got := sums[0].Report(0.8, 3)
	if want := (2*2e30 + math.MaxFloat32) / 3; got.Rows != 3 || got.Coverage != 2./3 || math.Abs(got.Width/want-1) > 1e-12 {
		t.Errorf("%+v, want 2 of 3 rows and the width %g", got, want)
	}
}

func TestProbabilitiesAccompanyThePrediction(t *testing.T) {
	m := modelOf("-1", "x,y")
	m.Manifest.Probabilities = &models.Probabilities{Kind: models.Softmax}
	nan := float32(math.NaN())
	b := &rowio.Block{N: 3, D: 2, X: []float32{1, 1, 0, 0, nan, 1}, Bad: []int{1}}
	for _, c := range []struct {
		c    Content
		want []string
	}{
		{Content{Format: "csv", Probabilities: true},
			[]string{`prediction,probability_-1,"probability_x,y"`, "-1,0.5,0.5", ",,", ",,"}},
		{Content{Format: "csv", Scores: true, Probabilities: true},
			[]string{`prediction,score_-1,"score_x,y",probability_-1,"probability_x,y"`, "-1,1,1,0.5,0.5", ",,,,", ",,,,"}},
		{Content{Format: "jsonl", Probabilities: true},
			[]string{`{"prediction":"-1","probabilities":{"-1":0.5,"x,y":0.5}}`, `{"prediction":null}`, `{"prediction":null}`}},
		{Content{Format: "jsonl", Scores: true, Probabilities: true},
			[]string{`{"prediction":"-1","scores":{"-1":1,"x,y":1},"probabilities":{"-1":0.5,"x,y":0.5}}`, `{"prediction":null}`,
				`{"prediction":null}`}},
	} {
		if got := writtenBy(t, m, &Predict{Content: c.c}, b); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.c, got, c.want)
		}
	}
}
