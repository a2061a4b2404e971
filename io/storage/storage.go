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
	"slices"
	"strings"
	"syscall"
	"time"
)

// Object is a file as it was when it was listed.
type Object struct {
	Name    string // as the user wrote it or as the pattern matched it; for messages
	URI     string // absolute: the same file from every working directory
	Size    int64  // bytes
	Version string // changes whenever the content may have changed

	// Modified is when the content was written; zero if unknown.
	Modified time.Time `json:"-"`

	// Identity is the same for all names of a file, such as links; "" if the scheme has
	// no links.
	Identity string `json:"-"`

	content []byte // content of an object in memory; nil for files
}

// InMemory returns an object whose content is data, which must not change. It has no URI, so it can
// only be opened through the object itself.
func InMemory(name string, data []byte) Object {
	if data == nil {
		data = []byte{}
	}
	return Object{Name: name, Size: int64(len(data)), content: data}
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

// Refused reports whether the user must fix the reason (a wrong name, missing rights, a
// full disk), so that a retry without a change is useless. The answer of a server is Refused
// only if there is no such file, or if it denies access: buckets can appear on their own.
func (e *Error) Refused() bool {
	if r, ok := errors.AsType[*ReasonError](e.Err); ok && r.FromServer {
		return errors.Is(r, fs.ErrNotExist) || errors.Is(r, ErrNoMatch) || errors.Is(r, fs.ErrPermission)
	}
	return slices.ContainsFunc([]error{
		fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, fs.ErrInvalid, ErrUnknownScheme, ErrReadOnly, ErrNoMatch, ErrBusy,
		ErrChanged, ErrSwapped, syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EROFS, syscall.EISDIR,
		syscall.ENOTDIR, syscall.ENAMETOOLONG, syscall.ELOOP,
	}, func(target error) bool { return errors.Is(e.Err, target) })
}

// Denied reports whether a right is missing, which says nothing about the content of a file.
func (e *Error) Denied() bool { return errors.Is(e.Err, fs.ErrPermission) }

// Writing reports whether the operation was to make, change or remove something.
func (e *Error) Writing() bool {
	return slices.Contains([]string{"claim", "create", "lock", "publish", "remove", "swap"}, e.Op)
}

// ErrBusy means that another run has a lock or claim.
var ErrBusy = errors.New("in use by another run; wait for it, or name another directory")

// Kinds of errors, in addition to the ones in io/fs.
var (
	// ErrNoBucket means that the bucket of a name does not exist.
	ErrNoBucket = errors.New("there is no such bucket")
	ErrNoMatch  = errors.New("no file matches the pattern; check it and the current directory")
	ErrChanged  = errors.New("the file has changed since it was listed; start again when no process writes to it")

	ErrExists error = &ReasonError{Text: "already exists; remove it or name another", Kind: fs.ErrExist}
)

var (
	errNotDir error = syscall.ENOTDIR
	errIsDir  error = syscall.EISDIR
)

// ReasonError is an explanation why an operation failed.
type ReasonError struct {
	Text string
	Kind error // for errors.Is; may be nil
	// FromServer means that the reason is the answer of a server, or that it could not be
	// asked: it may change on its own, unless there is no such file or no right to it.
	FromServer bool
}

func (r *ReasonError) Error() string { return r.Text }
func (r *ReasonError) Unwrap() error { return r.Kind }

// Invalidf returns an fs.ErrInvalid with an explanation.
func Invalidf(format string, args ...any) error {
	return &ReasonError{Text: fmt.Sprintf(format, args...), Kind: fs.ErrInvalid}
}

// BusyError returns ErrBusy with the process that holds the name, if known.
func BusyError(process int, host string) error {
	if process == 0 {
		return ErrBusy
	}
	return &ReasonError{Text: fmt.Sprintf("in use by another run, process %d on %s; wait for it, or name "+
		"another directory", process, host), Kind: ErrBusy}
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
			if err == syscall.EFBIG {
				return "file too large; the file system or ulimit -f limits it: raise the limit or name another directory"
			}
			if err == syscall.ENOENT {
				return "no such file or directory; check the path and the current directory"
			}
			return err.Error()
		}
	}
}

