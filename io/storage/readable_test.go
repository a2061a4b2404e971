//go:build unix

package storage

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/internal/disk"
)

// ghost is an entry that has vanished when it is looked at.
type ghost struct{ name string }

func (g ghost) Name() string               { return g.name }
func (g ghost) IsDir() bool                { return false }
func (g ghost) Type() fs.FileMode          { return 0 }
func (g ghost) Info() (fs.FileInfo, error) { return nil, fs.ErrNotExist }

// Each entry that cannot be read is reported with its reason, and all files are listed.
func TestUnreadableEntriesAreReportedAndSkipped(t *testing.T) {
	below(t, "in/a.csv", "in/dt=1/b.csv", "in/dt=1/sub/c.csv", "in/folder.csv/x", "outside/secret.csv",
		"outside/dt=9/b.csv")
	for name, to := range map[string]string{
		"in/dangling.csv": "nowhere", "in/loop.csv": "loop.csv", "in/secret.csv": "../outside/secret.csv",
		"in/inside.csv": "dt=1/b.csv",
		"in/dt=9":       "../outside/dt=9", "in/dt=3": "nowhere", "in/dt=1/up": "..", "in/dt=1/far": "../../outside",
		"in/dt=1/sub/far.csv": "/etc/passwd",
	} {
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo("in/pipe.csv", 0o666); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(disk.Swap(looking{readDir: func(dir string, entries []fs.DirEntry, err error) ([]fs.DirEntry, error) {
		return append(entries, ghost{"gone.csv"}), err
	}}))
	reasons := map[string]string{
		"in/dangling.csv": "is a symbolic link to nowhere, which does not exist", "in/loop.csv": "too many levels",
		"in/pipe.csv":   "not a regular file",
		"in/folder.csv": "is a directory", "in/secret.csv": "leads out of in is not followed", "in/dt=9": "leads out of in ",
		"in/dt=3":    "does not exist",
		"in/dt=1/up": "above it", "in/dt=1/far": "leads out", "in/dt=1/sub/far.csv": "leads out",
		"in/dt=1/far/secret.csv": "leads out",
		"none/*.csv":             "no such file", "gone/*.csv": "a symbolic link to nowhere",
	}
	if err := os.Symlink("nowhere", "gone"); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ pattern, want, bad string }{
		{"in/*.csv", "in/a.csv in/inside.csv", "in/dangling.csv in/loop.csv in/pipe.csv in/folder.csv in/secret.csv"},
		{"in/dt=*/*.csv", "in/dt=1/b.csv", "in/dt=9 in/dt=3"},
		{"in/dt=*/far/*.csv", "", "in/dt=9 in/dt=3 in/dt=1"},
		{"in/dt=*/far/secret.csv", "", "in/dt=9 in/dt=3 in/dt=1"},
		{"in/dt*/sub/c.csv", "in/dt=1/sub/c.csv", "in/dt=9 in/dt=3"},
		{"in/**.csv", "in/a.csv in/dt=1/b.csv in/dt=1/sub/c.csv in/inside.csv",
			"in/dangling.csv in/loop.csv in/pipe.csv in/secret.csv in/dt=9 in/dt=3 in/dt=1/up in/dt=1/far in/dt=1/sub/far.csv"},
		{"in/a.csv", "in/a.csv", ""},
		{"outside/none*", "", ""},
		{"none/*.csv", "", "none/*.csv"},
		{"gone/*.csv", "", "gone/*.csv"},
		{"outside/*.csv", "outside/secret.csv", ""},
	} {
		bad := map[string]string{}
		objects, err := ListReadable(ctx, test.pattern, func(name, why string) { bad[name] = why })
		var got []string
		for _, o := range objects {
			got = append(got, o.Name)
		}
		if err != nil || strings.Join(got, " ") != test.want {
			t.Errorf("%s: %q, %v; want %s", test.pattern, got, err, test.want)
		}
		for _, name := range strings.Fields(test.bad) {
			why, told := bad[name]
			if delete(bad, name); !told || !strings.Contains(why, reasons[name]) {
				t.Errorf("%s: %s is said to be %q, want %q", test.pattern, name, why, reasons[name])
			}
		}
		if len(bad) > 0 {
			t.Errorf("%s: told of %q", test.pattern, bad)
		}
	}
}

// Reading a file that became a pipe after it was listed does not wait for a writer.
func TestFileThatBecameAPipeIsNotWaitedFor(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(name, []byte("a\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	o, err := Stat(ctx, name)
	if err == nil {
		err = os.Remove(name)
	}
	if err == nil {
		err = syscall.Mkfifo(name, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		_, err := o.Open(ctx, 0, -1)
		opened <- err
	}()
	select {
	case err := <-opened:
		if err == nil || !strings.Contains(err.Error(), "has changed") {
			t.Errorf("opened a pipe as a file: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("waits for a writer of the pipe")
	}
}

// A link that leads out of the directory before the wildcard is not listed, even if that directory is gone when
// the link is checked.
func TestOutsideLinkIsNotListedWhileItsDirectoryIsReplaced(t *testing.T) {
	below(t, "in/a.csv", "outside/secret.csv")
	point := func(to string) {
		os.Remove("current")
		if err := os.Symlink(to, "current"); err != nil {
			t.Error(err)
		}
	}
	if err := os.Symlink("../outside/secret.csv", "in/secret.csv"); err != nil {
		t.Fatal(err)
	}
	point("in")
	t.Cleanup(disk.Swap(looking{
		readDir: func(dir string, entries []fs.DirEntry, err error) ([]fs.DirEntry, error) {
			point("nowhere")
			return entries, err
		},
		stat: func(name string) error {
			if strings.HasSuffix(name, ".csv") && !strings.ContainsAny(name, "*") {
				point("in")
			}
			return nil
		},
	}))
	told := ""
	objects, err := ListReadable(ctx, "current/*.csv", func(name, why string) { told += name + ": " + why })
	if err != nil || len(objects) != 1 || objects[0].Name != "current/a.csv" ||
		!strings.Contains(told, "secret.csv: a symbolic link that leads out") {
		t.Errorf("%v, %v, told of %q", objects, err, told)
	}
}
