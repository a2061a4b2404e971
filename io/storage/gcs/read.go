package gcs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"

	gcstorage "cloud.google.com/go/storage"

	"github.com/bochner-ml/bochner/io/storage"
)

// Open streams a range. If a body breaks off, reading resumes at that byte of the same
// generation.
func (g *gcs) Open(ctx context.Context, o storage.Object, off, n int64) (io.ReadCloser, int64, error) {
	name, h, err := g.at(ctx, o.URI)
	if err != nil {
		return nil, 0, err
	}
	if o.Version != "" {
		generation, err := strconv.ParseInt(o.Version, 10, 64)
		if err != nil {
			return nil, 0, storage.Invalid("%q is not a version of an object", o.Version)
		}
		h = h.If(gcstorage.Conditions{GenerationMatch: generation})
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
func (g *gcs) readError(ctx context.Context, name object, pinned bool, err error) error {
	if pinned && unmet(err) {
		return storage.ErrChanged
	}
	return g.answer(ctx, "storage.objects.get", name, err)
}

type objectReader struct {
	r    *gcstorage.Reader
	g    *gcs
	ctx  context.Context
	name object
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

func (g *gcs) Sum(ctx context.Context, name string) (storage.Sum, error) {
	a, err := g.attrs(ctx, resolved(name))
	if err != nil {
		return storage.Sum{}, err
	}
	return sumOf(a), nil
}

func sumOf(a *gcstorage.ObjectAttrs) storage.Sum {
	return storage.Sum{Bytes: a.Size, CRC32C: a.CRC32C}
}
