package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// maxStdin is the largest number of bytes of data on standard input, which is kept in a
// temporary file because jobs read data more than once.
const maxStdin = 1 << 30

// patterns is the value of --data.
type patterns struct {
	pflag.Value
	pflag.SliceValue
	opts *dataset.Options
}

// AddData adds --data.
func AddData(fs *pflag.FlagSet, o *dataset.Options) {
	fs.StringArrayVar(&o.Data, "data", nil, "Files to read: names or patterns such as 'train-*.csv', or - for standard input, up to 1 GiB. Can be given several times.")
	f := fs.Lookup("data")
	f.Value = &patterns{f.Value, f.Value.(pflag.SliceValue), o}
}

// TakeStdin replaces - in --data by a file with what in has, which remove deletes.
func TakeStdin(ctx context.Context, fs *pflag.FlagSet, in io.Reader) (remove func() error, err error) {
	none := func() error { return nil }
	f := fs.Lookup("data")
	if f == nil {
		return none, nil
	}
	p, ok := f.Value.(*patterns)
	if !ok || len(p.opts.Data) != 1 || p.opts.Data[0] != "-" {
		return none, nil
	}
	name, remove, err := SpoolStdin(ctx, in)
	if err != nil {
		return none, err
	}
	p.opts.Data, p.opts.As = []string{name}, "standard input"
	return remove, nil
}

// SpoolStdin writes what in has to a temporary file, which remove deletes.
func SpoolStdin(ctx context.Context, in io.Reader) (name string, remove func() error, err error) {
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
