package storage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/internal/disk"
)

// looking is the disk with functions that come between; those that are nil do not.
type looking struct {
	disk.OS
	stat    func(name string) error // before the file is looked at
	readDir func(dir string, entries []fs.DirEntry, err error) ([]fs.DirEntry, error)
}

func (l looking) Stat(name string) (fs.FileInfo, error) {
	if l.stat != nil {
		if err := l.stat(name); err != nil {
			return nil, err
		}
	}
	return l.OS.Stat(name)
}

func (l looking) ReadDir(dir string) ([]fs.DirEntry, error) {
	entries, err := l.OS.ReadDir(dir)
	if l.readDir != nil {
		return l.readDir(dir, entries, err)
	}
	return entries, err
}

// below makes files below a new directory, which it enters.
func below(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range files {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), name)
	}
	t.Chdir(dir)
	return dir
}

func TestPatternsMatchElementByElement(t *testing.T) {
	dir := below(t, "a/x.csv", "a/y.csv", "b/x.csv", "b/deep/er/x.csv", ".h/x.csv", "b/.h.csv", "b/we[i]rd *?\\\n.csv",
		"plain", "-n", "ü/x.csv")
	if err := os.Symlink("a", "link"); err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string][]string{
		"*/x.csv":          {"a/x.csv", "b/x.csv", "link/x.csv", "ü/x.csv"},
		"./a/*.csv":        {"a/x.csv", "a/y.csv"},
		"a//*.csv":         {"a/x.csv", "a/y.csv"},
		"b/../a/*.csv":     {"a/x.csv", "a/y.csv"},
		"[ab]/[xz].csv":    {"a/x.csv", "b/x.csv"},
		"?/*/*/x.csv":      {"b/deep/er/x.csv"},
		"*/deep/er/*":      {"b/deep/er/x.csv"},
		".*/*":             {".h/x.csv"},
		"b/.*":             {"b/.h.csv"},
		`b/\.*`:            {"b/.h.csv"},
		"b/we*":            {"b/we[i]rd *?\\\n.csv"},
		`b/we\[i]rd*`:      {"b/we[i]rd *?\\\n.csv"},
		"**/x.csv":         {"a/x.csv", "b/deep/er/x.csv", "b/x.csv", "link/x.csv", "ü/x.csv"},
		"b/**":             {"b/deep/er/x.csv", "b/we[i]rd *?\\\n.csv", "b/x.csv"},
		"*/**/er/*":        {"b/deep/er/x.csv"},
		"**/.h/*.csv":      {".h/x.csv"},
		"-*":               {"-n"},
		"*l*":              {"plain"}, // link is a directory
		dir + "/[a]/x.csv": {dir + "/a/x.csv"},
	} {
		objects, err := List(ctx, pattern)
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		var got []string
		for _, o := range objects {
			got = append(got, o.Name)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", pattern, d)
		}
	}
}

// List finds the matches of the standard library, where that can read everything.
func TestGlobMatchesTheStandardLibraryExceptHiddenParts(t *testing.T) {
	below(t, "a/b/c.csv", "a/b/d.csv", "a/c.csv", "e/b/c.csv", "e/f", "c.csv", "g[1]/b/c.csv")
	for _, pattern := range []string{"*", "*/*", "*/*/*", "a/*", "*/b", "*/b/*.csv", "?/b/[c-d].csv", "a/[^b]*",
		"*/none/*", "g[[]1]/*/c*", "*.csv", "e/f/*x", "e/*/c.csv"} {
		want, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		got, err := glob(ctx, pattern, nil)
		if pattern == "e/f/*x" { // below a file
			if !errors.Is(err, syscall.ENOTDIR) {
				t.Errorf("%s: %v", pattern, err)
			}
			continue
		}
		slices.Sort(got)
		slices.Sort(want)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %v %s", pattern, err, d)
		}
	}
}

// A directory that cannot be listed is an error that names it, at any depth of the walk.
func TestUnreadableDirectoryIsAnError(t *testing.T) {
	below(t, "a/1.csv", "a/2.csv", "a/3.csv", "b/1.csv", "c/d/1.csv")
	for _, fault := range []error{syscall.EIO, syscall.EACCES, syscall.ESTALE, syscall.EMFILE} {
		for _, c := range []struct{ pattern, at string }{
			{"a/*.csv", "a"}, {"*/*.csv", "a"}, {"*/*.csv", "b"}, {"*/1.csv", "."}, {"*/*/*.csv", "c/d"}, {"*/d/*.csv", "c/d"},
			{"**/1.csv", "c"}, {"**", "a"}, {"*.csv", "."},
		} {
			for _, seen := range []int{0, 1} { // entries that were read before
				restore := disk.Swap(looking{readDir: func(dir string, entries []fs.DirEntry, err error) ([]fs.DirEntry, error) {
					if dir != c.at {
						return entries, err
					}
					return entries[:seen], &fs.PathError{Op: "readdirent", Path: dir, Err: fault}
				}})
				names, err := glob(ctx, c.pattern, nil)
				restore()
				var e *Error
				if !errors.As(err, &e) || e.Op != "list" || e.Name != c.at || !errors.Is(err, fault) {
					t.Errorf("%s, %v at %s after %d entries: %q, %v", c.pattern, fault, c.at, seen, names, err)
				}
			}
		}
		restore := disk.Swap(looking{stat: func(name string) error {
			if name == "b/1.csv" || name == "c" {
				return &fs.PathError{Op: "stat", Path: name, Err: fault}
			}
			return nil
		}})
		for _, pattern := range []string{"*/1.csv", "*/*/1.csv", "**/1.csv"} {
			if names, err := glob(ctx, pattern, nil); !errors.Is(err, fault) {
				t.Errorf("%s, stat: %v: %q, %v", pattern, fault, names, err)
			}
		}
		restore()
	}
}

func TestErrorOfAnUnmatchedPatternNamesTheReason(t *testing.T) {
	dir := below(t, "a/1.csv", "b.csv")
	for from, to := range map[string]string{"gone": "nowhere", "round": ".", "self": "self"} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	for pattern, want := range map[string]string{
		"*.txt":        "storage: list *.txt: no file matches the pattern; check it and the current directory",
		"none/*.csv":   "storage: list none: no such file or directory; check the path and the current directory",
		"b.csv/*":      "storage: list b.csv: not a directory",
		"*/":           "storage: list */: is a directory; name its files, as in */*",
		"a*":           "storage: list a*: is a directory; name its files, as in a*/*",
		"g*":           "storage: stat gone: is a symbolic link to nowhere, which does not exist",
		"g*/*":         "storage: stat gone: is a symbolic link to nowhere, which does not exist",
		"gone":         "storage: list gone: is a symbolic link to nowhere, which does not exist",
		"s*":           "storage: stat self: too many levels of symbolic links",
		"round/**":     "storage: stat round/gone: is a symbolic link to nowhere, which does not exist",
		"[a":           "storage: list [a: syntax error in pattern",
		dir + "/x/*":   "storage: list " + dir + "/x: no such file",
		"*/*/none.csv": "storage: stat gone: ",
	} {
		_, err := List(ctx, pattern)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) || !e.Refused() {
			t.Errorf("%s: %v, want %q", pattern, err, want)
		}
	}
	os.Remove("gone")
	os.Remove("self")
	if _, err := List(ctx, "**"); err == nil ||
		!strings.Contains(err.Error(), "list round: is a link to a directory above it") {
		t.Errorf("a link to above: %v", err)
	}
}
