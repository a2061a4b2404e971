// Package gcstest is Google Cloud Storage for tests: fake-gcs-server with what it
// lacks (conditions on reads, copies and deletes, uploads that are taken up again,
// rights), and with faults that are asked for.
package gcstest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/fsouza/fake-gcs-server/fakestorage"
)

// Denied is a bucket to which nobody has rights.
const Denied = "denied"

// Bucket is the bucket that a Server has from the beginning.
const Bucket = "bucket"

// Server answers the requests of a client of Google Cloud Storage.
type Server struct {
	Faults Faults

	fake    *fakestorage.Server
	handler http.Handler

	mu      sync.Mutex // of changes: a condition holds until the change is made
	uploads map[string]*upload
	counts  map[string]int

	many      map[string]*manyObject
	manyNames []string // sorted
	manyLast  int64    // the last generation
}

// New returns a server with the empty bucket Bucket.
func New() (*Server, error) {
	fake, err := fakestorage.NewServerWithOptions(fakestorage.Options{NoListener: true})
	if err != nil {
		return nil, err
	}
	fake.CreateBucketWithOpts(fakestorage.CreateBucketOpts{Name: Bucket})
	return &Server{fake: fake, handler: fake.HTTPHandler(), uploads: map[string]*upload{}, counts: map[string]int{},
		many: map[string]*manyObject{}, manyLast: 1700000000000000}, nil
}

// Start runs a server for the time of a test, and returns it with its address,
// host:port.
func Start(t testing.TB) (s *Server, address string) {
	t.Helper()
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	http := httptest.NewServer(s)
	t.Cleanup(http.Close)
	return s, strings.TrimPrefix(http.URL, "http://")
}

// Fill puts an object into Bucket, without a request.
func (s *Server) Fill(name string, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fake.CreateObject(fakestorage.Object{ObjectAttrs: fakestorage.ObjectAttrs{BucketName: Bucket, Name: name},
		Content: content})
}

// Content returns the content of an object of Bucket, or nil if there is none.
func (s *Server) Content(name string) []byte {
	o, err := s.fake.GetObject(Bucket, name)
	if err != nil {
		return nil
	}
	return o.Content
}

// Names returns the names of all objects of Bucket.
func (s *Server) Names() (names []string) {
	all, _ := s.fake.ListObjectsWithOptionsPaginated(Bucket, fakestorage.ListOptions{}) // in one page
	for _, o := range all.Objects {
		names = append(names, o.Name)
	}
	return names
}

// Requests returns how many requests of a kind there were: list, stat, read, write,
// copy, delete.
func (s *Server) Requests(kind string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[kind]
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := ask(r)
	s.mu.Lock()
	s.counts[q.kind]++
	s.mu.Unlock()
	s.Faults.serve(w, r, q, s.answer)
}

// request is what a request is about.
type request struct {
	kind     string // list, stat, read, write, copy, delete
	from, to place  // to is of a write and a copy
	query    url.Values
}

type place struct{ bucket, name string }

// ask takes a request apart.
func ask(r *http.Request) request {
	q := request{query: r.URL.Query()}
	parts := strings.Split(strings.TrimPrefix(strings.TrimPrefix(r.URL.EscapedPath(), "/upload"), "/storage/v1/b/"), "/")
	for i := range parts {
		parts[i], _ = url.PathUnescape(parts[i])
	}
	parts = append(parts, make([]string, 8)...)
	q.from = place{parts[0], parts[2]}
	switch {
	case strings.HasPrefix(r.URL.Path, "/upload/"):
		q.kind, q.to = "write", place{parts[0], q.query.Get("name")}
	case parts[3] == "rewriteTo":
		q.kind, q.to = "copy", place{parts[5], parts[7]}
	case r.Method == http.MethodDelete:
		q.kind = "delete"
	case parts[2] == "":
		q.kind = "list"
	case q.query.Get("alt") == "media":
		q.kind = "read"
	default:
		q.kind = "stat"
	}
	return q
}

// answer makes the answer to a request that nothing befalls.
func (s *Server) answer(r *http.Request, q request) *httptest.ResponseRecorder {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := httptest.NewRecorder()
	switch {
	case q.from.bucket == Denied:
		refuse(w, http.StatusForbidden, "tester@example.com does not have access to the Google Cloud Storage bucket.")
	case q.from.bucket == Many:
		s.serveMany(w, r, q)
	case q.kind == "write" && (q.query.Get("uploadType") == "resumable" || q.query.Get("upload_id") != ""):
		s.resumable(w, r, q)
	case q.kind == "write" || s.met(w, q):
		s.handler.ServeHTTP(w, r)
	}
	return w
}

