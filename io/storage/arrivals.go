package storage

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Watch finds files as they arrive. Its methods are for one goroutine at a time.
type Watch struct {
	Patterns []string // as storage.List takes them
	// Settle is the age at which a file on disk counts as whole, because a process may still write to a younger
	// one. A file whose size and time have not changed for as long is whole, too. Use 0 if files are renamed into
	// place. Objects of cloud storage are whole when they appear.
	Settle time.Duration
	// MaxAge, unless 0, is the age above which a file is not returned, but counted as Old.
	MaxAge time.Duration
	// Done returns the paths of files that have been processed, with the time. It is called by the first
	// Next. Files that it leaves out are returned once more.
	Done func(context.Context) (map[string]time.Time, error)
	// Recheck, unless 0, is how often Done is called. Files that were returned before and are not done
	// by then are returned again, for a user that may lose files.
	Recheck time.Duration
	// Now is the time; nil is time.Now.
	Now func() time.Time

	base    string            // what all patterns begin with
	given   map[string]seen   // paths that match and are done or returned; nil before the first Next
	young   map[string]seen   // paths of files that were not old enough
	waiting map[string]string // why, for what cannot be read; by name
	old     int               // Found.Old
	asked   time.Time         // when Done was called
}

// seen is the state in which a file was last listed.
type seen struct {
	size     int64     // -1 for a file that only Done has named
	modified time.Time // or when it was done
	since    time.Time // of a young file, how long it has been like that; of others, when it was listed last
}

// forgetAfter is how long a file is remembered after it was last listed. Otherwise many files that
// vanish for a moment would all be checked again.
const forgetAfter = 10 * time.Minute

// changed reports whether a file is not the same as before.
func (s seen) changed(o Object, now time.Time) bool {
	if s.size < 0 {
		return o.Modified.After(s.modified) && !o.Modified.After(now)
	}
	return o.Size != s.size || !o.Modified.Equal(s.modified)
}

// ArrivedFile is a file that has appeared.
type ArrivedFile struct {
	Object
	// Path is the name below the directory that all patterns begin with.
	Path string
}

// Found is the result of Watch.Next.
type Found struct {
	Files     []ArrivedFile // new and whole, those that were written first before others
	Backlog   int           // other files that are new and whole
	Unsettled int           // new files that may not be whole
	Old       int           // files older than MaxAge whose work is not done
	Waiting   int           // entries that cannot be read, such as links without a target
	Changed   int           // files that were written to since they were returned or done
	// Notes report what is new about entries that wait and files that have changed.
	Notes []string
}

// note adds notes of one kind, five at most.
func (f *Found) note(names []string, text func(name string) string) {
	slices.Sort(names)
	for _, name := range names[:min(5, len(names))] {
		f.Notes = append(f.Notes, text(name))
	}
	if more := len(names) - 5; more > 0 {
		f.Notes[len(f.Notes)-1] += fmt.Sprintf(" (and %d more)", more)
	}
}

// keep leaves the n files that were written first.
func (f *Found) keep(n int) {
	slices.SortFunc(f.Files, func(a, b ArrivedFile) int {
		return cmp.Or(a.Modified.Compare(b.Modified), strings.Compare(a.Path, b.Path))
	})
	if more := len(f.Files) - n; more > 0 {
		f.Backlog, f.Files = more, f.Files[:n]
	}
}

// ChangedNote returns the note on a file that was written to after its work was done.
func ChangedNote(path string) string {
	return path + " was written to after it was done, and is not read again: give new rows a file of their own, " +
		"or remove its predictions or dead letter and start the stream again"
}

// Next lists the patterns and returns at most n files that it has not returned before and whose work
// is not done.
func (w *Watch) Next(ctx context.Context, n int) (Found, error) {
	var found Found
	if w.base == "" {
		base, err := commonDir(w.Patterns)
		if err != nil {
			return found, err
		}
		w.base = base
	}
	objects, waiting, err := w.list(ctx)
	if err != nil {
		return found, err
	}
	now := time.Now()
	if w.Now != nil {
		now = w.Now()
	}
	if err := w.ask(ctx, now); err != nil {
		return found, err
	}
	l := listing{now: now, given: map[string]seen{}, young: map[string]seen{}}
	for _, o := range objects {
		w.sort(o, &l, &found)
	}
	if len(objects) == 0 { // the directory may be gone for a moment
		l.given, l.young = w.given, w.young
	}
	for path, s := range w.given { // or some files may
		if _, listed := l.given[path]; !listed && !s.since.IsZero() && now.Sub(s.since) < forgetAfter {
			l.given[path] = s
		}
	}
	w.addNotes(&l, waiting, &found)
	w.young, w.waiting, w.old = l.young, waiting, found.Old
	found.keep(n)
	for _, f := range found.Files {
		l.given[f.Path] = seen{f.Size, f.Modified, now}
	}
	w.given = l.given
	return found, nil
}

