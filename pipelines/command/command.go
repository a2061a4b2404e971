// Package command is the command line of bochner: one sub-command per job, each a thin layer over
// package pipelines. Main runs it. A sub-command is made from a struct of options, whose
// tags become flags, and from help/NAME.txt, which becomes the help.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/bochner-ml/bochner/internal/machine"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/engine/remote"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/transforms/fault"
	"github.com/spf13/cobra"
)

// Main runs the command with the arguments after the program's name and returns its exit code. On a
// worker, which runners start with Beam's flags only, it serves the runner and does not return.
func Main(args []string) int {
	var beamArgs []string
	if onWorker(args) {
		beamArgs = args
		go exitWithParent()
		removeCopy()
	}
	if err := flag.CommandLine.Parse(beamArgs); err != nil {
		return int(exit.CodeUsage)
	}
	beam.Init()

	// Failures that nothing can recover from, such as running out of memory, end the
	// process with a signal (SIGABRT) instead of code 2, which means wrong flags.
	debug.SetTraceback("crash")

	ends := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
	if name := withoutJobFlag(args); len(name) > 0 && name[0] == "serve" { // on SIGHUP it looks for a new model
		ends = ends[:2]
	}
	ends = slices.DeleteFunc(ends, signal.Ignored) // nohup ignores SIGHUP
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	// When the reader of standard output exits, a write fails with EPIPE and the job ends in order.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return int(Run(ctx, args, os.Stdout, os.Stderr))
}

// Run runs the command with the arguments after the program's name in this process, in its working
// directory, and returns the exit code. It stops in order when ctx ends.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) (code exit.Code) {
	defer func() {
		if r := recover(); r != nil {
			code = reportCrash(stderr, args, fault.OfPanic(r))
		}
	}()
	args = withoutJobFlag(args)
	root := newRoot(args...)
	root.SetArgs(args)
	out := &output{Writer: stdout}
	root.SetOut(out)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	stderr = root.ErrOrStderr() // --log_format may have replaced it
	_, started := errors.AsType[*startedError](err)
	switch {
	case out.readerGone(err):
		return exit.CodeOK // for instance head
	case out.err != nil && !started: // help or a version
		fmt.Fprintf(stderr, "bochner: standard output: %v\n", out.err)
		return exit.CodeData
	case err == nil:
		return exit.CodeOK
	case !started:
		fmt.Fprintf(stderr, "bochner: %s\nsee %s --help\n", inOneLine(fault.Text(err)), cmd.CommandPath())
		return exit.CodeUsage
	}
	code = exit.CodeOf(err)
	switch code {
	case exit.CodeCrash:
		return reportCrash(stderr, args, err)
	case exit.CodeInterrupted:
		if keepsWork(cmd) {
			fmt.Fprintf(stderr, "bochner: stopped; the same command with --resume continues from here\n")
		} else {
			fmt.Fprintf(stderr, "bochner: stopped\n")
		}
	case exit.CodeFailed, exit.CodeStorage:
		fmt.Fprintf(stderr, "bochner: %s\n", fault.Text(err))
		if _, done := errors.AsType[*exit.DoneError](err); !done && keepsWork(cmd) {
			fmt.Fprintf(stderr, "the same command with --resume continues from the finished part\n")
		}
	case exit.CodeUsage:
		fmt.Fprintf(stderr, "bochner: %s\nsee %s --help\n", withFlagName(err), cmd.CommandPath())
	default:
		fmt.Fprintf(stderr, "bochner: %s\n", fault.Text(err))
	}
	return code
}

// withFlagName returns the text of an error. If it begins with the name of an option, dashes make
// it the name of a flag.
func withFlagName(err error) string {
	if o, ok := errors.AsType[*option.Error](err); ok && err.Error() == o.Error() {
		return "--" + err.Error()
	}
	return fault.Text(err)
}

// reportCrash prints an internal error, with the stack if --verbose is given, and returns its exit code.
func reportCrash(stderr io.Writer, args []string, err error) exit.Code {
	what, where, _ := strings.Cut(err.Error(), "\n")
	if _, much, ok := strings.Cut(what, machine.OutOfMemory); ok {
		fmt.Fprintf(stderr, "bochner: %s%s; --plan prints what training needs\n", machine.OutOfMemory, much)
		return exit.CodeCrash
	}
	fmt.Fprintf(stderr, "bochner: internal error: %s; this is a bug: please report it with the output of --verbose\n", what)
	if slices.Contains(args, "--verbose") {
		fmt.Fprintln(stderr, where)
	}
	return exit.CodeCrash
}

