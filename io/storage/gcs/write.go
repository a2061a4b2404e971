package gcs

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"time"

	gcstorage "cloud.google.com/go/storage"
)

// maxChunk is how much of an upload is kept in memory, to be sent once more if
// need be. What is not larger goes in one request; more, in a resumable upload.
const maxChunk = 8 << 20

// chunkUnit divides the size of chunks.
const chunkUnit = 256 << 10

// The metadata of objects that this package makes.
const (
	writerKey = "bochner-writer" // of each request to write another one
	partKey   = "bochner-part"   // of a file of a directory, but the last: which one
	commitKey = "bochner-commit" // of the file that makes a directory whole: which one
	ownerKey  = "bochner-owner"  // of a lease: who has it; empty, nobody
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errUnmet is that the condition of a write is not met: somebody else has written.
var errUnmet = errors.New("somebody else has written there")

// upload writes an object of the given size, -1 where that is not known, with
// metadata, under a condition that may be nil. The object appears whole when write
// has returned without error, or not at all.
//
// Every upload has a mark of its own. When an answer is lost and the request made
// again, the condition is not met any more; the mark then tells that the object is
// the one that is to be there.
func (g *gcs) upload(ctx context.Context, o object, cond *gcstorage.Conditions, metadata map[string]string, size int64, write func(io.Writer) error) (*gcstorage.ObjectAttrs, error) {
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
	sum := crc32.New(castagnoli)
	if err := write(io.MultiWriter(sum, w)); err != nil {
		cancel()
		w.Close()
		return nil, g.writeError(ctx, o, err)
	}
	var attrs *gcstorage.ObjectAttrs
	if err = w.Close(); err == nil {
		attrs = w.Attrs()
	} else if attrs, err = g.own(ctx, o, w.Metadata[writerKey], err); err != nil {
		return nil, g.writeError(ctx, o, err)
	}
	return attrs, g.arrived(ctx, o, attrs, sum.Sum32())
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

// random returns 16 digits that nobody has had before.
func random() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// marked returns the metadata with a mark of its own, unless they have one.
func marked(metadata map[string]string) map[string]string {
	m := map[string]string{writerKey: random() + random()}
	for k, v := range metadata {
		m[k] = v
	}
	return m
}

// own returns the attributes of an object if it has the mark of a request that
// failed as its condition was not met, or whose answer broke off.
func (g *gcs) own(ctx context.Context, o object, mark string, err error) (*gcstorage.ObjectAttrs, error) {
	if !unmet(err) && status(err) != http.StatusNotFound && !transient(err) {
		return nil, err
	}
	attrs, thereErr := g.attrs(ctx, o)
	if thereErr == nil && attrs.Metadata[writerKey] == mark {
		return attrs, nil
	}
	if thereErr != nil && !missing(thereErr) {
		return nil, thereErr
	}
	if unmet(err) {
		err = errUnmet
	}
	return nil, err
}

// arrived checks what the server has against what was sent.
func (g *gcs) arrived(ctx context.Context, o object, attrs *gcstorage.ObjectAttrs, sum uint32) error {
	if attrs.CRC32C == sum {
		return nil
	}
	if err := g.delete(context.WithoutCancel(ctx), o, attrs.Generation); err != nil {
		return err
	}
	return fmt.Errorf("the server has other bytes than were sent (CRC-32C %08x, want %08x); try again", attrs.CRC32C, sum)
}

func (g *gcs) writeError(ctx context.Context, o object, err error) error {
	return g.answer(ctx, "storage.objects.create", o, err)
}

// copy copies a generation of an object, where it is the live one, to a place
// where there must be nothing.
func (g *gcs) copy(ctx context.Context, to, from object, generation int64, metadata map[string]string) (*gcstorage.ObjectAttrs, error) {
	dst, err := g.handle(ctx, to)
	if err != nil {
		return nil, err
	}
	src, err := g.handle(ctx, from)
	if err != nil {
		return nil, err
	}
	c := dst.If(gcstorage.Conditions{DoesNotExist: true}).CopierFrom(src.If(gcstorage.Conditions{GenerationMatch: generation}))
	c.ContentType = "application/octet-stream"
	c.Metadata = marked(metadata)
	attrs, err := c.Run(ctx)
	if err != nil {
		attrs, err = g.own(ctx, to, c.Metadata[writerKey], err)
	}
	return attrs, g.writeError(ctx, to, err)
}

func (g *gcs) Create(ctx context.Context, name string, size int64, _ bool, write func(io.Writer) error) error {
	o, err := parse(name)
	if err != nil {
		return err
	}
	_, err = g.upload(ctx, o, nil, nil, size, write)
	return err
}
