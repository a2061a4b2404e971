// Package engine runs Beam pipelines. An Engine has the options of a run, and Engine.Run builds a
// pipeline and runs it on the Runner that Engine.Runner names. The direct runner is here; the
// runners for Dataflow and for job servers such as Flink's are in package remote. The choice of an
// engine changes no result, except for the default number of partitions of an iterative learner.
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	//lint:ignore SA1019 the direct runner is the fastest on one machine; nothing here depends on it alone
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/direct"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// Engine holds the options for running pipelines: the runner, its readers and their threads and memory.
type Engine struct {
	// Apache Beam runner: direct (this process), universal or flink (a job server at --endpoint),
	// dataflow (Google Cloud). See bochner help runner.
	Runner string `flag:"runner,common" default:"direct" placeholder:"NAME"`

	// Number of parallel readers; 0 chooses for the runner. Does not change results.
	Readers int `flag:"readers"`

	// Threads that each parallel reader uses for linear algebra; 0 chooses for the runner. Does not
	// change results.
	Threads int `flag:"threads"`

	// Print the log of Beam.
	Verbose bool `flag:"verbose"`

	// Shortest time between two checkpoints of a parallel reader; 0 is a minute, a negative time is
	// after every shard. Does not change results.
	Checkpoint time.Duration `flag:"checkpoint,hidden"`

	// Memory in bytes, as a number or as 8GB, that a worker with one parallel reader may take. Larger
	// sums, or rows that are stored instead of them, are split into stripes, and the data is read once
	// for each stripe. 0 is the memory of the machine in one process, and no limit elsewhere. Does not
	// change results.
	WorkerBytes int64 `flag:"worker_bytes" unit:"bytes"`

	Note func(format string, args ...any) // prints a line for the user; may be nil
}

// runner returns the runner of the engine, or nil if its name is not registered.
func (e Engine) runner() Runner {
	r, _ := runners.Find(cmp.Or(e.Runner, Direct))
	return r
}

// About describes the engine's runner. It is zero if the runner's name is not registered.
func (e Engine) About() About {
	if r := e.runner(); r != nil {
		return r.About()
	}
	return About{}
}

// InProcess reports whether the runner always has its workers in this process.
func (e Engine) InProcess() bool { return e.About().InProcess }

// LocalWorkers reports whether the workers of this run are in this process. On a job server they
// are if Beam's environment is loopback.
func (e Engine) LocalWorkers() bool { return e.InProcess() || jobopts.IsLoopback() }

// WithDefaults returns the engine with defaults for fields that are zero.
func (e Engine) WithDefaults() Engine {
	e.Runner = cmp.Or(e.Runner, Direct)
	about, cores := e.About(), runtime.GOMAXPROCS(0)
	switch {
	case about.Serial:
		e.Readers = 1
		e.Threads = cmp.Or(e.Threads, cores)
	case e.Readers == 0 && about.InProcess:
		e.Readers = max(1, min(cores, about.Readers))
	case e.Readers == 0:
		e.Readers = max(1, about.Readers)
	}
	e.Threads = cmp.Or(e.Threads, 1)
	return e
}

// Validate returns an error if no pipeline can run with these options.
func (e Engine) Validate() error {
	r := e.runner()
	if r == nil {
		return exit.Usagef("unknown runner %q%s; have %s", e.Runner, option.DidYouMean(e.Runner, Runners()),
			strings.Join(Runners(), ", "))
	}
	if *jobopts.Async {
		return exit.Usagef("--async: a job of several pipelines must wait for each of them")
	}
	for _, n := range []struct {
		flag  string
		value int64
	}{{"readers", int64(e.Readers)}, {"threads", int64(e.Threads)}, {"worker_bytes", int64(e.WorkerBytes)}} {
		if n.value < 0 {
			return exit.Usagef("--%s must be 0 (chosen by bochner) or more (have %d)", n.flag, n.value)
		}
	}
	return r.Validate(e)
}

