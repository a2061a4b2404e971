package gcs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	gcstorage "cloud.google.com/go/storage"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/option"

	"github.com/bochner-ml/bochner/internal/testing/gcstest"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/io/storage/objects"
)

// bucket begins the names of objects of the tests' server.
const bucket = "gs://" + gcstest.Bucket + "/"

// server has gs:// mean a server of the test's own, with leases of short breath.
func server(t *testing.T) *gcstest.Server {
	t.Helper()
	s, address := gcstest.Start(t)
	UseEmulator(func() string { return address })
	t.Cleanup(func() { UseEmulator(func() string { return "" }) })
	use(t, service(objects.Times{Renew: 80 * time.Millisecond, Stale: 400 * time.Millisecond}))
	return s
}

// cloud is what the names of a test lead to.
var cloud *gcs

func use(t *testing.T, g *gcs) {
	cloud = g
	before := storage.Replace("gs", g)
	t.Cleanup(func() { storage.Replace("gs", before) })
}

// through has the requests of a test pass through what a function makes of their transport.
func through(t *testing.T, with func(http.RoundTripper) http.RoundTripper) {
	t.Helper()
	emulator.mu.Lock()
	address := emulator.address()
	emulator.mu.Unlock()
	opts, err := connection(address)
	if err != nil {
		t.Fatal(err)
	}
	client, err := gcstorage.NewClient(ctx,
		append(opts, option.WithHTTPClient(&http.Client{Transport: with(newTransport())}))...)
	if err != nil {
		t.Fatal(err)
	}
	withRetries(client)
	cloud.client, cloud.address = client, address
}

var ctx = context.Background()

func write(t *testing.T, name, content string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

// clearUp clears away what killed writers of the name have left.
func clearUp(name string) error {
	c, err := storage.AcquireClaim(ctx, name)
	if err != nil {
		return err
	}
	err = c.Clear(ctx)
	if dropErr := c.Drop(ctx); err == nil {
		err = dropErr
	}
	return err
}

// impatient has the client give up a silent server soon.
func impatient(t *testing.T, d time.Duration) {
	old := stall.Swap(int64(d))
	t.Cleanup(func() { stall.Store(old) })
}

func TestListMatchesPatternsInABucket(t *testing.T) {
	s := server(t)
	all := []string{
		"a/part-1.csv", "a/part-2.csv", "a/part-10.csv", "a/b/part-3.csv", "a/b/c/part-4.csv", "a/.tmp-part-5.csv",
		"a/.hidden/part-6.csv",
		"a/part-#1?.csv", "a/note.txt", "a/[x].csv", "a/ü.csv", "a/", "top.csv",
	}
	for _, name := range all {
		s.Fill(name, []byte(name))
	}
	for pattern, want := range map[string][]string{
		"a/part-*.csv":    {"a/part-#1?.csv", "a/part-1.csv", "a/part-10.csv", "a/part-2.csv"},
		"a/part-?.csv":    {"a/part-1.csv", "a/part-2.csv"},
		"a/part-#1?.csv":  {"a/part-#1?.csv"}, // itself, though as a pattern it matches another name
		"a/part-#*":       {"a/part-#1?.csv"},
		"a/part-[1-9]*":   {"a/part-1.csv", "a/part-10.csv", "a/part-2.csv"},
		"a/part-[^1]*":    {"a/part-#1?.csv", "a/part-2.csv"},
		"a/?.csv":         {"a/ü.csv"},
		"a/[x].csv":       {"a/[x].csv"},
		`a/\[x\].*`:       {"a/[x].csv"},
		"a/*/part-*":      {"a/b/part-3.csv"},
		"a/**/part-?.csv": {"a/b/c/part-4.csv", "a/b/part-3.csv", "a/part-1.csv", "a/part-2.csv"},
		"**.csv": {"a/[x].csv", "a/b/c/part-4.csv", "a/b/part-3.csv", "a/part-#1?.csv", "a/part-1.csv",
			"a/part-10.csv", "a/part-2.csv", "a/ü.csv", "top.csv"},
		"a/.tmp*": {"a/.tmp-part-5.csv"},
		"*":       {"top.csv"},
	} {
		got, err := storage.List(ctx, bucket+pattern)
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		var names []string
		for _, o := range got {
			names = append(names, strings.TrimPrefix(o.Name, bucket))
			if o.Size != int64(len(names[len(names)-1])) || o.Version == "" || o.URI != o.Name {
				t.Errorf("%s: %+v", pattern, o)
			}
		}
		if d := cmp.Diff(want, names); d != "" {
			t.Errorf("%s: %s", pattern, d)
		}
	}
	for pattern, want := range map[string]string{
		bucket + "none-*":     "no file matches the pattern",
		bucket + "none":       "there is no such file (404); check its name, and the name of the bucket bucket",
		bucket + "a":          "is a directory; name its files, as in gs://bucket/a/*",
		bucket + "a/":         "is a directory; name its files, as in gs://bucket/a/*",
		bucket:                "is a directory; name its files, as in gs://bucket/*",
		bucket + "[a":         "syntax error in pattern",
		"gs:///a":             "no bucket",
		"gs://elsewhere/a":    "there is no bucket elsewhere (404)",
		"gs://elsewhere/*":    "there is no bucket elsewhere (404)",
		"gs://denied/secret":  "access denied (403: tester@example.com does not have access",
		"gs://denied/secret*": "that your account has the right storage.objects.",
		"s3://bucket/x":       "unknown scheme s3://; have paths of the local disk, gs://",
	} {
		_, err := storage.List(ctx, pattern)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "\n") > 0 {
			t.Errorf("List(%q) = %v, want %q", pattern, err, want)
		}
	}
}

