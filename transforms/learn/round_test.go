package learn

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/identity"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/prismtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// witness is a learner whose state is a hash of all that its workers saw, in order.
// Its worker fails, or panics, at the block of that number, if it is not 0.
type witness struct{ Fail, Panic int }

func init() {
	iterative.RegisterOpener("witness", iterative.OpenerOf(func(w witness) (witness, error) { return w, nil }))
}

func (w witness) Start(*linear.Model) ([]byte, error) { return []byte("start"), nil }

func (w witness) Open(state []byte) (iterative.Round, error) { return &witnessRound{w, state}, nil }

type witnessRound struct {
	witness
	state []byte
}

func (r *witnessRound) Reads() bool { return true }
func (r *witnessRound) Done() bool  { return false }

func (r *witnessRound) Worker(partition int, own []byte) (iterative.Worker, error) {
	h := sha256.New()
	h.Write(r.state)
	h.Write(own)
	binary.Write(h, binary.LittleEndian, int64(partition))
	return &witnessWorker{round: r, hash: h, next: [2]int{}}, nil
}

type witnessWorker struct {
	round *witnessRound
	hash  io.Writer
	next  [2]int
	rows  uint64
}

func (w *witnessWorker) Take(b iterative.Block) error {
	side := sideOf(b.HeldOut)
	if b.Index != w.next[side] {
		return fmt.Errorf("block %d, want %d", b.Index, w.next[side])
	}
	w.next[side]++
	if b.N > 0 && w.round.Fail > 0 && b.Index == w.round.Fail {
		return errors.New("a worker that fails")
	}
	if b.N > 0 && w.round.Panic > 0 && b.Index == w.round.Panic {
		panic("a worker that panics")
	}
	for _, v := range append(append([]float32(nil), b.Phi[:b.N*b.D]...), b.Y[:b.N]...) {
		binary.Write(w.hash, binary.LittleEndian, math.Float32bits(v))
	}
	w.rows += uint64(b.N)
	return nil
}

func (w *witnessWorker) End() (found, own []byte, err error) {
	sum := w.hash.(interface{ Sum([]byte) []byte }).Sum(nil)
	return binary.LittleEndian.AppendUint64(sum, w.rows), sum[:4], nil
}

func (r *witnessRound) Update(next func() ([]byte, error)) ([]byte, iterative.Report, error) {
	h := sha256.New()
	var report iterative.Report
	for {
		found, err := next()
		if err == io.EOF {
			return h.Sum(nil), report, nil
		}
		if err != nil {
			return nil, report, err
		}
		h.Write(found)
		report.Rows += int64(binary.LittleEndian.Uint64(found[sha256.Size:]))
	}
}

// learnPass is a pass over the CSV files of a directory, assigned to partitions, with
// its first state.
func learnPass(t *testing.T, dir string, partitions int, rowsThere int64, learner string) string {
	t.Helper()
	return assignedPass(t, dir, 1<<25, partitions, rowsThere, learner)
}

