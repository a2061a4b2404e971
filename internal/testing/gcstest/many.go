package gcstest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Many is a bucket for very many objects. fake-gcs-server looks through all objects
// of a bucket for every request, so this one is served without it. Objects are
// written there in one request, with conditions on the live generation.
const Many = "many"

// manyObject is an object of Many.
type manyObject struct {
	content    []byte
	generation int64
	metadata   map[string]string
}

// maxPage is how many objects the real server lists in one answer at most.
const maxPage = 1000

// FillMany puts objects into Many, without requests.
func (s *Server) FillMany(objects map[string][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, content := range objects {
		s.put(name, content, nil)
	}
}

// put stores an object of Many.
func (s *Server) put(name string, content []byte, metadata map[string]string) *manyObject {
	if _, there := s.many[name]; !there {
		at := sort.SearchStrings(s.manyNames, name)
		s.manyNames = slices.Insert(s.manyNames, at, name)
	}
	s.manyLast++
	o := &manyObject{content: content, generation: s.manyLast, metadata: metadata}
	s.many[name] = o
	return o
}

// serveMany answers a request about Many.
func (s *Server) serveMany(w http.ResponseWriter, r *http.Request, q request) {
	if q.kind == "list" {
		s.listMany(w, q)
		return
	}
	about := q.from.name
	if q.kind == "write" || q.kind == "copy" {
		about = q.to.name
	}
	o := s.many[about]
	if !conditionMet(w, q.query.Get("ifGenerationMatch"), o) {
		return
	}
	if o == nil && q.kind != "write" && q.kind != "copy" {
		refuse(w, http.StatusNotFound, "No such object: "+Many+"/"+about)
		return
	}
	switch q.kind {
	case "stat":
		json.NewEncoder(w).Encode(o.attrs(about))
	case "read":
		w.Header().Set("X-Goog-Generation", strconv.FormatInt(o.generation, 10))
		w.Header().Set("X-Goog-Hash", "crc32c="+crc(o.content))
		w.Header().Set("Content-Type", "application/octet-stream")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(o.content))
	case "write":
		metadata, content, err := multipartUpload(r)
		if err != nil {
			refuse(w, http.StatusBadRequest, err.Error())
			return
		}
		if about == "" {
			about = metadata.Name
		}
		json.NewEncoder(w).Encode(s.put(about, content, metadata.Metadata).attrs(about))
	case "copy":
		s.copyMany(w, r, q)
	case "delete":
		delete(s.many, about)
		at := sort.SearchStrings(s.manyNames, about)
		s.manyNames = slices.Delete(s.manyNames, at, at+1)
		w.WriteHeader(http.StatusNoContent)
	}
}

// conditionMet tells whether the generation of an object, nil for none, is that
// wanted; "0" wants none.
func conditionMet(w http.ResponseWriter, want string, o *manyObject) bool {
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

func (s *Server) copyMany(w http.ResponseWriter, r *http.Request, q request) {
	from := s.many[q.from.name]
	if from == nil || q.to.bucket != Many {
		refuse(w, http.StatusNotFound, "No such object: "+Many+"/"+q.from.name)
		return
	}
	var metadata uploadMetadata
	if !conditionMet(w, q.query.Get("ifSourceGenerationMatch"), from) {
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&metadata); err != nil && err != io.EOF {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	size := strconv.Itoa(len(from.content))
	json.NewEncoder(w).Encode(map[string]any{
		"kind": "storage#rewriteResponse", "done": true, "objectSize": size, "totalBytesRewritten": size,
		"resource": s.put(q.to.name, from.content, metadata.Metadata).attrs(q.to.name),
	})
}

type uploadMetadata struct {
	Name     string            `json:"name"`
	Metadata map[string]string `json:"metadata"`
}

// multipartUpload reads an upload of one request.
func multipartUpload(r *http.Request) (m uploadMetadata, content []byte, err error) {
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

func (s *Server) listMany(w http.ResponseWriter, q request) {
	page, err := strconv.Atoi(q.query.Get("maxResults"))
	if err != nil || page <= 0 || page > maxPage {
		page = maxPage
	}
	prefix, delimiter := q.query.Get("prefix"), q.query.Get("delimiter")
	at := sort.SearchStrings(s.manyNames, max(prefix, q.query.Get("pageToken")))
	items, prefixes := []map[string]any{}, []string{}
	for ; at < len(s.manyNames) && strings.HasPrefix(s.manyNames[at], prefix) && len(items) < page; at++ {
		name := s.manyNames[at]
		if i := strings.Index(name[len(prefix):], "/"); delimiter != "" && i >= 0 {
			p := name[:len(prefix)+i+1]
			if len(prefixes) == 0 || prefixes[len(prefixes)-1] != p {
				prefixes = append(prefixes, p)
			}
			continue
		}
		items = append(items, s.many[name].attrs(name))
	}
	answer := map[string]any{"kind": "storage#objects", "items": items, "prefixes": prefixes}
	if at < len(s.manyNames) && strings.HasPrefix(s.manyNames[at], prefix) {
		answer["nextPageToken"] = s.manyNames[at]
	}
	json.NewEncoder(w).Encode(answer)
}

func (o *manyObject) attrs(name string) map[string]any {
	return map[string]any{
		"kind": "storage#object", "bucket": Many, "name": name, "size": strconv.Itoa(len(o.content)),
		"generation": strconv.FormatInt(o.generation, 10), "crc32c": crc(o.content), "metadata": o.metadata,
	}
}

// crc is the checksum of an object as the server writes it.
func crc(content []byte) string {
	sum := crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli))
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}
