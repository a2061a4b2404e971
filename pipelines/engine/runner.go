package engine

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	//lint:ignore SA1019 the direct runner is the fastest on one machine; nothing here depends on it alone
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/direct"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/transforms/fault"
)

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

// About has the properties of a runner that jobs need.
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
