package transforms_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/prismtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/gram"
	"github.com/bochner-ml/bochner/transforms/survey"
)

// tableWithBadRows opens n rows of two numbers and a class, and bad ones among them.
func tableWithBadRows(t *testing.T, n, bad int) (*dataset.Dataset, int64) {
	t.Helper()
	var b strings.Builder
	b.WriteString("a,b,y\n")
	for i := range n + bad {
		if i < bad {
			b.WriteString("1,odd,0\n")
		} else {
			fmt.Fprintf(&b, "%d,%d.5,%d\n", i%89, i%7, i%2)
		}
	}
	name := filepath.Join(t.TempDir(), "rows.csv")
	if err := storage.WriteFile(context.Background(), name, []byte(b.String())); err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(context.Background(), dataset.Options{Files: []string{name}, Label: "y"})
	if err != nil {
		t.Fatal(err)
	}
	return d, int64(b.Len())
}

// committed adds up Beam's counters of our namespace over the steps of a pipeline.
func committed(r beam.PipelineResult) map[string]int64 {
	sums := map[string]int64{}
	mine := r.Metrics().Query(func(m beam.MetricResult) bool { return m.Namespace() == transforms.MetricsNamespace })
	for _, c := range mine.Counters() {
		sums[c.Name()] += c.Committed
	}
	return sums
}

// The counters that runners show equal the numbers of rows in the files, also if stripes read them several
// times.
func TestCountersAccountForRows(t *testing.T) {
	const n, bad = 20_000, 37
	d, size := tableWithBadRows(t, n, bad)
	recipe, err := features.Seal(fourier.Gaussian{In: 2, Out: 256, Width: 2, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	common := transforms.Pass{
		Data: *d, Shards: d.Shards(40_000), Mode: dataset.SkipRow, Seed: 1,
		Target: &transforms.Labeling{Classes: schema.NewVocabulary([]string{"0", "1"})},
	}
	fold := &gram.Pass{Pass: common, Spec: gram.Spec{Recipe: recipe, Outputs: 2, FoldPlan: ridge.FoldPlan{Folds: 1},
		Steps: 127, SolveOptions: gram.SolveOptions{LambdaSearch: ridge.LambdaSearch{Lambda: []float64{1e-3}}}}}
	for name, execute := range prismtest.Runners {
		readers, tries, sums := 3, 20, "read map fold merge store solve"
		if name == "direct" {
			readers, tries, sums = 1, 1, "read map fold store solve" // its result has the counters of the last step of each name only
		}
		for what, c := range map[string]struct {
			pass    transforms.AnyPass
			stripes int
			stages  string // stages that take time
		}{"profile": {&survey.Profile{Pass: common}, 1, "read fold"}, "gram": {fold, 1, sums}, "gram in stripes": {fold, 3, sums}} {
			want := map[transforms.Metric]int64{
				transforms.RowsRead: n + bad, transforms.RowsUsed: n, transforms.RowsSetAside: bad,
				transforms.BytesRead: int64(c.stripes) * size, transforms.RowsCached: 0, transforms.FeaturesSaturated: 0,
			}
			// Prism loses the counters of a bundle if another one ends before it has asked for their names (its
			// unprocessedPayloads has room for one), as happens on a busy machine. Then they are too small.
			for try := 1; ; try++ {
				got, worker := countedRun(t, execute, c.pass, readers, c.stripes)
				lost, wrong := differences(got, worker, want)
				if all := int64(c.stripes) * (n + bad); worker.Rows() != all {
					wrong = append(wrong, fmt.Sprintf("the worker has gone through %d rows, want %d", worker.Rows(), all))
				}
				for _, stage := range strings.Fields(c.stages) {
					if worker.Seconds()[stage] <= 0 {
						wrong = append(wrong, "no time to "+stage)
					}
				}
				if len(wrong) == 0 && len(lost) > 0 && try < tries {
					continue
				}
				for _, text := range append(wrong, lost...) {
					t.Errorf("%s, %s, try %d: %s", name, what, try, text)
				}
				break
			}
		}
	}
}

// countedRun runs a pass and returns its counters and its worker.
func countedRun(t *testing.T, execute func(context.Context, *beam.Pipeline) (beam.PipelineResult, error),
	pass transforms.AnyPass, readers, stripes int) (map[string]int64, *transforms.Worker) {
	t.Helper()
	ctx, dir := t.Context(), t.TempDir()
	worker := transforms.NewWorker(dir)
	defer worker.Close()
	uri, err := transforms.StorePass(ctx, dir, pass, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	sc := transforms.Scan{Pass: uri, Readers: readers, Stripes: stripes, Threads: 1}
	p, s := beam.NewPipelineWithRoot()
	if profile, ok := pass.(*survey.Profile); ok {
		sum, reports := transforms.Sum(s, sc, profile)
		transforms.Write(s, at("sum"), sum)
		transforms.WriteLines(s, at("reports"), reports)
	} else {
		st := gram.State{Dir: dir, Reports: at("reports"), Sum: at("sum"), FitReport: at("fit"), Weights: at("weights"),
			Trials: at("trials"), Sketch: at("spread")}
		parts, reports := gram.Sums(s, sc, st)
		index := gram.Index(s, sc, st, gram.Merge(s, sc, st, parts), reports)
		transforms.Write(s, st.FitReport, gram.Solve(s, sc, st, index))
	}
	result, err := execute(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	return committed(result), worker
}

// differences compares counters with what they should be, and times of stages with the worker's. It returns what is
// too small, and what is otherwise wrong.
func differences(got map[string]int64, worker *transforms.Worker, want map[transforms.Metric]int64) (lost, wrong []string) {
	for metric, want := range want {
		text := fmt.Sprintf("%s is %d, want %d", metric, got[metric.String()], want)
		switch have := got[metric.String()]; {
		case have < want:
			lost = append(lost, text)
		case have > want:
			wrong = append(wrong, text)
		}
	}
	// Counters are in whole milliseconds: each element may lose one.
	const most = 100
	for stage, spent := range worker.Seconds() {
		text := fmt.Sprintf("%g s to %s, its counter has %d ms", spent, stage, got[stage+"_msec"])
		switch msec := float64(got[stage+"_msec"]); {
		case msec > 1000*spent:
			wrong = append(wrong, text)
		case msec < 1000*spent-most:
			lost = append(lost, text)
		}
	}
	return lost, wrong
}
