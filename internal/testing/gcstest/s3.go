package gcstest

import (
	"bytes"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The key of the account whose signatures StartS3 accepts.
const (
	s3Key    = "AKIDEXAMPLE"
	s3Secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
)

// S3 answers the requests of a client of Amazon S3 about the objects of a Server: signed ones, with conditional writes
// and deletes and uploads in parts. Its versions follow from the content.
type S3 struct {
	*Server
	// With Lax the server ignores conditions of deletes. Ignores lists the headers of writes that it ignores.
	Lax     bool
	Ignores []string

	parts map[string]*partial
}

// partial is an upload in parts.
type partial struct {
	name  string
	meta  map[string]string
	parts map[int][]byte
}

// StartS3 runs a server until the test ends, and has the variables of Amazon's tools name it.
func StartS3(t testing.TB) *S3 {
	t.Helper()
	s := &S3{Server: New(), parts: map[string]*partial{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	useS3(t, server.URL)
	return s
}

// useS3 has the variables of Amazon's tools name a server.
func useS3(t testing.TB, address string) {
	for name, value := range map[string]string{"AWS_ENDPOINT_URL": address, "AWS_ACCESS_KEY_ID": s3Key,
		"AWS_SECRET_ACCESS_KEY": s3Secret, "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_REGION": "",
		"AWS_ENDPOINT_URL_S3": "", "AWS_DEFAULT_REGION": "", "AWS_SHARED_CREDENTIALS_FILE": "/none",
		"AWS_CONFIG_FILE": "/none"} {
		t.Setenv(name, value)
	}
}

// Uploads returns the number of uploads in parts that are neither complete nor aborted.
func (s *S3) Uploads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.parts)
}

func (s *S3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := request{query: r.URL.Query()}
	q.bucket, q.name, _ = strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	q.kind = map[string]string{http.MethodGet: "read", http.MethodHead: "stat", http.MethodPut: "write",
		http.MethodDelete: "delete", http.MethodPost: "complete"}[r.Method]
	switch has := q.query.Has; {
	case has("uploads") && r.Method == http.MethodPost:
		q.kind = "begin"
	case has("uploads"):
		q.kind = "uploads"
	case has("partNumber"):
		q.kind = "part"
	case has("uploadId") && r.Method == http.MethodDelete:
		q.kind = "abort"
	case q.name == "":
		q.kind = "list"
	}
	s.mu.Lock()
	s.counts[q.kind]++
	s.mu.Unlock()
	s.Faults.serve(w, r, q, s.answer)
}

// deny writes an error as Amazon does.
func deny(w http.ResponseWriter, code int, name string) {
	w.WriteHeader(code)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", name)
}

func (s *S3) answer(r *http.Request, q request) *httptest.ResponseRecorder {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := httptest.NewRecorder()
	body, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		deny(w, http.StatusBadRequest, "IncompleteBody")
	case !signedRight(r, body), q.bucket == denied:
		deny(w, http.StatusForbidden, "AccessDenied")
	case q.bucket != Bucket:
		deny(w, http.StatusNotFound, "NoSuchBucket")
	case q.kind == "list":
		s.listS3(w, q)
	case q.kind == "uploads" || q.query.Has("uploadId") || q.kind == "begin":
		s.inParts(w, r, q, body)
	case q.kind == "write":
		if s.holds(w, r, s.objects[q.name]) {
			o := s.put(q.name, body, metadata{Metadata: metadataOf(r)})
			w.Header().Set("Etag", o.etag())
		}
	default:
		s.about(w, r, q)
	}
	return w
}

// metadataOf returns the metadata in the headers of a request.
func metadataOf(r *http.Request) map[string]string {
	m := map[string]string{}
	for name, v := range r.Header {
		if strings.HasPrefix(name, "X-Amz-Meta-") {
			m[name] = v[0]
		}
	}
	return m
}

// holds checks the conditions of a write or delete of an object, nil for none.
func (s *S3) holds(w http.ResponseWriter, r *http.Request, o *object) bool {
	h := r.Header.Clone()
	for _, name := range s.Ignores {
		h.Del(name)
	}
	want := h.Get("If-Match")
	switch {
	case want != "" && o == nil:
		deny(w, http.StatusNotFound, "NoSuchKey")
	case want != "" && want != o.etag(), h.Get("If-None-Match") == "*" && o != nil:
		deny(w, http.StatusPreconditionFailed, "PreconditionFailed")
	default:
		return true
	}
	return false
}

// about answers a request about one object: stat, read, delete.
func (s *S3) about(w http.ResponseWriter, r *http.Request, q request) {
	o := s.objects[q.name]
	switch {
	case q.kind == "delete":
		if o != nil && (s.Lax || s.holds(w, r, o)) {
			s.drop(q.name)
		}
		if w.(*httptest.ResponseRecorder).Body.Len() == 0 {
			w.WriteHeader(http.StatusNoContent)
		}
	case o == nil && q.kind == "stat":
		w.WriteHeader(http.StatusNotFound)
	case o == nil:
		deny(w, http.StatusNotFound, "NoSuchKey")
	case s.holds(w, r, o):
		for name, value := range o.Metadata {
			w.Header().Set(name, value)
		}
		w.Header().Set("Etag", o.etag())
		r.Header.Del("If-Match")
		http.ServeContent(w, r, "", o.created, bytes.NewReader(o.content))
	}
}

