package gcstest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

type object struct {
	metadata
	content    []byte
	generation int64
	created    time.Time
	tag        string // as S3 has it; see etag
}

// metadata is the description of an object by its writer.
type metadata struct {
	Name        string            `json:"name"`
	ContentType string            `json:"contentType"`
	Metadata    map[string]string `json:"metadata"`
}

// maxPage is the largest number of objects that the real server lists in one answer.
const maxPage = 1000

// put stores an object.
func (s *Server) put(name string, content []byte, m metadata) *object {
	if _, exists := s.objects[name]; !exists {
		s.names = slices.Insert(s.names, sort.SearchStrings(s.names, name), name)
	}
	s.last++
	m.Name = name
	o := &object{metadata: m, content: content, generation: s.last, created: time.Now().UTC()}
	s.objects[name] = o
	return o
}

// drop removes an object.
func (s *Server) drop(name string) {
	delete(s.objects, name)
	at := sort.SearchStrings(s.names, name)
	s.names = slices.Delete(s.names, at, at+1)
}

// met checks a condition on the generation of an object, nil for none; "0" wants none.
func met(w http.ResponseWriter, want string, o *object) bool {
	var generation int64
	if o != nil {
		generation = o.generation
	}
	if want == "" || want == strconv.FormatInt(generation, 10) {
		return true
	}
	refuse(w, http.StatusPreconditionFailed, "At least one of the pre-conditions you specified did not hold.")
	return false
}

