package remote

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/transforms"
)

// FromTemplate reports whether the launcher of a Dataflow template started the program. It expects
// a pipeline graph, not a result.
func FromTemplate() bool { return beamFlag("template_location") != "" }

// Template writes the graph that the launcher of a template submits to Dataflow. A template has one
// graph, but our jobs have several, with decisions between them. The graph is therefore a single
// step that runs the command with args on one worker.
func Template(ctx context.Context, args []string) error {
	e := engine.Engine{Runner: engine.Dataflow, Threads: 1, Lanes: 1}
	if err := workerForDataflow(); err != nil {
		return err
	}
	if address := beam.PipelineOptions.Get(emulatorOption); address != "" {
		args = append(args, "--storage_emulator="+address)
	}
	p, s := beam.NewPipelineWithRoot()
	transforms.Drive(s, args)
	defer dataflowFlags(e)()
	_, err := beam.Run(ctx, engine.Dataflow, p)
	return e.Failure(err)
}
