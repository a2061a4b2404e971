package remote

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"

	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

func init() {
	engine.Register(jobServer{engine.Universal})
	engine.Register(jobServer{engine.Flink})
}

// jobServer runs pipelines on a job server.
type jobServer struct{ name string }

func (r jobServer) About() engine.About {
	return engine.About{Name: r.name, Readers: readers, Reshuffle: r.name == engine.Flink}
}

func (r jobServer) Validate(engine.Engine) error { return nil }

// Ready returns an error if workers cannot run this program, or if no server answers at the
// endpoint. Without this check, Beam would retry for two minutes.
func (r jobServer) Ready(ctx context.Context, e engine.Engine) error {
	if *jobopts.Endpoint == "" {
		return exit.Usagef("--runner %s needs the --endpoint of a job server, such as localhost:8073", r.name)
	}
	if !jobopts.IsLoopback() && *jobopts.WorkerBinary == "" {
		binary, err := workerBinary()
		if err != nil {
			return err
		}
		if _, _, err := checkStatic(binary); err != nil {
			return err
		}
		*jobopts.WorkerBinary = binary
	}
	dialer := net.Dialer{Timeout: 20 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", *jobopts.Endpoint)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &exit.RunnerError{Runner: r.name, Err: fmt.Errorf("no job server at --endpoint %s: %w",
			*jobopts.Endpoint, err)}
	}
	return conn.Close()
}

// Run runs a pipeline on the job server. If the context ends, it cancels the job there.
func (r jobServer) Run(ctx context.Context, e engine.Engine, p *beam.Pipeline) error {
	if jobopts.IsLoopback() {
		giveBack, err := engine.BorrowTemp(ctx)
		if err != nil {
			return err
		}
		defer giveBack()
	}
	given := *jobopts.JobName
	defer func() { *jobopts.JobName = given }()
	token := strings.ToLower(rand.Text())
	*jobopts.JobName = cmp.Or(given, "bochner") + "-" + token
	return engine.Await(ctx, func() error {
		result, err := beam.Run(context.WithoutCancel(ctx), engine.Universal, p)
		if err != nil {
			return err
		}
		return serverOutcome(ctx, result.JobID())
	}, func() {
		if err := cancelOnServer(ctx, token); err != nil {
			e.Sayf("the job whose name contains %s could not be cancelled (%v) and may continue", token, err)
		}
	})
}

// jobService calls a function with a client of the job server.
func jobService(ctx context.Context, call func(context.Context, jobpb.JobServiceClient) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	conn, err := grpcx.Dial(ctx, *jobopts.Endpoint, 20*time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	return call(ctx, jobpb.NewJobServiceClient(conn))
}

// serverOutcome returns the error of a job for which Beam's runner returned none. Beam's runner
// reports success for a cancelled job, and for a job that failed before the server reported on it.
func serverOutcome(ctx context.Context, id string) error {
	return jobService(ctx, func(ctx context.Context, s jobpb.JobServiceClient) error {
		state, err := s.GetState(ctx, &jobpb.GetJobStateRequest{JobId: id})
		switch {
		case err != nil:
			return fmt.Errorf("job %s has ended, but its state is not available: %w", id, err)
		case state.GetState() == jobpb.JobState_CANCELLED:
			return fmt.Errorf("job %s was cancelled from outside", id)
		case state.GetState() != jobpb.JobState_DONE:
			return fmt.Errorf("job %s ended in state %s; see the log of the job server", id, state.GetState())
		}
		return nil
	})
}

// cancelOnServer cancels the jobs whose names contain the token, because they would continue after
// this process. Flink's server changes the rest of the name.
func cancelOnServer(ctx context.Context, token string) error {
	return jobService(ctx, func(ctx context.Context, s jobpb.JobServiceClient) error {
		jobs, err := s.GetJobs(ctx, &jobpb.GetJobsRequest{})
		if err != nil {
			return err
		}
		for _, j := range jobs.GetJobInfo() {
			if !strings.Contains(j.GetJobName(), token) {
				continue
			}
			if _, err := s.Cancel(ctx, &jobpb.CancelJobRequest{JobId: j.GetJobId()}); err != nil {
				return err
			}
		}
		return nil
	})
}