func TestOnlyMissingObjectsAndRightsAreRefused(t *testing.T) {
	s := server(t)
	s.Fill("f", nil)
	for what, c := range map[string]struct {
		err     error
		refused bool
		kind    error
	}{
		"no object":          {errOf(storage.Stat(ctx, bucket+"none")), true, fs.ErrNotExist},
		"no match":           {errOf(storage.List(ctx, bucket+"none*")), true, storage.ErrNoMatch},
		"no rights":          {errOf(storage.Stat(ctx, "gs://denied/f")), true, fs.ErrPermission},
		"no bucket":          {errOf(storage.Stat(ctx, "gs://elsewhere/f")), false, nil},
		"a scheme":           {errOf(storage.Stat(ctx, "s3://bucket/f")), true, storage.ErrUnknownScheme},
		"a bucket":           {storage.CheckAbsent(ctx, "gs://bucket"), true, fs.ErrInvalid},
		"a place":            {storage.CheckAbsent(ctx, bucket+"f"), true, fs.ErrExist},
		"no rights to write": {storage.WriteFile(ctx, "gs://denied/f", nil), true, fs.ErrPermission},
		"nowhere to write":   {storage.WriteFile(ctx, "gs://elsewhere/f", nil), false, nil},
	} {
		var e *storage.Error
		if !errors.As(c.err, &e) || e.Refused() != c.refused || c.kind != nil && !errors.Is(c.err, c.kind) {
			t.Errorf("%s: %v: refused %t, want %t and %v", what, c.err, e != nil && e.Refused(), c.refused, c.kind)
		}
	}
	if err := errOf(storage.Stat(ctx, "gs://elsewhere/f")); errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a bucket that is not there is taken for an object that is not: %v", err)
	}
}

