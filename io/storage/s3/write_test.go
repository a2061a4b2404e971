package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/internal/testing/gcstest"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/io/storage/objects"
)

// root begins the names of objects of the tests' server.
const root = "s3://" + gcstest.Bucket + "/"

// bucketServer has s3:// mean a server of the test's own, with short leases.
func bucketServer(t *testing.T) *gcstest.S3 {
	t.Helper()
	s := gcstest.StartS3(t)
	short(t)
	return s
}

// onServers runs a test on every server there is; nil is one of another kind.
func onServers(t *testing.T, test func(t *testing.T, s *gcstest.S3)) {
	for name, start := range gcstest.S3Servers() {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			short(t)
			test(t, s)
		})
	}
}

// short has leases and pauses be short.
func short(t *testing.T) {
	firstPause = time.Millisecond
	before := storage.Replace("s3", service(objects.Times{Renew: 80 * time.Millisecond, Stale: 400 * time.Millisecond,
		Delete: time.Minute}))
	t.Cleanup(func() { storage.Replace("s3", before) })
}

// A share of all requests fails, in every way, and no caller sees it.
func TestServerFaultsAreRetried(t *testing.T) {
	s := bucketServer(t)
	s.Faults.Set(gcstest.Rules{Share: 0.3, Seed: 3})
	want := map[string][]byte{"dir/large é+": gcstest.Noise(partSize+5, 1), "dir/full": gcstest.Noise(partSize, 2), "dir/empty": {}}
	for i := range 20 {
		want[fmt.Sprint("dir/", i)] = gcstest.Noise(1000*i, uint64(i))
	}
	for name, data := range want {
		if err := storage.WriteFile(t.Context(), root+name, data); err != nil {
			t.Fatal(err)
		}
		c := storage.NewHash()
		c.Write(data)
		if err := c.Checksum().Verify(t.Context(), root+name); err != nil {
			t.Error(err)
		}
		got, err := storage.ReadFile(t.Context(), root+name, 1<<30)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	found, err := storage.List(t.Context(), root+"dir/*")
	if err != nil || len(found) != len(want) {
		t.Errorf("%d objects, want %d: %v", len(found), len(want), err)
	}
	gcstest.PublishMany(t, root, "dir/large é+", s.Names)
	// How many requests there are of each kind depends on the time that they take, so go on until each has failed in
	// every way.
	for range 100 {
		if len(unseen(s)) == 0 {
			return
		}
		if err := storage.WriteFile(t.Context(), root+"more/large", want["dir/large é+"]); err != nil {
			t.Fatal(err)
		}
		if _, err := storage.ReadFile(t.Context(), root+"more/large", 1<<30); err != nil {
			t.Fatal(err)
		}
		if err := storage.Remove(t.Context(), root+"more"); err != nil {
			t.Fatal(err)
		}
	}
	t.Errorf("these faults have not happened: %q", unseen(s))
}

// unseen returns the faults that no request has had yet.
func unseen(s *gcstest.S3) (faults []string) {
	seen := s.Faults.Seen()
	for _, kind := range []string{"list", "read", "write", "delete", "stat", "begin", "part", "complete", "uploads"} {
		for _, way := range []string{gcstest.Busy, gcstest.Reset, gcstest.Cut, gcstest.Unheard} {
			if seen[kind+" "+way] == 0 {
				faults = append(faults, kind+" "+way)
			}
		}
	}
	return faults
}

func TestConcurrentPublishHasOneWinner(t *testing.T) {
	onServers(t, func(t *testing.T, s *gcstest.S3) {
		if s != nil {
			s.Faults.Set(gcstest.Rules{Share: 0.1, Seed: 7})
		}
		for round := range 6 {
			if s != nil {
				s.Lax = round%2 > 0
			}
			dir := fmt.Sprint("model-", round)
			var wg sync.WaitGroup
			var errs [8]error
			for i := range errs {
				wg.Go(func() { errs[i] = storage.Publish(t.Context(), root+dir, gcstest.ModelOf(i)) })
			}
			wg.Wait()
			who := gcstest.Whose(t, root+dir)
			for i, err := range errs {
				if (err == nil) != (who == fmt.Sprint(i)) {
					t.Errorf("%s is of %q, and publisher %d got %v", dir, who, i, err)
				}
				var e *storage.Error
				if err != nil && (!errors.As(err, &e) || !e.Refused()) {
					t.Error(err)
				}
			}
			if who == "" {
				t.Errorf("nobody has published %s: %v", dir, errs)
			}
		}
		left, err := storage.Names(t.Context(), root)
		if err != nil || len(left) != 6 || s != nil && s.Uploads() > 0 {
			t.Errorf("left %v, %v", left, err)
		}
	})
}

// A publisher that is held up at one of its requests, each in turn, until another has taken its claim and
// published, commits nothing.
func TestLatePublisherCommitsNothing(t *testing.T) {
	onServers(t, testLatePublisher)
}

func testLatePublisher(t *testing.T, s *gcstest.S3) {
	at := 0
	for ; ; at++ {
		if err := storage.Remove(t.Context(), root+"model"); err != nil {
			t.Fatal(err)
		}
		storage.Replace("s3", service(objects.Times{Renew: time.Hour, Delete: time.Minute}))
		hung, wake := make(chan struct{}), make(chan struct{})
		client.Transport = &sleepy{client.Transport, at, hung, wake}
		done := make(chan error, 1)
		go func() {
			done <- storage.Publish(context.WithValue(t.Context(), sleepy{}, true), root+"model", gcstest.ModelOf(1))
		}()
		held := false
		select {
		case <-hung:
			held = true
		case err := <-done:
			done <- err
		}
		var second error
		if held {
			second = storage.Publish(t.Context(), root+"model", gcstest.ModelOf(2))
		}
		close(wake)
		first := <-done
		client.Transport = client.Transport.(*sleepy).base
		who := gcstest.Whose(t, root+"model")
		if (first == nil) != (who == "1") || held && (second == nil) != (who == "2") || who == "" {
			t.Errorf("held up at request %d: of %q; %v, %v", at, who, first, second)
		}
		if !held {
			break
		}
	}
	if at < 10 {
		t.Errorf("held up at %d requests only", at)
	}
}

// A commit that comes after its fence has no effect, whether or not another one has taken place.
func TestFencedCommitFails(t *testing.T) {
	onServers(t, func(t *testing.T, _ *gcstest.S3) {
		x := service(objects.Standard)
		dir, err := objects.Parse(root + "model")
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range []bool{false, true} {
			sealed := func(ctx context.Context, _ storage.File) (objects.Name, string, error) {
				if err := x.Fence(ctx, dir); err != nil {
					t.Error(err)
				}
				if other {
					err = storage.Publish(ctx, dir.String(), gcstest.ModelOf(1))
				}
				return dir, "", err
			}
			f := storage.File{Name: "manifest.json", Data: []byte("late")}
			if err := x.Commit(t.Context(), dir.Join(f.Name), f, nil, sealed); !errors.Is(err, objects.ErrUnmet) {
				t.Errorf("other %t: %v", other, err)
			}
			if who := gcstest.Whose(t, root+"model"); (who == "1") != other || who == "" && gcstest.Content(t, root+"model/manifest.json") != "" {
				t.Errorf("other %t: %q", other, who)
			}
		}
	})
}

// sleepy holds the request of a number back, of those whose context says so.
type sleepy struct {
	base       http.RoundTripper
	left       int
	hung, wake chan struct{}
}

func (s *sleepy) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Context().Value(sleepy{}) != nil {
		sleeping.Lock()
		s.left--
		now := s.left == -1
		sleeping.Unlock()
		if now {
			close(s.hung)
			<-s.wake
		}
	}
	return s.base.RoundTrip(r)
}

