package gcs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/internal/testing/gcstest"
	"github.com/bochner-ml/bochner/io/storage"
)

// A fifth of all requests fails, in every way, and no caller sees it.
func TestServerFaultsAreRetried(t *testing.T) {
	s := server(t)
	s.Faults.Set(gcstest.Rules{Share: 0.2, Seed: 3})
	large := gcstest.Noise(maxChunk+chunkUnit, 1)
	if testing.Short() {
		large = large[:1<<20]
	}
	want := map[string][]byte{"dir/large": large}
	for i := range 30 {
		want[fmt.Sprint("dir/", i)] = gcstest.Noise(1000*i, uint64(i))
	}
	var wg sync.WaitGroup
	for name, data := range want {
		wg.Go(func() {
			if err := storage.WriteFile(ctx, bucket+name, data); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	objects, err := storage.List(ctx, bucket+"dir/*")
	if err != nil || len(objects) != len(want) {
		t.Fatalf("%d objects, want %d: %v", len(objects), len(want), err)
	}
	for _, o := range objects {
		wg.Go(func() {
			data := want[strings.TrimPrefix(o.Name, bucket)]
			for _, off := range []int{0, len(data) / 3} {
				r, err := o.Open(ctx, int64(off), -1)
				if err != nil {
					t.Error(err)
					return
				}
				got, err := io.ReadAll(r)
				r.Close()
				if err != nil || !bytes.Equal(got, data[off:]) {
					t.Errorf("%s from %d: %d bytes, %v", o.Name, off, len(got), err)
				}
			}
		})
	}
	wg.Wait()
	gcstest.PublishMany(t, bucket, "dir/large", s.Names)
	seen := s.Faults.Seen()
	for _, kind := range []string{"list", "read", "write", "copy", "delete", "stat"} {
		for _, way := range []string{gcstest.Busy, gcstest.Reset, gcstest.Cut, gcstest.Unheard} {
			if seen[kind+" "+way] == 0 {
				t.Logf("%s %s has not happened", kind, way)
			}
		}
	}
	t.Log(seen)
}

func TestSilentServerIsRetried(t *testing.T) {
	impatient(t, 200*time.Millisecond)
	s := server(t)
	s.Fill("f", gcstest.Noise(1<<16, 1))
	s.Faults.Set(gcstest.Rules{Share: 0.3, Seed: 5, Ways: []string{gcstest.Silenced}, Silence: time.Hour})
	for range 10 {
		if got, err := storage.ReadFile(ctx, bucket+"f", 1<<20); err != nil || !bytes.Equal(got, gcstest.Noise(1<<16, 1)) {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
		if err := storage.WriteFile(ctx, bucket+"g", []byte("g")); err != nil {
			t.Fatal(err)
		}
		if _, err := storage.List(ctx, bucket+"?"); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.Faults.Seen()) < 2 {
		t.Errorf("only %v", s.Faults.Seen())
	}
}

func TestServerThatIsDownIsGivenUp(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for all tries to be made")
	}
	old := backoff
	backoff.Max = 200 * time.Millisecond
	t.Cleanup(func() { backoff = old })
	s := server(t)
	s.Fill("f", gcstest.Noise(100, 1))
	s.Faults.Set(gcstest.Rules{Share: 1, Ways: []string{gcstest.Busy}})
	for what, err := range map[string]error{
		"stat": errOf(storage.Stat(ctx, bucket+"f")), "list": errOf(storage.List(ctx,
			bucket+"*")), "read": errOf(storage.ReadFile(ctx, bucket+"f", 100)),
		"write": storage.WriteFile(ctx, bucket+"g", nil), "publish": storage.Publish(ctx, bucket+"m",
			[]storage.File{{Name: "a"}}),
	} {
		var e *storage.Error
		if !errors.As(err, &e) || e.Refused() {
			t.Errorf("%s: %v", what, err)
		}
	}
	ended, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := storage.Stat(ended, bucket+"f"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("under a context that ends: %v", err)
	}
}

// A publisher whose commit was done without a response learns that it succeeded.
func TestCommitSucceedsAlthoughItsResponseIsLost(t *testing.T) {
	for _, kind := range []string{"write", "copy"} {
		s := server(t)
		lost := 0
		s.Faults.Before(func(k, name string) {
			// The first request of the kind for each object: it is served, unheard.
			if k == kind && lost < 3 {
				lost++
				s.Faults.Set(gcstest.Rules{Share: 1, Kinds: []string{kind}, Ways: []string{gcstest.Unheard}})
			} else {
				s.Faults.Set(gcstest.Rules{})
			}
		})
		files := []storage.File{{Name: "weights", Data: []byte("w")}, {Name: "manifest.json", Data: []byte("m")}}
		if err := storage.Publish(ctx, bucket+"model", files); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if d := cmp.Diff([]string{"model/manifest.json", "model/weights"}, s.Names()); d != "" || lost < 1 {
			t.Errorf("%s, %d answers lost: %s", kind, lost, d)
		}
	}
}
