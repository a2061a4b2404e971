package gcs

import (
	"bytes"
	"context"
	"errors"
	"io"

	gcstorage "cloud.google.com/go/storage"

	"github.com/bochner-ml/bochner/io/storage"
)

// Swap writes a generation of an object on the condition that the previous one is that
// whose content was compared, or that there is none.
func (g *gcs) Swap(ctx context.Context, name string, old, new []byte) error {
	o := resolved(name)
	cond := &gcstorage.Conditions{DoesNotExist: true}
	if old != nil {
		a, err := g.attrs(ctx, o)
		if missing(err) || err == nil && a.Size != int64(len(old)) {
			return storage.ErrSwapped
		}
		if err != nil {
			return err
		}
		there, err := g.readWhole(ctx, found(o.String(), a))
		switch {
		case errors.Is(err, storage.ErrChanged):
			return storage.ErrSwapped
		case err != nil:
			return err
		case !bytes.Equal(there, old):
			return storage.ErrSwapped
		}
		cond = &gcstorage.Conditions{GenerationMatch: a.Generation}
	}
	_, err := g.uploadFile(ctx, o, cond, nil, storage.File{Data: new})
	if errors.Is(err, errUnmet) {
		return storage.ErrSwapped
	}
	return err
}

// readWhole reads a small object at its generation.
func (g *gcs) readWhole(ctx context.Context, o storage.Object) ([]byte, error) {
	r, _, err := g.Open(ctx, o, 0, -1)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, storage.MaxSwap+1))
}
