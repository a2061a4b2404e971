// Package s3 supports Amazon S3, and servers with its protocol: a program that imports it can read and write files
// named s3://bucket/object.
//
//	import _ "github.com/bochner-ml/bochner/io/storage/s3"
//
// The service and the account come from the variables and files of Amazon's tools. Without keys, requests are not
// signed. Writing needs a service with conditional writes (If-None-Match and If-Match of PutObject and
// CompleteMultipartUpload). The first such write tests the service, and others are refused.
package s3

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/io/storage/objects"
)

type s3 struct {
	objects.Store
	conditions sync.Map // buckets whose server is known to respect conditions
}

var (
	_ storage.Store  = (*s3)(nil)
	_ objects.Client = (*s3)(nil)
)

func init() { storage.Register("s3", service(objects.Standard)) }

// service returns S3 with those times of leases.
func service(leases objects.Times) *s3 {
	s := &s3{}
	s.Store = objects.Store{Service: s, Scheme: "s3", Leases: leases, Hashed: true}
	return s
}

// Head implements objects.Client.
func (s *s3) Head(ctx context.Context, o objects.Name) (*objects.Attrs, error) {
	if o.Name == "" {
		return nil, storage.DirectoryError(strings.TrimRight(o.String(), "/"))
	}
	r, err := s.get(ctx, request{method: http.MethodHead, object: o})
	if err != nil {
		return nil, err
	}
	r.Body.Close()
	a := &objects.Attrs{Name: o.Name, Size: r.ContentLength, Version: r.Header.Get("Etag"), Metadata: map[string]string{}}
	for name, values := range r.Header {
		if key, ok := strings.CutPrefix(strings.ToLower(name), metaPrefix); ok {
			if a.Metadata[key], err = url.QueryUnescape(values[0]); err != nil {
				a.Metadata[key] = values[0] // of another program
			}
		}
	}
	if at, err := http.ParseTime(r.Header.Get("Last-Modified")); err == nil {
		a.Modified = at
	}
	if crc, err := strconv.ParseUint(a.Metadata[checksumKey], 16, 32); err == nil && len(a.Metadata[checksumKey]) == 8 {
		a.Checksum = &storage.Checksum{Bytes: a.Size, CRC32C: uint32(crc)}
	}
	if a.Size < 0 {
		return nil, errors.New("the server does not report the size of the file")
	}
	return a, nil
}

// listing is a page of a list of objects.
type listing struct {
	Contents []struct {
		Key, ETag    string
		Size         int64
		LastModified time.Time
	}
	CommonPrefixes        []struct{ Prefix string }
	NextContinuationToken string
}

// page asks for a page of the objects that a query finds.
func (s *s3) page(ctx context.Context, bucket string, q objects.Query, token string) (l listing, err error) {
	query := ""
	if token != "" {
		query = "continuation-token=" + escape(token) + "&"
	}
	if q.Delimiter != "" {
		query += "delimiter=" + escape(q.Delimiter) + "&"
	}
	query += "list-type=2&max-keys=" + strconv.Itoa(cmp.Or(q.Limit, 1000)) + "&prefix=" + escape(q.Prefix)
	o := objects.Name{Bucket: bucket}
	_, err = s.ask(ctx, request{method: http.MethodGet, object: o, query: query}, &l)
	return l, s.answer(ctx, reading, o, err)
}

// Each implements objects.Client.
func (s *s3) Each(ctx context.Context, bucket string, q objects.Query, visit func(*objects.Attrs) bool) error {
	for token, more := "", true; more; {
		l, err := s.page(ctx, bucket, q, token)
		if err != nil {
			return err
		}
		for _, c := range l.Contents {
			if c.Size >= 0 && !visit(&objects.Attrs{Name: c.Key, Size: c.Size, Version: c.ETag,
				Modified: c.LastModified}) {
				return nil
			}
		}
		for _, p := range l.CommonPrefixes {
			if !visit(&objects.Attrs{Prefix: p.Prefix}) {
				return nil
			}
		}
		more = l.NextContinuationToken != "" && l.NextContinuationToken != token
		token = l.NextContinuationToken
	}
	return nil
}

