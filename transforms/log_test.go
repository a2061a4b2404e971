package transforms_test

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"

	"github.com/bochner-ml/bochner/internal/testing/prismtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/survey"
)

// profiled runs a profile pass of a job of its own on the direct runner.
func profiled(t *testing.T, ctx context.Context, dir string, d *dataset.Dataset) {
	t.Helper()
	pass := &survey.Profile{Pass: transforms.Pass{Data: *d, Shards: d.Shards(1 << 30), Mode: dataset.SkipRow}}
	uri, err := transforms.StorePass(ctx, dir, pass, nil)
	if err != nil {
		t.Error(err)
		return
	}
	p, s := beam.NewPipelineWithRoot()
	sum, reports := transforms.Sum(s, transforms.Scan{Pass: uri, Readers: 1, Threads: 1}, pass)
	transforms.Write(s, filepath.Join(dir, "sum"), sum)
	transforms.WriteLines(s, filepath.Join(dir, "reports"), reports)
	if _, err := prismtest.Runners["direct"](ctx, p); err != nil {
		t.Error(err)
	}
}

// logged is Beam's log of the pipelines whose context has it.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) Log(_ context.Context, _ beamlog.Severity, _ int, message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, message)
}

func TestWorkersLogReadFilesWithFields(t *testing.T) {
	var heard logged
	beamlog.SetLogger(&heard)
	defer beamlog.SetLogger(&logged{})
	d, _ := tableWithBadRows(t, 500, 2)
	profiled(t, context.Background(), t.TempDir(), d)
	for _, want := range []string{
		`^shard read: pass=pass-[0-9a-f]{16}\.json reader=0 shard=".*rows\.csv at 0" rows=500 set_aside=2$`,
		`^reader ended: pass=pass-[0-9a-f]{16}\.json reader=0 rows=502 set_aside=2 cached=0 restored=0 seconds=[0-9.e-]+$`,
	} {
		if !slices.ContainsFunc(heard.lines, regexp.MustCompile(want).MatchString) {
			t.Errorf("no line %s in %q", want, heard.lines)
		}
	}
}

// Concurrent jobs in one process count only their own rows.
func TestConcurrentJobsHaveSeparateCounters(t *testing.T) {
	sizes := []int{300, 5_000, 20_000}
	workers := make([]*transforms.Worker, len(sizes))
	var wg sync.WaitGroup
	for i, n := range sizes {
		d, _ := tableWithBadRows(t, n, 0)
		dir := t.TempDir()
		workers[i] = transforms.NewWorker(dir)
		for range 2 { // pipelines of each
			wg.Go(func() { profiled(t, context.Background(), dir, d) })
		}
	}
	wg.Wait()
	for i, w := range workers {
		if got := w.Rows(); got != int64(2*sizes[i]) {
			t.Errorf("a job that has read %d rows twice counts %d", sizes[i], got)
		}
		w.Close()
	}
}