func (s *S3) listS3(w http.ResponseWriter, q request) {
	type entry struct {
		Key, ETag    string
		Size         int
		LastModified string
	}
	type common struct{ Prefix string }
	var l struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		Contents              []entry
		CommonPrefixes        []common
		NextContinuationToken string `xml:",omitempty"`
	}
	found, prefixes, next := s.page(q, "max-keys", "continuation-token")
	l.NextContinuationToken = next
	for _, o := range found {
		l.Contents = append(l.Contents, entry{o.Name, o.etag(), len(o.content), o.created.Format(time.RFC3339Nano)})
	}
	for _, p := range prefixes {
		l.CommonPrefixes = append(l.CommonPrefixes, common{p})
	}
	xml.NewEncoder(w).Encode(l)
}

// inParts answers a request about uploads in parts.
func (s *S3) inParts(w http.ResponseWriter, r *http.Request, q request, body []byte) {
	id := q.query.Get("uploadId")
	u := s.parts[id]
	switch {
	case q.kind == "begin":
		s.last++
		id = fmt.Sprint("upload+", s.last)
		s.parts[id] = &partial{q.name, metadataOf(r), map[int][]byte{}}
		fmt.Fprintf(w, "<R><UploadId>%s</UploadId></R>", id)
	case q.kind == "uploads":
		io.WriteString(w, "<R>")
		for id, u := range s.parts {
			if strings.HasPrefix(u.name, q.query.Get("prefix")) {
				fmt.Fprintf(w, "<Upload><Key>%s</Key><UploadId>%s</UploadId></Upload>", u.name, id)
			}
		}
		io.WriteString(w, "</R>")
	case u == nil || u.name != q.name:
		deny(w, http.StatusNotFound, "NoSuchUpload")
	case q.kind == "abort":
		delete(s.parts, id)
		w.WriteHeader(http.StatusNoContent)
	case q.kind == "part":
		n, _ := strconv.Atoi(q.query.Get("partNumber"))
		u.parts[n] = body
		w.Header().Set("Etag", etagOf(body))
	case s.holds(w, r, s.objects[q.name]):
		var content []byte
		for _, n := range slices.Sorted(maps.Keys(u.parts)) {
			if !bytes.Contains(body, []byte(fmt.Sprintf("<PartNumber>%d</PartNumber>", n))) {
				deny(w, http.StatusBadRequest, "InvalidPart")
				return
			}
			content = append(content, u.parts[n]...)
		}
		delete(s.parts, id)
		o := s.put(q.name, content, metadata{Metadata: u.meta})
		o.tag = strings.TrimSuffix(o.etag(), `"`) + fmt.Sprintf(`-%d"`, len(u.parts))
		fmt.Fprintf(w, "<R><ETag>%s</ETag></R>", strings.ReplaceAll(o.etag(), `"`, "&quot;"))
	}
}

// etag returns the version of an object. It is computed on first use, because only clients of S3 ask for it.
func (o *object) etag() string {
	if o.tag == "" {
		o.tag = etagOf(o.content)
	}
	return o.tag
}

// etagOf returns the version of an object with the given content.
func etagOf(content []byte) string {
	sum := md5.Sum(content)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

// signedRight checks the signature of a request (AWS Signature Version 4) by the headers that it lists.
func signedRight(r *http.Request, body []byte) bool {
	var scope, list, signature string
	for field := range strings.SplitSeq(strings.TrimPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 "), ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		switch key {
		case "Credential":
			scope = strings.TrimPrefix(value, s3Key+"/")
		case "SignedHeaders":
			list = value
		case "Signature":
			signature = value
		}
	}
	hash := func(data []byte) string { sum := sha256.Sum256(data); return hex.EncodeToString(sum[:]) }
	text := r.Method + "\n" + r.URL.EscapedPath() + "\n" + canonical(r.URL.Query()) + "\n"
	for name := range strings.SplitSeq(list, ";") {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.Host
		}
		text += name + ":" + value + "\n"
	}
	text += "\n" + list + "\n" + hash(body)
	parts := strings.Split(scope, "/")
	if len(parts) != 4 || r.Header.Get("X-Amz-Content-Sha256") != hash(body) {
		return false
	}
	key := []byte("AWS4" + s3Secret)
	text = "AWS4-HMAC-SHA256\n" + r.Header.Get("X-Amz-Date") + "\n" + scope + "\n" + hash([]byte(text))
	for _, part := range append(parts, text) {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	return signature == hex.EncodeToString(key)
}

// canonical returns a query as signatures cover it.
func canonical(query url.Values) string { return strings.ReplaceAll(query.Encode(), "+", "%20") }
