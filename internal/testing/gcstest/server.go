// Package gcstest is Google Cloud Storage for tests: buckets in memory behind the JSON API that the
// client library speaks, with conditions on generations, resumable uploads, missing rights, and with
// faults that a test asks for.
package gcstest

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Bucket exists from the beginning. Nobody has rights to the bucket denied. There are no other buckets.
const Bucket, denied = "bucket", "denied"

// Server answers the requests of a client of Google Cloud Storage.
type Server struct {
	Faults Faults

	mu      sync.Mutex // held while a request is answered: a condition holds until the change is made
	objects map[string]*object
	names   []string // of the objects, sorted
	last    int64    // generation
	uploads map[string]*upload
	counts  map[string]int // of requests by kind
}

// New returns a server whose Bucket is empty.
func New() *Server {
	return &Server{objects: map[string]*object{}, last: 1700000000000000, uploads: map[string]*upload{},
		counts: map[string]int{}}
}

// Start runs a server until the test ends. It returns the server and its address, host:port.
func Start(t testing.TB) (s *Server, address string) {
	t.Helper()
	s = New()
	http := httptest.NewServer(s)
	t.Cleanup(http.Close)
	return s, strings.TrimPrefix(http.URL, "http://")
}

// Fill puts an object into Bucket, without a request.
func (s *Server) Fill(name string, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(name, content, metadata{})
}

// Content returns the content of an object, or nil if there is none.
func (s *Server) Content(name string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.objects[name]; o != nil {
		return o.content
	}
	return nil
}

// Names returns the names of all objects, sorted.
func (s *Server) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.names...)
}

// Requests returns the number of requests of a kind: list, stat, read, write, copy, delete.
func (s *Server) Requests(kind string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[kind]
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := parse(r)
	s.mu.Lock()
	s.counts[q.kind]++
	s.mu.Unlock()
	s.Faults.serve(w, r, q, s.answer)
}

// request is what a request is about.
type request struct {
	kind         string // list, stat, read, write, copy, delete
	bucket, name string
	to, toBucket string // of a write and a copy
	query        url.Values
}

// parse takes a request apart.
func parse(r *http.Request) request {
	q := request{query: r.URL.Query()}
	parts := strings.Split(strings.TrimPrefix(strings.TrimPrefix(r.URL.EscapedPath(), "/upload"), "/storage/v1/b/"), "/")
	for i := range parts {
		parts[i], _ = url.PathUnescape(parts[i])
	}
	parts = append(parts, make([]string, 8)...)
	q.bucket, q.name = parts[0], parts[2]
	switch {
	case strings.HasPrefix(r.URL.Path, "/upload/"):
		q.kind, q.to, q.toBucket = "write", q.query.Get("name"), q.bucket
	case parts[3] == "rewriteTo":
		q.kind, q.to, q.toBucket = "copy", parts[7], parts[5]
	case r.Method == http.MethodDelete:
		q.kind = "delete"
	case q.name == "":
		q.kind = "list"
	case q.query.Get("alt") == "media":
		q.kind = "read"
	default:
		q.kind = "stat"
	}
	return q
}

// answer makes the answer to a request that no fault befalls.
func (s *Server) answer(r *http.Request, q request) *httptest.ResponseRecorder {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := httptest.NewRecorder()
	switch {
	case q.bucket == denied:
		refuse(w, http.StatusForbidden, "tester@example.com does not have access to the Google Cloud Storage bucket.")
	case q.bucket != Bucket || q.toBucket != "" && q.toBucket != Bucket:
		refuse(w, http.StatusNotFound, "The specified bucket does not exist.")
	case q.kind == "list":
		s.list(w, q)
	case q.kind == "write":
		s.write(w, r, q)
	case q.kind == "copy":
		s.copy(w, r, q)
	default:
		s.serveObject(w, r, q)
	}
	return w
}

// refuse writes an error as Google does.
func refuse(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": code, "message": message}})
}

func missing(w http.ResponseWriter, name string) {
	refuse(w, http.StatusNotFound, fmt.Sprintf("No such object: %s/%s", Bucket, name))
}

// Main is the program local/gcs: it serves until it is killed, and ends the process.
// Tests whose jobs run in other processes are that program themselves.
func Main(args []string) {
	flags := flag.NewFlagSet("gcs", flag.ExitOnError)
	listen := flags.String("listen", "localhost:9023",
		"`address` to serve on; with port 0 a free one is taken and printed")
	share := flags.Float64("faults", 0, "`share` of the requests that fail, 0 to 1")
	from := flags.String("fill", "", "`directory` whose files are in the bucket from the beginning")
	many := flags.Int("many", 0, "`number` of small tables in the bucket, part-*.csv")
	seed := flags.Uint64("seed", 1, "`seed` of the choice which fail")
	flags.Parse(args)
	s := New()
	var err error
	if *from != "" {
		err = fill(s, *from)
	}
	if err == nil {
		fillMany(s, *many)
		s.Faults.Set(Rules{Share: *share, Seed: *seed})
		err = serve(s, *listen)
	}
	fmt.Fprintln(os.Stderr, "gcs:", err)
	os.Exit(1)
}

func serve(s *Server, address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("serving gs://"+Bucket+" on", l.Addr())
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == Control { // not by a ServeMux, which cleans the names of objects
			s.Faults.serveControl(w, r)
			return
		}
		s.ServeHTTP(w, r)
	}))
}

// fill puts the files below a directory into the bucket.
func fill(s *Server, dir string) error {
	return fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			s.Fill(name, data)
		}
		return err
	})
}

// fillMany puts tables of ten rows into the bucket.
func fillMany(s *Server, n int) {
	for i := range n {
		text := []byte("x,z,y\n")
		for j := range 10 {
			text = fmt.Appendf(text, "%d,%d,%d\n", i%97, (i+7*j)%101, (i+j)%2)
		}
		s.Fill(fmt.Sprintf("part-%05d.csv", i), text)
	}
}