// Open implements storage.Scheme. If a body breaks off, reading resumes at that byte of the same version.
func (s *s3) Open(ctx context.Context, o storage.Object, off, n int64) (io.ReadCloser, int64, error) {
	name, err := objects.Object(o.URI)
	if err != nil {
		return nil, 0, err
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
	if f, ok := errors.AsType[*failure](err); ok && f.Status == http.StatusRequestedRangeNotSatisfiable {
		return io.NopCloser(bytes.NewReader(nil)), 0, nil // past the end
	}
	return r, r.size, err
}

// reader reads a part of an object.
type reader struct {
	s       *s3
	ctx     context.Context
	name    objects.Name
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
	a, err := r.s.get(r.ctx, request{method: http.MethodGet, object: r.name, header: h})
	if err != nil {
		return err
	}
	r.body, r.version = a.Body, cmp.Or(r.version, a.Header.Get("Etag"))
	r.size = a.ContentLength
	if a.StatusCode == http.StatusPartialContent {
		_, total, _ := strings.Cut(a.Header.Get("Content-Range"), "/")
		if r.size, err = strconv.ParseInt(total, 10, 64); err != nil || r.size < 0 {
			return errors.Join(errors.New("the server does not report the size of the file"), a.Body.Close())
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
		r.at += int64(n)
		if n > 0 {
			r.tries = 0
			return n, nil
		}
		if err == nil {
			continue
		}
		r.body.Close()
		r.tries++
		if r.tries == maxTries || r.ctx.Err() != nil {
			return 0, cmp.Or(r.ctx.Err(), fmt.Errorf("the body ends %d bytes early: %w", r.end-r.at, err))
		}
		if err := backOff(r.ctx, r.tries-1); err != nil {
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

// config has what is needed to reach the service.
type config struct {
	credentials
	region   string
	endpoint *url.URL // nil for Amazon's own
}

// configure reads the variables and files that Amazon's tools read: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
// AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, and the profile AWS_PROFILE of
// ~/.aws/credentials and ~/.aws/config.
func configure() (*config, error) {
	profile := cmp.Or(os.Getenv("AWS_PROFILE"), "default")
	home, _ := os.UserHomeDir()
	file := func(variable, name, section string) map[string]string {
		return readProfile(cmp.Or(os.Getenv(variable), filepath.Join(home, ".aws", name)), section)
	}
	keys := file("AWS_SHARED_CREDENTIALS_FILE", "credentials", profile)
	section := profile
	if profile != "default" {
		section = "profile " + profile
	}
	more := file("AWS_CONFIG_FILE", "config", section)
	c := &config{credentials: credentials{os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"),
		os.Getenv("AWS_SESSION_TOKEN")}}
	for _, from := range []map[string]string{keys, more} {
		if c.id == "" {
			c.credentials = credentials{from["aws_access_key_id"], from["aws_secret_access_key"], from["aws_session_token"]}
		}
	}
	c.region = cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), more["region"], "us-east-1")
	where := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), more["endpoint_url"])
	if where == "" {
		return c, nil
	}
	u, err := url.Parse(where)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, storage.Invalidf("AWS_ENDPOINT_URL is %q; want an address such as https://storage.example.com", where)
	}
	c.endpoint = u
	return c, nil
}

// readProfile returns the settings of a section of a file of Amazon's tools; none if there is no such file.
func readProfile(name, section string) map[string]string {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	settings := map[string]string{}
	here := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		switch key, value, ok := strings.Cut(line, "="); {
		case strings.HasPrefix(line, "["):
			here = strings.TrimSpace(strings.Trim(line, "[]")) == section
		case here && ok && !strings.HasPrefix(line, "#"):
			settings[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return settings
}

// address returns the URL of an object, or of a bucket if the name is empty: the bucket is part of the host on
// Amazon's servers, and of the path on others.
func (c *config) address(bucket, name, query string) string {
	base, path := "https://"+bucket+".s3."+c.region+".amazonaws.com", ""
	switch {
	case c.endpoint != nil:
		base, path = strings.TrimRight(c.endpoint.String(), "/"), "/"+escape(bucket)
	case strings.Contains(bucket, "."): // which certificates of hosts do not cover
		base, path = "https://s3."+c.region+".amazonaws.com", "/"+escape(bucket)
	}
	path += "/" + escapePath(name)
	if query != "" {
		path += "?" + query
	}
	return base + path
}