func fail(op, name string, err error) error {
	if _, already := errors.AsType[*Error](err); err == nil || already {
		return err
	}
	return &Error{Op: op, Name: name, Err: err}
}

// DirectoryError returns the error that name is a directory.
func DirectoryError(name string) error {
	return fmt.Errorf("%w; name its files, as in %s", syscall.EISDIR, Join(name, "*"))
}

// Abs returns the name by which every process on every worker reaches the file.
func Abs(name string) (string, error) {
	return withStore("resolve", name, func(_ Store, abs string) (string, error) { return abs, nil })
}

// Join returns the name of an entry below a directory.
func Join(dir string, elem ...string) string {
	if strings.Contains(dir, "://") {
		return strings.Join(append([]string{strings.TrimRight(dir, "/")}, elem...), "/")
	}
	return filepath.Join(append([]string{dir}, elem...)...)
}

// Within reports whether name is the directory or something in it, whatever links are in
// the two names.
func Within(name, dir string) (bool, error) {
	name, err := resolved(name)
	if err != nil {
		return false, err
	}
	if dir, err = resolved(dir); err != nil {
		return false, err
	}
	return name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/"), nil
}

// resolved is Abs with the links of the existing part of the name resolved.
func resolved(name string) (string, error) {
	name, err := Abs(name)
	if err != nil || strings.Contains(name, "://") {
		return strings.TrimRight(name, "/"), err
	}
	for above, rest := name, ""; ; above, rest = filepath.Dir(above), filepath.Join(filepath.Base(above), rest) {
		if target, err := filepath.EvalSymlinks(above); err == nil {
			return filepath.ToSlash(filepath.Join(target, rest)), nil
		}
		if above == filepath.Dir(above) {
			return filepath.ToSlash(name), nil
		}
	}
}

// Split splits a name from Abs into its directory and last part, which is empty for a
// bucket.
func Split(name string) (dir, base string) {
	scheme := strings.Index(name, "://")
	if scheme < 0 {
		return filepath.Dir(name), filepath.Base(name)
	}
	if i := strings.LastIndexByte(name, '/'); i > scheme+2 {
		return name[:i], name[i+1:]
	}
	return name, ""
}

// List returns the files that a pattern matches, sorted by name. The pattern has
// the wildcards of path/filepath.Match, which do not match names that begin with
// a dot, and **, which matches across directories. A file whose name is literally the
// pattern is found too. Directories are not listed. No match is an error, and so are a
// pattern that names a directory, and a directory or link that cannot be read: nothing is
// skipped silently.
func List(ctx context.Context, pattern string) (objects []Object, err error) {
	s, err := storeOf(pattern)
	if err == nil {
		objects, err = s.List(ctx, pattern)
	}
	return objects, fail("list", pattern, err)
}

// ListReadable is List for a caller that lists again later. It skips entries that cannot be read, and
// calls bad with the name and the reason: a link without a target or out of the directory before the
// first wildcard, an entry that is not a regular file, a directory that cannot be read. An entry that
// vanishes and a pattern without a match are no errors.
func ListReadable(ctx context.Context, pattern string, bad func(name, why string)) (objects []Object, err error) {
	s, err := storeOf(pattern)
	if _, isLocal := s.(local); isLocal {
		objects, err = local{}.list(ctx, pattern, bad)
	} else if err == nil {
		objects, err = s.List(ctx, pattern)
	}
	switch {
	case errors.Is(err, ErrNoMatch):
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		bad(pattern, reason(errors.Unwrap(fail("list", pattern, err))))
		return nil, nil
	}
	return objects, fail("list", pattern, err)
}

