package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// readConfig sets the flags that the file of --config has and the command line does not have. Every
// key must be the name of a flag. Texts are read as on the command line. A list sets a flag that can
// be given several times, or that takes a list separated by commas.
func readConfig(cmd *cobra.Command) error {
	fs := cmd.Flags()
	f := fs.Lookup("config")
	if f == nil || f.Value.String() == "" {
		return nil
	}
	name := f.Value.String()
	data, err := readSmall(cmd.Context(), name)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	var config map[string]any
	if err := option.UnmarshalYAML(data, &config); err != nil {
		return fmt.Errorf("--config: %s: %w", name, err)
	}
	for _, key := range slices.Sorted(maps.Keys(config)) {
		f := fs.Lookup(key)
		if f == nil || key == "config" {
			return fmt.Errorf("--config: %s: %s has no flag --%s%s", name, cmd.CommandPath(), key, suggestion(fs, key))
		}
		if f.Changed {
			continue
		}
		if err := setFlag(f, config[key]); err != nil {
			return fmt.Errorf("--config: %s: %s: %w", name, key, err)
		}
		given := f.Value
		f.Value = frozenValue{given}
		err := fs.Set(key, "") // notes that the flag is set, for Visit
		f.Value = given
		if err != nil {
			return err
		}
	}
	return nil
}

// frozenValue is a value whose Set changes nothing.
type frozenValue struct{ pflag.Value }

func (frozenValue) Set(string) error { return nil }

// readSmall reads a small file, which may be a pipe.
func readSmall(ctx context.Context, name string) ([]byte, error) {
	r, err := storage.Open(ctx, name, 0, -1)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, option.MaxYAMLBytes+1))
	if err == nil && len(data) > option.MaxYAMLBytes {
		err = fmt.Errorf("%s has more than %d bytes; is it a file of flags?", name, option.MaxYAMLBytes)
	}
	return data, err
}

// setFlag sets a flag to a YAML value.
func setFlag(f *pflag.Flag, value any) error {
	list, isList := value.([]any)
	if !isList {
		list = []any{value}
	}
	var words []string
	for _, v := range list {
		switch v.(type) {
		case string, bool, int, int64, uint64, float64:
		default:
			return errors.New("want a string, a number, true or false, or a list of these")
		}
		words = append(words, fmt.Sprint(v))
	}
	if many, ok := f.Value.(pflag.SliceValue); ok && isList {
		return many.Replace(words)
	}
	return f.Value.Set(strings.Join(words, ","))
}

// maxStdin is the largest number of bytes of data on standard input. They are stored in a temporary
// file, because jobs read data more than once.
const maxStdin = 1 << 30

// takeStdin replaces the file name - in data, unless data is nil, by a temporary file with the
// content of in; remove deletes the file.
func takeStdin(ctx context.Context, data *dataset.Options, in io.Reader) (remove func() error, err error) {
	if data == nil || len(data.Files) != 1 || data.Files[0] != standardInput {
		return func() error { return nil }, nil
	}
	name, remove, err := spoolStdin(ctx, in)
	if err == nil {
		data.Files, data.As = []string{name}, "standard input"
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

// spool copies standard input, at most maxStdin bytes, to a file.
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
		return exit.Dataf("standard input has more than %d bytes; save it to a file and name that", maxStdin)
	}
	return nil
}