// met checks the conditions that fake-gcs-server does not.
func (s *Server) met(w http.ResponseWriter, q request) bool {
	about := q.from
	if q.kind == "copy" {
		if !s.matches(w, q.query.Get("ifSourceGenerationMatch"), q.from, true) {
			return false
		}
		about = q.to
	}
	return s.matches(w, q.query.Get("ifGenerationMatch"), about, q.kind != "copy")
}

func (s *Server) matches(w http.ResponseWriter, want string, p place, must bool) bool {
	if want == "" {
		return true
	}
	generation := s.generation(p)
	switch {
	case generation == 0 && must:
		refuse(w, http.StatusNotFound, fmt.Sprintf("No such object: %s/%s", p.bucket, p.name))
	case want != strconv.FormatInt(generation, 10):
		refuse(w, http.StatusPreconditionFailed, "At least one of the pre-conditions you specified did not hold.")
	default:
		return true
	}
	return false
}

func (s *Server) generation(p place) int64 {
	o, err := s.fake.GetObjectStreaming(p.bucket, p.name)
	if err != nil {
		return 0
	}
	defer o.Close()
	return o.Generation
}

// refuse writes an error as Google does.
func refuse(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": code, "message": message}})
}

// upload is an upload of several requests. It is made one for fake-gcs-server when
// all is there, which would append what comes twice.
type upload struct {
	query    url.Values
	metadata []byte
	content  []byte
	done     *httptest.ResponseRecorder
}

func (s *Server) resumable(w *httptest.ResponseRecorder, r *http.Request, q request) {
	var body bytes.Buffer
	if _, err := body.ReadFrom(r.Body); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	id := q.query.Get("upload_id")
	if id == "" {
		id = strconv.Itoa(len(s.uploads) + 1)
		s.uploads[id] = &upload{query: q.query, metadata: body.Bytes()}
		w.Header().Set("Location", "http://"+r.Host+r.URL.Path+"?uploadType=resumable&upload_id="+id)
		w.WriteHeader(http.StatusOK)
		return
	}
	u := s.uploads[id]
	var first, last, total int64
	known := true
	span := r.Header.Get("Content-Range")
	switch {
	case u == nil:
		refuse(w, http.StatusNotFound, "no such upload")
		return
	case u.done != nil: // its answer was lost
		replay(w, u.done)
		return
	}
	if n, _ := fmt.Sscanf(span, "bytes %d-%d/%d", &first, &last, &total); n < 3 {
		if n, _ := fmt.Sscanf(span, "bytes */%d", &total); n == 1 {
			first = total
		} else {
			known = false
		}
	}
	if have := int64(len(u.content)); first <= have && have < first+int64(body.Len()) {
		u.content = append(u.content, body.Bytes()[have-first:]...)
	}
	if !known || int64(len(u.content)) < total {
		w.Header().Set("X-Http-Status-Code-Override", "308")
		w.Header().Set("Range", fmt.Sprintf("bytes=0-%d", len(u.content)-1))
		w.WriteHeader(http.StatusOK)
		return
	}
	u.done = s.whole(r, u)
	u.content = nil
	replay(w, u.done)
}

// whole writes an object in one request.
func (s *Server) whole(r *http.Request, u *upload) *httptest.ResponseRecorder {
	const boundary = "=-boundary-="
	var body bytes.Buffer
	fmt.Fprintf(&body, "--%s\r\nContent-Type: application/json\r\n\r\n%s\r\n--%s\r\nContent-Type: "+
		"application/octet-stream\r\n\r\n", boundary, u.metadata, boundary)
	body.Write(u.content)
	fmt.Fprintf(&body, "\r\n--%s--\r\n", boundary)
	query := url.Values{}
	for k, v := range u.query {
		query[k] = v
	}
	query.Set("uploadType", "multipart")
	one := r.Clone(r.Context())
	one.Method = http.MethodPost
	one.URL.RawQuery = query.Encode()
	one.RequestURI = one.URL.RequestURI()
	one.Header = http.Header{"Content-Type": {`multipart/related; boundary="` + boundary + `"`}}
	one.Body = readCloser{&body}
	one.ContentLength = int64(body.Len())
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, one)
	return w
}

type readCloser struct{ *bytes.Buffer }

func (readCloser) Close() error { return nil }

func replay(w http.ResponseWriter, from *httptest.ResponseRecorder) {
	for k, v := range from.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(from.Code)
	w.Write(from.Body.Bytes())
}
