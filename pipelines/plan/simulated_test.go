package plan

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/gcstest"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/storage/gcs"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/internal/training"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/transforms"
)

func init() { engine.Register(simulated) }

// simulated is a cluster of Beam's direct runner, which processes one reader after the other. It
// counts what it does.
var simulated = new(cluster)

type cluster struct {
	pipelines              int
	bytes, folded, learned float64 // bytes that were read; rows that were summed, and those that rounds took
	sync.Mutex                     // of the requests to the bucket
	written                map[string]int
	deleted                int
}

func (*cluster) About() engine.About {
	return engine.About{Name: "simulated", Readers: 8,
		Reshuffle: true}
}
func (*cluster) Validate(engine.Engine) error               { return nil }
func (*cluster) Ready(context.Context, engine.Engine) error { return nil }

func (c *cluster) Run(ctx context.Context, _ engine.Engine, p *beam.Pipeline) error {
	r, err := beam.Run(ctx, engine.Direct, p)
	if err != nil {
		return err
	}
	c.pipelines++
	for _, m := range r.Metrics().Query(func(m beam.MetricResult) bool { return m.Namespace() == transforms.MetricsNamespace }).Counters() {
		switch n := float64(m.Committed); {
		case m.Name() == transforms.BytesRead.String():
			c.bytes += n
		case m.Name() == transforms.RowsUsed.String() && m.Transform() == "gram.sumsFn":
			c.folded += n
		case m.Name() == transforms.RowsUsed.String() && m.Transform() == "learn.roundFn":
			c.learned += n
		}
	}
	return nil
}

// request counts objects of the work directory.
func (c *cluster) request(kind, name string) {
	c.Lock()
	defer c.Unlock()
	switch {
	case !strings.HasPrefix(name, "."): // of the model
	case kind == "write":
		c.written[name]++
	case kind == "delete":
		c.deleted++
	}
}

