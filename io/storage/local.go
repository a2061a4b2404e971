package storage

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"

	"github.com/bochner-ml/bochner/internal/disk"
)

// local is the local disk.
type local struct{}

// localPath returns the path that a name stands for.
func localPath(name string) (string, error) {
	if name == "" {
		return "", Invalidf("empty name")
	}
	return filepath.Abs(name)
}

func (local) Abs(name string) (string, error) { return localPath(name) }

func (l local) List(ctx context.Context, pattern string) ([]Object, error) {
	return l.list(ctx, pattern, nil)
}

// list returns the files that match a pattern, sorted by name. A pattern that is the name of a file means that file,
// whatever characters it has. With bad, unreadable files are reported to it instead of ending the list, and links
// must not lead out of the directory before the first wildcard.
func (l local) list(ctx context.Context, pattern string, bad reportFunc) ([]Object, error) {
	p, err := localPath(pattern)
	if err != nil {
		return nil, err
	}
	names, named := []string{pattern}, true
	root, rootErr := filepath.EvalSymlinks(filepath.Dir(p[:strings.IndexAny(p+meta, meta)] + "x"))
	if _, err := disk.Current().Stat(p); err != nil && strings.ContainsAny(pattern, meta) {
		if strings.HasSuffix(pattern, separator) {
			return nil, DirectoryError(pattern)
		}
		named = false
		if names, err = glob(ctx, pattern, bad); err != nil {
			return nil, err
		}
		if bad != nil && rootErr != nil {
			return nil, rootErr
		}
	} else if err != nil {
		return nil, dangling(p, err)
	}
	sort.Strings(names)
	var objects []Object
	dirs := 0
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		o, err := l.Stat(ctx, name)
		if err == nil && bad != nil && !named {
			err = l.confined(ctx, o, root)
		}
		switch {
		case errors.Is(err, ErrChanged):
			err = nil // the next listing has it as it is then
		case errors.Is(err, syscall.EISDIR) && (named || bad == nil):
			dirs++
			err = nil
		case errors.Is(err, syscall.EISDIR):
			err = DirectoryError(name)
		case err != nil:
			err = fail("stat", name, dangling(name, err))
		default:
			objects = append(objects, o)
		}
		if err = bad.report(name, err); err != nil {
			return nil, err
		}
	}
	switch {
	case len(objects) > 0:
		return objects, nil
	case dirs > 0:
		return nil, DirectoryError(pattern)
	}
	return nil, ErrNoMatch
}

// confined returns an error unless a file that was listed is below a directory, whose name has no
// links. Links may have changed since the file was found; what is read must be the file that is
// checked here.
func (l local) confined(ctx context.Context, o Object, root string) error {
	name, err := filepath.EvalSymlinks(o.URI)
	if err != nil {
		return ErrChanged
	}
	if !strings.HasPrefix(name, strings.TrimSuffix(root, separator)+separator) {
		return leadsOut(root)
	}
	if current, err := l.Stat(ctx, name); err != nil || current.Version != o.Version || current.Identity != o.Identity {
		return ErrChanged
	}
	return nil
}

func leadsOut(root string) error {
	return Invalidf("a symbolic link that leads out of %s is not followed; name the directory of its target with a "+
		"pattern of its own", root)
}

func (local) Stat(ctx context.Context, name string) (Object, error) {
	p, err := localPath(name)
	if err != nil {
		return Object{}, err
	}
	fi, err := disk.Current().Stat(p)
	switch {
	case err != nil:
		return Object{}, err
	case fi.IsDir():
		return Object{}, syscall.EISDIR
	case !fi.Mode().IsRegular():
		return Object{}, Invalidf("not a regular file (a pipe or device cannot be read twice)")
	}
	return Object{Name: name, URI: p, Size: fi.Size(), Version: version(fi), Modified: fi.ModTime(),
		Identity: identity(fi)}, nil
}

// version combines size, modification time and change time. A program can reset the
// modification time, but not the change time.
func version(fi fs.FileInfo) string {
	const base = 36
	return strconv.FormatInt(fi.Size(), base) + "." + strconv.FormatInt(fi.ModTime().UnixNano(), base) + "." +
		strconv.FormatInt(changeTime(fi), base)
}

func (local) Exists(_ context.Context, p string) (bool, error) {
	_, err := disk.Current().Lstat(p)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (local) Names(_ context.Context, p string) (names []string, err error) {
	entries, err := disk.Current().ReadDir(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func (l local) Open(ctx context.Context, o Object, off, n int64) (r io.ReadCloser, size int64, err error) {
	p, err := localPath(o.URI)
	if err != nil {
		return nil, 0, err
	}
	if o.Version == "" {
		// Opening a pipe may wait forever.
		if _, err := l.Stat(ctx, p); err != nil {
			return nil, 0, err
		}
	}
	f, err := disk.Current().Open(p)
	if err != nil {
		return nil, 0, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	file := listed{f, o.Version}
	size, err = file.check()
	if err == nil && off > 0 {
		_, err = f.Seek(off, io.SeekStart)
	}
	if err != nil {
		return nil, 0, err
	}
	if n < 0 {
		return file, size, nil
	}
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(file, n), f}, size, nil
}

// listed is a file that must not have changed since it was listed. This is checked after
// every block, which takes a microsecond.
type listed struct {
	f       disk.File
	version string // "" for any
}

// check returns the size of the file, or ErrChanged if its version is not the listed one.
func (l listed) check() (size int64, err error) {
	fi, err := l.f.Stat()
	if err != nil {
		return 0, err
	}
	if l.version != "" && version(fi) != l.version {
		return 0, ErrChanged
	}
	return fi.Size(), nil
}

func (l listed) Read(p []byte) (int, error) {
	n, err := l.f.Read(p)
	if _, changed := l.check(); changed != nil {
		return 0, changed
	}
	return n, err
}

func (l listed) Close() error { return l.f.Close() }
