// Package engine runs Beam pipelines: in this process, on a job server such as Flink's, or on
// Dataflow. An engine changes no result.
package engine

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"

	"github.com/bochner-ml/bochner/internal/spell"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// Engine says where and how pipelines run. It changes no result.
type Engine struct {
	Runner  string // direct (default), universal, flink or dataflow
	Lanes   int    // parallel chains over the data; 0 chooses for the runner
	Threads int    // of the algebra in each lane; 0 chooses for the runner
	Verbose bool   // let Beam's own log lines through

	SolveThreads int // Threads as it was given
	Note         func(format string, args ...any)
}

// RemoteLanes is how many lanes a cluster gets where nothing else is said.
const RemoteLanes = 8

// InProcess tells whether the workers are goroutines of this process.
func (e Engine) InProcess() bool {
	_, registered := local[e.Runner]
	return e.Runner == direct || registered
}

// CountsRows tells whether transforms.Worker.Rows counts what the workers read.
func (e Engine) CountsRows() bool {
	return e.Runner == "" || e.InProcess() || jobopts.IsLoopback()
}

func (e Engine) WithDefaults() Engine {
	if e.Runner == "" {
		e.Runner = direct
	}
	cores := runtime.GOMAXPROCS(0)
	e.SolveThreads = e.Threads
	switch r, registered := local[e.Runner]; {
	case e.Runner == direct:
		e.Lanes = 1 // one goroutine does everything, one lane after the other
		if e.Threads == 0 {
			e.Threads = cores
		}
	case e.Lanes != 0:
	case registered:
		e.Lanes = max(1, min(cores, r.Lanes))
	default:
		e.Lanes = RemoteLanes
	}
	if e.Threads == 0 {
		e.Threads = 1
	}
	return e
}

func (e Engine) Validate() error {
	if have := Runners(); e.Runner != "" && !slices.Contains(have, e.Runner) {
		if e.Runner == "prism" {
			return exit.Usage("--runner prism is gone: its server could be reached from other machines, by anyone, and ran what they sent; --runner direct is as fast")
		}
		return exit.Usage("unknown runner %q%s; have %s", e.Runner, spell.DidYouMean(e.Runner, have), strings.Join(have, ", "))
	}
	if *jobopts.Async {
		return exit.Usage("--async: a job of several pipelines must wait for each of them")
	}
	if e.Lanes < 0 || e.Threads < 0 {
		return exit.Usage("--lanes and --threads must be 0 (choose) or more")
	}
	if (e.Runner == "" || e.Runner == direct) && e.Lanes > 1 {
		return exit.Usage("--lanes: the direct runner has one lane; use --threads")
	}
	if e.Runner == Dataflow {
		return validDataflow()
	}
	return nil
}

// Run builds a pipeline and runs it. It returns when the pipeline has ended or
// the context has; in the latter case the pipeline's goroutines may go on for a
// moment, which harms nothing: what they write appears whole or not at all.
func (e Engine) Run(ctx context.Context, build func(beam.Scope)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := e.reachable(ctx); err != nil {
		return err
	}
	if err := e.workerBinary(); err != nil {
		return err
	}
	initBeam()
	ctx = e.withLog(ctx)
	p, s := beam.NewPipelineWithRoot()
	build(s)
	if e.Runner == Dataflow {
		return e.failure(e.runDataflow(ctx, p))
	}
	if e.Runner != direct && e.InProcess() || jobopts.IsLoopback() {
		giveBack, err := tempDir.borrow(ctx)
		if err != nil {
			return err
		}
		defer giveBack()
	}
	if e.viaServer() {
		return e.failure(e.runServer(ctx, p))
	}
	done := make(chan error, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- fault.Recovered(r)
			}
		}()
		done <- runLocal(context.WithoutCancel(ctx), e.Runner, p) // a deadline makes prism panic
	}()
	select {
	case err := <-done:
		return e.failure(err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// reachable returns an error if nothing answers at the job server's endpoint, to
// which Beam would go on trying for two minutes, or if Dataflow has no buckets.
func (e Engine) reachable(ctx context.Context) error {
	if e.Runner == Dataflow {
		return existingBuckets(ctx)
	}
	if !e.viaServer() {
		return nil
	}
	if *jobopts.Endpoint == "" {
		return exit.Usage("--runner %s takes the --endpoint of a job server, such as localhost:8073", e.Runner)
	}
	dialer := net.Dialer{Timeout: 20 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", *jobopts.Endpoint)
	if err == nil {
		return conn.Close()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &exit.RunnerError{Runner: e.Runner, Err: fmt.Errorf("no job server at --endpoint %s: %w", *jobopts.Endpoint, err)}
}

// failure tells what the error of a pipeline means: the Fault of a worker, or
// that of the runner itself.
func (e Engine) failure(err error) error {
	var reported *fault.Fault
	err = fault.Find(err)
	switch {
	case err == nil, errors.As(err, &reported), errors.Is(err, context.Canceled):
		return err
	case strings.Contains(err.Error(), "worker disconnected"):
		err = fmt.Errorf("a worker ended while it worked for the job; was it killed, perhaps for want of memory?\n%w", err)
	}
	return &exit.RunnerError{Runner: e.Runner, Err: err}
}

// workerBinary makes the program itself what runners start as a worker. Without
// that Beam would compile the source, which is not at hand where the program runs.
func (e Engine) workerBinary() error {
	binary := *jobopts.WorkerBinary
	if e.InProcess() || jobopts.IsLoopback() || binary != "" && e.Runner != Dataflow {
		return nil
	}
	if binary == "" {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("pipelines: cannot find this program to give it to workers: %w; name a binary with --worker_binary", err)
		}
		binary = self
	}
	f, err := elf.Open(binary)
	if err == nil {
		defer f.Close()
		for _, p := range f.Progs {
			if p.Type == elf.PT_INTERP {
				return exit.Usage("%s is linked with shared libraries that workers may not have: build it with CGO_ENABLED=0, or name another with --worker_binary", binary)
			}
		}
	}
	if arch, machine := workerArch(); e.Runner == Dataflow && (err != nil || f.Machine != machine) {
		return exit.Usage("--worker_binary: %s does not run on the workers, which are linux/%s: build the program with GOOS=linux GOARCH=%s CGO_ENABLED=0 and name it", binary, arch, arch)
	}
	*jobopts.WorkerBinary = binary
	return nil
}
