package remote

import (
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/gcpopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/dataflow" // the runner and its flags
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/dataflow/dataflowlib"
	df "google.golang.org/api/dataflow/v1b3"

	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/transforms"
)

// beamFlag returns the value of one of Beam's flags.
func beamFlag(name string) string { return flag.Lookup(name).Value.String() }

var (
	projectName = regexp.MustCompile(`^([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$`)
	regionName  = regexp.MustCompile(`^[a-z]+-[a-z]+[0-9]+$`)
	zoneName    = regexp.MustCompile(`^([a-z]+-[a-z]+[0-9]+)-[a-z]$`)
	bucketPath  = regexp.MustCompile(`^gs://[a-z0-9][a-z0-9._-]{1,220}[a-z0-9](/[^?#]*)?$`)
)

func init() { engine.Register(dataflow{}) }

// dataflow runs pipelines on Google Cloud Dataflow.
type dataflow struct{}

func (dataflow) About() engine.About {
	return engine.About{Name: engine.Dataflow, Readers: readers, Machines: true, Reshuffle: true}
}

// Validate refuses flags with which Dataflow could not run a job, or with which the driver could
// not continue after its first pipeline.
func (dataflow) Validate(engine.Engine) error {
	project, region := *gcpopts.Project, *gcpopts.Region
	switch zone := zoneName.FindStringSubmatch(region); {
	case project == "":
		return exit.Usagef("--runner dataflow: --project is missing: name the id of a Google Cloud project")
	case !projectName.MatchString(project):
		return exit.Usagef("--project: %q is not the id of a Google Cloud project: 6 to 30 lower-case letters, digits and "+
			"hyphens", project)
	case region == "":
		return exit.Usagef("--runner dataflow: --region is missing: name the region of the data's bucket, such as " +
			"europe-west4")
	case zone != nil:
		return exit.Usagef("--region: %q is a zone; its region is %s", region, zone[1])
	case !regionName.MatchString(region):
		return exit.Usagef("--region: %q is not a region such as europe-west4 or us-central1", region)
	case beamFlag("staging_location") == "":
		return exit.Usagef("--runner dataflow: --staging_location is missing: name a directory for the program and " +
			"the graph, such as gs://BUCKET/DIR")
	}
	if env := strings.ToLower(*jobopts.EnvironmentType); env != "" && env != "docker" {
		return exit.Usagef("--environment_type %s: Dataflow's workers are containers; leave it out, or give an image with "+
			"--sdk_container_image", env)
	}
	for _, name := range []string{"staging_location", "temp_location"} {
		if place := beamFlag(name); place != "" && !bucketPath.MatchString(place) {
			return exit.Usagef("--%s: %q is not of the form gs://BUCKET/DIR", name, place)
		}
	}
	for _, refused := range []struct{ flag, instead string }{
		{"dry_run", "use --plan"},
		{"template_location", "deploy/dataflow has a flex template"},
		{"update", "a stopped job continues with --resume"},
	} {
		if beamFlag(refused.flag) != flag.Lookup(refused.flag).DefValue {
			return exit.Usagef("--%s: a job of several pipelines needs the results of each of them; %s", refused.flag,
				refused.instead)
		}
	}
	return nil
}

// Ready returns an error if a bucket is missing, or if the program cannot run on the workers.
func (dataflow) Ready(ctx context.Context, e engine.Engine) error {
	if err := existingBuckets(ctx); err != nil {
		return err
	}
	return workerForDataflow()
}

// workerForDataflow sets the program that Dataflow starts as a worker.
func workerForDataflow() error {
	if jobopts.IsLoopback() {
		return nil
	}
	binary, err := workerBinary()
	if err != nil {
		return err
	}
	machine, linux, err := checkStatic(binary)
	if err != nil {
		return err
	}
	if arch, want := workerArch(); !linux || machine != want {
		return exit.Usagef("--worker_binary: %s does not run on the workers, which are linux/%s: build the program with "+
			"GOOS=linux GOARCH=%s CGO_ENABLED=0 and give that", binary, arch, arch)
	}
	*jobopts.WorkerBinary = binary
	return nil
}

// existingBuckets returns an error if a bucket that Dataflow needs does not exist. Beam's runner
// would create one, or report an error that is hard to understand.
func existingBuckets(ctx context.Context) error {
	for _, name := range []string{"staging_location", "temp_location"} {
		place := beamFlag(name)
		if place == "" {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		_, err := storage.Exists(ctx, place)
		cancel()
		if errors.Is(err, storage.ErrNoBucket) || errors.Is(err, fs.ErrPermission) {
			return exit.Usagef("--%s: %w", name, err)
		}
		if err != nil {
			return &exit.RunnerError{Runner: engine.Dataflow, Err: fmt.Errorf("--%s: %w", name, err)}
		}
	}
	return nil
}

// machineType returns the workers' machine type, from either of Beam's two flags. "" leaves it to
// Dataflow, which uses machines with one CPU.
func machineType() string {
	return cmp.Or(beamFlag("worker_machine_type"), beamFlag("machine_type"))
}

// dataflowFlags sets flags that were not given to values that suit readers, and returns a function
// that restores them. A reader is one element, and takes one thread. A worker gets as many readers as
// it has CPUs, and there are workers for all readers. The service changes the number of workers only
// if the user asks for it, although readers can be split.
func dataflowFlags(e engine.Engine) (restore func()) {
	var undo []func()
	set := func(name, value string) {
		f := flag.Lookup(name)
		before := f.Value.String()
		undo = append(undo, func() { f.Value.Set(before) })
		f.Value.Set(value)
	}
	if *jobopts.JobName == "" {
		set("job_name", fmt.Sprintf("bochner-%d", time.Now().UnixNano()))
	}
	threads, _ := strconv.Atoi(beamFlag("number_of_worker_harness_threads"))
	if threads == 0 {
		threads = max(1, engine.VCPUs(machineType())/max(1, e.Threads))
		set("number_of_worker_harness_threads", strconv.Itoa(threads))
	}
	if beamFlag("num_workers") == "0" {
		workers := (e.Readers + threads - 1) / threads
		if most, _ := strconv.Atoi(beamFlag("max_num_workers")); most > 0 {
			workers = min(workers, most)
		}
		set("num_workers", strconv.Itoa(workers))
	}
	if beamFlag("autoscaling_algorithm") == "" {
		set("autoscaling_algorithm", "NONE")
	}
	if beamFlag("use_public_ips") == "false" { // Beam ignores the flag if another parser has set it
		set("no_use_public_ips", "true")
	}
	return func() {
		for _, f := range undo {
			f()
		}
	}
}

// workerArch returns the architecture of the machine type, as Go and as ELF headers name it: C4A,
// N4A and T2A are Arm.
func workerArch() (string, elf.Machine) {
	switch family, _, _ := strings.Cut(machineType(), "-"); family {
	case "c4a", "n4a", "t2a":
		return "arm64", elf.EM_AARCH64
	}
	return "amd64", elf.EM_X86_64
}

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
