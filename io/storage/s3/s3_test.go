package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/io/storage"
)

// The signature is that of Amazon's example "GET Object" of
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html.
func TestRequestsAreSignedAsDocumented(t *testing.T) {
	q, err := http.NewRequest(http.MethodGet, "https://examplebucket.s3.amazonaws.com/test.txt", nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Range", "bytes=0-9")
	c := credentials{id: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}
	c.sign(q, nil, "us-east-1", time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC))
	const want = "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request," +
		"SignedHeaders=host;range;x-amz-content-sha256;x-amz-date," +
		"Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
	if got := q.Header.Get("Authorization"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// server is a small S3: one bucket, and every request of each kind fails once in each way, if faults is set.
type server struct {
	mu      sync.Mutex
	objects map[string][]byte
	faults  bool
	seen    map[string]int
}

func (s *server) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := q.Method + " " + q.URL.String() + " " + q.Header.Get("Range")
	s.seen[kind]++
	if s.faults && s.seen[kind] == 1 {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if !strings.Contains(q.Header.Get("Authorization"), "Credential=key/") {
		fail(w, http.StatusForbidden, "AccessDenied")
		return
	}
	bucket, name, _ := strings.Cut(strings.TrimPrefix(q.URL.Path, "/"), "/")
	data, has := s.objects[name]
	sum := sha256.Sum256(data)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	switch {
	case bucket != "rows":
		fail(w, http.StatusNotFound, "NoSuchBucket")
	case name == "":
		s.list(w, q)
	case !has:
		fail(w, http.StatusNotFound, "NoSuchKey")
	case q.Header.Get("If-Match") != "" && q.Header.Get("If-Match") != tag:
		fail(w, http.StatusPreconditionFailed, "PreconditionFailed")
	default:
		w.Header().Set("Etag", tag)
		q.Header.Del("If-Match")
		if s.faults && s.seen[kind] == 2 && q.Method == http.MethodGet && len(data) > 10 {
			w = &cutWriter{ResponseWriter: w, left: len(data) / 3}
		}
		http.ServeContent(w, q, name, time.Unix(1e9, 0), bytes.NewReader(data))
	}
}

// cutWriter breaks off a body.
type cutWriter struct {
	http.ResponseWriter
	left int
}

func (c *cutWriter) Write(p []byte) (int, error) {
	if c.left -= len(p); c.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return c.ResponseWriter.Write(p)
}

func fail(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", code)
}

// list answers with pages of two.
func (s *server) list(w http.ResponseWriter, q *http.Request) {
	f := q.URL.Query()
	var names []string
	for name := range s.objects {
		rest, has := strings.CutPrefix(name, f.Get("prefix"))
		if has && name > f.Get("continuation-token") && (f.Get("delimiter") == "" || !strings.Contains(rest, "/")) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	fmt.Fprint(w, "<ListBucketResult>")
	for _, name := range names[:min(2, len(names))] {
		sum := sha256.Sum256(s.objects[name])
		fmt.Fprintf(w, "<Contents><Key>%s</Key><Size>%d</Size><ETag>&quot;%s&quot;</ETag><LastModified>%s</LastModified></Contents>",
			name, len(s.objects[name]), hex.EncodeToString(sum[:8]), "2001-09-09T01:46:40.000Z")
	}
	if len(names) > 2 {
		fmt.Fprintf(w, "<NextContinuationToken>%s</NextContinuationToken>", names[1])
	}
	fmt.Fprint(w, "</ListBucketResult>")
}

// start starts a server with some objects.
func start(t *testing.T) *server {
	t.Helper()
	firstPause = time.Millisecond
	s := &server{objects: map[string][]byte{}, seen: map[string]int{}}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	for name, value := range map[string]string{"HOME": t.TempDir(), "AWS_ENDPOINT_URL": h.URL, "AWS_ACCESS_KEY_ID": "key",
		"AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_REGION": "", "AWS_ENDPOINT_URL_S3": "",
		"AWS_SHARED_CREDENTIALS_FILE": "", "AWS_CONFIG_FILE": "", "AWS_DEFAULT_REGION": ""} {
		t.Setenv(name, value)
	}
	for i := range 5 {
		s.objects[fmt.Sprintf("day/part %d+é.csv", i)] = bytes.Repeat([]byte{byte('a' + i)}, 1000*i+1)
	}
	s.objects["day/more/x.csv"], s.objects["day/.hidden"] = []byte("x"), []byte("h")
	return s
}

func TestObjectsAreListedAndRead(t *testing.T) {
	for _, faults := range []bool{false, true} {
		s := start(t)
		s.faults = faults
		found, err := storage.List(t.Context(), "s3://rows/day/*")
		if err != nil || len(found) != 5 || found[3].Name != "s3://rows/day/part 3+é.csv" || found[3].Size != 3001 {
			t.Fatalf("%v, %v", found, err)
		}
		if all, err := storage.List(t.Context(), "s3://rows/**.csv"); err != nil || len(all) != 6 {
			t.Errorf("%v, %v", all, err)
		}
		for _, o := range found {
			want := s.objects[strings.TrimPrefix(o.Name, "s3://rows/")]
			for _, part := range [][2]int64{{0, -1}, {0, 7}, {500, -1}, {500, 100}, {900, 1 << 40}, {0, 0}} {
				r, err := o.Open(t.Context(), part[0], part[1])
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(r)
				rest := want[min(part[0], o.Size):]
				if part[1] >= 0 {
					rest = rest[:min(part[1], int64(len(rest)))]
				}
				if r.Close(); err != nil || !bytes.Equal(got, rest) {
					t.Errorf("faults %t: %s %v: %d bytes, want %d: %v", faults, o.Name, part, len(got), len(rest), err)
				}
			}
		}
		if data, err := storage.ReadFile(t.Context(), "s3://rows/day/more/x.csv", 10); err != nil || string(data) != "x" {
			t.Errorf("%q, %v", data, err)
		}
		if faults && len(s.seen) < 20 {
			t.Errorf("only %d kinds of requests", len(s.seen))
		}
	}
}

func TestChangedObjectIsAnError(t *testing.T) {
	s := start(t)
	found, err := storage.List(t.Context(), "s3://rows/day/part 4*")
	if err != nil {
		t.Fatal(err)
	}
	s.objects["day/part 4+é.csv"] = []byte("new")
	if _, err := found[0].Open(t.Context(), 0, -1); !errors.Is(err, storage.ErrChanged) {
		t.Error(err)
	}
}

func TestErrorsNameTheReason(t *testing.T) {
	start(t)
	for name, c := range map[string]struct {
		kind error
		want string
	}{
		"s3://rows/none":   {fs.ErrNotExist, "there is no such file (404)"},
		"s3://rows/none*":  {storage.ErrNoMatch, "no file matches"},
		"s3://other/a":     {storage.ErrNoBucket, "there is no bucket other"},
		"s3://other/*":     {storage.ErrNoBucket, "there is no bucket other"},
		"s3://rows/day":    {nil, "is a directory; name its files, as in s3://rows/day/*"},
		"s3:///x":          {fs.ErrInvalid, "no bucket"},
		"s3://ro ws/x.csv": {fs.ErrInvalid, "not the name of a bucket"},
	} {
		_, err := storage.List(t.Context(), name)
		if err == nil || c.kind != nil && !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "stranger")
	if _, err := storage.List(t.Context(), "s3://rows/*"); !errors.Is(err, fs.ErrPermission) ||
		!strings.Contains(err.Error(), "the account of the key stranger has the rights s3:GetObject and s3:ListBucket") {
		t.Error(err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	if _, err := storage.List(t.Context(), "s3://rows/*"); !errors.Is(err, fs.ErrPermission) ||
		!strings.Contains(err.Error(), "there are no credentials") {
		t.Error(err)
	}
	t.Setenv("AWS_ENDPOINT_URL", "localhost")
	if _, err := storage.List(t.Context(), "s3://rows/*"); err == nil || !strings.Contains(err.Error(), "want an address") {
		t.Error(err)
	}
}

func TestServerThatIsDownIsGivenUp(t *testing.T) {
	start(t)
	lastPause = time.Millisecond
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
	_, err := storage.Stat(t.Context(), "s3://rows/x")
	var e *storage.Error
	if !errors.As(err, &e) || e.Refused() {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := storage.Stat(ended, "s3://rows/x"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestProfilesSelectKeysAndRegion(t *testing.T) {
	start(t)
	dir := filepath.Join(os.Getenv("HOME"), ".aws")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"credentials": "[default]\naws_access_key_id = a\n\n[work]\naws_access_key_id=b\naws_secret_access_key = s=\n",
		"config":      "[profile work]\nregion = eu-west-1\n[work]\nregion = wrong\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_ENDPOINT_URL", "")
	t.Setenv("AWS_PROFILE", "work")
	c, err := configure()
	if err != nil || c.credentials != (credentials{"b", "s=", ""}) || c.region != "eu-west-1" {
		t.Errorf("%+v, %v", c, err)
	}
	for bucket, want := range map[string]string{"rows": "https://rows.s3.eu-west-1.amazonaws.com/a%20b/%2B",
		"ro.ws": "https://s3.eu-west-1.amazonaws.com/ro.ws/a%20b/%2B"} {
		if got := c.address(bucket, "a b/+", ""); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
