package gcs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	gcstorage "cloud.google.com/go/storage"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/io/storage/objects"
)

// Open streams a range. If a body breaks off, reading resumes at that byte of the same
// generation.
func (g *gcs) Open(ctx context.Context, o storage.Object, off, n int64) (io.ReadCloser, int64, error) {
	name, err := objects.Parse(o.URI)
	if err != nil {
		return nil, 0, err
	}
	h, err := g.handle(ctx, name)
	if err != nil {
		return nil, 0, err
	}
	if o.Version != "" {
		n, err := generation(o.Version)
		if err != nil {
			return nil, 0, err
		}
		h = h.If(gcstorage.Conditions{GenerationMatch: n})
	}
	r, err := h.NewRangeReader(ctx, off, n)
	switch {
	case status(err) == http.StatusRequestedRangeNotSatisfiable:
		return io.NopCloser(bytes.NewReader(nil)), 0, nil // past the end
	case err != nil:
		return nil, 0, g.readError(ctx, name, o.Version != "", err)
	}
	return &objectReader{r: r, g: g, ctx: ctx, name: name}, r.Attrs.Size, nil
}

// readError explains an error of reading; pinned means that only the listed generation
// may be read.
func (g *gcs) readError(ctx context.Context, name objects.Name, pinned bool, err error) error {
	if pinned && unmet(err) {
		return storage.ErrChanged
	}
	return g.answer(ctx, "storage.objects.get", name, err)
}

type objectReader struct {
	r    *gcstorage.Reader
	g    *gcs
	ctx  context.Context
	name objects.Name
}

func (r *objectReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	switch {
	case err == nil || err == io.EOF:
	case unmet(err), errors.Is(err, gcstorage.ErrObjectNotExist):
		err = storage.ErrChanged // the generation was deleted or replaced
	default:
		err = r.g.readError(r.ctx, r.name, false, err)
	}
	return n, err
}

func (r *objectReader) Close() error { return r.r.Close() }

func sumOf(a *gcstorage.ObjectAttrs) storage.Sum {
	return storage.Sum{Bytes: a.Size, CRC32C: a.CRC32C}
}