// Every denied request is an error that is not worth a retry, unless it was denied because of too many
// requests.
func TestEveryCallThatIsDeniedIsRefused(t *testing.T) {
	s := server(t)
	s.Fill("dir/f", []byte("text"))
	calls := map[string]func() error{
		"list":   func() error { return errOf(storage.List(ctx, bucket+"dir/*")) },
		"stat":   func() error { return errOf(storage.Stat(ctx, bucket+"dir/f")) },
		"read":   func() error { return errOf(storage.ReadFile(ctx, bucket+"dir/f", 10)) },
		"write":  func() error { return storage.WriteFile(ctx, bucket+"dir/g", []byte("text")) },
		"state":  func() error { return storage.WriteState(ctx, bucket+"dir/g", []byte("text")) },
		"delete": func() error { return storage.Remove(ctx, bucket+"dir/f") },
		"swap":   func() error { return storage.CompareAndSwap(ctx, bucket+"dir/f", []byte("text"), []byte("new")) },
		"make":   func() error { return storage.CompareAndSwap(ctx, bucket+"dir/h", nil, []byte("new")) },
		"claim":  func() error { return errOf(storage.AcquireClaim(ctx, bucket+"dir/c")) },
		"lock":   func() error { return errOf(storage.Lock(ctx, bucket+"dir/l")) },
		"publish": func() error {
			return storage.Publish(ctx, bucket+"dir/p", []storage.File{{Name: "manifest.json", Data: []byte("{}")}})
		},
	}
	for _, kinds := range [][]string{nil, {"delete"}} {
		for way, refused := range map[string]bool{gcstest.Forbidden: true, gcstest.Limited: false} {
			s.Faults.Set(gcstest.Rules{Share: 1, Ways: []string{way}, Kinds: kinds})
			for name, call := range calls {
				if kinds != nil && name != kinds[0] {
					continue
				}
				var e *storage.Error
				if err := call(); !errors.As(err, &e) || e.Refused() != refused || e.Denied() != refused {
					t.Errorf("%s, %s: %v: refused %t, want %t", name, way, err, e != nil && e.Refused(), refused)
				}
			}
		}
	}
	s.Faults.Set(gcstest.Rules{})
}

func errOf[T any](_ T, err error) error { return err }

