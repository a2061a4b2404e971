package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/gcpopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/dataflow/dataflowlib"
	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/transforms"
	df "google.golang.org/api/dataflow/v1b3"
)

// dataflowPoll is the time between requests for the state of a job, and dataflowTries the number of
// consecutive failed requests after which the driver gives up.
const (
	dataflowPoll  = 30 * time.Second
	dataflowTries = 20
)

// dataflowOutcome waits for a job on Dataflow and returns its error, given the results of Beam's
// runner. That runner reports a cancelled job as a success, gives up when one request for the state
// fails, and does not say why a job failed.
func dataflowOutcome(ctx context.Context, result beam.PipelineResult, err error) error {
	if result == nil || result.JobID() == "" {
		return err // the job was not submitted
	}
	id := result.JobID()
	client, clientErr := dataflowlib.NewClient(ctx, beamFlag("dataflow_endpoint"))
	if clientErr != nil {
		return errors.Join(err, clientErr)
	}
	jobs := client.Projects.Locations.Jobs
	failed := 0
	for {
		j, getErr := jobs.Get(*gcpopts.Project, *gcpopts.Region, id).Context(ctx).Do()
		if getErr != nil {
			failed++
			if failed == dataflowTries {
				return fmt.Errorf("job %s: cannot get its state: %w", id, getErr)
			}
		} else {
			failed = 0
			switch j.CurrentState {
			case "JOB_STATE_DONE":
				return nil
			case "JOB_STATE_CANCELLED", "JOB_STATE_DRAINED", "JOB_STATE_UPDATED":
				return fmt.Errorf("job %s was stopped from outside (%s)", id, j.CurrentState)
			case "JOB_STATE_FAILED":
				return fmt.Errorf("job %s failed: %s", id, dataflowMessages(ctx, jobs, id))
			}
		}
		if err := parallel.Sleep(ctx, dataflowPoll); err != nil {
			return err
		}
	}
}

// dataflowMessages returns the error messages of a job and of its workers.
func dataflowMessages(ctx context.Context, jobs *df.ProjectsLocationsJobsService, id string) string {
	var texts []string
	call := jobs.Messages.List(*gcpopts.Project, *gcpopts.Region, id).MinimumImportance("JOB_MESSAGE_ERROR")
	err := call.Pages(ctx, func(page *df.ListJobMessagesResponse) error {
		for _, m := range page.JobMessages {
			texts = append(texts, m.MessageText)
		}
		return nil
	})
	if err != nil {
		texts = append(texts, fmt.Sprintf("cannot get its messages: %v", err))
	}
	if len(texts) == 0 {
		return "it has no messages; see its logs in the console"
	}
	return strings.Join(texts, "\n")
}

// cancelDataflow cancels the job that this process has submitted. Otherwise it would continue and incur costs.
func cancelDataflow(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	client, err := dataflowlib.NewClient(ctx, beamFlag("dataflow_endpoint"))
	if err != nil {
		return err
	}
	jobs := client.Projects.Locations.Jobs
	return jobs.List(*gcpopts.Project, *gcpopts.Region).Filter("ACTIVE").Pages(ctx, func(page *df.ListJobsResponse) error {
		for _, j := range page.Jobs {
			if j.Name != name {
				continue
			}
			stop := &df.Job{RequestedState: "JOB_STATE_CANCELLED"}
			if _, err := jobs.Update(*gcpopts.Project, *gcpopts.Region, j.Id, stop).Context(ctx).Do(); err != nil {
				return err
			}
		}
		return nil
	})
}

// Run runs a pipeline on Dataflow. If the context ends, it cancels the job there.
func (dataflow) Run(ctx context.Context, e engine.Engine, p *beam.Pipeline) error {
	defer dataflowFlags(e)()
	name := *jobopts.JobName
	e.Sayf("submitting to Dataflow as job %s: https://console.cloud.google.com/dataflow/jobs?project=%s", name,
		*gcpopts.Project)
	return engine.Await(ctx, func() error {
		result, err := beam.Run(context.WithoutCancel(ctx), engine.Dataflow, p)
		return dataflowOutcome(ctx, result, err)
	}, func() {
		if err := cancelDataflow(ctx, name); err != nil {
			e.Sayf("job %s could not be cancelled (%v) and may continue to incur costs: cancel it in the console", name, err)
		}
	})
}

// FromTemplate reports whether the launcher of a Dataflow template started the program. It expects
// a pipeline graph, not a result.
func FromTemplate() bool { return beamFlag("template_location") != "" }

// Template writes the graph that the launcher of a template submits to Dataflow. A template has one
// graph, but our jobs have several, with decisions between them. The graph is therefore a single
// step that runs the command with args on one worker.
func Template(ctx context.Context, args []string) error {
	e := engine.Engine{Runner: engine.Dataflow, Threads: 1, Readers: 1}
	if err := workerForDataflow(); err != nil {
		return err
	}
	if address := beam.PipelineOptions.Get(emulatorOption); address != "" {
		args = append(args, "--storage_emulator="+address)
	}
	p, s := beam.NewPipelineWithRoot()
	transforms.RunProgram(s, args)
	defer dataflowFlags(e)()
	_, err := beam.Run(ctx, engine.Dataflow, p)
	return e.Failure(err)
}
