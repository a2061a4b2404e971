package storage

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// named is a scheme of which only names are used: Google's client takes longer to link than all tests here to run.
type named struct{ Scheme }

func (named) Abs(name string) (string, error) { return name, nil }

// watching is a Watch of the files of a directory at a time that tests set.
type watching struct {
	Watch
	t   *testing.T
	dir string
	now time.Time

	last Found
}

func watch(t *testing.T, patterns ...string) *watching {
	w := &watching{t: t, dir: t.TempDir(), now: time.Unix(1e9, 0)}
	for _, p := range patterns {
		w.Patterns = append(w.Patterns, filepath.Join(w.dir, p))
	}
	w.Now = func() time.Time { return w.now }
	w.Done = func(context.Context) (map[string]time.Time, error) { return nil, nil }
	return w
}

// put writes a file of that age.
func (w *watching) put(name string, age time.Duration) {
	w.t.Helper()
	p := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(p, nil, 0o666); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Chtimes(p, time.Time{}, w.now.Add(-age)); err != nil {
		w.t.Fatal(err)
	}
}

// want compares the next files.
func (w *watching) want(n int, want string) {
	w.t.Helper()
	found, err := w.Next(w.t.Context(), n)
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, f := range found.Files {
		names = append(names, f.Path)
	}
	if got := fmt.Sprint(names, found.Backlog, found.Unsettled, found.Old); got != want {
		w.t.Errorf("found %s, want %s", got, want)
	}
	w.last = found
}

// noted compares the counts and notes of the last look.
func (w *watching) noted(waiting, changed int, notes ...string) {
	w.t.Helper()
	ok := w.last.Waiting == waiting && w.last.Changed == changed && len(w.last.Notes) == len(notes)
	for i := 0; ok && i < len(notes); i++ {
		ok = strings.Contains(w.last.Notes[i], notes[i])
	}
	if !ok {
		w.t.Errorf("%d wait, %d changed, notes %q; want %d, %d, %q", w.last.Waiting, w.last.Changed, w.last.Notes, waiting,
			changed, notes)
	}
}

func TestFilesAreReturnedOnceInTheOrderTheyWereWritten(t *testing.T) {
	w := watch(t, "in/*.csv")
	w.want(9, "[] 0 0 0") // not even the directory exists
	w.put("in/b.csv", 2*time.Minute)
	w.put("in/a.csv", time.Minute)
	w.put("in/c.csv", time.Hour)
	w.put("in/other.txt", 0)
	w.want(2, "[c.csv b.csv] 1 0 0")
	w.want(2, "[a.csv] 0 0 0")
	w.put("in/d.csv", 0)
	w.Again("b.csv")
	w.want(9, "[b.csv d.csv] 0 0 0")
	w.want(9, "[] 0 0 0")
}

func TestFileOnDiskIsWholeWhenNobodyWritesToIt(t *testing.T) {
	w := watch(t, "*")
	w.Settle = 10 * time.Second
	w.put("a", 9*time.Second)
	w.want(9, "[] 0 1 0")
	w.now = w.now.Add(time.Second)
	w.want(9, "[a] 0 0 0")
}

// A file with a time in the future is whole once its size and time stay the same.
func TestFutureModificationTimeIsNotWaitedFor(t *testing.T) {
	w := watch(t, "*")
	w.Settle = 10 * time.Second
	w.put("a", -24*time.Hour)
	w.want(9, "[] 0 1 0")
	w.noted(0, 0, "a has a time in the future")
	w.now = w.now.Add(9 * time.Second)
	w.put("a", -48*time.Hour) // written to
	w.want(9, "[] 0 1 0")
	w.now = w.now.Add(9 * time.Second)
	w.want(9, "[] 0 1 0")
	w.noted(0, 0)
	w.now = w.now.Add(time.Second)
	w.want(0, "[] 1 0 0")
	w.want(9, "[a] 0 0 0")
	w.want(9, "[] 0 0 0")
	w.now = w.now.Add(72 * time.Hour)
	w.want(9, "[] 0 0 0")
	w.noted(0, 0)
}

func TestFileWrittenAfterItWasDoneIsNotedOnce(t *testing.T) {
	w := watch(t, "*")
	w.Done = func(context.Context) (map[string]time.Time, error) {
		at := w.now.Add(-time.Minute)
		return map[string]time.Time{"before": at, "after": at, "future": at}, nil
	}
	w.put("before", time.Hour)
	w.put("after", time.Second)
	w.put("future", -time.Hour)
	w.put("new", time.Hour)
	w.want(9, "[new] 0 0 0")
	w.noted(0, 1, "after was written to after it was done")
	w.want(9, "[] 0 0 0")
	w.noted(0, 0)
	w.put("new", time.Minute)
	w.put("before", time.Minute)
	w.want(9, "[] 0 0 0")
	w.noted(0, 2, "before was", "new was")
	w.want(9, "[] 0 0 0")
	w.noted(0, 0)
}

