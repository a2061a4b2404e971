// Package remote registers the runners whose workers are not in this process: universal and flink,
// which submit jobs to a job server, and dataflow. A program imports it to have them. They take
// their options from Beam's flags, such as --endpoint and --project.
package remote

import (
	"cmp"
	"context"
	"crypto/rand"
	"debug/elf"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"

	"github.com/bochner-ml/bochner/io/storage/gcs"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// readers is the default number of readers on a cluster.
const readers = 8

// executable returns the path of this program; tests replace it.
var executable = os.Executable

// workerBinary returns the path of the program that a runner starts as a worker: --worker_binary,
// or this program. By default Beam would compile the source, which is usually not available.
func workerBinary() (string, error) {
	if binary := *jobopts.WorkerBinary; binary != "" {
		return binary, nil
	}
	binary, err := executable()
	if err != nil {
		return "", fmt.Errorf(
			"pipelines: cannot find this program to start it on workers: %w; give a binary with --worker_binary", err)
	}
	return binary, nil
}

// checkStatic refuses a program for Linux that needs shared libraries, and returns its
// architecture. linux is false for other files.
func checkStatic(binary string) (machine elf.Machine, linux bool, err error) {
	f, err := elf.Open(binary)
	if err != nil {
		return 0, false, nil
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return 0, true, exit.Usagef(
				"%s needs shared libraries, which workers may not have: Go used the C compiler of the machine. "+
					"Build it with CGO_ENABLED=0 go install github.com/bochner-ml/bochner/pipelines/bochner@latest, or in a clone "+
					"with make build; or name a static build with --worker_binary", binary)
		}
	}
	return f.Machine, true, nil
}

// emulatorOption is the pipeline option that passes the address of UseStorageEmulator to workers,
// which do not get the program's flags.
const emulatorOption = "storage_emulator"

// UseStorageEmulator makes this process and the workers of its jobs send requests for gs:// to a test
// server at address, a host:port, without credentials.
func UseStorageEmulator(address string) { beam.PipelineOptions.Set(emulatorOption, address) }

func init() {
	gcs.UseEmulator(func() string { return beam.PipelineOptions.Get(emulatorOption) })
}

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
