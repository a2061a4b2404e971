// Package storage lists, reads and publishes files. Names are paths of the local
// disk; a name with a scheme (gs://…) is refused by this version.
//
// Nothing that this package writes is ever half-visible: a file appears under
// its name when it is complete, a directory when all of its files are.
package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
)

// Object is a file as it was when it was listed.
type Object struct {
	Name    string // as the user wrote it or as the pattern matched it; for messages
	URI     string // absolute: the same file from every working directory
	Size    int64  // bytes
	Version string // changes whenever the content may have changed
}

// Error is a failed operation on a file or directory.
type Error struct {
	Op   string // what was tried: "open", "list", …
	Name string
	Err  error
}

func (e *Error) Error() string {
	return fmt.Sprintf("storage: %s %s: %s", e.Op, e.Name, reason(e.Err))
}

func (e *Error) Unwrap() error { return e.Err }

// Refused tells whether the operation failed for a reason that the person who
// started the program mends (a wrong name, missing rights, a full disk), so that
// trying again without a change is of no use.
func (e *Error) Refused() bool {
	for _, target := range []error{
		fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, fs.ErrInvalid, errScheme, errNoMatch, errBusy,
		errChanged, syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EISDIR, syscall.ENOTDIR, syscall.ENAMETOOLONG,
	} {
		if errors.Is(e.Err, target) {
			return true
		}
	}
	return false
}

var (
	errScheme  = errors.New("only paths of the local disk are supported by this version")
	errNoMatch = errors.New("no file matches the pattern; check it, and the directory it starts from")
	errChanged = errors.New("the file has changed since it was listed; start again once nobody writes to it")
	errBusy    = errors.New("in use by another run; wait for it, or name another directory")

	errOccupied error = &cause{"it exists; remove it or name another", fs.ErrExist}
)

// cause is an error of a kind that errors.Is finds, told in words of its own.
type cause struct {
	text string
	kind error
}

func (c *cause) Error() string { return c.text }
func (c *cause) Unwrap() error { return c.kind }

// invalid returns an fs.ErrInvalid that says what is.
func invalid(format string, args ...any) error {
	return &cause{fmt.Sprintf(format, args...), fs.ErrInvalid}
}

// reason returns the cause without the operation and path that package os
// repeats, and a next step where one is known.
func reason(err error) string {
	for {
		var pathErr *fs.PathError
		var linkErr *os.LinkError
		var sysErr *os.SyscallError
		switch {
		case errors.As(err, &pathErr) && err != pathErr.Err:
			err = pathErr.Err
		case errors.As(err, &linkErr):
			err = linkErr.Err
		case errors.As(err, &sysErr):
			err = sysErr.Err
		default:
			if errors.Is(err, syscall.ENOSPC) {
				return "no space left on the device; free some or name another directory"
			}
			if err == syscall.ENOENT {
				return "no such file or directory; check the name and the directory it starts from"
			}
			return err.Error()
		}
	}
}

func fail(op, name string, err error) error {
	if err == nil {
		return nil
	}
	var already *Error
	if errors.As(err, &already) {
		return err
	}
	return &Error{Op: op, Name: name, Err: err}
}

// path returns the local path that a name stands for.
func path(name string) (string, error) {
	if i := strings.Index(name, "://"); i > 0 {
		return "", errScheme
	}
	if name == "" {
		return "", invalid("empty name")
	}
	return filepath.Abs(name)
}

// Abs returns the name by which every process on every worker reaches the file.
func Abs(name string) (string, error) {
	p, err := path(name)
	return p, fail("resolve", name, err)
}

// Join returns the name of an entry below a directory.
func Join(dir string, elem ...string) string {
	if strings.Contains(dir, "://") {
		return strings.Join(append([]string{strings.TrimRight(dir, "/")}, elem...), "/")
	}
	return filepath.Join(append([]string{dir}, elem...)...)
}

