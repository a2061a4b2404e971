package storage_test

import (
	"context"
	"io"
	"io/fs"
	"strings"
	"testing/fstest"

	"github.com/bochner-ml/bochner/io/storage"
)

// archive is a Scheme of files that a program holds, in an embed.FS or a zip.
type archive struct{ files fs.FS }

func init() {
	storage.Register("archive", archive{fstest.MapFS{"rows/a.csv": {Data: []byte("1,yes\n")},
		"rows/b.csv": {Data: []byte("2,no\n")}}})
}

func inside(uri string) string { return strings.TrimPrefix(uri, "archive://") }

func (archive) Abs(name string) (string, error) { return name, nil }

func (a archive) List(ctx context.Context, pattern string) (found []storage.Object, err error) {
	names, err := fs.Glob(a.files, inside(pattern))
	for _, name := range names {
		o, err := a.Stat(ctx, "archive://"+name)
		if err != nil {
			return nil, err
		}
		found = append(found, o)
	}
	if len(found) == 0 && err == nil {
		err = storage.ErrNoMatch
	}
	return found, err
}

func (a archive) Stat(_ context.Context, name string) (storage.Object, error) {
	fi, err := fs.Stat(a.files, inside(name))
	if err == nil && fi.IsDir() {
		err = storage.DirectoryError(name)
	}
	if err != nil {
		return storage.Object{}, err
	}
	return storage.Object{Name: name, URI: name, Size: fi.Size()}, nil
}

func (a archive) Open(_ context.Context, o storage.Object, off, n int64) (io.ReadCloser, int64, error) {
	data, err := fs.ReadFile(a.files, inside(o.URI))
	rest := data[min(off, int64(len(data))):]
	if n >= 0 {
		rest = rest[:min(n, int64(len(rest)))]
	}
	return io.NopCloser(strings.NewReader(string(rest))), int64(len(data)), err
}
