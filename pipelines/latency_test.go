package pipelines

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/gcstest"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage/gcs"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// manyFiles is a bucket of many small tables, and a model to apply to them.
type manyFiles struct {
	server *gcstest.Server
	n      int
	model  string
	out    string

	mu       sync.Mutex
	requests map[string]int // by kind
	done     map[string]int // about .done files
	passing  bool           // the pass over the rows has begun
	gates    map[string]*meeting
}

// meeting holds requests of a kind until so many are there together.
type meeting struct {
	wanted int
	here   int
	open   chan struct{}
	missed bool
}

func newManyFiles(t *testing.T, n int) *manyFiles {
	t.Helper()
	server := gcstest.New()
	m := &manyFiles{server: server, n: n, out: "gs://" + gcstest.Bucket + "/out", requests: map[string]int{},
		done: map[string]int{}, gates: map[string]*meeting{}}
	server.Faults.Before(m.before)
	for i := range n {
		server.Fill(fmt.Sprintf("part-%05d.csv", i), fmt.Appendf(nil, "a,b,y\n%d,0.5,p\n0.25,%d,q\n", i, i))
	}
	web := httptest.NewServer(http.HandlerFunc(server.ServeHTTP))
	t.Cleanup(web.Close)
	gcs.UseEmulator(func() string { return strings.TrimPrefix(web.URL, "http://") })
	t.Cleanup(func() { gcs.UseEmulator(func() string { return "" }) })

	train := jobtest.Write(t, t.TempDir(), "train.csv", "a,b,y\n"+strings.Repeat("1,2,p\n0.5,-1,q\n3,0.25,p\n", 20))
	m.model = filepath.Join(t.TempDir(), "model")
	_, err := trainPlain(t.Context(), options.Train{
		Prepare: options.Prepare{Data: dataset.Options{Files: []string{train}, Label: "y"},
			Kernel: &fourier.GaussianOptions{Features: 16}, Seed: 1},
		Model: m.model, Lambda: options.Lambda{Path: []float64{1e-3}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// before counts a request, and has it wait at its gate.
func (m *manyFiles) before(kind, name string) {
	m.mu.Lock()
	m.requests[kind]++
	if strings.HasSuffix(name, ".done") {
		m.done[kind]++
	}
	m.passing = m.passing || kind == "write" && strings.Contains(name, "/pass-")
	g := m.gates[kind]
	if g == nil || !m.passing || !strings.Contains(name, "part-") && !strings.Contains(name, "/file-") {
		m.mu.Unlock()
		return
	}
	if g.here++; g.here == g.wanted {
		close(g.open)
	}
	m.mu.Unlock()
	select {
	case <-g.open:
	case <-time.After(5 * time.Minute): // instead of forever
		m.mu.Lock()
		g.missed = true
		m.mu.Unlock()
	}
}

func (m *manyFiles) predict(ctx context.Context, resume bool) error {
	_, err := Predict(ctx, options.Predict{
		Model: m.model, Data: dataset.Options{Files: []string{"gs://" + gcstest.Bucket + "/part-*.csv"}}, Out: m.out,
		Job: options.Job{Resume: resume},
	})
	return err
}

// If files are a round trip away, many are opened and written at the same time, each is requested a few times,
// and none that cannot exist is requested.
func TestManySmallFilesDoNotWaitForEachOther(t *testing.T) {
	const together = 16
	m := newManyFiles(t, 200)
	m.gates = map[string]*meeting{
		"read":  {wanted: together, open: make(chan struct{})},
		"write": {wanted: together, open: make(chan struct{})},
		"copy":  {wanted: together, open: make(chan struct{})},
	}
	if err := m.predict(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	for kind, g := range m.gates {
		if g.missed || g.here < m.n {
			t.Errorf("%s: %d requests, never %d of them at the same time", kind, g.here, together)
		}
	}
	if m.done["read"]+m.done["stat"] > 0 {
		t.Errorf("a run that began asked what was finished: %v", m.done)
	}
	most := map[string]int{"list": 0, "stat": 1, "read": 2, "write": 2, "copy": 1, "delete": 2}
	for kind, n := range m.requests {
		if n > most[kind]*m.n+40 {
			t.Errorf("%d requests to %s for %d files, want %d for each", n, kind, m.n, most[kind])
		}
	}
}

// A job predicts 10,000 files, 30 ms away, within a minute.
func TestTenThousandObjectsArePredictedInAMinute(t *testing.T) {
	if os.Getenv("BOCHNER_BENCH") == "" {
		t.Skip("measures; run it by make test-latency")
	}
	m := newManyFiles(t, 10_000)
	m.server.Faults.Set(gcstest.Rules{Delay: 30 * time.Millisecond})
	begun := time.Now()
	if err := m.predict(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	took := time.Since(begun)
	t.Logf("%d files in %.1f s; requests %v", m.n, took.Seconds(), m.requests)
	if took > time.Minute {
		t.Errorf("took %v", took)
	}
}

// A run that resumes lists the finished files once, and does not repeat their shards.
func TestResumedRunListsFinishedFilesOnce(t *testing.T) {
	m := newManyFiles(t, 100)
	ctx, cancel := context.WithCancel(t.Context())
	count := m.before
	m.server.Faults.Before(func(kind, name string) {
		if count(kind, name); kind == "copy" {
			cancel() // all shards are finished
		}
	})
	if err := m.predict(ctx, false); !errors.Is(err, context.Canceled) {
		t.Fatalf("the first run: %v", err)
	}
	m.mu.Lock()
	lists := m.requests["list"]
	clear(m.requests)
	clear(m.done)
	m.passing = false
	m.mu.Unlock()
	m.server.Faults.Before(m.before)
	if err := m.predict(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if m.passing {
		t.Error("shards that were finished were done again")
	}
	if m.done["read"] != m.n || m.done["stat"] > 0 || m.requests["list"] > lists+10 {
		t.Errorf("%v requests, about .done %v; want %d reads of those", m.requests, m.done, m.n)
	}
}

// Rows set aside have their line numbers in the file, even if another file is read a second time.
func TestLinesAreCountedOnceWhereAFileIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	train := jobtest.Write(t, dir, "train.csv", "a,b,y\n"+strings.Repeat("1,2,p\n0.5,-1,q\n3,0.25,p\n", 20))
	model := filepath.Join(dir, "model")
	if _, err := trainPlain(t.Context(), options.Train{
		Prepare: options.Prepare{Data: dataset.Options{Files: []string{train}, Label: "y"},
			Kernel: &fourier.GaussianOptions{Features: 16}, Seed: 1},
		Model: model, Lambda: options.Lambda{Path: []float64{1e-3}},
	}); err != nil {
		t.Fatal(err)
	}
	bad := "a,b,note\n" + strings.Repeat("1,2,x\n", 50) + "1,bad,x\n" + strings.Repeat("1,2,x\n", 49)
	torn := "a,b,note\n" + strings.Repeat("1,2,\"over\nand\nover\nagain\n1,2,\n\"\n", 40)
	data := []string{jobtest.Write(t, dir, "bad.csv", bad), jobtest.Write(t, dir, "torn.csv", torn)}
	r, err := Predict(t.Context(), options.Predict{
		Model: model, Data: dataset.Options{Files: data}, Out: filepath.Join(dir,
			"out"), MaxBadFraction: 0.5, Job: options.Job{ShardBytes: 100},
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Rows.Used != 139 || len(r.Rows.Listed) != 1 || r.Rows.Listed[0].Position() != data[0]+":52:2" {
		t.Errorf("%+v", r.Rows)
	}
}
