// Package objects implements storage.Store for services that keep objects in buckets: names, listings, leases,
// compare-and-swap, and directories that appear complete or not at all. The service is a Client, which supports
// conditions on the versions of objects. Packages gcs and s3 are Clients.
package objects

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/io/storage"
)

// ParallelRequests bounds how many requests one call of this package has open.
const ParallelRequests = 64

// ErrUnmet means that the condition of a write does not hold: another process has written.
var ErrUnmet = errors.New("another process has written there")

// Keys of the metadata of objects that are written here.
const (
	WriterKey = "bochner-writer" // the mark of the request that wrote the object
	OwnerKey  = "bochner-owner"  // the owner of a lease; empty for none
	PartKey   = "bochner-part"   // the directory that a file is part of, except the last file's
	commitKey = "bochner-commit" // the directory that the file completes
)

// Condition is the condition of a write on the object: Absent, a Version, or none, which always holds.
type Condition struct {
	Absent  bool   // there is no such object
	Version string // it is that version
}

// Attrs are the attributes of an object.
type Attrs struct {
	Name     string
	Prefix   string // of a listing with a delimiter: names with this prefix are not listed; the rest is empty
	Size     int64
	Version  string
	Modified time.Time         // zero if unknown
	Metadata map[string]string // of listings nil if the service does not list it
	Checksum *storage.Checksum // nil if unknown
}

// Query selects the objects of a bucket whose names begin with a prefix.
type Query struct {
	Prefix, Delimiter string
	Limit             int  // largest number of objects in a page; 0 means the default of the service
	Metadata          bool // whether to list the metadata
}

// A Client makes requests to a service, and retries them if they fail temporarily. The error is fs.ErrNotExist if
// there is no such object, and ErrUnmet if the condition of a write does not hold.
type Client interface {
	// Open is as in storage.Scheme.
	Open(ctx context.Context, o storage.Object, off, n int64) (r io.ReadCloser, size int64, err error)
	Head(ctx context.Context, o Name) (*Attrs, error)
	// Put writes an object of size bytes, -1 if unknown, whole or not at all. It recognises its own write by the
	// mark WriterKey in the metadata, and makes one if there is none.
	Put(ctx context.Context, o Name, cond Condition, metadata map[string]string, size int64,
		write func(io.Writer) error) (*Attrs, error)
	// Delete deletes an object, of that version unless it is "". It is not an error if there is no such object, or
	// if it has another version.
	Delete(ctx context.Context, o Name, version string) error
	// Each calls visit for the objects that a query finds, until it returns false.
	Each(ctx context.Context, bucket string, q Query, visit func(*Attrs) bool) error
	// Copy copies a file of the service to a name that must be free, if its checksum is right.
	Copy(ctx context.Context, to Name, f storage.File, metadata map[string]string) error
	// Commit writes the file f under a name that must be free. It calls seal once, with the new content of the claim.
	// If seal fails, or if another process writes the claim or calls Fence before the file appears, the file never
	// appears.
	Commit(ctx context.Context, to Name, f storage.File, metadata map[string]string,
		seal func(context.Context, storage.File) (claim Name, version string, err error)) error
	// Fence makes commits of earlier holders of the claim on a directory fail, after the claim was taken from them. It
	// deletes unfinished uploads of the directory's name and of files below it.
	Fence(ctx context.Context, dir Name) error
}

// Times are of leases.
type Times struct {
	Renew time.Duration // the interval at which a lease is renewed
	Stale time.Duration // without renewal, after which others may take it
	// Delete is how long after its renewal a lease allows deletes, if versions follow from the content: less than
	// Stale, because they may be late.
	Delete time.Duration
}

// Standard are the times of leases, unless a test has others.
var Standard = Times{Renew: 4 * time.Second, Stale: 20 * time.Second, Delete: 10 * time.Second}

// Store is the storage.Store of a service, except for its method Open, which is the Client's.
type Store struct {
	Service Client
	Scheme  string
	Leases  Times
	// Hashed means that the version of an object follows from its content. Objects that need a unique version then
	// have a mark in their content, and the holder of a lease that may be stale deletes nothing.
	Hashed bool
}

// Name names an object or a directory.
type Name struct{ Scheme, Bucket, Name string }

func (n Name) String() string { return n.Scheme + "://" + n.Bucket + "/" + n.Name }

// below returns the prefix of the names of all entries of a directory.
func (n Name) below() string {
	if n.Name == "" {
		return ""
	}
	return n.Name + "/"
}

// Join returns the name of an entry of a directory.
func (n Name) Join(name string) Name { return n.in(n.below() + name) }

// in returns the name of another object of the bucket.
func (n Name) in(name string) Name { return Name{n.Scheme, n.Bucket, name} }

// Parse splits a name into bucket and object. The characters # and ? mean themselves.
func Parse(name string) (Name, error) {
	scheme, rest, _ := strings.Cut(name, "://")
	bucket, rest, _ := strings.Cut(rest, "/")
	o := Name{scheme, bucket, strings.TrimRight(rest, "/")}
	switch {
	case bucket == "":
		return o, storage.Invalidf("no bucket; name one as in %s://bucket/file", scheme)
	case !utf8.ValidString(name) || strings.ContainsAny(name, "\r\n"):
		return o, storage.Invalidf("not the name of an object: it contains line ends or is not UTF-8")
	case len(o.Name) > 1024:
		return o, storage.Invalidf("not the name of an object: %d bytes; the limit is 1024", len(o.Name))
	}
	return o, nil
}

