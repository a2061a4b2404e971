// Package s3 reads files named s3://bucket/object, of Amazon S3 and of servers with its protocol: a program that
// imports it knows the scheme.
//
//	import _ "github.com/bochner-ml/bochner/io/storage/s3"
//
// Files can be read, not written. Service and account come from the variables and files of Amazon's tools. Without
// keys, requests are not signed.
package s3

import (
	"bytes"
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/io/storage"
)

type s3 struct{}

var _ storage.Scheme = (*s3)(nil)

func init() { storage.Register("s3", new(s3)) }

// object names an object or a directory.
type object struct{ bucket, name string }

func (o object) String() string { return strings.TrimRight("s3://"+o.bucket+"/"+o.name, "/") }

// parse splits a name into bucket and object.
func parse(name string) (object, error) {
	bucket, rest, _ := strings.Cut(strings.TrimPrefix(name, "s3://"), "/")
	o := object{bucket, strings.TrimRight(rest, "/")}
	switch {
	case bucket == "":
		return o, storage.Invalid("no bucket; name one as in s3://bucket/file")
	case strings.ContainsFunc(bucket, func(r rune) bool {
		return r != '-' && r != '.' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}):
		return o, storage.Invalid("%q is not the name of a bucket", bucket)
	case !utf8.ValidString(name) || strings.ContainsAny(name, "\r\n") || len(o.name) > 1024:
		return o, storage.Invalid("not the name of an object: it contains line ends, is not UTF-8, or is too long")
	}
	return o, nil
}

// Abs implements storage.Scheme.
func (*s3) Abs(name string) (string, error) {
	o, err := parse(name)
	return o.String(), err
}

// Stat implements storage.Scheme.
func (s *s3) Stat(ctx context.Context, name string) (storage.Object, error) {
	o, err := parse(name)
	if err != nil {
		return storage.Object{}, err
	}
	if o.name == "" {
		return storage.Object{}, storage.Directory(name)
	}
	r, err := s.get(ctx, http.MethodHead, o, "", nil)
	if err != nil {
		return storage.Object{}, err
	}
	r.Body.Close()
	found := storage.Object{Name: o.String(), URI: o.String(), Size: r.ContentLength, Version: r.Header.Get("Etag")}
	if at, err := http.ParseTime(r.Header.Get("Last-Modified")); err == nil {
		found.Modified = at.UnixNano()
	}
	if found.Size < 0 {
		return found, fmt.Errorf("the server does not tell the size of the file")
	}
	return found, nil
}

// listing is a page of a list of objects.
type listing struct {
	Contents []struct {
		Key, ETag    string
		Size         int64
		LastModified time.Time
	}
	NextContinuationToken string
}

// page asks for a page of the objects whose names begin with a prefix; with a delimiter only for those without one
// in the rest of their names.
func (s *s3) page(ctx context.Context, o object, prefix, delimiter, token string, most int) (l listing, err error) {
	query := "" // in the order of the names, as signatures want it
	if token != "" {
		query = "continuation-token=" + escape(token, true) + "&"
	}
	if delimiter != "" {
		query += "delimiter=" + escape(delimiter, true) + "&"
	}
	query += "list-type=2&max-keys=" + strconv.Itoa(most) + "&prefix=" + escape(prefix, true)
	for try := 0; ; try++ {
		r, err := s.get(ctx, http.MethodGet, object{bucket: o.bucket}, query, nil)
		if err != nil {
			return l, err
		}
		l = listing{}
		err = xml.NewDecoder(io.LimitReader(r.Body, 64<<20)).Decode(&l)
		if r.Body.Close(); err == nil || try == maxTries-1 {
			return l, err
		}
		if err := pause(ctx, try); err != nil { // the answer has broken off
			return l, err
		}
	}
}

