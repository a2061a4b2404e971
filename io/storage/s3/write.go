package s3

import (
	"context"
	"crypto/rand"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/io/storage/objects"
)

// partSize is how many bytes of an upload are kept in memory. Larger files are uploaded in parts, at most maxParts.
const (
	partSize = 8 << 20
	maxParts = 10_000
)

// metaPrefix begins the names of headers with metadata, and checksumKey is the metadata with the CRC-32C of an object.
const (
	metaPrefix  = "x-amz-meta-"
	checksumKey = "bochner-crc32c"
)

// upload is an object while it is written. It appears when all of its bytes have been sent.
type upload struct {
	s      *s3
	ctx    context.Context
	object objects.Name
	cond   objects.Condition
	meta   map[string]string

	hash   *storage.Hash
	buffer []byte
	id     string // of an upload in parts
	parts  []part
}

type part struct {
	PartNumber int
	ETag       string
}

func (s *s3) upload(ctx context.Context, o objects.Name, cond objects.Condition, meta map[string]string) *upload {
	return &upload{s: s, ctx: ctx, object: o, cond: cond, hash: storage.NewHash(), meta: objects.Marked(meta)}
}

// Put implements objects.Client.
func (s *s3) Put(ctx context.Context, o objects.Name, cond objects.Condition, metadata map[string]string, _ int64,
	write func(io.Writer) error) (*objects.Attrs, error) {
	u := s.upload(ctx, o, cond, metadata)
	if err := write(u); err != nil {
		u.abort()
		return nil, err
	}
	if u.id != "" {
		return u.complete()
	}
	checksum := u.hash.Checksum()
	u.meta[checksumKey] = fmt.Sprintf("%08x", checksum.CRC32C)
	q := request{http.MethodPut, o, "", conditional(header(u.meta), cond), u.buffer}
	h, err := s.ask(ctx, q, nil)
	if err != nil {
		return u.own(err)
	}
	if cond != (objects.Condition{}) {
		err = s.probe(ctx, q)
	}
	return &objects.Attrs{Name: o.Name, Size: checksum.Bytes, Version: h.Get("Etag"), Metadata: u.meta,
		Checksum: &checksum}, err
}

// header returns the headers of a write with metadata.
func header(meta map[string]string) http.Header {
	h := http.Header{"Content-Type": {"application/octet-stream"}}
	for key, value := range meta {
		h.Set(metaPrefix+key, url.QueryEscape(value))
	}
	return h
}

// conditional adds a condition to the headers of a write, and returns them.
func conditional(h http.Header, cond objects.Condition) http.Header {
	switch {
	case cond.Absent:
		h.Set("If-None-Match", "*")
	case cond.Version != "":
		h.Set("If-Match", cond.Version)
	}
	return h
}

// probe finds out, once for each bucket, whether a server ignores conditions: it repeats the write of an object that
// was just written, under conditions that do not hold.
func (s *s3) probe(ctx context.Context, q request) error {
	c, err := configure()
	if err != nil {
		return err
	}
	where := c.address(q.object.Bucket, "", "")
	if _, known := s.conditions.Load(where); known {
		return nil
	}
	for name, value := range map[string]string{"If-None-Match": "*", "If-Match": `"00000000000000000000000000000000"`} {
		q.header = q.header.Clone()
		q.header.Del("If-Match")
		q.header.Del("If-None-Match")
		q.header.Set(name, value)
		_, err := s.ask(ctx, q, nil)
		switch f := failed(err); {
		case err == nil:
			return storage.Invalidf("the server ignores the condition %s of writes, so two runs could mix their "+
				"files; name a place on another server, or on the disk", name)
		case f.Status != http.StatusPreconditionFailed && f.Status != http.StatusNotFound:
			return s.answer(ctx, writing, q.object, err)
		}
	}
	s.conditions.Store(where, nil)
	return nil
}

// Write implements io.Writer.
func (u *upload) Write(p []byte) (n int, err error) {
	for n < len(p) {
		if len(u.buffer) == partSize {
			if err := u.flush(); err != nil {
				return n, err
			}
		}
		m := min(len(p)-n, partSize-len(u.buffer))
		u.buffer = append(u.buffer, p[n:n+m]...)
		n += m
	}
	u.hash.Write(p)
	return n, nil
}

// flush uploads the buffer as a part.
func (u *upload) flush() error {
	if u.id == "" {
		var begun struct{ UploadId string }
		_, err := u.s.ask(u.ctx, request{http.MethodPost, u.object, "uploads=", header(u.meta), nil}, &begun)
		if err == nil && begun.UploadId == "" {
			err = errors.New("the server does not name the upload that it has begun")
		}
		if err != nil {
			return u.s.answer(u.ctx, writing, u.object, err)
		}
		u.id = begun.UploadId
	}
	if len(u.parts) == maxParts {
		return storage.Invalidf("is too large; the limit is %d parts of %d MiB", maxParts, partSize>>20)
	}
	n := len(u.parts) + 1
	query := fmt.Sprintf("partNumber=%d&uploadId=%s", n, escape(u.id))
	h, err := u.s.ask(u.ctx, request{http.MethodPut, u.object, query, nil, u.buffer}, nil)
	if failed(err).Code == "NoSuchUpload" { // another process has called Fence
		return objects.ErrUnmet
	}
	if err != nil {
		return u.s.answer(u.ctx, writing, u.object, err)
	}
	u.parts, u.buffer = append(u.parts, part{n, h.Get("Etag")}), u.buffer[:0]
	return nil
}