// resolved is Parse for a name that Abs has returned.
func resolved(name string) Name {
	o, _ := Parse(name)
	return o
}

// Object parses a name, which must not be a bucket.
func Object(name string) (Name, error) {
	o, err := Parse(name)
	if err == nil && o.Name == "" {
		err = storage.Invalidf("is a bucket; name a file or directory in it")
	}
	return o, err
}

// missing reports whether an error means that an object does not exist.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// Abs implements storage.Scheme.
func (*Store) Abs(name string) (string, error) {
	o, err := Parse(name)
	return strings.TrimRight(o.String(), "/"), err
}

func found(o Name, a *Attrs) storage.Object {
	return storage.Object{Name: o.String(), URI: o.String(), Size: a.Size, Version: a.Version, Modified: a.Modified}
}

// Stat implements storage.Scheme.
func (s *Store) Stat(ctx context.Context, name string) (storage.Object, error) {
	o, err := Parse(name)
	if err != nil {
		return storage.Object{}, err
	}
	a, err := s.Service.Head(ctx, o)
	if err != nil {
		return storage.Object{}, err
	}
	return found(o, a), nil
}

// Exists implements storage.Store.
func (s *Store) Exists(ctx context.Context, name string) (bool, error) {
	o := resolved(name)
	if o.Name != "" {
		if _, err := s.Service.Head(ctx, o); !missing(err) {
			return err == nil, err
		}
	}
	first, err := s.first(ctx, o)
	return first != "", err
}

// Checksum implements storage.Store.
func (s *Store) Checksum(ctx context.Context, name string) (storage.Checksum, error) {
	a, err := s.Service.Head(ctx, resolved(name))
	if err != nil {
		return storage.Checksum{}, err
	}
	if a.Checksum != nil {
		return *a.Checksum, nil
	}
	r, _, err := s.Service.Open(ctx, storage.Object{URI: name, Version: a.Version}, 0, -1)
	if err != nil {
		return storage.Checksum{}, err
	}
	defer r.Close()
	h := storage.NewHash()
	_, err = io.Copy(h, r)
	return h.Checksum(), err
}

// Create implements storage.Store.
func (s *Store) Create(ctx context.Context, name string, size int64, _ storage.Sync,
	write func(io.Writer) error) error {
	_, err := s.Service.Put(ctx, resolved(name), Condition{}, nil, size, write)
	return err
}

// putFile is Put for the content of a file.
func (s *Store) putFile(ctx context.Context, o Name, cond Condition, metadata map[string]string,
	f storage.File) (*Attrs, error) {
	return s.Service.Put(ctx, o, cond, metadata, f.Size(), func(w io.Writer) error { return f.CopyTo(ctx, w) })
}

// Marked returns the metadata of a write with a mark of its own, unless they have one.
func Marked(metadata map[string]string) map[string]string {
	m := map[string]string{WriterKey: rand.Text()}
	maps.Copy(m, metadata)
	return m
}

// Own is called after a write with metadata from Marked failed, because its condition was unmet or its response was
// lost. It returns the object if the object has the mark of the write. If another process has written it since, the
// error is ErrUnmet, whether or not the write was served before that, and otherwise err.
func Own(ctx context.Context, c Client, o Name, cond Condition, metadata map[string]string, unmet bool,
	err error) (*Attrs, error) {
	a, thereErr := c.Head(ctx, o)
	switch {
	case thereErr == nil && a.Metadata[WriterKey] == metadata[WriterKey]:
		return a, nil
	case thereErr != nil && !missing(thereErr):
		return nil, thereErr
	case unmet, cond != (Condition{}) && thereErr == nil && a.Version != cond.Version:
		return nil, ErrUnmet
	}
	return nil, err
}

// Answerf returns an error with the response of a server, or with the reason why it could not be reached. kind, for
// errors.Is, may be nil.
func Answerf(kind error, format string, args ...any) error {
	return &storage.ReasonError{FromServer: true, Text: fmt.Sprintf(format, args...), Kind: kind}
}

// CompareAndSwap writes an object on the condition that the version whose content was
// compared is the current one, or that there is none.
func (s *Store) CompareAndSwap(ctx context.Context, name string, old, next []byte) error {
	o := resolved(name)
	cond := Condition{Absent: true}
	if old != nil {
		a, err := s.Service.Head(ctx, o)
		if missing(err) || err == nil && a.Size != int64(len(old)) {
			return storage.ErrSwapped
		}
		if err != nil {
			return err
		}
		stored, err := s.readWhole(ctx, found(o, a))
		switch {
		case errors.Is(err, storage.ErrChanged):
			return storage.ErrSwapped
		case err != nil:
			return err
		case !bytes.Equal(stored, old):
			return storage.ErrSwapped
		}
		cond = Condition{Version: a.Version}
	}
	_, err := s.putFile(ctx, o, cond, nil, storage.File{Data: next})
	if errors.Is(err, ErrUnmet) {
		return storage.ErrSwapped
	}
	return err
}

// readWhole reads a small object at its version.
func (s *Store) readWhole(ctx context.Context, o storage.Object) ([]byte, error) {
	r, _, err := s.Service.Open(ctx, o, 0, -1)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, storage.MaxSwap+1))
}
