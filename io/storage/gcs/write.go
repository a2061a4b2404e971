package gcs

import (
	"context"
	"fmt"
	"io"
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

// Put implements objects.Client. The object appears whole when write has returned without error, or not at all.
func (g *gcs) Put(ctx context.Context, o objects.Name, cond objects.Condition, metadata map[string]string, size int64,
	write func(io.Writer) error) (*objects.Attrs, error) {
	h, err := g.handle(ctx, o, cond)
	if err != nil {
		return nil, err
	}
	streaming, cancel := context.WithCancel(ctx)
	defer cancel()
	w := h.Retryer(gcstorage.WithErrorFunc(patient())).NewWriter(streaming)
	w.ContentType = "application/octet-stream"
	w.Metadata = objects.Marked(metadata)
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
	var a *objects.Attrs
	if err = w.Close(); err == nil {
		a = attrsOf(w.Attrs())
	} else if a, err = g.own(ctx, o, cond, w.Metadata, err); err != nil {
		return nil, g.writeError(ctx, o, err)
	}
	return a, g.arrived(ctx, o, a, hash.Checksum())
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

// own is called after a write failed because its condition did not hold or its response was lost. If the write has
// succeeded all the same, it returns the object.
func (g *gcs) own(ctx context.Context, o objects.Name, cond objects.Condition, metadata map[string]string,
	err error) (*objects.Attrs, error) {
	if !unmet(err) && status(err) != http.StatusNotFound && !transient(err) {
		return nil, err
	}
	return objects.Own(ctx, g, o, cond, metadata, unmet(err), err)
}

// arrived compares the server's checksum with the checksum of the bytes that were sent.
func (g *gcs) arrived(ctx context.Context, o objects.Name, a *objects.Attrs, sent storage.Checksum) error {
	if *a.Checksum == sent {
		return nil
	}
	if err := g.Delete(context.WithoutCancel(ctx), o, a.Version); err != nil {
		return err
	}
	return fmt.Errorf("the server has other bytes than were sent (%v, want %v); try again", *a.Checksum, sent)
}

func (g *gcs) writeError(ctx context.Context, o objects.Name, err error) error {
	return g.answer(ctx, "storage.objects.create", o, err)
}

// copy copies a version of an object, which must be the live one, to a name that must be free.
func (g *gcs) copy(ctx context.Context, to, from objects.Name, version string, metadata map[string]string) error {
	cond := objects.Condition{Absent: true}
	dst, err := g.handle(ctx, to, cond)
	if err != nil {
		return err
	}
	src, err := g.handle(ctx, from, objects.Condition{Version: version})
	if err != nil {
		return err
	}
	c := dst.CopierFrom(src)
	c.ContentType = "application/octet-stream"
	c.Metadata = objects.Marked(metadata)
	if _, err = c.Run(ctx); err != nil {
		_, err = g.own(ctx, to, cond, c.Metadata, err)
	}
	return g.writeError(ctx, to, err)
}

// Copy implements objects.Client.
func (g *gcs) Copy(ctx context.Context, to objects.Name, f storage.File, metadata map[string]string) error {
	from, err := objects.Parse(f.From)
	var a *objects.Attrs
	if err == nil {
		a, err = g.Head(ctx, from)
	}
	if err != nil {
		return &storage.Error{Op: "open", Name: f.From, Err: err}
	}
	if f.Checksum != nil && *a.Checksum != *f.Checksum {
		return storage.DamagedError(f.From)
	}
	return g.copy(ctx, to, from, a.Version, metadata)
}

// Commit implements objects.Client. The file is first written as the content of the claim, and then copied from that
// generation to its free name: one request with two conditions.
func (g *gcs) Commit(ctx context.Context, to objects.Name, f storage.File, metadata map[string]string,
	seal func(context.Context, storage.File) (objects.Name, string, error)) error {
	claim, version, err := seal(ctx, f)
	if err != nil {
		return err
	}
	return g.copy(ctx, to, claim, version, metadata)
}

// Fence implements objects.Client. It does nothing: a new generation of the claim already makes commits
// of its earlier holders fail.
func (*gcs) Fence(context.Context, objects.Name) error { return nil }
