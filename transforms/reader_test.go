package transforms

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models/profile"
)

// openText writes a file and opens it as data.
func openText(t testing.TB, text string, o dataset.Options) *dataset.Dataset {
	t.Helper()
	name := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	o.Files = []string{name}
	d, err := dataset.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func tableText(n int) string {
	var b strings.Builder
	b.WriteString("x1,x2,y\n")
	for i := range n {
		fmt.Fprintf(&b, "%d,%d,%d\n", i, i*i%97, i%3)
	}
	return b.String()
}

// readerOf is a reader of a job of its own.
func readerOf(t testing.TB, readers, number int) *Reader {
	t.Helper()
	f := Fn{Scan: Scan{Pass: t.TempDir() + "/pass.json", Readers: readers}}
	f.Setup()
	t.Cleanup(f.Teardown)
	return NewReader(f, number)
}

func TestEveryShardIsInOneReader(t *testing.T) {
	for _, weights := range [][]int64{{}, {0}, {5}, {1, 1, 1, 1, 1}, {100, 1, 1, 1, 50, 0, 0, 0, 0}, {7, 7, 7}} {
		p := &Pass{Data: dataset.Dataset{Files: []dataset.File{{}}}}
		for i, w := range weights {
			p.Shards = append(p.Shards, dataset.Shard{Start: int64(1000 * i), End: int64(1000*i) + w})
		}
		for readers := 1; readers <= 12; readers++ {
			var all []dataset.Shard
			most := 0
			for reader := range readers {
				mine := readerOf(t, readers, reader).shards(p)
				all = append(all, mine...)
				most = max(most, len(mine))
			}
			slices.SortFunc(all, func(a, b dataset.Shard) int { return int(a.Start - b.Start) })
			if !slices.Equal(all, p.Shards) {
				t.Errorf("%v in %d readers: %v", weights, readers, all)
			}
		}
	}
}

func TestReadersHaveAboutAsMuchToRead(t *testing.T) {
	p := &Pass{Data: dataset.Dataset{Files: []dataset.File{{}}}}
	at := int64(0)
	for i := range 100 {
		p.Shards = append(p.Shards, dataset.Shard{Start: at, End: at + int64(i)})
		at += int64(i)
	}
	for reader := range 4 {
		var n int64
		for _, s := range readerOf(t, 4, reader).shards(p) {
			n += s.End - s.Start
		}
		if n < at/4-50 || n > at/4+50 {
			t.Errorf("reader %d reads %d of %d", reader, n, at)
		}
	}
}

// settled returns the number of goroutines once it is no more than want, or
// after a while.
func settled(want int) int {
	for range 6000 {
		if n := runtime.NumGoroutine(); n <= want {
			return n
		}
		time.Sleep(5 * time.Millisecond)
	}
	return runtime.NumGoroutine()
}

func TestScanThatFailsLeavesNoGoroutine(t *testing.T) {
	d := openText(t, tableText(20_000), dataset.Options{Label: "y"})
	p := &Pass{Data: *d, Shards: d.Shards(50_000), Mode: dataset.FailFast}
	boom := errors.New("boom")
	ok := func(profile.ShardStart, *rowio.Block) error { return nil }
	done := func(*dataset.Report) error { return nil }
	before := runtime.NumGoroutine()
	for name, c := range map[string]struct {
		fold  func(profile.ShardStart, *rowio.Block) error
		done  func(*dataset.Report) error
		label dataset.Label
		want  string
	}{
		"fold fails":      {func(profile.ShardStart, *rowio.Block) error { return boom }, done, nil, "boom"},
		"report fails":    {ok, func(*dataset.Report) error { return boom }, nil, "boom"},
		"reader panics":   {ok, done, func([]byte) (float64, string) { panic("broken label") }, "broken label"},
		"fold panics":     {func(profile.ShardStart, *rowio.Block) error { panic("broken fold") }, done, nil, "broken fold"},
		"nothing happens": {ok, done, nil, ""},
	} {
		err := func() (err error) {
			defer func() {
				if r := recover(); r != nil {
					err = fmt.Errorf("panic: %v", r)
				}
			}()
			return readerOf(t, 1, 0).Each(context.Background(), p, c.label, c.fold, c.done)
		}()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		if n := settled(before); n > before {
			t.Errorf("%s: %d goroutines, %d before", name, n, before)
		}
	}
}

func TestScanEndsWithItsContext(t *testing.T) {
	d := openText(t, tableText(50_000), dataset.Options{Label: "y"})
	p := &Pass{Data: *d, Shards: d.Shards(1 << 30), Mode: dataset.FailFast}
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(context.Background())
	blocks, reports := 0, 0
	err := readerOf(t, 1, 0).Each(ctx, p, nil, func(profile.ShardStart, *rowio.Block) error {
		blocks++
		cancel()
		return nil
	}, func(*dataset.Report) error {
		reports++
		return nil
	})
	if !errors.Is(err, context.Canceled) || reports > 0 || blocks > 40 {
		t.Errorf("%v after %d blocks and %d reports", err, blocks, reports)
	}
	if n := settled(before); n > before {
		t.Errorf("%d goroutines, %d before", n, before)
	}
}

// Blocks arrive in the order of the file, and none is overwritten while it is
// being processed.
func TestBlocksArriveInOrder(t *testing.T) {
	const n = 30_000
	d := openText(t, tableText(n), dataset.Options{Label: "y"})
	p := &Pass{Data: *d, Shards: d.Shards(1 << 30), Mode: dataset.FailFast}
	next := 0
	reader := readerOf(t, 1, 0)
	err := reader.Each(context.Background(), p, schema.ParseTarget, func(_ profile.ShardStart, b *rowio.Block) error {
		for range 3 {
			runtime.Gosched()
			for i := range b.N {
				if got := b.Row(i)[0]; got != float32(next+i) || b.Y[i] != float64((next+i)%3) {
					return fmt.Errorf("row %d is %g", next+i, got)
				}
			}
		}
		next += b.N
		return nil
	}, func(r *dataset.Report) error {
		if r.Rows != n {
			return fmt.Errorf("report %+v", r)
		}
		return nil
	})
	if err != nil || next != n || reader.Worker.Rows() != n {
		t.Errorf("%v after %d rows", err, next)
	}
}