// List implements storage.Scheme.
func (s *s3) List(ctx context.Context, pattern string) ([]storage.Object, error) {
	o, err := parse(pattern)
	if err != nil {
		return nil, err
	}
	if o.name == "" || strings.HasSuffix(pattern, "/") {
		return nil, storage.Directory(strings.TrimRight(pattern, "/"))
	}
	exact, err := s.Stat(ctx, o.String())
	if err == nil {
		return []storage.Object{exact}, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	first := strings.IndexAny(o.name, `*?[\`)
	if first < 0 {
		if l, failed := s.page(ctx, o, o.name+"/", "", "", 1); failed == nil && len(l.Contents) > 0 {
			return nil, storage.Directory(pattern)
		}
		return nil, err
	}
	matches, err := storage.Matcher(o.name)
	if err != nil {
		return nil, err
	}
	delimiter := ""
	if !strings.Contains(o.name, "**") && !strings.Contains(o.name[first:], "/") {
		delimiter = "/" // names further down cannot match
	}
	var objects []storage.Object
	for token, more := "", true; more; more = token != "" {
		l, err := s.page(ctx, o, o.name[:first], delimiter, token, 1000)
		if err != nil {
			return nil, err
		}
		for _, c := range l.Contents {
			if matches(c.Key) && !strings.HasSuffix(c.Key, "/") && c.Size >= 0 {
				name := object{o.bucket, c.Key}.String()
				objects = append(objects, storage.Object{Name: name, URI: name, Size: c.Size, Version: c.ETag,
					Modified: c.LastModified.UnixNano()})
			}
		}
		if l.NextContinuationToken == token {
			break
		}
		token = l.NextContinuationToken
	}
	if len(objects) == 0 {
		return nil, &storage.Reason{Answer: true, Text: storage.ErrNoMatch.Error(), Kind: storage.ErrNoMatch}
	}
	slices.SortFunc(objects, func(a, b storage.Object) int { return cmp.Compare(a.Name, b.Name) })
	return objects, nil
}

// Open implements storage.Scheme. If a body breaks off, reading resumes at that byte of the same version.
func (s *s3) Open(ctx context.Context, o storage.Object, off, n int64) (io.ReadCloser, int64, error) {
	name, err := parse(o.URI)
	if err != nil {
		return nil, 0, err
	}
	if name.name == "" {
		return nil, 0, storage.Invalid("is a bucket; name a file in it")
	}
	if n == 0 {
		size := o.Size
		if o.Version == "" {
			o, err = s.Stat(ctx, o.URI)
			size = o.Size
		}
		return io.NopCloser(bytes.NewReader(nil)), size, err
	}
	r := &reader{s: s, ctx: ctx, name: name, version: o.Version, at: off, end: -1}
	if n > 0 {
		r.end = off + n
	}
	err = r.open()
	if f, is := errors.AsType[*failure](err); is && f.Status == http.StatusRequestedRangeNotSatisfiable {
		return io.NopCloser(bytes.NewReader(nil)), 0, nil // past the end
	}
	return r, r.size, err
}

// reader reads a part of an object.
type reader struct {
	s       *s3
	ctx     context.Context
	name    object
	version string
	at, end int64 // of the object; end is −1 before the first answer, if all is wanted
	size    int64
	body    io.ReadCloser
	tries   int
}

// open asks for what is left.
func (r *reader) open() error {
	h := http.Header{}
	span := fmt.Sprintf("bytes=%d-", r.at)
	if r.end >= 0 {
		span += strconv.FormatInt(r.end-1, 10)
	}
	if r.at > 0 || r.end >= 0 {
		h.Set("Range", span)
	}
	if r.version != "" {
		h.Set("If-Match", r.version)
	}
	a, err := r.s.get(r.ctx, http.MethodGet, r.name, "", h)
	if err != nil {
		return err
	}
	r.body, r.version = a.Body, cmp.Or(r.version, a.Header.Get("Etag"))
	r.size = a.ContentLength
	if a.StatusCode == http.StatusPartialContent {
		_, total, _ := strings.Cut(a.Header.Get("Content-Range"), "/")
		if r.size, err = strconv.ParseInt(total, 10, 64); err != nil || r.size < 0 {
			return errors.Join(errors.New("the server does not tell the size of the file"), a.Body.Close())
		}
	} else if h.Get("Range") != "" || r.size < 0 {
		return errors.Join(errors.New("the server did not answer with the requested part of the file"), a.Body.Close())
	}
	if r.end < 0 || r.end > r.size {
		r.end = r.size
	}
	return nil
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	for {
		if r.at >= r.end {
			return 0, io.EOF
		}
		n, err := r.body.Read(p[:min(int64(len(p)), r.end-r.at)])
		if r.at += int64(n); n > 0 {
			r.tries = 0
			return n, nil
		}
		if err == nil {
			continue
		}
		r.body.Close()
		if r.tries++; r.tries == maxTries || r.ctx.Err() != nil {
			return 0, cmp.Or(r.ctx.Err(), fmt.Errorf("the body ends %d bytes early: %w", r.end-r.at, err))
		}
		if err := pause(r.ctx, r.tries-1); err != nil {
			return 0, err
		}
		if err := r.open(); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = storage.ErrChanged
			}
			return 0, err
		}
	}
}

func (r *reader) Close() error { return r.body.Close() }