// assignedPass is learnPass of files that are cut to that many bytes.
func assignedPass(t *testing.T, dir string, shardBytes int64, partitions int, rowsThere int64, learner string) string {
	t.Helper()
	ctx := context.Background()
	d, err := dataset.Open(ctx, dataset.Options{Files: []string{filepath.Join(dir, "*.csv")}, Label: "y"})
	if err != nil {
		t.Fatal(err)
	}
	recipe, err := features.Seal(identity.Recipe{In: 2, Bound: 100})
	if err != nil {
		t.Fatal(err)
	}
	p := &Pass{
		Pass: transforms.Pass{
			Data: *d, Mode: dataset.FailFast, Seed: 3,
			Target: &transforms.Labeling{Classes: &schema.Vocabulary{Classes: []string{"0", "1", "two\nlines"}}},
		},
		Learner: Learner{Kind: "witness", Options: json.RawMessage(learner)}, Recipe: recipe,
		Assignments: d.Assign(d.Shards(shardBytes), partitions), Rows: rowsThere, Folds: 4,
	}
	uri, err := transforms.StorePass(ctx, t.TempDir(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := storage.WriteState(ctx, StateFile(uri, 0), []byte("start")); err != nil {
		t.Fatal(err)
	}
	return uri
}

// csvTable writes n rows into CSV files of a new directory.
func csvTable(t *testing.T, n, files int) string {
	dir := t.TempDir()
	for f := range files {
		var text strings.Builder
		text.WriteString("a,b,y\n")
		for i := f * n / files; i < (f+1)*n/files; i++ {
			fmt.Fprintf(&text, "%d,%d.5,%d\n", i, i%7, i%2)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%03d.csv", f)), []byte(text.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// lastState returns the state after n rounds, in pipelines of at most job rounds each.
// Three and more readers are reshuffled.
func lastState(t *testing.T, pass, runner string, n, job int, readers, threads int, keep int64) string {
	t.Helper()
	for first := 0; first < n; first += job {
		p, s := beam.NewPipelineWithRoot()
		Rounds(s, transforms.Scan{Pass: pass, Readers: readers, Threads: threads, Reshuffle: readers > 2}, first,
			min(job, n-first), keep)
		if _, err := prismtest.Runners[runner](context.Background(), p); err != nil {
			t.Fatal(err)
		}
	}
	state, err := storage.ReadState(context.Background(), StateFile(pass, n), transforms.MaxState)
	if err != nil {
		t.Fatal(err)
	}
	return string(state)
}

func TestRoundsDependOnFilesAndPartitionsOnly(t *testing.T) {
	for k, files := range []int{1, 3, 20} {
		dir := csvTable(t, 9000, files)
		for _, partitions := range []int{1, 8} {
			want := lastState(t, learnPass(t, dir, partitions, 9000, "{}"), "direct", 3, 1, 1, 1, 0)
			for i, test := range []struct {
				runner                string
				job, readers, threads int
				keep                  int64
			}{
				{"direct", 1, 1, 3, 0},
				{"direct", 3, 1, 2, 1 << 30}, // all features are kept
				{"direct", 1, 1, 2, 30_000},  // some are
				{"direct", 2, 5, 2, 0},
				{"prism", 3, 4, 1, 0},
				{"prism", 1, 2, 2, 1 << 30},
			} {
				if (i+k)%3 > 0 && !campaign.Whole() {
					continue // each way with some files
				}
				if got := lastState(t, learnPass(t, dir, partitions, 9000, "{}"), test.runner, 3, test.job, test.readers,
					test.threads, test.keep); got != want {
					t.Errorf("%d files, %d partitions: another state with %+v", files, partitions, test)
				}
			}
		}
		if a, b := lastState(t, learnPass(t, dir, 2, 9000, "{}"), "direct", 1, 1, 1, 1, 0), lastState(t,
			learnPass(t, dir, 3, 9000, "{}"), "direct", 1, 1, 1, 1, 0); a == b {
			t.Error("2 and 3 partitions give the same state: the test sees nothing")
		}
	}
}

func TestRoundThatMissesRowsFails(t *testing.T) {
	pass := learnPass(t, csvTable(t, 100, 3), 4, 101, "{}")
	p, s := beam.NewPipelineWithRoot()
	Rounds(s, transforms.Scan{Pass: pass, Readers: 2, Threads: 2}, 0, 1, 0)
	_, err := beam.Run(context.Background(), "direct", p)
	if f, ok := fault.Find(err); !ok || !strings.Contains(f.Message, "has read 100 rows, the first pass 101") {
		t.Errorf("error %v", err)
	}
	if there, err := storage.Exists(context.Background(), StateFile(pass, 1)); there || err != nil {
		t.Errorf("a state is there all the same, or %v", err)
	}
}

func TestRoundRejectsACutInsideQuotes(t *testing.T) {
	const row = "1,2,\"two\nlines\"\n"
	for header, behind := range map[string]string{"a,b,y\n": "s\"\n1,2", "a to move it,bbb,y\n": "o\nlines"} {
		dir, text := t.TempDir(), header+strings.Repeat(row, 200)
		cut := int64(len(text)+1) / 2
		if !strings.HasPrefix(text[cut:], behind) {
			t.Fatalf("the cut is before %q", text[cut:cut+8])
		}
		torn := behind[0] == 'o' // the next line break is inside the quotes
		if err := os.WriteFile(filepath.Join(dir, "a.csv"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, partitions := range []int{1, 2} {
			pass := assignedPass(t, dir, cut, partitions, 200, "{}")
			p, s := beam.NewPipelineWithRoot()
			Rounds(s, transforms.Scan{Pass: pass, Readers: 1, Threads: 2}, 0, 1, 0)
			_, err := beam.Run(context.Background(), "direct", p)
			if f, ok := fault.Find(err); ok != (err != nil) || ok != torn || torn &&
				!strings.Contains(f.Message, "a.csv: a shard boundary falls inside a quoted field") {
				t.Errorf("cut at %d, %d partitions: error %v", cut, partitions, err)
			}
		}
	}
}

func TestLearnerErrorEndsTheRound(t *testing.T) {
	for _, learner := range []string{`{"Fail": 3}`, `{"Panic": 3}`} {
		for _, keep := range []int64{0, 1 << 30} {
			for _, threads := range []int{1, 2} {
				pass := learnPass(t, csvTable(t, 30_000, 2), 2, 30_000, learner)
				p, s := beam.NewPipelineWithRoot()
				Rounds(s, transforms.Scan{Pass: pass, Readers: 1, Threads: threads}, 0, 1, keep)
				_, err := beam.Run(context.Background(), "direct", p)
				if f, ok := fault.Find(err); !ok || !strings.Contains(f.Message, "a worker that ") {
					t.Errorf("error %v", err)
				}
				if cached := cachedOf(pass); len(cached.partitions) != 0 || cached.used != 0 {
					t.Errorf("%d bytes of features of %d partitions are cached for nobody", cached.used, len(cached.partitions))
				}
			}
		}
	}
}

func TestEmptyPartitionIsKept(t *testing.T) {
	pass := learnPass(t, csvTable(t, 3, 1), 8, 3, "{}")
	lastState(t, pass, "direct", 1, 1, 1, 1, 1<<30)
	cached := cachedOf(pass)
	for partition := range 8 {
		if !complete(cached.blocks(cached.name, partition)) {
			t.Errorf("partition %d is read again in every round", partition)
		}
	}
}

// cachedOf are the features that this process has cached for the job of a pass.
func cachedOf(pass string) *featureCache {
	return cacheOf(transforms.NewWorker(filepath.Dir(pass)))
}

// Two jobs of one process have separate caches, though the rows and features are the same, and closing one does
// not change the other.
func TestConcurrentJobsHaveSeparateFeatureCaches(t *testing.T) {
	dir := csvTable(t, 300, 1)
	one, other := learnPass(t, dir, 2, 300, "{}"), learnPass(t, dir, 2, 300, "{}")
	worker := transforms.NewWorker(filepath.Dir(one))
	for _, pass := range []string{one, other} {
		lastState(t, pass, "direct", 2, 1, 1, 1, 1<<30)
	}
	a, b := cachedOf(one), cachedOf(other)
	if a == b || a.used == 0 || a.used != b.used {
		t.Errorf("%d and %d bytes are cached", a.used, b.used)
	}
	if n := worker.Rows(); n != 600 {
		t.Errorf("one of the jobs has gone through %d rows twice and counts %d", 300, n)
	}
	if worker.Close(); cachedOf(one).used != 0 || cachedOf(other) != b {
		t.Error("closing a worker forgets too little or too much")
	}
}

func TestRoundThatRunsTwiceWritesTheSameBytes(t *testing.T) {
	pass := learnPass(t, csvTable(t, 3000, 4), 3, 3000, "{}")
	round := func(readers int) map[string]string {
		t.Helper()
		transforms.NewWorker(filepath.Dir(pass)).Close() // and what is cached
		p, s := beam.NewPipelineWithRoot()
		Rounds(s, transforms.Scan{Pass: pass, Readers: readers, Threads: 2}, 0, 1, 0)
		if _, err := beam.Run(context.Background(), "direct", p); err != nil {
			t.Fatal(err)
		}
		dir := strings.TrimSuffix(pass, ".json")
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		for _, e := range entries {
			data, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			files[e.Name()] = string(data)
		}
		return files
	}
	first, again := round(1), round(3)
	if len(first) != 1+2*3+1+1 { // two states, what three partitions kept and found, the report
		t.Fatalf("%d files", len(first))
	}
	for name, data := range first {
		if again[name] != data {
			t.Errorf("%s: other bytes the second time", name)
		}
	}
}

// Copies are counted by shard, up to one that begins inside quotes: the error names the cut.
func TestUncountedCopiesAreACutInsideQuotes(t *testing.T) {
	ctx := context.Background()
	const row = "1,2,\"two\nlines\"\n"
	dir, text := t.TempDir(), "a to move it,bbb,y\n"+strings.Repeat(row, 200)
	if err := os.WriteFile(filepath.Join(dir, "a.csv"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	p, err := transforms.LoadPass[Pass](ctx, transforms.NewWorker(t.TempDir()),
		assignedPass(t, dir, int64(len(text)+1)/2, 1, 200, "{}"))
	if err != nil {
		t.Fatal(err)
	}
	with := *p
	with.Copies = &profile.Copies{
		FrequentHashes: profile.FrequentHashes{
			Rows: profile.HashSet{profile.RowHash(with.Seed, []float32{1, 2})}, Contents: profile.HashSet{1}},
		Shards: []profile.PrecedingCopies{{Before: []byte{0}}},
	}
	uri, err := transforms.StorePass(ctx, t.TempDir(), &with, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := storage.WriteState(ctx, StateFile(uri, 0), []byte("start")); err != nil {
		t.Fatal(err)
	}
	graph, s := beam.NewPipelineWithRoot()
	Rounds(s, transforms.Scan{Pass: uri, Readers: 1, Threads: 2}, 0, 1, 0)
	_, err = beam.Run(ctx, "direct", graph)
	if f, ok := fault.Find(err); !ok ||
		!strings.Contains(f.Message, "a.csv: a shard boundary falls inside a quoted field") {
		t.Errorf("error %v", err)
	}
}
