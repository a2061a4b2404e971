package gcstest

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strconv"
)

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
	for k, v := range u.done.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(u.done.Code)
	w.Write(u.done.Body.Bytes())
}
