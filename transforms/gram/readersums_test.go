package gram

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/transforms"
)

// readerRun is one attempt at the work of a reader.
type readerRun struct {
	parts   map[int]string // as they are stored
	lines   [][]byte
	reports []string
	read    int // rows
	held    int // the most rows of a fold that were in memory
}

// runReader runs the only reader of a pass, with a checkpoint after every shard. It fails when stop
// shards have been read; 0 does not stop.
func runReader(t *testing.T, p *Pass, uri string, stop int) (r readerRun, err error) {
	t.Helper()
	return runStripe(t, p, uri, stop, 0, 1, 0)
}

// runStripe is runReader for a stripe of several. Files of rows have some rows, or as many as usual (0).
func runStripe(t *testing.T, p *Pass, uri string, stop, stripe, stripes, some int) (r readerRun, err error) {
	t.Helper()
	ctx := context.Background()
	f := transforms.Fn{Scan: transforms.Scan{Pass: uri, Readers: 1, Stripes: stripes, Threads: 2, Checkpoint: -1}}
	f.Setup()
	defer f.Teardown()
	reader := transforms.NewReader(f, stripe)
	s, err := newReaderSums(reader, p, filepath.Dir(uri))
	if err != nil {
		t.Fatal(err)
	}
	reader.Saver = s
	if some > 0 {
		s.rowsPerFile = some
	}
	shards := 0
	err = reader.Each(ctx, &p.Pass, p.Target.Label(), func(at profile.ShardStart, b *rowio.Block) error {
		if stop > 0 && shards == stop {
			return errors.New("lost")
		}
		r.read += b.N
		err := s.add(ctx, at, b)
		for _, f := range s.folds {
			if f != nil && f.gridRows != nil {
				r.held = max(r.held, f.gridRows.N())
			}
		}
		return err
	}, func(report *dataset.Report) error {
		shards++
		return s.done(report)
	})
	if err != nil {
		return r, err
	}
	r.parts = map[int]string{}
	err = s.finish(ctx, func(key int, line []byte) {
		var st storedRun
		if err := json.Unmarshal(line, &st); err != nil {
			t.Error(err)
		}
		if err := st.each(ctx, filepath.Dir(uri),
			func(key int, part []byte) error { r.parts[key] = string(part); return nil }); err != nil {
			t.Error(err)
		}
		r.lines = append(r.lines, line)
	}, func(line []byte) { r.reports = append(r.reports, string(line)) })
	return r, err
}

