package gcs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/internal/disk"
	"github.com/bochner-ml/bochner/internal/testing/gcstest"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/io/storage/objects"
)

func TestPublishIsWholeOrAbsent(t *testing.T) {
	s := server(t)
	disk := write(t, filepath.Join(t.TempDir(), "f"), "from the disk")
	s.Fill("from", []byte("from a bucket"))
	files := []storage.File{{Name: "manifest.json", Data: []byte("m")}, {Name: "a", Data: []byte("bytes")},
		{Name: "b", From: disk}, {Name: "c", From: bucket + "from"}}
	dir := bucket + "deep/model"
	for _, missing := range []string{filepath.Join(t.TempDir(), "missing"), bucket + "missing"} {
		if err := storage.Publish(ctx, dir, append(files, storage.File{Name: "d", From: missing})); !errors.Is(err,
			fs.ErrNotExist) {
			t.Errorf("publishing a missing file: %v", err)
		}
		if got := s.Names(); len(got) != 1 {
			t.Errorf("a failed publish left %v", got)
		}
	}
	if err := storage.Publish(ctx, dir, files); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "bytes", "b": "from the disk", "c": "from a bucket",
		"manifest.json": "m"} {
		if got := s.Content("deep/model/" + name); string(got) != want {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
	if len(s.Names()) != 5 {
		t.Errorf("beside the files: %v", s.Names())
	}
	for _, again := range []string{dir, dir + "/", bucket + "deep", bucket + "from"} {
		if err := storage.Publish(ctx, again, files); !errors.Is(err, fs.ErrExist) ||
			!strings.Contains(err.Error(), "already exists") {
			t.Errorf("publishing over %s: %v", again, err)
		}
		if err := storage.CheckAbsent(ctx, again); !errors.Is(err, fs.ErrExist) {
			t.Errorf("CheckAbsent(%s) = %v", again, err)
		}
	}
	holds := func(files ...storage.File) bool {
		t.Helper()
		same, err := storage.EqualFiles(ctx, dir, files)
		if err != nil {
			t.Fatal(err)
		}
		return same
	}
	if !holds(files...) || holds(files[1:]...) ||
		holds(append(files[:3:3], storage.File{Name: "c", Data: []byte("other")})...) ||
		holds(append(files[:3:3], storage.File{Name: "x"})...) {
		t.Error("Holds is wrong")
	}
	if err := storage.Publish(ctx, "gs://bucket", files); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("publishing a bucket: %v", err)
	}
	// From a bucket to the disk.
	local := filepath.Join(t.TempDir(), "model")
	if err := storage.Publish(ctx, local, files); err != nil {
		t.Error(err)
	}
	if same, err := storage.EqualFiles(ctx, local, files); !same || err != nil {
		t.Errorf("%t, %v", same, err)
	}
}

func TestConcurrentPublishHasOneWinner(t *testing.T) {
	for _, share := range []float64{0, 0.2} {
		s := server(t)
		s.Faults.Set(gcstest.Rules{Share: share, Seed: 1})
		var wg sync.WaitGroup
		var mu sync.Mutex
		var winners []string
		for i := range 16 {
			wg.Go(func() {
				err := storage.Publish(ctx, bucket+"model", gcstest.ModelOf(i))
				mu.Lock()
				defer mu.Unlock()
				var e *storage.Error
				switch {
				case err == nil:
					winners = append(winners, fmt.Sprint(i))
				case !errors.As(err, &e) || !e.Refused() || !errors.Is(err, fs.ErrExist) && !errors.Is(err, storage.ErrBusy):
					t.Errorf("a publisher that lost got %v", err)
				}
			})
		}
		wg.Wait()
		if who := gcstest.Whose(t, bucket+"model"); len(winners) != 1 || winners[0] != who {
			t.Errorf("faults %g: winners %v, published by %q", share, winners, who)
		}
		if d := cmp.Diff([]string{"model/aside", "model/manifest.json", "model/weights"}, s.Names()); d != "" {
			t.Errorf("faults %g: %s", share, d)
		}
	}
}

// Two publishers take each other for dead. The first stops before one of its requests, the second continues to
// one of its own; then the first continues to its end, and then the second. For all pairs of requests, the
// directory has the files of one of them.
func TestLatePublishersDoNotMixFiles(t *testing.T) {
	won := map[string]int{}
	for at := 1; ; at++ {
		for other := 1; ; other++ {
			first, second := heldUp(t, at, other, won)
			if !first {
				if at < 8 || won["1"] == 0 || won["2"] == 0 {
					t.Errorf("a publisher makes %d requests; winners %v", at-1, won)
				}
				return
			}
			if !second {
				break
			}
		}
	}
}