// An entry that cannot be read is counted as long as it exists, and noted when it or its reason is new; many
// entries share a note.
func TestUnreadableFilesWaitAndAreNotedOnce(t *testing.T) {
	w := watch(t, "in/*", "in/x*")
	w.want(9, "[] 0 0 0")
	w.noted(2, 0, "waiting for "+w.dir+"/in/*: no such file", "in/x*")
	w.put("in/a", 0)
	w.want(9, "[a] 0 0 0")
	aside := filepath.Join(w.dir, "aside")
	if err := os.Rename(filepath.Join(w.dir, "in"), aside); err != nil {
		t.Fatal(err)
	}
	w.want(9, "[] 0 0 0")
	w.noted(2, 0, "in/*: no such file", "in/x*")
	if err := os.Rename(aside, filepath.Join(w.dir, "in")); err != nil {
		t.Fatal(err)
	}
	w.want(9, "[] 0 0 0")
	link := filepath.Join(w.dir, "in/x")
	if err := os.Symlink("nowhere", link); err != nil {
		t.Fatal(err)
	}
	w.want(9, "[] 0 0 0")
	w.noted(1, 0, "waiting for "+link+": is a symbolic link to nowhere, which does not exist")
	w.want(9, "[] 0 0 0")
	w.noted(1, 0)
	w.put("in/nowhere", 0)
	w.want(9, "[nowhere x] 0 0 0")
	w.noted(0, 0)
	for i := range 9 {
		if err := os.Mkdir(filepath.Join(w.dir, "in", fmt.Sprint("dir", i)), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	w.want(9, "[] 0 0 0")
	w.noted(9, 0, "dir0: is a directory; name its files, as in ", "dir1", "dir2", "dir3", "(and 4 more)")
}

// A finished file is not returned, even if it appears only after the first listing, as when a stream begins
// while its directory is replaced.
func TestFinishedFilesAreKnownAfterBrokenListings(t *testing.T) {
	w := watch(t, "*")
	w.Done = func(context.Context) (map[string]time.Time, error) {
		return map[string]time.Time{"a": time.Unix(0, 1<<62), "b": time.Unix(0, 1<<62)}, nil
	}
	w.want(9, "[] 0 0 0")
	w.put("a", 0)
	w.want(9, "[] 0 0 0")
	w.put("b", 0)
	w.want(9, "[] 0 0 0")
}

// Each finished file is asked for once; names that no longer match, or are too old, are not kept.
func TestRemovedFilesAreForgotten(t *testing.T) {
	w := watch(t, "dt=*/*")
	w.MaxAge = time.Hour
	asked := 0
	w.Done = func(context.Context) (map[string]time.Time, error) {
		asked++
		return map[string]time.Time{"dt=1/a": time.Unix(0, 1<<62), "dt=1/deleted": time.Unix(0, 1<<62)}, nil
	}
	w.put("dt=1/a", 0)
	w.put("dt=1/old", 2*time.Hour)
	w.want(9, "[] 0 0 1")
	w.noted(0, 0, "older than --max_age, have no predictions and are not read: 1")
	for i := range 100 {
		name := fmt.Sprintf("dt=2/%d", i)
		w.put(name, 0)
		w.want(9, "["+name+"] 0 0 1")
		aside := filepath.Join(w.dir, ".aside")
		if err := os.Rename(filepath.Join(w.dir, name), aside); err != nil {
			t.Fatal(err)
		}
		w.want(9, "[] 0 0 1")
		if err := os.Rename(aside, filepath.Join(w.dir, name)); err != nil {
			t.Fatal(err)
		}
		w.want(9, "[] 0 0 1") // it was gone for a moment only
		if err := os.Remove(filepath.Join(w.dir, name)); err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(forgetAfter)
	}
	w.want(9, "[] 0 0 1")
	if len(w.given) > 2 || asked != 1 {
		t.Errorf("%d names after 100 files that are gone; asked %d times", len(w.given), asked)
	}
}

// Files that were returned and are not done after some time are returned again.
func TestUnfinishedFilesAreReturnedAgain(t *testing.T) {
	w := watch(t, "*")
	w.Recheck = time.Minute
	done := map[string]time.Time{}
	w.Done = func(context.Context) (map[string]time.Time, error) { return maps.Clone(done), nil }
	w.put("a", 0)
	w.put("b", 0)
	w.want(9, "[a b] 0 0 0")
	done["b"] = time.Unix(0, 1<<62)
	w.now = w.now.Add(59 * time.Second)
	w.want(9, "[] 0 0 0")
	w.now = w.now.Add(time.Second)
	w.want(9, "[a] 0 0 0")
	w.want(9, "[] 0 0 0")
}

func TestBaseIsTheCommonDirectoryOfPatterns(t *testing.T) {
	defer Replace("gs", Replace("gs", named{}))
	for _, test := range []struct {
		patterns []string
		want     string
	}{
		{[]string{"/in/*.csv"}, "/in/"},
		{[]string{"/in/a.csv"}, "/in/"},
		{[]string{"/in/dt=*/part-*"}, "/in/"},
		{[]string{"/in/a/*.csv", "/in/b/*.csv"}, "/in/"},
		{[]string{"gs://b/in/*"}, "gs://b/in/"},
		{[]string{"gs://b/*", "gs://b/x/*"}, "gs://b/"},
		{[]string{"gs://b/*", "gs://c/*"}, ""},
		{[]string{"/*"}, "/"},
	} {
		got, err := commonDir(test.patterns)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%q: %q, %v; want %q", test.patterns, got, err, test.want)
		}
	}
}
