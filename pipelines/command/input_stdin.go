package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// maxStdin is the largest number of bytes of data on standard input. They are stored in a temporary
// file, because jobs read data more than once.
const maxStdin = 1 << 30

// takeStdin replaces the file name - in data, unless data is nil, by a temporary file with the
// content of in; remove deletes the file.
func takeStdin(ctx context.Context, data *dataset.Options, in io.Reader) (remove func() error, err error) {
	if data == nil || len(data.Data) != 1 || data.Data[0] != standardInput {
		return func() error { return nil }, nil
	}
	name, remove, err := spoolStdin(ctx, in)
	if err == nil {
		data.Data, data.As = []string{name}, "standard input"
	}
	return remove, err
}

// spoolStdin copies in to a temporary file; remove deletes the file.
func spoolStdin(ctx context.Context, in io.Reader) (name string, remove func() error, err error) {
	dir, remove, err := engine.NewTemp(ctx)
	if err != nil {
		return "", nil, err
	}
	name = filepath.Join(dir, "stdin")
	if err := spool(name, in); err != nil {
		remove()
		return "", nil, err
	}
	return name, remove, nil
}

func spool(name string, in io.Reader) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	n, err := io.Copy(file, io.LimitReader(in, maxStdin+1))
	if closed := file.Close(); err == nil {
		err = closed
	}
	switch {
	case err != nil:
		return fmt.Errorf("reading standard input: %w", err)
	case n > maxStdin:
		return exit.Refuse("standard input has more than %d bytes; save it to a file and name that", maxStdin)
	}
	return nil
}