// Run builds a pipeline and runs it. It returns when the pipeline or the context has ended; in
// the latter case the pipeline's goroutines may continue for a moment, which is harmless,
// because their files appear complete or not at all.
func (e Engine) Run(ctx context.Context, build func(beam.Scope)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := e.runner()
	if err := r.Ready(ctx, e); err != nil {
		return err
	}
	initBeam()
	ctx = e.withLog(ctx)
	p, s := beam.NewPipelineWithRoot()
	build(s)
	return e.Failure(r.Run(ctx, e, p))
}

// VCPUs returns the number of virtual CPUs of a machine type, which is the first number in a name
// such as n2-highmem-8 or custom-8-16384, or 0 if the name has no number.
func VCPUs(machine string) int {
	for _, part := range strings.Split(machine, "-")[1:] {
		if n, err := strconv.Atoi(part); err == nil {
			return n
		}
	}
	return 0
}

// Sayf prints a line for the user with Note, if there is one.
func (e Engine) Sayf(format string, args ...any) {
	if e.Note != nil {
		e.Note(format, args...)
	}
}

// logKey is the context key of the function that logs a line for a pipeline's job.
type logKey struct{}

// withLog returns a context that sends Beam's warnings about a pipeline to the log of its job. With
// Verbose it returns ctx, and Beam logs as usual.
func (e Engine) withLog(ctx context.Context) context.Context {
	if e.Verbose {
		return ctx
	}
	beamlog.SetLogger(jobLogger{}) // each time, because workers in this process replace it
	return context.WithValue(ctx, logKey{}, func(line string) { e.Sayf("beam: %s", line) })
}

// jobLogger sends Beam's log lines about our pipelines to the log of their job, and others to slog,
// as Beam does by default.
type jobLogger struct{ beamlog.Structural }

func (l jobLogger) Log(ctx context.Context, severity beamlog.Severity, depth int, message string) {
	note, ours := ctx.Value(logKey{}).(func(string))
	switch {
	case !ours && jobopts.IsLoopback() && severity < beamlog.SevWarn:
		// Workers in this process log without the context of their job.
	case !ours:
		l.Structural.Log(ctx, severity, depth+1, message)
	case severity >= beamlog.SevWarn && !isNoise(message):
		note(message)
	}
}

// isNoise reports whether a warning needs no line: it repeats the job's error or is listed in noise.
func isNoise(message string) bool {
	_, reported := fault.Find(errors.New(message))
	return reported || slices.ContainsFunc(noise, func(n string) bool { return strings.Contains(message, n) })
}

// noise has parts of Beam's warnings that tell users nothing.
var noise = []string{
	"bundle inst",         // the cause of a failed job, which its error has
	"forcing DataChannel", // a worker reconnects, as usual at the end of a job
}

// Runner is a way to run pipelines. It must not change results. Register adds one.
type Runner interface {
	// About returns the properties of the runner.
	About() About
	// Validate refuses options with which no pipeline can run. It calls no server.
	Validate(e Engine) error
	// Ready returns an error if the runner cannot be reached, or if its workers lack something that
	// they need. It is called before each pipeline is built.
	Ready(ctx context.Context, e Engine) error
	// Run runs a pipeline to its end. If the context ends, it cancels the pipeline and returns
	// the context's error. Engine.Note is for messages to the user.
	Run(ctx context.Context, e Engine, p *beam.Pipeline) error
}

// About holds the properties of a runner that jobs need.
type About struct {
	Name    string // value of Engine.Runner
	Readers int    // default number of parallel readers
	// InProcess is true if the workers are goroutines of this process.
	InProcess bool
	// Serial is true if one goroutine processes reader after reader. Linear algebra then uses all cores,
	// and more than one reader is useless.
	Serial bool
	// Reshuffle is transforms.Scan.Reshuffle.
	Reshuffle bool
	// Machines is true if the runner starts machines for each job. They cannot read files of this machine.
	Machines bool
}

// Names of the runners of package remote: Universal and Flink submit pipelines to the job server at
// --endpoint, Dataflow to Google Cloud.
const (
	Universal = "universal"
	Flink     = "flink"
	Dataflow  = "dataflow"
)

var runners = option.NewRegistry[Runner]("runner")

