// Package arrivals finds files as they appear under patterns, on disk or in cloud storage.
//
// It has no state that lasts: what is done is told by the files that the work has left, which are
// asked for once, at the start. In memory it has the names that match now, and no others.
package arrivals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/io/storage"
)

// Watch says which files to find. Its methods are for one goroutine at a time.
type Watch struct {
	Patterns []string // as storage.List takes them
	// Settle is how long ago a file on disk must have been written to be whole, because a process may
	// still write to it. Use 0 if files are renamed into place. Objects of cloud storage are whole when
	// they appear.
	Settle time.Duration
	// MaxAge, unless 0, is how long ago a file may have been written. Older ones are counted as Old.
	MaxAge time.Duration
	// Done returns the paths of the files whose work is done. It is called by the first Next.
	Done func(context.Context) (map[string]bool, error)
	// Recheck, unless 0, is how often Done is called. Files that were returned before and are not done
	// by then are returned again, for a user that may lose files.
	Recheck time.Duration
	// Now is the time; nil is time.Now.
	Now func() time.Time

	base  string          // what all patterns begin with
	given map[string]bool // paths that match and are done or returned; nil before the first Next
	asked time.Time       // when Done was called
}

// File is a file that has appeared.
type File struct {
	storage.Object
	// Path is the name below the directory that all patterns begin with.
	Path string
}

// Found is the result of a look at the patterns.
type Found struct {
	Files     []File // new and whole, those that were written first before others
	Backlog   int    // other files that are new and whole
	Unsettled int    // new files that may not be whole
	Old       int    // files older than MaxAge whose work is not done
}

// Next lists the patterns and returns at most n files that it has not returned before and whose work
// is not done.
func (w *Watch) Next(ctx context.Context, n int) (Found, error) {
	var found Found
	if w.base == "" {
		base, err := Base(w.Patterns)
		if err != nil {
			return found, err
		}
		w.base = base
	}
	objects, err := w.list(ctx)
	if err != nil {
		return found, err
	}
	now := time.Now()
	if w.Now != nil {
		now = w.Now()
	}
	if w.given == nil || w.Recheck > 0 && now.Sub(w.asked) >= w.Recheck {
		done, err := w.Done(ctx)
		if err != nil {
			return found, err
		}
		w.given, w.asked = done, now
	}
	still := map[string]bool{} // of given
	for _, o := range objects {
		f := File{o, w.path(o.URI)}
		age := time.Duration(now.UnixNano() - o.Modified)
		switch {
		case w.given[f.Path]:
			still[f.Path] = true
		case w.MaxAge > 0 && o.Modified > 0 && age > w.MaxAge:
			found.Old++
		case age < w.Settle && !strings.Contains(o.URI, "://"):
			found.Unsettled++
		default:
			found.Files = append(found.Files, f)
		}
	}
	slices.SortFunc(found.Files, func(a, b File) int {
		return cmp.Or(cmp.Compare(a.Modified, b.Modified), strings.Compare(a.Path, b.Path))
	})
	if more := len(found.Files) - n; more > 0 {
		found.Backlog, found.Files = more, found.Files[:n]
	}
	for _, f := range found.Files {
		still[f.Path] = true
	}
	w.given = still
	return found, nil
}

// Again has Next return a file again that it has returned.
func (w *Watch) Again(path string) { delete(w.given, path) }

// list returns the objects that match, each once.
func (w *Watch) list(ctx context.Context) (all []storage.Object, err error) {
	known := map[string]bool{}
	for _, pattern := range w.Patterns {
		objects, err := storage.List(ctx, pattern)
		if errors.Is(err, storage.ErrNoMatch) || errors.Is(err, fs.ErrNotExist) {
			continue // there may be files later
		}
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			if !known[o.URI] {
				known[o.URI] = true
				all = append(all, o)
			}
		}
	}
	return all, nil
}

// path returns the name below the base.
func (w *Watch) path(uri string) string {
	return strings.TrimPrefix(strings.TrimPrefix(uri, w.base), "/")
}

// Base returns the directory that all patterns begin with, as an absolute name.
func Base(patterns []string) (string, error) {
	var base []string
	for i, pattern := range patterns {
		abs, err := storage.Abs(pattern)
		if err != nil {
			return "", err
		}
		if at := strings.IndexAny(abs, `*?[\`); at >= 0 {
			abs = abs[:at] // the last part of which is not the name of a directory
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
		return "", fmt.Errorf("arrivals: the patterns %q have no directory in common; watch them separately", patterns)
	}
	return dir + "/", nil
}