func TestObjectNamesAreSplitAndMadeAbsolute(t *testing.T) {
	for name, want := range map[string]string{
		"gs://b/a": "gs://b/a", "gs://b/a/": "gs://b/a", "gs://b/a#b?c": "gs://b/a#b?c", "gs://b": "gs://b",
		"gs://b/": "gs://b",
	} {
		if got, err := storage.Abs(name); got != want || err != nil {
			t.Errorf("Abs(%q) = %q, %v, want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"gs://", "gs:///x", "gs://b/a\nb", "gs://b/\xff",
		"gs://b/" + strings.Repeat("x", 1025)} {
		if got, err := storage.Abs(name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("Abs(%q) = %q, %v", name, got, err)
		}
	}
	if dir, base := storage.Split("gs://b/c/d"); dir != "gs://b/c" || base != "d" {
		t.Errorf("Split gave %q, %q", dir, base)
	}
	if dir, base := storage.Split("gs://b/d"); dir != "gs://b" || base != "d" || storage.Join(dir, base) != "gs://b/d" {
		t.Errorf("Split gave %q, %q", dir, base)
	}
	if dir, base := storage.Split("gs://b"); dir != "gs://b" || base != "" {
		t.Errorf("Split gave %q, %q", dir, base)
	}
	if dir, base := storage.Split("/b/d"); dir != "/b" || base != "d" {
		t.Errorf("Split gave %q, %q", dir, base)
	}
}

func TestOpenReadsRanges(t *testing.T) {
	s := server(t)
	s.Fill("f#?", []byte("0123456789"))
	o, err := storage.Stat(ctx, bucket+"f#?")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		off, n int64
		want   string
	}{{0, -1, "0123456789"}, {3, 4, "3456"}, {8, 9, "89"}, {10, 1, ""}, {99, -1, ""}, {0, 0, ""}, {5, -1, "56789"}} {
		r, err := o.Open(ctx, c.off, c.n)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		r.Close()
		if string(got) != c.want || err != nil {
			t.Errorf("Open(%d, %d) gave %q, %v; want %q", c.off, c.n, got, err, c.want)
		}
	}
	if _, err := storage.ReadFile(ctx, o.URI, 9); err == nil ||
		!strings.Contains(err.Error(), "10 bytes; the limit is 9") {
		t.Errorf("ReadFile beyond the limit: %v", err)
	}
	s.Fill("f#?", []byte("9876543210"))
	for _, off := range []int64{0, 4} {
		if _, err := o.Open(ctx, off, -1); !errors.Is(err, storage.ErrChanged) {
			t.Errorf("an object that was replaced opens at %d: %v", off, err)
		}
	}
	if got, err := storage.ReadFile(ctx, o.URI, 10); string(got) != "9876543210" || err != nil {
		t.Errorf("ReadFile = %q, %v", got, err)
	}
}

// If an object is replaced while it is read and its connection then breaks, the rest is not read from the new
// object.
func TestReplacedObjectIsNotMixedDuringARead(t *testing.T) {
	s := server(t)
	old, fresh := bytes.Repeat([]byte("old "), 1<<18), bytes.Repeat([]byte("new "), 1<<18)
	for _, pinned := range []bool{true, false} {
		s.Fill("f", old)
		o, err := storage.Stat(ctx, bucket+"f")
		if err != nil {
			t.Fatal(err)
		}
		if !pinned {
			o.Version = ""
		}
		s.Faults.Set(gcstest.Rules{Share: 1, Kinds: []string{"read"}, Ways: []string{gcstest.Cut}})
		r, err := o.Open(ctx, 0, -1)
		if err != nil {
			t.Fatal(err)
		}
		s.Fill("f", fresh)
		s.Faults.Set(gcstest.Rules{})
		got, err := io.ReadAll(r)
		r.Close()
		if !errors.Is(err, storage.ErrChanged) || bytes.Contains(got, []byte("new")) || len(got) != len(old)/2 {
			t.Errorf("pinned %t: read %d bytes, %v", pinned, len(got), err)
		}
	}
}

func TestCreateUploadsInChunks(t *testing.T) {
	s := server(t)
	sizes := []int{0, 1, chunkUnit - 1, chunkUnit, maxChunk - 1, maxChunk, maxChunk + 1, 2*maxChunk + 100}
	if testing.Short() {
		sizes = sizes[:4]
	}
	for _, n := range sizes {
		data := bytes.Repeat([]byte("0123456789abcde\n"), n/16+1)[:n]
		if err := storage.WriteFile(ctx, bucket+"known", data); err != nil {
			t.Fatal(err)
		}
		if err := storage.Create(ctx, bucket+"unknown", func(w io.Writer) error {
			for at := 0; at < n; at += 100_000 {
				if _, err := w.Write(data[at:min(n, at+100_000)]); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"known", "unknown"} {
			got, err := storage.ReadFile(ctx, bucket+name, 1<<30)
			if !bytes.Equal(got, data) || !bytes.Equal(s.Content(name), data) || err != nil {
				t.Errorf("%d bytes, %s: %d came back, %v", n, name, len(got), err)
			}
		}
	}
	// Nothing appears of what breaks off, however much has been sent.
	for _, n := range []int{10, 3 * maxChunk} {
		err := storage.Create(ctx, bucket+"broken", func(w io.Writer) error {
			w.Write(make([]byte, n))
			return errors.New("the source broke")
		})
		if err == nil || !strings.Contains(err.Error(), "the source broke") || s.Content("broken") != nil {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if err := storage.WriteFile(stopped, bucket+"stopped", nil); !errors.Is(err, context.Canceled) ||
		s.Content("stopped") != nil {
		t.Errorf("WriteFile under an ended context: %v", err)
	}
}

func TestExistsTreatsPrefixesAsDirectories(t *testing.T) {
	s := server(t)
	for _, n := range []string{"d/a", "d/b/c", "d-2", "dd/x", "placeholder/"} {
		s.Fill(n, []byte(n))
	}
	for name, want := range map[string]bool{"d": true, "d/a": true, "d/b": true, "d/": true, "d-2": true, "c": false,
		"d/a/b": false} {
		if got, err := storage.Exists(ctx, bucket+name); got != want || err != nil {
			t.Errorf("Exists(%s) = %t, %v", name, got, err)
		}
	}
	for dir, want := range map[string]bool{"d": false, "none": true, "placeholder": true, "": false} {
		if got, err := storage.IsEmpty(ctx, bucket+dir, ""); got != want || err != nil {
			t.Errorf("Empty(%s) = %t, %v", dir, got, err)
		}
	}
	if err := errors.Join(storage.RemoveEmpty(ctx, bucket+"dd", ""), storage.RemoveEmpty(ctx, bucket+"placeholder", ""),
		storage.Remove(ctx, bucket+"d"), storage.Remove(ctx, bucket+"none")); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff([]string{"d-2", "dd/x"}, s.Names()); d != "" {
		t.Error(d)
	}
	if _, err := storage.Stat(ctx, bucket+"dd"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat of a directory: %v", err)
	}
	if _, err := storage.List(ctx, bucket+"dd"); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("List of a directory: %v", err)
	}
}

// An object that is written while an empty directory is removed stays.
func TestRemoveEmptyKeepsLateObjects(t *testing.T) {
	s := server(t)
	s.Fill("late/", nil)
	lists := 0
	s.Faults.Before(func(kind, _ string) {
		if kind == "list" {
			lists++
		}
		if kind == "delete" || lists == 2 {
			s.Fill("late/x", []byte("x"))
		}
	})
	defer s.Faults.Before(nil)
	if err := storage.RemoveEmpty(ctx, bucket+"late", ""); err != nil {
		t.Fatal(err)
	}
	if got := s.Names(); !slices.Equal(got, []string{"late/x"}) {
		t.Errorf("the bucket has %q", got)
	}
}

func TestListFollowsPageTokens(t *testing.T) {
	s := server(t)
	const n = 12_345
	s.Fill("part-none/x", nil)
	s.Fill("other", nil)
	for i := range n {
		s.Fill(fmt.Sprintf("part-%d", i), nil)
	}
	got, err := storage.List(ctx, "gs://"+gcstest.Bucket+"/part-*")
	if err != nil || len(got) != n {
		t.Fatalf("%d objects of %d: %v", len(got), n, err)
	}
	if !slices.IsSortedFunc(got, func(a, b storage.Object) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the objects are not sorted")
	}
	if asked := s.Requests("list"); asked < 13 {
		t.Errorf("listed in %d requests, so that this test shows nothing", asked)
	}
}

func TestManyObjectsAreRemovedTogether(t *testing.T) {
	s := server(t)
	for i := range 200 {
		s.Fill(fmt.Sprintf("dir/%d", i), nil)
	}
	s.Fill("dir-2", nil)
	s.Faults.Set(gcstest.Rules{Share: 0.2, Seed: 1})
	if err := storage.Remove(ctx, bucket+"dir"); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"dir-2"}, s.Names()); d != "" {
		t.Error(d)
	}
}

func TestEmulatorVariableAloneIsAnError(t *testing.T) {
	server(t)
	t.Setenv(emulatorVariable, "localhost:1")
	_, err := storage.Stat(ctx, bucket+"f")
	var e *storage.Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "STORAGE_EMULATOR_HOST is set") ||
		!strings.Contains(err.Error(), "storage_emulator to localhost:1") {
		t.Errorf("got %v", err)
	}
}

func TestNoRequestIsMadeWithoutCredentials(t *testing.T) {
	use(t, service(objects.Standard))
	t.Setenv("HOME", t.TempDir())
	t.Setenv("GCE_METADATA_HOST", "")
	t.Setenv("NO_GCE_CHECK", "true")
	for name, c := range map[string]string{"no file": filepath.Join(t.TempDir(), "none"),
		"not one": write(t, filepath.Join(t.TempDir(), "key"), "{}")} {
		t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", c)
		_, err := storage.Stat(ctx, bucket+"f")
		var e *storage.Error
		if !errors.As(err, &e) || e.Refused() ||
			!strings.Contains(err.Error(),
				"run gcloud auth application-default login, or let GOOGLE_APPLICATION_CREDENTIALS name") {
			t.Errorf("%s: %v", name, err)
		}
	}
	os.Unsetenv("GOOGLE_APPLICATION_CREDENTIALS")
	if _, err := storage.Stat(ctx, bucket+"f"); err == nil ||
		!strings.Contains(err.Error(), "no Google credentials found") {
		t.Errorf("none at all: %v", err)
	}
}
