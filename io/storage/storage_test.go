package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var ctx = context.Background()

func write(t *testing.T, name, content string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

func names(objects []Object) (out []string) {
	for _, o := range objects {
		out = append(out, filepath.Base(o.Name))
	}
	return out
}

// entries returns every name below dir, hidden ones too.
func entries(t *testing.T, dir string) (out []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

func TestListSortsAndPassesOverHiddenFilesAndDirectories(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []string{"b.csv", "a.csv", ".tmp-c.csv", "x[1].csv", "note.txt"} {
		write(t, filepath.Join(dir, n), n)
	}
	os.Mkdir(filepath.Join(dir, "d.csv"), 0o777)
	for pattern, want := range map[string][]string{
		"*.csv":    {"a.csv", "b.csv", "x[1].csv"},
		"?.csv":    {"a.csv", "b.csv"},
		"x[1].csv": {"x[1].csv"},
		".tmp*":    {".tmp-c.csv"},
		"note.txt": {"note.txt"},
	} {
		got, err := List(ctx, filepath.Join(dir, pattern))
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
		}
		if d := cmp.Diff(want, names(got)); d != "" {
			t.Errorf("%s: %s", pattern, d)
		}
	}
}

func TestListErrorsNameTheReason(t *testing.T) {
	dir := t.TempDir()
	os.Mkdir(filepath.Join(dir, "sub"), 0o777)
	for pattern, want := range map[string]string{
		filepath.Join(dir, "*.csv"): "no file matches",
		filepath.Join(dir, "none"):  "no such file",
		dir:                         "is a directory; name its files",
		filepath.Join(dir, "s*"):    "is a directory",
		filepath.Join(dir, "[a"):    "syntax error in pattern",
		"s3://bucket/x":             "unknown scheme s3://; have paths of the local disk",
		"":                          "empty name",
		"/dev/null":                 "not a regular file",
	} {
		_, err := List(ctx, pattern)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) || !e.Refused() {
			t.Errorf("List(%q) = %v, want a refusal that says %q", pattern, err, want)
		}
	}
}

func TestOpenReadsARange(t *testing.T) {
	name := write(t, filepath.Join(t.TempDir(), "f"), "0123456789")
	for _, c := range []struct {
		off, n int64
		want   string
	}{{0, -1, "0123456789"}, {3, 4, "3456"}, {8, 9, "89"}, {10, 1, ""}, {99, -1, ""}, {0, 0, ""}} {
		r, err := Open(ctx, name, c.off, c.n)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		r.Close()
		if string(got) != c.want || err != nil {
			t.Errorf("Open(%d, %d) gave %q, %v; want %q", c.off, c.n, got, err, c.want)
		}
	}
}