func storePass(t testing.TB, p *Pass) string {
	t.Helper()
	uri, err := transforms.StorePass(context.Background(), t.TempDir(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	return uri
}

func (r readerRun) equals(t *testing.T, want readerRun) {
	t.Helper()
	if len(r.parts) == 0 || len(r.parts) != len(want.parts) {
		t.Fatalf("%d parts, want %d", len(r.parts), len(want.parts))
	}
	for key, sum := range want.parts {
		if r.parts[key] != sum {
			t.Errorf("part %d differs", key)
		}
	}
}

// A reader that is lost after n shards, and again after one more, repeats only the shard that it was reading
// each time. Its sums equal the sums of an undisturbed reader, bit for bit.
func TestLostReaderRepeatsOneShard(t *testing.T) {
	const n = 3000
	for _, countsCopies := range []bool{false, true} {
		p := passOf(t, table(n), 1)
		p.Shards = p.Data.Shards(9_000)
		if countsCopies {
			p.Spec.Frequent = &profile.FrequentHashes{}
			p.Spec.RowHashes = true
		}
		if len(p.Shards) < 8 {
			t.Fatalf("%d shards", len(p.Shards))
		}
		want, err := runReader(t, p, storePass(t, p), 0)
		if err != nil || want.read != n {
			t.Fatalf("%d rows: %v", want.read, err)
		}
		for stop := 1; stop < len(p.Shards); stop++ {
			uri := storePass(t, p)
			first, err := runReader(t, p, uri, stop)
			if err == nil || first.read == 0 {
				t.Fatalf("%d rows: %v", first.read, err)
			}
			again := min(1, len(p.Shards)-stop-1)
			second := readerRun{}
			if again > 0 {
				if second, err = runReader(t, p, uri, again); err == nil {
					t.Fatal("no error")
				}
			}
			last, err := runReader(t, p, uri, 0)
			if err != nil {
				t.Fatal(err)
			}
			// The fold of the shard at which a reader was lost has not begun.
			if got := first.read + second.read + last.read; got != n {
				t.Errorf("lost after %d shards: %d rows were added, want %d", stop, got, n)
			}
			last.equals(t, want)
			if len(last.reports) != len(p.Shards) {
				t.Errorf("%d reports of %d shards", len(last.reports), len(p.Shards))
			}
			checkReports(t, last, countsCopies)
			saved, err := filepath.Glob(filepath.Join(filepath.Dir(uri), "saved-*"))
			if err != nil {
				t.Fatal(err)
			}
			if most := 2 * 2; len(saved) > most { // two lost attempts, two checkpoints each
				t.Errorf("%d files of checkpoints, want at most %d", len(saved), most)
			}
			whole, err := runReader(t, p, uri, 0)
			if err != nil || whole.read != 0 {
				t.Errorf("a complete reader reads %d rows again: %v", whole.read, err)
			}
			whole.equals(t, want)
		}
	}
}

// checkReports checks that reports describe all rows.
func checkReports(t *testing.T, r readerRun, contents bool) {
	t.Helper()
	var used int64
	hashes := 0
	for _, line := range r.reports {
		var report Report
		if err := json.Unmarshal([]byte(line), &report); err != nil {
			t.Fatal(err)
		}
		used += report.Rows
		hashes += len(report.RowHashes) / 8
	}
	if used != 3000 || contents && hashes != 3000 {
		t.Errorf("reports of %d rows with %d hashes", used, hashes)
	}
}

// If files of a checkpoint are damaged or missing, the checkpoint is not used, and the reader
// starts from the beginning.
func TestDamagedCheckpointIsNotUsed(t *testing.T) {
	const n = 3000
	p := passOf(t, table(n), 1)
	p.Shards = p.Data.Shards(20_000)
	want, err := runReader(t, p, storePass(t, p), 0)
	if err != nil {
		t.Fatal(err)
	}
	damages := map[string]func(name string) error{
		"removed": os.Remove,
		"cut off": func(name string) error { return os.Truncate(name, 5) },
		"empty":   func(name string) error { return os.Truncate(name, 0) },
	}
	for _, kind := range []string{"checkpoint-*", "saved-*"} {
		for how, damage := range damages {
			uri := storePass(t, p)
			if _, err := runReader(t, p, uri, 1); err == nil {
				t.Fatal("no error")
			}
			names, err := filepath.Glob(filepath.Join(filepath.Dir(uri), kind))
			if err != nil || len(names) == 0 {
				t.Fatalf("%v: %v", names, err)
			}
			slices.Sort(names)
			if err := damage(names[len(names)-1]); err != nil {
				t.Fatal(err)
			}
			again, err := runReader(t, p, uri, 0)
			if err != nil || again.read != n {
				t.Errorf("%s of %s: %d rows were read: %v", how, strings.TrimSuffix(kind, "-*"), again.read, err)
				continue
			}
			again.equals(t, want)
		}
	}
}

// A reader whose sums cannot be restored starts empty.
func TestSumIsEmptyAfterAFailedRestore(t *testing.T) {
	p := passOf(t, table(500), 1)
	p.Shards = p.Data.Shards(1 << 30)
	uri := storePass(t, p)
	f := transforms.Fn{Scan: transforms.Scan{Pass: uri, Readers: 1, Threads: 1}}
	f.Setup()
	defer f.Teardown()
	s, err := newReaderSums(transforms.NewReader(f, 0), p, filepath.Dir(uri))
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.Spec.Recipe.Open()
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := m.New()
	if err != nil {
		t.Fatal(err)
	}
	s.folds[1].sum.AddLabels(quantized(t, drawn.(features.Gridded)), []int32{0, 1}, nil, 1)
	parts, _, err := s.store(context.Background(), partName)
	if err != nil {
		t.Fatal(err)
	}
	parts[len(parts)-1].At[0]--
	state, err := json.Marshal(savedSums{Runs: parts})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Restore(context.Background(), state); err == nil {
		t.Fatal("a wrong checksum is not seen")
	}
	empty := ridge.NewSum(s.folds[1].sum.Shape())
	for i, f := range s.folds {
		if !f.sum.Equal(empty) {
			t.Errorf("fold %d is not empty", i)
		}
	}
}

// quantized returns the features of two rows.
func quantized(t *testing.T, m features.Gridded) *features.Grid {
	t.Helper()
	_, out := m.Dims()
	z := features.NewGrid(out, 127)
	m.Quantize(z, []float32{1, 2, 3, 4, 5, 6}, 2, 1)
	return z
}