// sleeper makes the requests of a process that stops before one of them. Requests name
// their sleeper in their context.
type sleeper struct {
	at          int32 // the first request that is not made, counted from 1
	made        atomic.Int32
	asleep      chan struct{} // closed when it stops
	wake        chan struct{} // closed to let it continue
	fallsAsleep sync.Once
}

// sleeps makes requests through a base, where they have a sleeper when that is awake.
type sleeps struct{ base http.RoundTripper }

func (s sleeps) RoundTrip(r *http.Request) (*http.Response, error) {
	if p, _ := r.Context().Value(sleeps{}).(*sleeper); p != nil && p.made.Add(1) >= p.at {
		p.fallsAsleep.Do(func() { close(p.asleep) })
		select {
		case <-p.wake:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	return s.base.RoundTrip(r)
}

// heldUp holds two publishers up before the given request of each, counted from 1,
// and reports whether they come to it.
func heldUp(t *testing.T, at, other int, won map[string]int) (first, second bool) {
	t.Helper()
	s := server(t)
	cloud.Leases.Renew = time.Hour // nothing but the publishers' own requests
	cloud.Leases.Stale = 0
	through(t, func(base http.RoundTripper) http.RoundTripper { return sleeps{base} })
	var of [2]*sleeper
	var done [2]chan error
	publish := func(i, at int) bool {
		of[i] = &sleeper{at: int32(at), asleep: make(chan struct{}), wake: make(chan struct{})}
		done[i] = make(chan error, 1)
		go func() {
			done[i] <- storage.Publish(context.WithValue(ctx, sleeps{}, of[i]), bucket+"model", gcstest.ModelOf(i+1))
		}()
		select {
		case <-of[i].asleep:
			return true
		case err := <-done[i]:
			done[i] <- err
			return false
		}
	}
	if !publish(0, at) {
		return false, false
	}
	second = publish(1, other)
	close(of[0].wake)
	errs := [2]error{<-done[0], nil}
	close(of[1].wake)
	errs[1] = <-done[1]
	who := gcstest.Whose(t, bucket+"model")
	won[who]++
	for i, err := range errs {
		if (err == nil) != (who == fmt.Sprint(i+1)) {
			t.Errorf("held up at %d and %d: publisher %d got %v, published by %q", at, other, i+1, err, who)
		}
	}
	if who == "" {
		t.Errorf("held up at %d and %d: nothing is published: %v", at, other, errs)
	}
	// Files that the late one may have left are no obstacle, and the next one removes them.
	if err := clearUp(bucket + "model"); err != nil {
		t.Error(err)
	}
	if got := len(s.Names()); got != 3 {
		t.Errorf("held up at %d and %d: left %v", at, other, s.Names())
	}
	return true, second
}

// dead is the number of a process that has ended.
func dead(t *testing.T) int {
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

func TestLeftoversOfAKilledPublisherAreRemoved(t *testing.T) {
	for _, gone := range []bool{true, false} {
		s := server(t)
		d, err := objects.Parse(bucket + "model")
		if err != nil {
			t.Fatal(err)
		}
		// It has written one file, and its claim stands.
		if _, err := cloud.Put(ctx, d.Join("weights"), objects.Condition{},
			map[string]string{objects.PartKey: d.String()}, -1, func(w io.Writer) error { return storage.File{Data: []byte("half")}.CopyTo(ctx, w) }); err != nil {
			t.Fatal(err)
		}
		by := disk.Me()
		by.ID = dead(t)
		if !gone {
			by = disk.Process{Host: "elsewhere", ID: 1}
		}
		text, _ := json.Marshal(by)
		claim, err := objects.Parse(storage.ClaimName(d.String()))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cloud.Put(ctx, claim, objects.Condition{}, map[string]string{objects.OwnerKey: string(text)}, -1,
			func(io.Writer) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if err := storage.CheckAbsent(ctx, bucket+"model"); err != nil {
			t.Errorf("what was never committed is in the way: %v", err)
		}
		begun := time.Now()
		if gone {
			cloud.Leases.Stale = time.Hour
		}
		if err := clearUp(bucket + "model"); err != nil || len(s.Names()) > 0 {
			t.Errorf("left %v, %v", s.Names(), err)
		}
		if waited := time.Since(begun); !gone && waited < cloud.Leases.Stale {
			t.Errorf("owner gone %t: waited %v", gone, waited)
		}
	}
}
