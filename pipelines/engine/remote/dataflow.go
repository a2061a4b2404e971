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

	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/gcpopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/dataflow" // the runner and its flags

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
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
		return exit.Usagef("--runner dataflow needs --project, the id of a Google Cloud project")
	case !projectName.MatchString(project):
		return exit.Usagef("--project: %q is not the id of a Google Cloud project: 6 to 30 lower-case letters, digits and "+
			"hyphens", project)
	case region == "":
		return exit.Usagef("--runner dataflow: no region: give the region of the data's bucket with --region, such as " +
			"europe-west4")
	case zone != nil:
		return exit.Usagef("--region: %q is a zone; its region is %s", region, zone[1])
	case !regionName.MatchString(region):
		return exit.Usagef("--region: %q is not a region such as europe-west4 or us-central1", region)
	case beamFlag("staging_location") == "":
		return exit.Usagef("--runner dataflow: no staging location for the program and the graph: give one with " +
			"--staging_location gs://BUCKET/DIR")
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
