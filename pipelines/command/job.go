package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/engine/remote"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// runFunc does the work of a command. Its result, unless it is nil, is printed.
type runFunc func(cmd *cobra.Command, args []string) (io.WriterTo, error)

// printFlags are the flags of every command that prints a result.
type printFlags struct {
	// Print the result as JSON.
	JSON bool `flag:"json,common" group:"Job"`
}

// LogFlags are the flags of every command with a log.
type LogFlags struct {
	// Print no progress and no notes.
	Quiet bool `flag:"quiet" group:"Job"`
	// Progress, notes and errors on standard error as text, or as JSON: an object with time, level and
	// msg for each line. Errors in flags are always text.
	LogFormat string `flag:"log_format" group:"Job" values:"text,json" default:"text"`
}

// jobFlags are the flags of every command that runs pipelines, besides the flags of options.Job.
type jobFlags struct {
	LogFlags
	// YAML file that sets flags by name. Flags on the command line take precedence.
	Config string `flag:"config,common" group:"Job" placeholder:"FILE"`
}

// jobLog returns the writer for the log of a command, nil with --quiet.
func jobLog(cmd *cobra.Command) io.Writer {
	if isSet(cmd, "quiet") {
		return nil
	}
	return cmd.ErrOrStderr()
}

// newCommand returns the command that help/NAME.txt describes. Its flags are the options in more,
// the flags of the struct that o points to, and the flags of jobs if the struct holds an options.Job, or of
// logs if it has a log.
func newCommand(name string, o any, run runFunc, more ...*option.Option) *cobra.Command {
	cmd := commandFromText(name)
	fs := cmd.Flags()
	fs.SortFlags = false
	data, opts := findField[dataset.Options](o), findField[options.Job](o)
	if data != nil {
		data.Formats = dataset.NewOptions()
	}
	addOptions(cmd, append(more, option.List(o)...))
	if fs.Lookup("data") != nil {
		cmd.Args = dataFiles
	}
	addOptions(cmd, option.List(new(printFlags)))
	var flags jobFlags
	logs, log := cmp.Or(findField[LogFlags](o), &flags.LogFlags), findField[io.Writer](o)
	switch {
	case opts != nil || name == "serve": // serve has a log and may have a --config file, too
		addOptions(cmd, option.List(&flags))
	case log != nil:
		addOptions(cmd, option.List(&flags.LogFlags))
	}
	if opts != nil {
		addBeamFlags(fs)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := readConfig(cmd); exit.CodeOf(err) == exit.CodeStorage || errors.Is(err, iofs.ErrPermission) {
			return &startedError{err}
		} else if err != nil {
			return err
		}
		if err := translateValues(fs); err != nil {
			return err
		}
		switch logs.LogFormat {
		case "", "text":
		case "json":
			cmd.Root().SetErr(newJSONLog(cmd.ErrOrStderr()))
		default:
			return exit.Usagef("--log_format is text or json, not %q", logs.LogFormat)
		}
		if opts == nil && log != nil {
			*log = jobLog(cmd)
		}
		if err := startJob(cmd, args, data, opts, run); err != nil {
			return &startedError{err}
		}
		return nil
	}
	return cmd
}

// startJob runs the job and prints its result, or writes a Dataflow template that runs it.
func startJob(cmd *cobra.Command, args []string, data *dataset.Options, opts *options.Job, run runFunc) error {
	if remote.FromTemplate() {
		return remote.Template(cmd.Context(), templateArgs(cmd, args))
	}
	if opts != nil {
		if !opts.Engine.Verbose {
			// Workers in this process take Beam's log lines from their job.
			slog.SetDefault(slog.New(slog.DiscardHandler))
		}
		opts.Log = jobLog(cmd)
		opts.LimitMemory = true
	}
	remove, err := takeStdin(cmd.Context(), data, cmd.InOrStdin())
	if err != nil {
		return err
	}
	result, err := run(cmd, args)
	err = report(cmd, result, err)
	if removed := remove(); err == nil {
		err = removed
	}
	return err
}

// isSet reports whether the command has a boolean flag of that name and it is true.
func isSet(cmd *cobra.Command, name string) bool {
	f := cmd.Flags().Lookup(name)
	return f != nil && f.Value.String() == "true"
}

// findField returns the first field of type T in the struct that v points to, or in the structs
// that it contains, and nil if there is none.
func findField[T any](v any) *T {
	s := reflect.ValueOf(v).Elem()
	for i := range s.NumField() {
		f := s.Field(i)
		if !s.Type().Field(i).IsExported() {
			continue
		}
		if t, ok := f.Addr().Interface().(*T); ok {
			return t
		}
		if f.Kind() != reflect.Struct {
			continue
		}
		if t := findField[T](f.Addr().Interface()); t != nil {
			return t
		}
	}
	return nil
}

// report prints the result of a job, also if a gate was not passed or something beside the result was not written.
func report(cmd *cobra.Command, result io.WriterTo, err error) error {
	if !exit.HasResult(err) || result == nil || reflect.ValueOf(result).IsZero() {
		return err
	}
	printed := printResult(cmd, result)
	if err != nil && errors.Is(printed, syscall.EPIPE) {
		return err // it matters more than a closed pipe
	}
	return errors.Join(err, printed)
}

// printResult prints a result: with --json for programs, otherwise as text for people.
func printResult(cmd *cobra.Command, result io.WriterTo) (err error) {
	if isSet(cmd, "json") {
		err = writeJSON(cmd.OutOrStdout(), result)
	} else {
		_, err = result.WriteTo(cmd.OutOrStdout())
	}
	if err == nil {
		return nil
	}
	return exit.AfterPublish("", &exit.DataError{Err: fmt.Errorf("print the result: %w", err)})
}

// writeJSON writes indented JSON.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// Root returns the command tree with all flags, for tools that check command lines.
func Root() *cobra.Command { return newRoot() }

// templateArgs returns the command line that does the job of cmd on one worker: the given flags,
// except for flags of the runner.
func templateArgs(cmd *cobra.Command, args []string) []string {
	line := append([]string{cmd.Name()}, args...)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "config" || f.Name == "runner" || f.Name == "resume" {
			return
		}
		values := []string{f.Value.String()}
		if many, ok := f.Value.(pflag.SliceValue); ok {
			values = many.GetSlice()
		}
		for _, v := range values {
			line = append(line, "--"+f.Name+"="+v)
		}
	})
	if slices.Contains(directoryJobs, cmd.Name()) {
		line = append(line, "--resume") // continues a failed attempt
	}
	return line
}

// jsonLog writes each line as a JSON object with time, level and msg. Notes have the level WARN,
// errors that end the program ERROR, and progress INFO.
type jsonLog struct {
	mu      sync.Mutex
	handler slog.Handler
	rest    []byte // the beginning of a line
}

func newJSONLog(w io.Writer) *jsonLog { return &jsonLog{handler: slog.NewJSONHandler(w, nil)} }

func (l *jsonLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		l.rest = rest
		level, text := levelOf(string(line))
		if text == "" {
			continue
		}
		if err := l.handler.Handle(context.Background(), slog.NewRecord(time.Now(), level, text, 0)); err != nil {
			return 0, err
		}
	}
}

// levelOf returns the level of a line, and the line without the prefix that shows the level.
func levelOf(line string) (slog.Level, string) {
	line = strings.TrimSpace(line)
	if text, ok := strings.CutPrefix(line, "note: "); ok {
		return slog.LevelWarn, text
	}
	if text, ok := strings.CutPrefix(line, "bochner: "); ok {
		return slog.LevelError, text
	}
	return slog.LevelInfo, line
}