// listing is what one call of Next sees.
type listing struct {
	now             time.Time
	given, young    map[string]seen // the next Watch.given and Watch.young
	changed, future []string        // paths of files that were written to since, and of files with a time in the future
}

// sort counts a file in found, or adds it to found.Files if it is new and whole, and enters it in l.
func (w *Watch) sort(o Object, l *listing, found *Found) {
	path := strings.TrimPrefix(strings.TrimPrefix(o.URI, w.base), "/")
	if before, given := w.given[path]; given {
		l.given[path] = seen{o.Size, o.Modified, l.now}
		if before.changed(o, l.now) {
			l.changed = append(l.changed, path)
		}
		return
	}
	age := l.now.Sub(o.Modified)
	if w.MaxAge > 0 && !o.Modified.IsZero() && age > w.MaxAge {
		found.Old++
		return
	}
	if age < w.Settle && !strings.Contains(o.URI, "://") {
		s, known := w.young[path]
		if !known || s.changed(o, l.now) {
			s = seen{o.Size, o.Modified, l.now}
		}
		l.young[path] = s
		if !known && age < -time.Minute {
			l.future = append(l.future, path)
		}
		if l.now.Sub(s.since) < w.Settle {
			found.Unsettled++
			return
		}
	}
	found.Files = append(found.Files, ArrivedFile{o, path})
}

// addNotes adds to found what is new: files that changed or have a time in the future, entries that wait for
// another reason than before, and more old files.
func (w *Watch) addNotes(l *listing, waiting map[string]string, found *Found) {
	found.Changed, found.Waiting = len(l.changed), len(waiting)
	found.note(l.changed, ChangedNote)
	found.note(l.future, func(path string) string {
		return fmt.Sprintf("%s has a time in the future: it is read when its size and time have not changed for %v",
			path, w.Settle)
	})
	news := slices.DeleteFunc(slices.Collect(maps.Keys(waiting)),
		func(name string) bool { return w.waiting[name] == waiting[name] })
	found.note(news, func(name string) string { return "waiting for " + name + ": " + waiting[name] })
	if found.Old > w.old {
		found.Notes = append(found.Notes,
			fmt.Sprintf("files that are older than --max_age, have no predictions and are not read: %d", found.Old))
	}
}

// ask calls Done if that is due.
func (w *Watch) ask(ctx context.Context, now time.Time) error {
	if w.given != nil && (w.Recheck == 0 || now.Sub(w.asked) < w.Recheck) {
		return nil
	}
	done, err := w.Done(ctx)
	if err != nil {
		return err
	}
	given := make(map[string]seen, len(done))
	for path, at := range done {
		s, known := w.given[path]
		if !known {
			s = seen{size: -1, modified: at}
		}
		if w.given == nil { // the first listings may be of a directory that is being replaced
			s.since = now
		}
		given[path] = s
	}
	w.given, w.asked = given, now
	return nil
}

// Again makes Next return a file once more.
func (w *Watch) Again(path string) { delete(w.given, path) }

// list returns the objects that match, by URI, and why others that match cannot be read, by name.
func (w *Watch) list(ctx context.Context) (all map[string]Object, waiting map[string]string, err error) {
	all, waiting = map[string]Object{}, map[string]string{}
	for _, pattern := range w.Patterns {
		objects, err := ListReadable(ctx, pattern, func(name, why string) { waiting[name] = why })
		if err != nil {
			return nil, nil, err
		}
		for _, o := range objects {
			all[o.URI] = o
		}
	}
	return all, waiting, nil
}

// commonDir returns the directory that all patterns begin with, as an absolute name.
func commonDir(patterns []string) (string, error) {
	var base []string
	for i, pattern := range patterns {
		abs, err := Abs(pattern)
		if err != nil {
			return "", err
		}
		if at := strings.IndexAny(abs, `*?[\`); at >= 0 {
			abs = abs[:at] // its last part may be incomplete, and is cut off below
		}
		parts := strings.Split(abs[:max(0, strings.LastIndexByte(abs, '/'))], "/")
		if i == 0 {
			base = parts
			continue
		}
		n := 0
		for n < min(len(base), len(parts)) && base[n] == parts[n] {
			n++
		}
		base = base[:n]
	}
	dir := strings.Join(base, "/")
	if strings.HasSuffix(dir, ":/") || dir == "" && len(patterns) > 1 {
		return "", fmt.Errorf("storage: the patterns %q have no directory in common; watch them separately", patterns)
	}
	return dir + "/", nil
}
