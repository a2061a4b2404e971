package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Scheme is a kind of storage that files are read from, such as gs://. The errors of its
// methods need not name operation and file: the functions of this package wrap them in an
// *Error. A Scheme that is also a Store can be written to.
//
// Its package registers it in an init function, so a program that imports the package
// knows the scheme.
type Scheme interface {
	// Abs returns the name by which every process on every worker reaches a file.
	Abs(name string) (string, error)
	// List returns the files that a pattern matches, sorted by name; see Matcher. The
	// error is ErrNoMatch if there are none.
	List(ctx context.Context, pattern string) ([]Object, error)
	// Stat returns a file. The error is fs.ErrNotExist if there is none, and
	// syscall.EISDIR for a directory.
	Stat(ctx context.Context, name string) (Object, error)
	// Open reads n bytes of o.URI from offset off, to the end if n < 0, and returns the
	// size of the file. The error is ErrChanged if o has a Version and the file has
	// another one.
	Open(ctx context.Context, o Object, off, n int64) (r io.ReadCloser, size int64, err error)
}

// Store is a Scheme that can be written to. A file is whole or absent, whichever process
// is killed. The names that its own methods get are from Abs.
type Store interface {
	Scheme
	// Exists, Names, Remove and Lock do what the functions of those names do.
	Exists(ctx context.Context, name string) (bool, error)
	Names(ctx context.Context, dir string) ([]string, error)
	Remove(ctx context.Context, name string) error
	// RemoveEmpty is like the function of that name, for a directory that was empty a moment ago.
	RemoveEmpty(ctx context.Context, dir, except string) error
	// CheckAbsent returns ErrExists if the name is taken.
	CheckAbsent(ctx context.Context, dir string) error
	Lock(ctx context.Context, name string) (unlock func(), err error)
	// Create writes a file of size bytes, -1 if unknown, and replaces an older one.
	Create(ctx context.Context, name string, size int64, sync Sync, write func(io.Writer) error) error
	// CompareAndSwap replaces a small file if its content is old, or makes it if old is nil and it
	// does not exist. Otherwise the error is ErrSwapped.
	CompareAndSwap(ctx context.Context, name string, old, next []byte) error
	// Checksum returns the checksum of a file.
	Checksum(ctx context.Context, name string) (Checksum, error)
	// Claim takes the right to make a file or directory of that name. The error is
	// ErrBusy if another process has it.
	Claim(ctx context.Context, name string) (StoreClaim, error)
}

// StoreClaim is a Claim in its Store.
type StoreClaim interface {
	// Publish makes a directory of the files, whole or not at all.
	Publish(ctx context.Context, files []File) error
	// Clear deletes unfinished files that killed writers of the name have left.
	Clear(ctx context.Context) error
	// Drop releases the claim.
	Drop(ctx context.Context) error
}

var (
	_ Store = local{}
	_ Store = readOnly{}
)

var registry = struct {
	sync.RWMutex
	schemes map[string]Scheme
}{schemes: map[string]Scheme{}}

// Register makes s the Scheme of names that begin with name://. It panics if the name is taken.
func Register(name string, s Scheme) {
	registry.Lock()
	defer registry.Unlock()
	if registry.schemes[name] != nil {
		panic(fmt.Sprintf("storage: two schemes with the name %s", name))
	}
	registry.schemes[name] = s
}

// Replace is for tests: it makes s the Scheme of names that begin with name://, and returns the previous
// one. A nil Scheme removes it.
func Replace(name string, s Scheme) (before Scheme) {
	registry.Lock()
	defer registry.Unlock()
	before = registry.schemes[name]
	registry.schemes[name] = s
	if s == nil {
		delete(registry.schemes, name)
	}
	return before
}

// schemeNames returns the registered names, sorted.
func schemeNames() []string {
	registry.RLock()
	defer registry.RUnlock()
	return slices.Sorted(maps.Keys(registry.schemes))
}

// ErrUnknownScheme means that a name begins with a scheme that this program does not know.
var ErrUnknownScheme = errors.New("unknown scheme")

// importPaths are the packages that register schemes.
var importPaths = map[string]string{
	"gs": "github.com/bochner-ml/bochner/io/storage/gcs",
	"s3": "github.com/bochner-ml/bochner/io/storage/s3",
}

// storeOf returns the Store of a name.
func storeOf(name string) (Store, error) {
	scheme, _, found := strings.Cut(name, "://")
	if !found || scheme == "" {
		return local{}, nil
	}
	registry.RLock()
	s := registry.schemes[scheme]
	registry.RUnlock()
	switch s := s.(type) {
	case nil:
		return nil, unknown(scheme)
	case Store:
		return s, nil
	}
	return readOnly{s, scheme}, nil
}

// withStore calls do with the store of a name and the absolute name.
func withStore[T any](op, name string, do func(s Store, abs string) (T, error)) (result T, err error) {
	s, err := storeOf(name)
	abs := ""
	if err == nil {
		abs, err = s.Abs(name)
	}
	if err == nil {
		result, err = do(s, abs)
	}
	return result, fail(op, name, err)
}

// act is withStore for an operation that returns nothing.
func act(op, name string, do func(s Store, abs string) error) error {
	_, err := withStore(op, name, func(s Store, abs string) (struct{}, error) { return struct{}{}, do(s, abs) })
	return err
}

func unknown(scheme string) error {
	have := "paths of the local disk"
	for _, name := range schemeNames() {
		have += ", " + name + "://"
	}
	next := "a program knows a scheme if it imports the package that registers it"
	if path := importPaths[scheme]; path != "" {
		next = "a program that imports " + path + " knows it"
	}
	return &ReasonError{Text: fmt.Sprintf("unknown scheme %s://; have %s; %s", scheme, have, next), Kind: ErrUnknownScheme}
}

// ErrReadOnly means that files of a scheme can only be read.
var ErrReadOnly = errors.New("read-only scheme")

// readOnly is a Scheme that is not a Store.
type readOnly struct {
	Scheme
	name string
}

func (r readOnly) refuse() error {
	return &ReasonError{Text: "files of " + r.name + ":// are read-only; name another place", Kind: ErrReadOnly}
}

func (r readOnly) Exists(ctx context.Context, name string) (bool, error) {
	_, err := r.Stat(ctx, name)
	switch {
	case err == nil, errors.Is(err, errIsDir):
		return true, nil
	case !absent(err):
		return false, err
	}
	names, err := r.Names(ctx, name)
	return len(names) > 0, err
}

func (r readOnly) Names(ctx context.Context, dir string) (names []string, err error) {
	objects, err := r.List(ctx, Join(dir, "*"))
	if errors.Is(err, ErrNoMatch) {
		return nil, nil
	}
	for _, o := range objects {
		_, name := Split(o.Name)
		names = append(names, name)
	}
	return names, err
}

func (r readOnly) Checksum(ctx context.Context, name string) (Checksum, error) {
	return checksumOf(ctx, r, name)
}

func (r readOnly) CheckAbsent(context.Context, string) error                    { return r.refuse() }
func (r readOnly) Remove(context.Context, string) error                         { return r.refuse() }
func (r readOnly) RemoveEmpty(context.Context, string, string) error            { return r.refuse() }
func (r readOnly) Lock(context.Context, string) (func(), error)                 { return nil, r.refuse() }
func (r readOnly) Claim(context.Context, string) (StoreClaim, error)            { return nil, r.refuse() }
func (r readOnly) CompareAndSwap(context.Context, string, []byte, []byte) error { return r.refuse() }
func (r readOnly) Create(context.Context, string, int64, Sync, func(io.Writer) error) error {
	return r.refuse()
}