// List returns the files that a pattern matches, sorted by name. The pattern has
// the wildcards of path/filepath.Match, which do not match names that begin with
// a dot; a file whose name is the pattern itself, wildcards and all, is found
// too. Directories are not listed. No match is an error, and so is a pattern
// that names a directory.
func List(ctx context.Context, pattern string) ([]Object, error) {
	p, err := path(pattern)
	if err != nil {
		return nil, fail("list", pattern, err)
	}
	names := []string{pattern}
	if _, err := os.Stat(p); err != nil && strings.ContainsAny(pattern, `*?[\`) {
		if names, err = filepath.Glob(pattern); err != nil {
			return nil, fail("list", pattern, invalid("%v", err))
		}
	} else if err != nil {
		return nil, fail("list", pattern, err)
	}
	sort.Strings(names)
	var objects []Object
	dirs := 0
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if hidden(name) && !hidden(pattern) {
			continue
		}
		o, err := Stat(ctx, name)
		if errors.Is(err, syscall.EISDIR) {
			dirs++
			continue
		}
		if err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	switch {
	case len(objects) > 0:
		return objects, nil
	case dirs > 0:
		return nil, fail("list", pattern, fmt.Errorf("%w; name its files, as in %s", syscall.EISDIR, Join(pattern, "*")))
	}
	return nil, fail("list", pattern, errNoMatch)
}

// hidden tells whether a wildcard passes the name over, as in a shell; what is
// being written has such a name.
func hidden(name string) bool { return strings.HasPrefix(filepath.Base(name), ".") }

// Stat returns the file of that name. A directory is an error (syscall.EISDIR).
func Stat(ctx context.Context, name string) (Object, error) {
	p, err := path(name)
	if err != nil {
		return Object{}, fail("stat", name, err)
	}
	fi, err := os.Stat(p)
	switch {
	case err != nil:
		return Object{}, fail("stat", name, err)
	case fi.IsDir():
		return Object{}, fail("stat", name, syscall.EISDIR)
	case !fi.Mode().IsRegular():
		return Object{}, fail("stat", name, invalid("not a regular file (a pipe or device cannot be read twice)"))
	}
	return Object{Name: name, URI: p, Size: fi.Size(), Version: version(fi)}, nil
}

func version(fi fs.FileInfo) string {
	return strconv.FormatInt(fi.Size(), 36) + "." + strconv.FormatInt(fi.ModTime().UnixNano(), 36)
}

// Exists tells whether a file or directory of that name is there.
func Exists(ctx context.Context, name string) (bool, error) {
	p, err := path(name)
	if err != nil {
		return false, fail("stat", name, err)
	}
	_, err = os.Lstat(p)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, fail("stat", name, err)
}

// Empty tells whether nothing is in a directory, which need not be there.
func Empty(ctx context.Context, dir string) (bool, error) {
	p, err := path(dir)
	if err != nil {
		return false, fail("list", dir, err)
	}
	d, err := os.Open(p)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fail("list", dir, err)
	}
	defer d.Close()
	_, err = d.Readdirnames(1)
	if err == io.EOF {
		return true, nil
	}
	return false, fail("list", dir, err)
}

// Open reads n bytes of the file from offset off on; n < 0 reads to the end.
// Reading past the end of the file gives io.EOF, as files do.
func Open(ctx context.Context, uri string, off, n int64) (io.ReadCloser, error) {
	f, err := open(uri, off)
	if err != nil {
		return nil, err
	}
	return ranged(f, uri, n), nil
}

// Open reads from the object as Open does, and fails if the file has changed
// since it was listed.
func (o Object) Open(ctx context.Context, off, n int64) (io.ReadCloser, error) {
	f, err := open(o.URI, off)
	if err != nil {
		var e *Error
		if errors.As(err, &e) {
			e.Name = o.Name
		}
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && version(fi) != o.Version {
		err = errChanged
	}
	if err != nil {
		f.Close()
		return nil, fail("open", o.Name, err)
	}
	return ranged(f, o.Name, n), nil
}

func open(uri string, off int64) (*os.File, error) {
	p, err := path(uri)
	if err != nil {
		return nil, fail("open", uri, err)
	}
	f, err := os.Open(p)
	if err != nil {
		return nil, fail("open", uri, err)
	}
	if off > 0 {
		if _, err := f.Seek(off, io.SeekStart); err != nil {
			f.Close()
			return nil, fail("open", uri, err)
		}
	}
	return f, nil
}

// ranged returns a reader of the next n bytes, of all for n < 0. An error of
// reading is an *Error, so that it is told from one of what was read.
func ranged(f *os.File, name string, n int64) io.ReadCloser {
	r := &reader{f, name}
	if n < 0 {
		return r
	}
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(r, n), f}
}

type reader struct {
	f    *os.File
	name string
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.f.Read(p)
	if err != nil && err != io.EOF {
		err = fail("read", r.name, err)
	}
	return n, err
}

func (r *reader) Close() error { return r.f.Close() }

// ReadFile returns the content of a file of at most max bytes. A larger file is
// an error and is not read.
func ReadFile(ctx context.Context, uri string, max int64) ([]byte, error) {
	o, err := Stat(ctx, uri)
	if err != nil {
		return nil, err
	}
	if o.Size > max {
		return nil, fail("read", uri, invalid("has %d bytes, more than the %d it can have", o.Size, max))
	}
	f, err := open(uri, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, o.Size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fail("read", uri, err)
	}
	return data, nil
}
