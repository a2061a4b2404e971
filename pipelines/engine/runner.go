package engine

import (
	"context"
	"log"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/exec/optimized" // faster built-in types

	//lint:ignore SA1019 the direct runner is the fastest on one machine; nothing here depends on it alone
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/direct"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal"
)

// direct is the runner of this process. It opens no port.
const direct = "direct"

// Runner is a further way to run pipelines in this process. It changes no result.
type Runner struct {
	Name  string
	Lanes int // that it runs at a time; a job has no more of them by default
	Run   func(context.Context, *beam.Pipeline) error
}

// local are the registered runners by name.
var local = map[string]Runner{}

// Register has jobs find a runner by its name. It is to be called in init.
func Register(r Runner) {
	if _, there := local[r.Name]; there || slices.Contains(Runners(), r.Name) {
		panic("pipelines: a runner " + r.Name + " is there")
	}
	local[r.Name] = r
}

// Runners returns the names of all runners. Beam ends the process at the name of
// another.
func Runners() []string {
	return slices.Concat([]string{direct}, slices.Sorted(maps.Keys(local)), []string{universal, Flink, Dataflow})
}

// runLocal runs a pipeline in this process.
func runLocal(ctx context.Context, runner string, p *beam.Pipeline) error {
	if r, registered := local[runner]; registered {
		return r.Run(ctx, p)
	}
	_, err := beam.Run(ctx, runner, p)
	return err
}

// initBeam initialises Beam where the program has not; one that is its own worker has.
// Beam would put a logger of its own in the place of the program's.
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
