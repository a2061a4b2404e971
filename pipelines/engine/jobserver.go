package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
)

// The runners that take pipelines to the job server at --endpoint. They differ in
// how lanes spread over the workers: see transforms.Scan.
const (
	universal = "universal"
	Flink     = "flink"
)

// viaServer tells whether pipelines go to a job server.
func (e Engine) viaServer() bool { return e.Runner == universal || e.Runner == Flink }

// runServer runs a pipeline on the job server. If the context ends, it cancels
// the job there.
func (e Engine) runServer(ctx context.Context, p *beam.Pipeline) error {
	given := *jobopts.JobName
	defer func() { *jobopts.JobName = given }()
	token := strings.ToLower(rand.Text())
	*jobopts.JobName = cmp.Or(given, "bochner") + "-" + token
	done := make(chan error, 1)
	go func() {
		result, err := beam.Run(context.WithoutCancel(ctx), universal, p)
		if err == nil {
			err = serverOutcome(ctx, result.JobID())
		}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		if err := cancelOnServer(ctx, token); err != nil {
			e.say("a job may go on whose name has %s: it could not be cancelled (%v)", token, err)
		}
		return ctx.Err()
	}
}

// jobService calls the job server.
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

// serverOutcome tells how a job ended for which Beam's runner returned no error.
// To that a cancelled job is a success, and so is one that failed before the
// server began to tell of it.
func serverOutcome(ctx context.Context, id string) error {
	return jobService(ctx, func(ctx context.Context, s jobpb.JobServiceClient) error {
		state, err := s.GetState(ctx, &jobpb.GetJobStateRequest{JobId: id})
		switch {
		case err != nil:
			return fmt.Errorf("job %s has ended, and the server does not say how: %w", id, err)
		case state.GetState() == jobpb.JobState_CANCELLED:
			return fmt.Errorf("job %s was cancelled by somebody else", id)
		case state.GetState() != jobpb.JobState_DONE:
			return fmt.Errorf("job %s has ended as %s; the log of the job server says why", id, state.GetState())
		}
		return nil
	})
}

// cancelOnServer ends the jobs whose names have the token, which would go on
// without this process. The server of Flink changes what is round it.
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