// directoryJobs are the jobs that create a directory and have a work directory next to it.
var directoryJobs = []string{"train", "fit", "align", "embed", "predict", "featurize"}

// keepsWork reports whether a stopped job leaves its finished work: in a named work directory, or
// in one next to its output. A stream leaves none, because its outputs record its progress.
func keepsWork(cmd *cobra.Command) bool {
	if stream := cmd.Flags().Lookup("stream"); stream != nil && stream.Changed {
		return false
	}
	work, out := cmd.Flags().Lookup("work"), cmd.Flags().Lookup("out")
	makes := slices.Contains(directoryJobs, cmd.Name()) && (out == nil || out.Value.String() != standardOutput)
	return work != nil && (work.Changed || makes)
}

// startedError is an error of a job that has started. Other errors are in the command line.
type startedError struct{ err error }

func (e *startedError) Error() string { return e.err.Error() }
func (e *startedError) Unwrap() error { return e.err }

// withoutJobFlag turns --job=train … into train …, for launchers that pass flags only.
func withoutJobFlag(args []string) []string {
	for i, a := range args {
		name, value, has := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if name != "job" || !strings.HasPrefix(a, "-") {
			continue
		}
		rest := slices.Concat(args[:i], args[i+1:])
		if !has {
			if i+1 == len(args) {
				return args
			}
			value, rest = args[i+1], slices.Concat(args[:i], args[i+2:])
		}
		return append([]string{value}, rest...)
	}
	return args
}

// onWorker reports whether a runner started the program as a worker.
func onWorker(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		name, value, has := strings.Cut(strings.TrimLeft(a, "-"), "=")
		return strings.HasPrefix(a, "-") && name == "worker" && (!has || value == "true")
	})
}

// newRoot returns the root command with all sub-commands, or with only the one that args begin
// with: making the flags of all takes as long as a small job.
func newRoot(args ...string) *cobra.Command {
	root := commandFromText("bochner")
	root.Version, root.Args = engine.Version(), nil
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(wrongFlag)
	root.PersistentFlags().Func("storage_emulator",
		"Server at `host:port` to ask for gs:// instead of Google's, without credentials; for tests.",
		func(address string) error {
			remote.UseStorageEmulator(address)
			return nil
		})
	root.PersistentFlags().Lookup("storage_emulator").Hidden = true
	root.CompletionOptions.HiddenDefaultCmd = true
	commands := map[string]func() *cobra.Command{
		"train": trainCommand, "align": alignCommand, "embed": embedCommand, "predict": predictCommand,
		"evaluate": evaluateCommand, "compare": compareCommand, "report": reportCommand, "test": testCommand,
		"verify": verifyCommand, "sum": sumCommand, "fit": fitCommand, "ask": askCommand, "forget": forgetCommand,
		"prune": pruneCommand, "inspect": inspectCommand, "explain": explainCommand, "export": exportCommand,
		"featurize": featurizeCommand, "kernel": kernelCommand, "generate": generateCommand, "models": modelsCommand,
		"retrain": retrainCommand, "serve": serveCommand, "version": versionCommand,
		"runner": func() *cobra.Command { return topic("runner", beamFlags) },
		"stream": func() *cobra.Command { return topic("stream", func() string { return "" }) },
	}
	if len(args) > 0 && commands[args[0]] != nil {
		root.AddCommand(commands[args[0]]())
	} else {
		for _, command := range commands {
			root.AddCommand(command())
		}
	}
	attachHelp(root)
	addCompletion(root)
	root.SetGlobalNormalizationFunc(underscored)
	return root
}

// exitWithParent ends this process, a worker, when its parent ends. Runners stop a worker by
// killing its parent, Beam's boot program, which does not forward the signal, and Beam's harness
// never exits by itself. Without this, every job on a cluster would leave its workers running.
func exitWithParent() {
	parent := os.Getppid()
	for range time.Tick(time.Second) {
		if os.Getppid() != parent {
			os.Exit(0)
		}
	}
}

// removeCopy removes the file of this program if it is a worker's copy. Beam's boot program makes
// one in a directory of /tmp for every worker that it starts and never removes it, which would fill
// the disk of a long-lived machine. The running program does not need its file.
func removeCopy() {
	program, err := os.Executable()
	if err != nil {
		return
	}
	if ours, _ := filepath.Match("/tmp/bin*/worker", program); ours && os.Remove(program) == nil {
		os.Remove(filepath.Dir(program)) // unless there are other files
	}
}