// partials counts the partitions that have shared the rows.
func (c *cluster) partials() int {
	var numbers []string
	for name := range c.written {
		if _, number, ok := strings.Cut(name, "/partial-000000-"); ok {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	return len(slices.Compact(numbers))
}

// simulations are trainings that clusters of each size do.
var simulations = []struct {
	name     string
	learner  string
	features int
	lambda   []float64
	rounds   iterative.Running
	set      func(*options.Train)
}{
	{"ridge", "", 64, nil, iterative.Running{}, nil},
	{"ridge, one lambda", "", 64, []float64{1e-3}, iterative.Running{}, nil},
	{"ridge, probabilities", "", 64, []float64{1e-3}, iterative.Running{},
		func(o *options.Train) { o.Calibrate = "platt" }},
	{"ridge, stripes", "", 256, []float64{1e-2, 1e-3}, iterative.Running{},
		func(o *options.Train) { o.Job.Engine.WorkerBytes = job.ProgramBytes + job.SlackBytes + 4<<20 }},
	{"ridge, few rows", "", 1024, []float64{1e-2, 1e-3}, iterative.Running{}, nil},
	{"sgd", "sgd", 64, []float64{1e-3}, iterative.Running{}, nil},
	{"sgd, rounds in one job", "sgd", 64, []float64{1e-3}, iterative.Running{PerJob: 3}, nil},
	{"svm, several lambda", "svm", 64, []float64{1e-3, 1e-4}, iterative.Running{}, nil},
	{"svm, three partitions", "svm", 64, []float64{1e-3}, iterative.Running{Partitions: 3}, nil},
}

// The objects, pipelines and CPU hours of a plan are within 25% of those of a job with as many readers. `make
// test-long` has clusters of up to 400 readers.
func TestPlansMatchASimulatedCluster(t *testing.T) {
	s, address := gcstest.Start(t)
	gcs.UseEmulator(func() string { return address })
	t.Cleanup(func() { gcs.UseEmulator(func() string { return "" }) })
	s.Faults.Before(simulated.request)
	sizes, rows, files := []int{2, 8}, 400, 8
	if os.Getenv("BOCHNER_LONG") != "" {
		sizes, rows, files = []int{8, 64, 400}, 1000, 400
	}
	lines := jobtest.Made(t, "moons", int64(rows), 1)
	dir := t.TempDir()
	for i := range files {
		jobtest.Write(t, dir, fmt.Sprintf("d%d.csv", i), lines[0]+strings.Join(lines[1+i*rows/files:1+(i+1)*rows/files], ""))
	}
	for _, c := range simulations {
		for i, readers := range sizes {
			if i < len(sizes)-1 && (c.rounds != iterative.Running{} || c.name == "ridge, probabilities") {
				continue // the largest is enough
			}
			name := fmt.Sprintf("%s, %d readers", c.name, readers)
			o := options.Train{Model: "gs://bucket/" + strings.ReplaceAll(name, " ", "-"), Search: options.SearchNone}
			o.Data.Files, o.Data.Label = []string{dir + "/*.csv"}, "y"
			o.Job.Engine.Runner, o.Job.Engine.Readers = "simulated", readers
			o.Kernel, o.Lambda.Path = &fourier.GaussianOptions{Features: c.features}, c.lambda
			o.Learner = &ridge.LearnerOptions{Grid: features.Bits8} // of another, the data may be summed again
			if c.learner != "" {
				o.Learner = jobtest.Iterative(c.learner, func(s *iterative.Shared) { s.Rounds, s.Running = 2, c.rounds })
			}
			if c.set != nil {
				c.set(&o)
			}
			p, err := Training(jobtest.Ctx, o)
			if err != nil {
				t.Fatal(name, err)
			}
			*simulated = cluster{written: map[string]int{}}
			r, err := training.Run(jobtest.Ctx, o)
			if err != nil {
				t.Fatal(name, err)
			}
			near := func(what string, planned, counted float64) {
				if math.Abs(planned-counted) > 0.25*counted {
					t.Errorf("%s: the plan has %.6g %s, the job %.6g", name, planned, what, counted)
				}
			}
			var written float64
			for _, n := range simulated.written {
				written += float64(min(n, 2)) // the lock is renewed while the job runs
			}
			near("pipelines", float64(p.Pipelines), float64(simulated.pipelines))
			near("objects written", float64(p.Objects), written)
			if p.Carried == 0 && p.Objects != int64(written) && p.Objects != int64(written)+1 { // without trials of lambda
				t.Errorf("%s: the plan has %d objects, the job writes %g", name, p.Objects, written)
			}
			near("objects deleted", float64(p.Objects), float64(simulated.deleted))
			if c.rounds.PerJob == 0 { // else rounds of one pipeline share a counter of the direct runner
				planned := p.work(p.Memory, (spec.Options{Train: o}).WithPartitions(files).Iterative(), ridge.AllFolds)
				did := planned // models/svm counts its steps
				did.pipelines, did.read = simulated.pipelines, simulated.bytes
				width := float64(c.features)
				if did.sums > 0 {
					did.sums = simulated.folded * width * (width + 1) / 2
				}
				if p.Partitions > 0 {
					did.maps = simulated.learned * width * 2 * (2 + 2*2)
				}
				near("bytes to read", planned.read, did.read)
				near("products to sum", planned.sums, did.sums)
				near("operations of maps", planned.maps, did.maps)
				ok, shared := *p.Cluster, solution{shards: cmp.Or(p.Partitions, files)}
				ok.share(shared, did, readers)
				near("CPU hours", p.Cluster.Hours, ok.seconds()/3600*float64(ok.Workers*ok.CPUs))
				near("seconds after starts", p.Cluster.seconds()-p.Cluster.Start,
					ok.seconds()-ok.Start) // starts are most of the time of small data
			}
			if n := simulated.partials(); p.Partitions != n || p.Partitions > 0 &&
				(p.Partitions != cmp.Or(c.rounds.Partitions, readers) || p.Partitions != r.Log.Partitions) {
				t.Errorf("%s: the plan has %d partitions, the job %d", name, p.Partitions, n)
			}
			if (p.Stripes > 1) != (c.name == "ridge, stripes") || (p.Carried > 0) != (c.name == "ridge, few rows") {
				t.Errorf("%s: %d stripes, %d bytes of rows", name, p.Stripes, p.Carried)
			}
		}
	}
}
