package storage

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/bochner-ml/bochner/internal/disk"
)

func (local) Holds(ctx context.Context, dir string, files []File) (bool, error) {
	p, err := path(dir)
	if err != nil {
		return false, err
	}
	entries, err := disk.Now().ReadDir(p)
	if err != nil {
		return false, err
	}
	if len(entries) != len(files) {
		return false, nil
	}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		same, err := f.equals(ctx, Join(p, f.Name))
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil || !same {
			return false, fail("read", Join(dir, f.Name), err)
		}
	}
	return true, nil
}

// equals compares the file with one on the disk.
func (f File) equals(ctx context.Context, name string) (bool, error) {
	there, err := disk.Now().Open(name)
	if err != nil {
		return false, err
	}
	defer there.Close()
	mine, err := f.Open(ctx)
	if err != nil {
		return false, err
	}
	defer mine.Close()
	x, y := bufio.NewReaderSize(mine, 1<<16), bufio.NewReaderSize(there, 1<<16)
	for {
		a, errA := x.Peek(1 << 16)
		b, errB := y.Peek(1 << 16)
		switch {
		case errA != nil && errA != io.EOF:
			return false, errA
		case errB != nil && errB != io.EOF:
			return false, errB
		case !bytes.Equal(a, b):
			return false, nil
		case errA == io.EOF:
			return true, nil // the ends are equal, and the second ended with the first
		}
		x.Discard(len(a))
		y.Discard(len(b))
	}
}