func TestChangedObjectIsNotRead(t *testing.T) {
	name := write(t, filepath.Join(t.TempDir(), "f"), "before")
	o, err := Stat(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := o.Open(ctx, 0, -1); err != nil {
		t.Fatal(err)
	} else {
		r.Close()
	}
	write(t, name, "behind") // as long as before
	os.Chtimes(name, time.Time{}, time.Now().Add(time.Second))
	if _, err := o.Open(ctx, 0, -1); !errors.Is(err, ErrChanged) {
		t.Errorf("opening a changed object: %v", err)
	}
}

// A replaced file is not read, even if its size and modification time are made what they were; its time of
// change differs.
func TestReplacedObjectOfEqualSizeAndTimeIsNotRead(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the time of change is asked on Linux only")
	}
	for what, change := range map[string]func(name string) error{
		"written": func(name string) error { return os.WriteFile(name, []byte("after."), 0o666) },
		"renamed": func(name string) error {
			if err := os.WriteFile(name+".new", []byte("after."), 0o666); err != nil {
				return err
			}
			return os.Rename(name+".new", name)
		},
	} {
		name := write(t, filepath.Join(t.TempDir(), "f"), "before")
		o, err := Stat(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		was, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if changeTime(was) == 0 {
			t.Fatal("the time of change is not known")
		}
		// The clock of the file system moves in steps.
		for now := was; changeTime(now) == changeTime(was); {
			if err := change(name); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(name, was.ModTime(), was.ModTime()); err != nil {
				t.Fatal(err)
			}
			if now, err = os.Stat(name); err != nil {
				t.Fatal(err)
			}
			if now.Size() != was.Size() || !now.ModTime().Equal(was.ModTime()) {
				t.Fatal("size and time are not what they were, so this shows nothing")
			}
		}
		if _, err := o.Open(ctx, 0, -1); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A read fails if somebody writes into the file meanwhile, before it returns bytes that were not listed.
func TestObjectThatChangesDuringAReadFails(t *testing.T) {
	for what, change := range map[string]func(name string) error{
		"overwritten": func(name string) error {
			f, err := os.OpenFile(name, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteAt([]byte("new"), 600)
			return err
		},
		"cut off": func(name string) error { return os.Truncate(name, 700) },
		"longer":  func(name string) error { return os.Truncate(name, 1001) },
	} {
		name := write(t, filepath.Join(t.TempDir(), "f"), strings.Repeat("o", 1000))
		os.Chtimes(name, time.Time{}, time.Now().Add(-time.Second))
		o, err := Stat(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		var readers []io.ReadCloser
		for _, n := range []int64{-1, 900} {
			r, err := o.Open(ctx, 0, n)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if _, err := io.ReadFull(r, make([]byte, 500)); err != nil {
				t.Fatal(err)
			}
			readers = append(readers, r)
		}
		if err := change(name); err != nil {
			t.Fatal(err)
		}
		for _, r := range readers {
			if got, err := io.ReadAll(r); len(got) > 0 || !errors.Is(err, ErrChanged) {
				t.Errorf("%s: read on %d bytes, %v", what, len(got), err)
			}
		}
	}
}

func TestReadFileRejectsLargeFiles(t *testing.T) {
	name := write(t, filepath.Join(t.TempDir(), "f"), "12345")
	if got, err := ReadFile(ctx, name, 5); string(got) != "12345" || err != nil {
		t.Errorf("ReadFile = %q, %v", got, err)
	}
	if _, err := ReadFile(ctx, name, 4); err == nil || !strings.Contains(err.Error(), "5 bytes; the limit is 4") {
		t.Errorf("ReadFile beyond the limit: %v", err)
	}
}

func TestCreateLeavesNoFilesWhenTheWriterFails(t *testing.T) {
	dir := t.TempDir()
	name := write(t, filepath.Join(dir, "f"), "old")
	err := Create(ctx, name, func(w io.Writer) error {
		io.WriteString(w, "half")
		return errors.New("the source broke")
	})
	if err == nil || !strings.Contains(err.Error(), "the source broke") {
		t.Errorf("Create = %v", err)
	}
	if got, _ := os.ReadFile(name); string(got) != "old" {
		t.Errorf("the file holds %q, want what it held", got)
	}
	if d := cmp.Diff([]string{"f"}, entries(t, dir)); d != "" {
		t.Error(d)
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if err := WriteFile(stopped, name, bytes.Repeat([]byte("x"), 1<<20)); !errors.Is(err, context.Canceled) {
		t.Errorf("WriteFile under an ended context: %v", err)
	}
}

func TestPublishIsWholeOrAbsent(t *testing.T) {
	root := t.TempDir()
	source := write(t, filepath.Join(root, "source"), "from a file")
	dir := filepath.Join(root, "deep", "model")
	files := []File{{Name: "a", Data: []byte("bytes")}, {Name: "b", From: source}}
	if err := Publish(ctx, dir, append(files, File{Name: "c", From: filepath.Join(root, "missing")})); !errors.Is(err,
		fs.ErrNotExist) {
		t.Errorf("publishing a missing file: %v", err)
	}
	if got := entries(t, filepath.Join(root, "deep")); len(got) != 0 {
		t.Errorf("a failed publish left %v", got)
	}
	if err := Publish(ctx, dir, files); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "bytes", "b": "from a file"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); string(got) != want {
			t.Errorf("%s holds %q, %v; want %q", name, got, err, want)
		}
	}
	if err := Publish(ctx, dir, files); !errors.Is(err, fs.ErrExist) {
		t.Errorf("publishing over a directory: %v", err)
	}
}

func TestConcurrentPublishHasOneWinner(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "model")
	var wg sync.WaitGroup
	var mu sync.Mutex
	winners := map[string]bool{}
	for i := range 16 {
		wg.Go(func() {
			content := fmt.Sprint("publisher ", i)
			err := Publish(ctx, dir, []File{{Name: "f", Data: []byte(content)}})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				winners[content] = true
			} else if !errors.Is(err, fs.ErrExist) && !errors.Is(err, ErrBusy) {
				t.Errorf("a publisher that lost got %v", err)
			}
		})
	}
	wg.Wait()
	got, _ := os.ReadFile(filepath.Join(dir, "f"))
	if len(winners) != 1 || !winners[string(got)] {
		t.Errorf("winners %v, published %q", winners, got)
	}
	if d := cmp.Diff([]string{"model"}, entries(t, root)); d != "" {
		t.Error(d)
	}
}

func TestLockIsHeldOnce(t *testing.T) {
	name := filepath.Join(t.TempDir(), "work", "lock")
	unlock, err := Lock(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(ctx, name); !errors.Is(err, ErrBusy) {
		t.Errorf("a second lock: %v", err)
	}
	unlock()
	unlock, err = Lock(ctx, name)
	if err != nil {
		t.Errorf("after it was given back: %v", err)
	} else {
		unlock()
	}
}

// A job that waits for a lock does not get it by a file that was removed with the work directory of the job
// that holds the lock.
func TestLockOfARemovedFileExcludesOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "work")
	var inside, times atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				unlock, err := Lock(ctx, filepath.Join(dir, "lock"))
				if errors.Is(err, ErrBusy) || errors.Is(err, fs.ErrNotExist) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) > 1 {
					t.Error("two hold the lock")
				}
				times.Add(1)
				runtime.Gosched()
				inside.Add(-1) // another may have the lock as soon as the file is gone
				os.Remove(filepath.Join(dir, "lock"))
				unlock()
			}
		})
	}
	wg.Wait()
	if times.Load() < 8 {
		t.Errorf("the lock was had %d times", times.Load())
	}
}

func TestFailedReadIsAStorageError(t *testing.T) {
	dir := t.TempDir() // which opens as a file does, and cannot be read
	fi, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	o := Object{Name: dir, URI: dir, Version: version(fi)}
	for _, n := range []int64{-1, 5} {
		r, err := o.Open(ctx, 0, n)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(r)
		var e *Error
		if !errors.As(err, &e) || e.Op != "read" || e.Name != dir {
			t.Errorf("%d bytes: %v", n, err)
		}
		r.Close()
	}
}

func TestErrorsTellWhetherToRetry(t *testing.T) {
	for err, want := range map[error]bool{
		fs.ErrPermission: true, syscall.ENOSPC: true, syscall.EFBIG: true, syscall.EIO: false, io.ErrUnexpectedEOF: false,
	} {
		if got := (&Error{Op: "read", Name: "f", Err: err}).Refused(); got != want {
			t.Errorf("Refused for %v = %t", err, got)
		}
	}
	full := &Error{Op: "create", Name: "m", Err: &fs.PathError{Op: "write", Path: "/tmp/.tmp-m", Err: syscall.ENOSPC}}
	if got, want := full.Error(),
		"storage: create m: no space left on the device; free some or name another directory"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
