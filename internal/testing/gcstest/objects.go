package gcstest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"io"
	"net/http"
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
	etag       string // as S3 has it
}

// metadata is what the writer of an object says about it.
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
	o := &object{metadata: m, content: content, generation: s.last, created: time.Now().UTC(),
		etag: etagOf(content)}
	s.objects[name] = o
	return o
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
		delete(s.objects, q.name)
		at := sort.SearchStrings(s.names, q.name)
		s.names = slices.Delete(s.names, at, at+1)
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
	page, err := strconv.Atoi(q.query.Get("maxResults"))
	if err != nil || page <= 0 || page > maxPage {
		page = maxPage
	}
	prefix, delimiter := q.query.Get("prefix"), q.query.Get("delimiter")
	at := sort.SearchStrings(s.names, max(prefix, q.query.Get("pageToken")))
	items, prefixes := []map[string]any{}, []string{}
	for ; at < len(s.names) && strings.HasPrefix(s.names[at], prefix) && len(items) < page; at++ {
		name := s.names[at]
		if i := strings.Index(name[len(prefix):], delimiter); delimiter != "" && i >= 0 {
			p := name[:len(prefix)+i+1]
			if len(prefixes) == 0 || prefixes[len(prefixes)-1] != p {
				prefixes = append(prefixes, p)
			}
			continue
		}
		items = append(items, s.objects[name].attrs())
	}
	answer := map[string]any{"kind": "storage#objects", "items": items, "prefixes": prefixes}
	if at < len(s.names) && strings.HasPrefix(s.names[at], prefix) {
		answer["nextPageToken"] = s.names[at]
	}
	json.NewEncoder(w).Encode(answer)
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