var sleeping sync.Mutex

// A lock is renewed, held by one process at a time, and taken from a process that stopped.
func TestLockIsHeldOnce(t *testing.T) {
	s := bucketServer(t)
	unlock, err := storage.Lock(t.Context(), root+"lock")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := storage.Lock(t.Context(), root+"lock"); !errors.Is(err, storage.ErrBusy) {
		t.Errorf("a second lock: %v", err)
	}
	unlock()
	s.Fill("lock", []byte("another's")) // without an owner
	if unlock, err = storage.Lock(t.Context(), root+"lock"); err != nil {
		t.Fatal(err)
	}
	s.Fill("lock", []byte("another's"))
	unlock()
	if got := string(s.Content("lock")); got != "another's" {
		t.Errorf("a lost lock was written to: %q", got)
	}
}

func TestSwapsAreNotLost(t *testing.T) { onServers(t, testSwaps) }

func testSwaps(t *testing.T, _ *gcstest.S3) {
	if err := storage.CompareAndSwap(t.Context(), root+"n", nil, []byte("0")); err != nil {
		t.Fatal(err)
	}
	if err := storage.CompareAndSwap(t.Context(), root+"n", nil, []byte("0")); !errors.Is(err, storage.ErrSwapped) {
		t.Errorf("made twice: %v", err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for done := 0; done < 10; {
				old, err := storage.ReadFile(t.Context(), root+"n", 10)
				if err == nil {
					var n int
					fmt.Sscan(string(old), &n)
					err = storage.CompareAndSwap(t.Context(), root+"n", old, fmt.Append(nil, n+1))
				}
				if err == nil {
					done++
				} else if !errors.Is(err, storage.ErrSwapped) && !errors.Is(err, storage.ErrChanged) {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if got := gcstest.Content(t, root+"n"); got != "40" {
		t.Errorf("%s after 40 swaps", got)
	}
}

// A server that ignores conditions, with which two runs could mix their files, is an error.
func TestServerThatIgnoresConditionsIsRejected(t *testing.T) {
	for _, header := range []string{"If-Match", "If-None-Match"} {
		s := bucketServer(t)
		s.Ignores = []string{header}
		err := storage.Publish(t.Context(), root+"model", gcstest.ModelOf(1))
		if err == nil || !strings.Contains(err.Error(), "ignores the condition "+header) || gcstest.Whose(t, root+"model") != "" {
			t.Errorf("%s: %v, %v", header, err, s.Names())
		}
	}
}

// Neither files nor uploads of killed publishers stay.
func TestLeftoversAreRemoved(t *testing.T) {
	s := bucketServer(t)
	x := service(objects.Standard)
	dir, err := objects.Parse(root + "model")
	if err != nil {
		t.Fatal(err)
	}
	u := x.upload(t.Context(), dir.Join("manifest.json"), objects.Condition{}, nil)
	io.WriteString(u, "{}")
	if err := u.flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Put(t.Context(), dir.Join("old"), objects.Condition{},
		map[string]string{objects.PartKey: dir.String()}, -1, func(w io.Writer) error { return nil }); err != nil {
		t.Fatal(err)
	}
	// After its time a lease deletes nothing.
	before := storage.Replace("s3", service(objects.Times{Renew: time.Hour, Stale: time.Hour}))
	err = storage.Publish(t.Context(), root+"model", gcstest.ModelOf(3))
	if err == nil || !strings.Contains(err.Error(), "not deleted in time") || s.Content("model/old") == nil {
		t.Errorf("%v, %v", err, s.Names())
	}
	if gcstest.Whose(t, root+"model") != "" {
		t.Error("published all the same")
	}
	storage.Replace("s3", before)
	if err := storage.Publish(t.Context(), root+"model", gcstest.ModelOf(3)); err != nil {
		t.Fatal(err)
	}
	d := cmp.Diff([]string{"model/aside", "model/manifest.json", "model/weights"}, s.Names())
	if d != "" || s.Uploads() > 0 {
		t.Errorf("%d uploads: %s", s.Uploads(), d)
	}
	if _, err := u.complete(); !errors.Is(err, objects.ErrUnmet) {
		t.Errorf("a late completion: %v", err)
	}
	if err := storage.Publish(t.Context(), root+"model", gcstest.ModelOf(4)); !errors.Is(err, storage.ErrExists) {
		t.Error(err)
	}
}

func TestRemovedFilesLeaveNoUploads(t *testing.T) {
	s := bucketServer(t)
	x := service(objects.Standard)
	for _, name := range []string{"model/weights", "model", "models"} {
		u := x.upload(t.Context(), objects.Name{Scheme: "s3", Bucket: gcstest.Bucket, Name: name}, objects.Condition{}, nil)
		if err := u.flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := storage.Remove(t.Context(), root+"model"); err != nil || s.Uploads() != 1 {
		t.Errorf("%v, %d uploads, want the one of models", err, s.Uploads())
	}
}