// complete completes an upload in parts, so that the object appears.
func (u *upload) complete() (*objects.Attrs, error) {
	if len(u.buffer) > 0 || len(u.parts) == 0 {
		if err := u.flush(); err != nil {
			u.abort()
			return nil, err
		}
	}
	body, err := xml.Marshal(struct {
		XMLName xml.Name `xml:"CompleteMultipartUpload"`
		Part    []part
	}{Part: u.parts})
	if err != nil {
		return nil, err
	}
	h := conditional(header(nil), u.cond)
	var done struct{ ETag string }
	_, err = u.s.ask(u.ctx, request{http.MethodPost, u.object, "uploadId=" + escape(u.id), h, body}, &done)
	if err == nil && u.cond != (objects.Condition{}) {
		// Servers say so too of an upload that was aborted, if there is an object of another process.
		err = errors.New("the server has lost an upload that it completed")
	}
	if err != nil {
		a, err := u.own(err)
		if err != nil {
			u.abort()
		}
		return a, err
	}
	checksum := u.hash.Checksum()
	return &objects.Attrs{Name: u.object.Name, Size: checksum.Bytes, Version: done.ETag, Metadata: u.meta,
		Checksum: &checksum}, nil
}

// abort deletes the parts of an upload that was given up. Parts that stay are invisible; buckets can have a rule that
// deletes them after some days.
func (u *upload) abort() {
	if u.id != "" {
		ctx, cancel := objects.Tidying(u.ctx)
		defer cancel()
		_ = u.s.abort(ctx, u.object, u.id)
	}
}

func (s *s3) abort(ctx context.Context, o objects.Name, id string) error {
	_, err := s.ask(ctx, request{method: http.MethodDelete, object: o, query: "uploadId=" + escape(id)}, nil)
	if failed(err).Status == http.StatusNotFound {
		return nil
	}
	return err
}

// own is called after the last request of an upload failed. If the object has appeared all the same, own returns it.
func (u *upload) own(err error) (a *objects.Attrs, _ error) {
	f := failed(err)
	gone := f.Status == http.StatusNotFound && f.Code != "NoSuchBucket" && (u.cond.Version != "" || u.id != "")
	unmet := f.Status == http.StatusPreconditionFailed || gone || f.Code == "ConditionalRequestConflict"
	if f.Status == 0 || unmet || f.mayRepeat() {
		a, err = objects.Own(u.ctx, u.s, u.object, u.cond, u.meta, unmet, err)
	}
	return a, u.s.answer(u.ctx, writing, u.object, err)
}

// Delete implements objects.Client. A server without conditional deletes deletes whatever version there is.
func (s *s3) Delete(ctx context.Context, o objects.Name, version string) error {
	q := request{method: http.MethodDelete, object: o, header: http.Header{}}
	if version != "" {
		q.header.Set("If-Match", version)
	}
	_, err := s.ask(ctx, q, nil)
	if failed(err).Status == http.StatusNotImplemented && version != "" {
		return s.Delete(ctx, o, "")
	}
	f := failed(err)
	if f.Status == http.StatusPreconditionFailed || f.Status == http.StatusNotFound && f.Code != "NoSuchBucket" {
		return nil
	}
	return s.answer(ctx, writing, o, err)
}

// Copy implements objects.Client. Not all servers have copies with conditions, so the bytes pass through here.
func (s *s3) Copy(ctx context.Context, to objects.Name, f storage.File, metadata map[string]string) error {
	_, err := s.Put(ctx, to, objects.Condition{Absent: true}, metadata, -1,
		func(w io.Writer) error { return f.CopyTo(ctx, w) })
	return err
}

// Commit implements objects.Client. The file is uploaded as parts, which nobody sees, before the claim is sealed, and
// appears when the upload is completed, under the condition that its name is free. Whoever takes the claim aborts the
// upload in Fence before anything else, and a completion that comes later fails.
func (s *s3) Commit(ctx context.Context, to objects.Name, f storage.File, metadata map[string]string,
	seal func(context.Context, storage.File) (objects.Name, string, error)) error {
	u := s.upload(ctx, to, objects.Condition{Absent: true}, metadata)
	err := f.CopyTo(ctx, u)
	if err == nil {
		err = u.flush()
	}
	if err == nil {
		_, _, err = seal(ctx, storage.File{Data: []byte(rand.Text())})
	}
	if err != nil {
		u.abort()
		return err
	}
	_, err = u.complete()
	return err
}

// Fence implements objects.Client: it aborts all uploads to a file or directory.
func (s *s3) Fence(ctx context.Context, dir objects.Name) error {
	below := dir.Join("").Name
	err := s.abortAll(ctx, dir.Bucket, below, func(key string) bool { return strings.HasPrefix(key, below) })
	if err == nil && dir.Name != "" {
		err = s.abortAll(ctx, dir.Bucket, dir.Name, func(key string) bool { return key == dir.Name })
	}
	return err
}

// abortAll aborts the uploads with some of the keys that begin with a prefix.
func (s *s3) abortAll(ctx context.Context, in, prefix string, which func(key string) bool) error {
	bucket := objects.Name{Bucket: in}
	for range maxTries {
		var uploads struct {
			Upload []struct{ Key, UploadId string }
		}
		query, aborted := "prefix="+escape(prefix)+"&uploads=", false
		_, err := s.ask(ctx, request{method: http.MethodGet, object: bucket, query: query}, &uploads)
		for _, u := range uploads.Upload {
			if o := (objects.Name{Bucket: in, Name: u.Key}); err == nil && which(u.Key) {
				aborted, err = true, s.abort(ctx, o, u.UploadId)
			}
		}
		if err != nil || !aborted {
			return s.answer(ctx, writing, bucket, err)
		}
	}
	return errors.New("the server still lists uploads that were aborted; try again")
}
