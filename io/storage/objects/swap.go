package objects

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/bochner-ml/bochner/io/storage"
)

// Swap writes an object on the condition that the version whose content was
// compared is the current one, or that there is none.
func (s *Store) Swap(ctx context.Context, name string, old, new []byte) error {
	o := resolved(name)
	cond := Condition{Absent: true}
	if old != nil {
		a, err := s.Service.Head(ctx, o)
		if missing(err) || err == nil && a.Size != int64(len(old)) {
			return storage.ErrSwapped
		}
		if err != nil {
			return err
		}
		there, err := s.readWhole(ctx, found(o, a))
		switch {
		case errors.Is(err, storage.ErrChanged):
			return storage.ErrSwapped
		case err != nil:
			return err
		case !bytes.Equal(there, old):
			return storage.ErrSwapped
		}
		cond = Condition{Version: a.Version}
	}
	_, err := s.putFile(ctx, o, cond, nil, storage.File{Data: new})
	if errors.Is(err, ErrUnmet) {
		return storage.ErrSwapped
	}
	return err
}

// readWhole reads a small object at its version.
func (s *Store) readWhole(ctx context.Context, o storage.Object) ([]byte, error) {
	r, _, err := s.Service.Open(ctx, o, 0, -1)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, storage.MaxSwap+1))
}