// serveObject answers a request about one existing object: stat, read, delete.
func (s *Server) serveObject(w http.ResponseWriter, r *http.Request, q request) {
	o := s.objects[q.name]
	asked := q.query.Get("generation") // those that were replaced are not kept
	if o == nil || asked != "" && asked != strconv.FormatInt(o.generation, 10) {
		missing(w, q.name)
		return
	}
	if !met(w, q.query.Get("ifGenerationMatch"), o) {
		return
	}
	switch q.kind {
	case "stat":
		json.NewEncoder(w).Encode(o.attrs())
	case "read":
		w.Header().Set("X-Goog-Generation", strconv.FormatInt(o.generation, 10))
		w.Header().Set("X-Goog-Hash", "crc32c="+o.crc())
		w.Header().Set("Content-Type", "application/octet-stream")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(o.content))
	case "delete":
		s.drop(q.name)
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s *Server) copy(w http.ResponseWriter, r *http.Request, q request) {
	from := s.objects[q.name]
	if from == nil {
		missing(w, q.name)
		return
	}
	if !met(w, q.query.Get("ifSourceGenerationMatch"), from) ||
		!met(w, q.query.Get("ifGenerationMatch"), s.objects[q.to]) {
		return
	}
	m := from.metadata
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil && err != io.EOF {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	size := strconv.Itoa(len(from.content))
	json.NewEncoder(w).Encode(map[string]any{
		"kind": "storage#rewriteResponse", "done": true, "objectSize": size, "totalBytesRewritten": size,
		"resource": s.put(q.to, from.content, m).attrs(),
	})
}

func (s *Server) list(w http.ResponseWriter, q request) {
	found, prefixes, next := s.page(q, "maxResults", "pageToken")
	items := []map[string]any{}
	for _, o := range found {
		items = append(items, o.attrs())
	}
	answer := map[string]any{"kind": "storage#objects", "items": items, "prefixes": prefixes}
	if next != "" {
		answer["nextPageToken"] = next
	}
	json.NewEncoder(w).Encode(answer)
}

// page returns the objects and the prefixes that a request lists, given the names of its parameters, and where the next
// page begins, if there is one.
func (s *Server) page(q request, most, token string) (found []*object, prefixes []string, next string) {
	page, err := strconv.Atoi(q.query.Get(most))
	if err != nil || page <= 0 || page > maxPage {
		page = maxPage
	}
	prefixes = []string{}
	prefix, delimiter := q.query.Get("prefix"), q.query.Get("delimiter")
	at := sort.SearchStrings(s.names, max(prefix, q.query.Get(token)))
	for ; at < len(s.names) && strings.HasPrefix(s.names[at], prefix); at++ {
		name := s.names[at]
		if i := strings.Index(name[len(prefix):], delimiter); delimiter != "" && i >= 0 {
			if p := name[:len(prefix)+i+1]; !slices.Contains(prefixes, p) {
				prefixes = append(prefixes, p)
			}
			continue
		}
		if len(found) == page {
			return found, prefixes, name
		}
		found = append(found, s.objects[name])
	}
	return found, prefixes, ""
}

func (o *object) attrs() map[string]any {
	created := o.created.Format(time.RFC3339Nano)
	return map[string]any{
		"kind": "storage#object", "bucket": Bucket, "name": o.Name, "size": strconv.Itoa(len(o.content)),
		"generation": strconv.FormatInt(o.generation, 10), "metageneration": "1", "crc32c": o.crc(),
		"contentType": o.ContentType, "metadata": o.Metadata, "timeCreated": created, "updated": created,
	}
}

// crc is the checksum of the content as the server writes it.
func (o *object) crc() string {
	sum := crc32.Checksum(o.content, crc32.MakeTable(crc32.Castagnoli))
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}

// upload is an upload in several requests.
type upload struct {
	metadata  metadata
	condition string // on the generation of the object
	content   []byte
	done      *httptest.ResponseRecorder // the answer to the last request
}

// write answers a request of an upload: of all at once, or of one that can be resumed.
func (s *Server) write(w *httptest.ResponseRecorder, r *http.Request, q request) {
	switch id := q.query.Get("upload_id"); {
	case id != "":
		s.resume(w, r, s.uploads[id])
	case q.query.Get("uploadType") == "resumable":
		u := &upload{condition: q.query.Get("ifGenerationMatch"), metadata: metadata{Name: q.to}}
		if err := json.NewDecoder(r.Body).Decode(&u.metadata); err != nil && err != io.EOF {
			refuse(w, http.StatusBadRequest, err.Error())
			return
		}
		id := strconv.Itoa(len(s.uploads) + 1)
		s.uploads[id] = u
		w.Header().Set("Location", "http://"+r.Host+r.URL.Path+"?uploadType=resumable&upload_id="+id)
		w.WriteHeader(http.StatusOK)
	default:
		m, content, err := multipartUpload(r)
		if err != nil {
			refuse(w, http.StatusBadRequest, err.Error())
			return
		}
		if m.Name == "" {
			m.Name = q.to
		}
		s.finish(w, q.query.Get("ifGenerationMatch"), m, content)
	}
}

// finish stores an object whose content has arrived.
func (s *Server) finish(w http.ResponseWriter, condition string, m metadata, content []byte) {
	if met(w, condition, s.objects[m.Name]) {
		json.NewEncoder(w).Encode(s.put(m.Name, content, m).attrs())
	}
}

// multipartUpload reads an upload of one request.
func multipartUpload(r *http.Request) (m metadata, content []byte, err error) {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return m, nil, err
	}
	parts := multipart.NewReader(r.Body, params["boundary"])
	about, err := parts.NextPart()
	if err != nil {
		return m, nil, err
	}
	if err := json.NewDecoder(about).Decode(&m); err != nil {
		return m, nil, err
	}
	data, err := parts.NextPart()
	if err != nil {
		return m, nil, err
	}
	content, err = io.ReadAll(data)
	return m, content, err
}

// resume takes the next bytes of an upload. Bytes that came before are not taken twice, and a
// request after the last one has the answer to the last one, which the client may have lost.
func (s *Server) resume(w *httptest.ResponseRecorder, r *http.Request, u *upload) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	if u == nil {
		refuse(w, http.StatusNotFound, "no such upload")
		return
	}
	if u.done == nil {
		var first, last, total int64
		known := true // whether the request says where the upload ends
		span := r.Header.Get("Content-Range")
		if n, _ := fmt.Sscanf(span, "bytes %d-%d/%d", &first, &last, &total); n < 3 {
			n, _ := fmt.Sscanf(span, "bytes */%d", &total)
			known = n == 1
			if known {
				first = total
			}
		}
		if have := int64(len(u.content)); first <= have && have < first+int64(len(body)) {
			u.content = append(u.content, body[have-first:]...)
		}
		if !known || int64(len(u.content)) < total {
			w.Header().Set("X-Http-Status-Code-Override", "308")
			w.Header().Set("Range", fmt.Sprintf("bytes=0-%d", len(u.content)-1))
			w.WriteHeader(http.StatusOK)
			return
		}
		u.done = httptest.NewRecorder()
		s.finish(u.done, u.condition, u.metadata, u.content)
		u.content = nil
	}
	maps.Copy(w.Header(), u.done.Header())
	w.WriteHeader(u.done.Code)
	w.Write(u.done.Body.Bytes())
}
