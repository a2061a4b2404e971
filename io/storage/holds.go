package storage

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"slices"
)

// EqualFiles reports whether a directory has exactly the given files, byte for byte.
func EqualFiles(ctx context.Context, dir string, files []File) (bool, error) {
	names, err := Names(ctx, dir)
	if err != nil || len(names) != len(files) {
		return false, err
	}
	for _, f := range files {
		if !slices.Contains(names, f.Name) {
			return false, nil
		}
		if same, err := f.equals(ctx, Join(dir, f.Name)); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

// equals compares the file with one that is stored.
func (f File) equals(ctx context.Context, name string) (bool, error) {
	there, err := Open(ctx, name, 0, -1)
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