// Register adds a runner, so that jobs find it by its name. Call it in init. It panics if the name is taken.
func Register(r Runner) { runners.Add(r, nil, r.About().Name) }

// Runners returns the names of all runners, the runners of this process first.
func Runners() []string {
	names := runners.Names()
	slices.SortStableFunc(names, func(a, b string) int { return listOrder(a) - listOrder(b) })
	return names
}

func listOrder(name string) int {
	r, _ := runners.Find(name)
	switch about := r.About(); {
	case about.Serial:
		return 0
	case about.InProcess:
		return 1
	}
	return 2
}

// Local is a runner whose workers are goroutines of this process.
type Local struct {
	Name    string
	Readers int // default number of readers, which run at the same time
	// Beam runs a pipeline. It may ignore the end of the context, because the files of
	// pipelines appear complete or not at all.
	Beam func(context.Context, *beam.Pipeline) error
}

// About implements Runner.
func (l Local) About() About { return About{Name: l.Name, Readers: l.Readers, InProcess: true} }

// Validate implements Runner.
func (l Local) Validate(Engine) error { return nil }

// Ready implements Runner.
func (l Local) Ready(context.Context, Engine) error { return nil }

// Run implements Runner. The pipeline gets a temporary directory of its own, in which Beam leaves a
// file instead of the workers' binary.
func (l Local) Run(ctx context.Context, _ Engine, p *beam.Pipeline) error {
	giveBack, err := BorrowTemp(ctx)
	if err != nil {
		return err
	}
	defer giveBack()
	return inProcess(ctx, func(ctx context.Context) error { return l.Beam(ctx, p) })
}

// inProcess runs a pipeline in this process. It returns when the pipeline or the context has
// ended; in the latter case the pipeline's goroutines may continue for a moment. A panic
// becomes an error.
func inProcess(ctx context.Context, run func(context.Context) error) error {
	return Await(ctx, func() (err error) {
		defer func() {
			if r := recover(); r != nil {
				err = fault.OfPanic(r)
			}
		}()
		return run(context.WithoutCancel(ctx)) // prism panics on a deadline
	}, func() {})
}

// Await returns the error of run, or the error of the context after it has called cancel.
func Await(ctx context.Context, run func() error, cancel func()) error {
	done := make(chan error, 1)
	go func() { done <- run() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		cancel()
		return ctx.Err()
	}
}

// Failure returns the cause of a pipeline's error: the fault.Fault of a worker, or an *exit.RunnerError.
func (e Engine) Failure(err error) error {
	if f, ok := fault.Find(err); ok {
		return f
	}
	_, reported := errors.AsType[*fault.Fault](err)
	switch {
	case err == nil, reported, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case strings.Contains(err.Error(), "worker disconnected"):
		err = fmt.Errorf("a worker ended during the job; was it killed, perhaps because it was out of memory?\n%w", err)
	}
	return &exit.RunnerError{Runner: e.Runner, Err: err}
}

// initBeam initialises Beam unless the program has done so, as programs that start themselves as
// workers do. It restores the program's logger, which Beam replaces.
var initBeam = sync.OnceFunc(func() {
	if beam.Initialized() {
		return
	}
	logger, writer, flags := slog.Default(), log.Writer(), log.Flags()
	beam.Init()
	slog.SetDefault(logger)
	log.SetOutput(writer)
	log.SetFlags(flags)
})

// Direct is the name of the default runner, which runs in this process. It opens no port.
const Direct = "direct"

func init() { Register(direct{}) }

type direct struct{}

func (direct) About() About { return About{Name: Direct, Readers: 1, InProcess: true, Serial: true} }

func (direct) Validate(e Engine) error {
	if e.Readers > 1 {
		return exit.Usagef("--readers: the direct runner has one reader; use --threads")
	}
	return nil
}

func (direct) Ready(context.Context, Engine) error { return nil }

func (direct) Run(ctx context.Context, _ Engine, p *beam.Pipeline) error {
	return inProcess(ctx, func(ctx context.Context) error {
		_, err := beam.Run(ctx, Direct, p)
		return err
	})
}
