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
	d, err := dataset.Open(context.Background(), dataset.Options{Data: []string{name}, Label: "y"})
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

// Runners show what became of the rows: what their counters say is what is in the files, also where
// stripes read them several times.
func TestCountersAccountForRows(t *testing.T) {
	const n, bad = 20_000, 37
	ctx := context.Background()
	d, size := tableWithBadRows(t, n, bad)
	recipe, err := features.Seal(fourier.Gaussian{In: 2, Out: 256, Width: 2, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	common := transforms.Pass{
		Data: *d, Shards: d.Shards(40_000), Mode: dataset.SkipRow, Seed: 1,
		Target: &transforms.Labeling{Classes: schema.NewVocabulary([]string{"0", "1"})},
	}
	for name, execute := range prismtest.Runners {
		lanes := 3
		if name == "direct" {
			lanes = 1 // of steps of one name its result has the counters of the last alone
		}
		fold := &gram.Pass{Pass: common, Spec: gram.Spec{Recipe: recipe, Outputs: 2, FoldPlan: ridge.FoldPlan{Folds: 1},
			Steps: 127, Solving: gram.Solving{Choice: ridge.Choice{Lambda: []float64{1e-3}}}}}
		for what, c := range map[string]struct {
			pass    transforms.Kind
			stripes int
		}{"profile": {&survey.Profile{Pass: common}, 1}, "gram": {fold, 1}, "gram in stripes": {fold, 3}} {
			pass := c.pass
			dir := t.TempDir()
			worker := transforms.NewWorker(dir)
			uri, err := transforms.Store(ctx, dir, pass, nil)
			if err != nil {
				t.Fatal(err)
			}
			at := func(name string) string { return filepath.Join(dir, name) }
			sc := transforms.Scan{Pass: uri, Lanes: lanes, Stripes: c.stripes, Threads: 1}
			p, s := beam.NewPipelineWithRoot()
			stages := []string{"read", "fold"}
			if profile, ok := pass.(*survey.Profile); ok {
				sum, reports := profile.Sum(s, sc)
				transforms.Write(s, at("sum"), sum)
				transforms.WriteLines(s, at("reports"), reports)
			} else {
				stages = append(stages, "map", "store", "solve")
				if lanes > 1 {
					stages = append(stages, "merge")
				}
				st := gram.State{Dir: dir, Reports: at("reports"), Sum: at("sum"), Fit: at("fit"), Weights: at("weights"),
					Trials: at("trials"), Sketch: at("spread")}
				parts, reports := gram.Sums(s, sc, st)
				transforms.Write(s, st.Fit, gram.Solve(s, sc, st, gram.Index(s, sc, st, gram.Merge(s, sc, st, parts), reports)))
			}
			result, err := execute(ctx, p)
			if err != nil {
				t.Fatal(err)
			}
			got := committed(result)
			for metric, want := range map[transforms.Metric]int64{
				transforms.RowsRead: n + bad, transforms.RowsUsed: n, transforms.RowsSetAside: bad,
				transforms.BytesRead: int64(c.stripes) * size, transforms.RowsCached: 0, transforms.FeaturesSaturated: 0,
			} {
				if got[metric.String()] != want {
					t.Errorf("%s, %s: %s is %d, want %d", name, what, metric, got[metric.String()], want)
				}
			}
			if all := int64(c.stripes) * (n + bad); worker.Rows() != all {
				t.Errorf("%s, %s: the worker has gone through %d rows, want %d", name, what, worker.Rows(), all)
			}
			// Counters are in whole milliseconds: each element may lose one.
			for _, stage := range stages {
				const most = 100
				spent := worker.Seconds()[stage]
				if msec := float64(got[stage+"_msec"]); spent <= 0 || msec > 1000*spent || msec < 1000*spent-most {
					t.Errorf("%s, %s: %g s to %s, its counter has %g ms", name, what, spent, stage, msec)
				}
			}
			worker.Close()
		}
	}
}
