package pipelines

import (
	"context"
	"debug/elf"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"

	"github.com/bochner-ml/bochner/transforms"
)

// Engine says where and how pipelines run. It changes no result.
type Engine struct {
	Runner  string // direct (default), prism, or another runner that Beam has
	Lanes   int    // parallel chains over the data; 0 chooses for the runner
	Threads int    // of the algebra in each lane; 0 chooses for the runner
	Verbose bool   // let Beam's own log lines through
}

// remoteLanes is how many lanes a cluster gets where nothing else is said.
const remoteLanes = 8

// inProcess tells whether the workers are goroutines of this process.
func (e Engine) inProcess() bool {
	return e.Runner == "direct" || e.Runner == "prism"
}

func (e Engine) withDefaults() Engine {
	if e.Runner == "" {
		e.Runner = "direct"
	}
	cores := runtime.GOMAXPROCS(0)
	switch e.Runner {
	case "direct":
		e.Lanes = 1 // one goroutine does everything, one lane after the other
		if e.Threads == 0 {
			e.Threads = cores
		}
	case "prism":
		if e.Lanes == 0 {
			e.Lanes = min(cores, 8) // prism runs at most 8 bundles at a time
		}
	default:
		if e.Lanes == 0 {
			e.Lanes = remoteLanes
		}
	}
	if e.Threads == 0 {
		e.Threads = 1
	}
	return e
}

func (e Engine) validate() error {
	if e.Lanes < 0 || e.Threads < 0 {
		return usage("--lanes and --threads must be 0 (choose) or more")
	}
	if e.Runner == "direct" && e.Lanes > 1 {
		return usage("--lanes: the direct runner has one lane; use --threads, or --runner prism")
	}
	return nil
}

// run builds a pipeline and runs it. It returns when the pipeline has ended or
// the context has; in the latter case the pipeline's goroutines may go on for a
// moment, which harms nothing: what they write appears whole or not at all.
func (e Engine) run(ctx context.Context, build func(beam.Scope)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := e.workerBinary(); err != nil {
		return err
	}
	p, s := beam.NewPipelineWithRoot()
	build(s)
	done := make(chan error, 1)
	tidy := func() {}
	if e.Runner == "prism" {
		tidy = privateTemp()
	}
	go func() {
		defer tidy()
		// Prism panics on a context that has a deadline; this one has none.
		_, err := beam.Run(context.WithoutCancel(ctx), e.Runner, p)
		done <- err
	}()
	select {
	case err := <-done:
		return transforms.FindFault(err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// workerBinary makes the program itself what runners start as a worker. Without
// that Beam would compile the source, which is not at hand where the program runs.
func (e Engine) workerBinary() error {
	if e.inProcess() || *jobopts.WorkerBinary != "" || jobopts.IsLoopback() {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("pipelines: cannot find this program to give it to workers: %w; name a binary with --worker_binary", err)
	}
	if f, err := elf.Open(self); err == nil {
		defer f.Close()
		for _, p := range f.Progs {
			if p.Type == elf.PT_INTERP {
				return usage("%s is linked with shared libraries that workers may not have: build it with CGO_ENABLED=0, or name another with --worker_binary", self)
			}
		}
	}
	*jobopts.WorkerBinary = self
	return nil
}

// privateTemp gives the process a temporary directory of its own until the
// returned function is called: each prism job leaves an empty file in it, where
// the binary for workers would be. If there can be none, files are left.
func privateTemp() (restore func()) {
	before, set := os.LookupEnv("TMPDIR")
	dir, err := os.MkdirTemp("", "bochner-prism-")
	if err != nil || os.Setenv("TMPDIR", dir) != nil {
		return func() {}
	}
	return func() {
		if set {
			os.Setenv("TMPDIR", before)
		} else {
			os.Unsetenv("TMPDIR")
		}
		os.RemoveAll(dir)
	}
}

// Quiet sends the log of Beam and its runners away, but for warnings.
func Quiet() {
	beamlog.SetLogger(warnings{})
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
}

type warnings struct{}

func (warnings) Log(ctx context.Context, sev beamlog.Severity, calldepth int, msg string) {
	if sev >= beamlog.SevWarn && !slices.ContainsFunc(noise, func(n string) bool { return strings.Contains(msg, n) }) {
		os.Stderr.WriteString("beam: " + msg + "\n")
	}
}

// noise is what Beam warns of without need.
var noise []string
