package gcstest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Many is a bucket for very many objects, which are never changed. fake-gcs-server
// looks through all objects of a bucket for every request, so this one is served
// without it.
const Many = "many"

// manyGeneration is the generation of all objects of Many.
const manyGeneration = "1700000000000000"

// maxPage is how many objects the real server lists in one answer at most.
const maxPage = 1000

// FillMany puts objects into Many, without requests.
func (s *Server) FillMany(objects map[string][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, content := range objects {
		if _, there := s.many[name]; !there {
			s.manyNames = append(s.manyNames, name)
		}
		s.many[name] = content
	}
	sort.Strings(s.manyNames)
}

// serveMany lists, tells of and gives what is in Many.
func (s *Server) serveMany(w http.ResponseWriter, r *http.Request, q request) {
	content, there := s.many[q.from.name]
	want := q.query.Get("ifGenerationMatch")
	switch {
	case q.kind == "list":
		s.listMany(w, q)
	case q.kind != "stat" && q.kind != "read":
		refuse(w, http.StatusForbidden, "the objects of this bucket do not change")
	case !there:
		refuse(w, http.StatusNotFound, "No such object: "+Many+"/"+q.from.name)
	case want != "" && want != manyGeneration:
		refuse(w, http.StatusPreconditionFailed, "At least one of the pre-conditions you specified did not hold.")
	case q.kind == "stat":
		json.NewEncoder(w).Encode(manyAttrs(q.from.name, content))
	default:
		w.Header().Set("X-Goog-Generation", manyGeneration)
		w.Header().Set("X-Goog-Hash", "crc32c="+crc(content))
		w.Header().Set("Content-Type", "application/octet-stream")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}
}

func (s *Server) listMany(w http.ResponseWriter, q request) {
	page, err := strconv.Atoi(q.query.Get("maxResults"))
	if err != nil || page <= 0 || page > maxPage {
		page = maxPage
	}
	prefix, delimiter := q.query.Get("prefix"), q.query.Get("delimiter")
	at := sort.SearchStrings(s.manyNames, max(prefix, q.query.Get("pageToken")))
	items, prefixes := []map[string]string{}, []string{}
	for ; at < len(s.manyNames) && strings.HasPrefix(s.manyNames[at], prefix) && len(items) < page; at++ {
		name := s.manyNames[at]
		if i := strings.Index(name[len(prefix):], "/"); delimiter != "" && i >= 0 {
			p := name[:len(prefix)+i+1]
			if len(prefixes) == 0 || prefixes[len(prefixes)-1] != p {
				prefixes = append(prefixes, p)
			}
			continue
		}
		items = append(items, manyAttrs(name, s.many[name]))
	}
	answer := map[string]any{"kind": "storage#objects", "items": items, "prefixes": prefixes}
	if at < len(s.manyNames) && strings.HasPrefix(s.manyNames[at], prefix) {
		answer["nextPageToken"] = s.manyNames[at]
	}
	json.NewEncoder(w).Encode(answer)
}

func manyAttrs(name string, content []byte) map[string]string {
	return map[string]string{
		"kind": "storage#object", "bucket": Many, "name": name, "size": fmt.Sprint(len(content)), "generation": manyGeneration, "crc32c": crc(content),
	}
}

// crc is the checksum of an object as the server writes it.
func crc(content []byte) string {
	sum := crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli))
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}