// Stat returns the file of that name. A directory is an error (syscall.EISDIR).
func Stat(ctx context.Context, name string) (o Object, err error) {
	s, err := storeOf(name)
	if err == nil {
		o, err = s.Stat(ctx, name)
	}
	return o, fail("stat", name, err)
}

// Exists reports whether a file or directory of that name exists.
func Exists(ctx context.Context, name string) (exists bool, err error) {
	return withStore("stat", name, func(s Store, abs string) (bool, error) { return s.Exists(ctx, abs) })
}

// IsEmpty reports whether a directory is empty or does not exist. Unfinished files that
// killed writers of the file named except have left do not count, if except is not "".
func IsEmpty(ctx context.Context, dir, except string) (empty bool, err error) {
	names, err := Names(ctx, dir)
	other := slices.ContainsFunc(names, func(name string) bool { return except == "" || !unfinished(name, except) })
	return err == nil && !other, err
}

// Names returns the names in a directory, in any order, with one listing. There are none
// if the directory does not exist.
func Names(ctx context.Context, dir string) (names []string, err error) {
	return withStore("list", dir, func(s Store, abs string) ([]string, error) { return s.Names(ctx, abs) })
}

// Open reads n bytes of the file from offset off; n < 0 reads to the end. Reading past
// the end of the file returns io.EOF.
func Open(ctx context.Context, uri string, off, n int64) (io.ReadCloser, error) {
	return Object{Name: uri, URI: uri}.Open(ctx, off, n)
}

// Open reads from the object like the function Open, and fails if the file has changed
// since it was listed.
func (o Object) Open(ctx context.Context, off, n int64) (io.ReadCloser, error) {
	r, _, err := o.open(ctx, off, n)
	return r, err
}

// open opens the n bytes from off, or all from there if n is negative, and returns the size of the object. Objects
// with content in memory are not read from storage.
func (o Object) open(ctx context.Context, off, n int64) (io.ReadCloser, int64, error) {
	if o.content != nil {
		size := int64(len(o.content))
		off = min(off, size)
		if n < 0 || n > size-off {
			n = size - off
		}
		return io.NopCloser(bytes.NewReader(o.content[off : off+n])), size, nil
	}
	s, err := storeOf(o.URI)
	if err != nil {
		return nil, 0, fail("open", o.Name, err)
	}
	r, size, err := s.Open(ctx, o, off, n)
	if err != nil {
		return nil, 0, fail("open", o.Name, err)
	}
	return &reader{r, o.Name}, size, nil
}

// reader turns errors of reading into an *Error, to distinguish them from errors in the
// content.
type reader struct {
	r    io.ReadCloser
	name string
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if err != nil && err != io.EOF {
		err = fail("read", r.name, err)
	}
	return n, err
}

func (r *reader) Close() error { return r.r.Close() }

// ReadFile returns the content of a file of at most limit bytes. A larger file is
// an error and is not read.
func ReadFile(ctx context.Context, uri string, limit int64) ([]byte, error) {
	r, size, err := Object{Name: uri, URI: uri}.open(ctx, 0, -1)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if size > limit {
		return nil, fail("read", uri, Invalidf("has %d bytes; the limit is %d", size, limit))
	}
	return readInto(nil, r, uri, size)
}

// ReadRange returns n bytes of the file from offset off, in the memory of buf if that is large
// enough. A file that ends before is an error.
func ReadRange(ctx context.Context, buf []byte, uri string, off, n int64) ([]byte, error) {
	r, err := Open(ctx, uri, off, n)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return readInto(buf, r, uri, n)
}

// readInto reads the size bytes of r, and its end.
func readInto(buf []byte, r io.Reader, uri string, size int64) ([]byte, error) {
	data := slices.Grow(buf[:0], int(size))[:size]
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, fail("read", uri, err)
	}
	// Only the end shows whether the content is what was stored.
	if _, err := r.Read(make([]byte, 1)); err != nil && err != io.EOF {
		return nil, err
	}
	return data, nil
}
