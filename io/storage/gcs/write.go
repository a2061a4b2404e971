package gcs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"time"

	gcstorage "cloud.google.com/go/storage"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/io/storage/objects"
)

// maxChunk is how many bytes of an upload are kept in memory for retries. Smaller files
// are sent in one request, larger ones in a resumable upload.
const maxChunk = 8 << 20

// chunkUnit divides the size of chunks.
const chunkUnit = 256 << 10

// upload writes an object of the given size, -1 where that is not known, with
// metadata, under a condition that may be nil. The object appears whole when write
// has returned without error, or not at all.
//
// Every upload has its own mark. If an answer is lost and the request is repeated, the
// condition no longer holds; the mark then shows that this upload wrote the object.
func (g *gcs) upload(ctx context.Context, o objects.Name, cond *gcstorage.Conditions, metadata map[string]string,
	size int64, write func(io.Writer) error) (*gcstorage.ObjectAttrs, error) {
	h, err := g.handle(ctx, o)
	if err != nil {
		return nil, err
	}
	if cond != nil {
		h = h.If(*cond)
	}
	streaming, cancel := context.WithCancel(ctx)
	defer cancel()
	w := h.Retryer(gcstorage.WithErrorFunc(patient())).NewWriter(streaming)
	w.ContentType = "application/octet-stream"
	w.Metadata = marked(metadata)
	w.ChunkSize = maxChunk
	if size >= 0 {
		w.ChunkSize = int(min(maxChunk, (size/chunkUnit+1)*chunkUnit))
	}
	w.ChunkRetryDeadline = 2 * time.Minute
	hash := storage.NewHash()
	if err := write(io.MultiWriter(hash, w)); err != nil {
		cancel()
		w.Close()
		return nil, g.writeError(ctx, o, err)
	}
	var attrs *gcstorage.ObjectAttrs
	if err = w.Close(); err == nil {
		attrs = w.Attrs()
	} else if attrs, err = g.own(ctx, o, cond, w.Metadata[objects.WriterKey], err); err != nil {
		return nil, g.writeError(ctx, o, err)
	}
	return attrs, g.arrived(ctx, o, attrs, hash.Checksum())
}

// Put implements objects.Client.
func (g *gcs) Put(ctx context.Context, o objects.Name, c objects.Condition, metadata map[string]string, size int64,
	write func(io.Writer) error) (*objects.Attrs, error) {
	var cond *gcstorage.Conditions
	switch {
	case c.Absent:
		cond = &gcstorage.Conditions{DoesNotExist: true}
	case c.Version != "":
		n, err := generation(c.Version)
		if err != nil {
			return nil, err
		}
		cond = &gcstorage.Conditions{GenerationMatch: n}
	}
	attrs, err := g.upload(ctx, o, cond, metadata, size, write)
	if err != nil {
		return nil, err
	}
	return attrsOf(attrs), nil
}

// patient returns a rule for retries that ends them after a number of failures
// without success between.
func patient() func(error) bool {
	failures := 0
	return func(err error) bool {
		if err == nil {
			failures = 0
			return false
		}
		failures++
		return failures < maxAttempts && transient(err)
	}
}

// marked returns the metadata with a mark, unless they have one.
func marked(metadata map[string]string) map[string]string {
	m := map[string]string{objects.WriterKey: rand.Text()}
	maps.Copy(m, metadata)
	return m
}

// own is called after a request failed because its condition (nil for none) did not hold or its response was lost.
// It returns the attributes of the object if the object has the mark of the request. If another process has written
// the object since, the error is objects.ErrUnmet, whether or not the request was served before that.
func (g *gcs) own(ctx context.Context, o objects.Name, cond *gcstorage.Conditions, mark string,
	err error) (*gcstorage.ObjectAttrs, error) {
	if !unmet(err) && status(err) != http.StatusNotFound && !transient(err) {
		return nil, err
	}
	attrs, thereErr := g.attrs(ctx, o)
	if thereErr == nil && attrs.Metadata[objects.WriterKey] == mark {
		return attrs, nil
	}
	if thereErr != nil && !errors.Is(thereErr, fs.ErrNotExist) {
		return nil, thereErr
	}
	replaced := cond != nil && thereErr == nil && attrs.Generation != cond.GenerationMatch
	if unmet(err) || replaced {
		err = objects.ErrUnmet
	}
	return nil, err
}

// arrived compares the server's checksum with the checksum of the bytes that were sent.
func (g *gcs) arrived(ctx context.Context, o objects.Name, attrs *gcstorage.ObjectAttrs, sent storage.Checksum) error {
	if checksumOf(attrs) == sent {
		return nil
	}
	if err := g.Delete(context.WithoutCancel(ctx), o, attrsOf(attrs).Version); err != nil {
		return err
	}
	return fmt.Errorf("the server has other bytes than were sent (%v, want %v); try again", checksumOf(attrs), sent)
}

func (g *gcs) writeError(ctx context.Context, o objects.Name, err error) error {
	return g.answer(ctx, "storage.objects.create", o, err)
}

// copy copies a generation of an object, which must be the live one, to a name that
// must be free.
func (g *gcs) copy(ctx context.Context, to, from objects.Name, generation int64,
	metadata map[string]string) error {
	dst, err := g.handle(ctx, to)
	if err != nil {
		return err
	}
	src, err := g.handle(ctx, from)
	if err != nil {
		return err
	}
	cond := gcstorage.Conditions{DoesNotExist: true}
	c := dst.If(cond).CopierFrom(src.If(gcstorage.Conditions{GenerationMatch: generation}))
	c.ContentType = "application/octet-stream"
	c.Metadata = marked(metadata)
	if _, err = c.Run(ctx); err != nil {
		_, err = g.own(ctx, to, &cond, c.Metadata[objects.WriterKey], err)
	}
	return g.writeError(ctx, to, err)
}

// Copy implements objects.Client.
func (g *gcs) Copy(ctx context.Context, to objects.Name, f storage.File, metadata map[string]string) error {
	from, err := objects.Parse(f.From)
	var a *gcstorage.ObjectAttrs
	if err == nil {
		a, err = g.attrs(ctx, from)
	}
	if err != nil {
		return &storage.Error{Op: "open", Name: f.From, Err: err}
	}
	if f.Checksum != nil && checksumOf(a) != *f.Checksum {
		return storage.DamagedError(f.From)
	}
	return g.copy(ctx, to, from, a.Generation, metadata)
}

// Commit implements objects.Client. The file is first written as the content of the claim, and then copied from that
// generation to its free name: one request with two conditions.
func (g *gcs) Commit(ctx context.Context, to objects.Name, f storage.File, metadata map[string]string,
	seal func(context.Context, storage.File) (objects.Name, string, error)) error {
	claim, version, err := seal(ctx, f)
	if err != nil {
		return err
	}
	n, err := generation(version)
	if err != nil {
		return err
	}
	return g.copy(ctx, to, claim, n, metadata)
}

// Fence implements objects.Client. It does nothing: a new generation of the claim already makes commits
// of its earlier holders fail.
func (*gcs) Fence(context.Context, objects.Name) error { return nil }
