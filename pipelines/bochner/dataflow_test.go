//go:build linux

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	df "google.golang.org/api/dataflow/v1b3"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

// beamVersion returns the version of Beam that is linked into the program.
func beamVersion(t *testing.T) string {
	t.Helper()
	info, ok := debug.ReadBuildInfo()
	if !ok {
		t.Fatal("no build information")
	}
	for _, m := range info.Deps {
		if m.Path == "github.com/apache/beam/sdks/v2" {
			return strings.TrimPrefix(m.Version, "v")
		}
	}
	t.Fatal("not linked with Beam")
	return ""
}

// The staged graph and program give the model that the direct runner gives, and
// the request has what Dataflow needs to run them.
func TestTrainingOnDataflow(t *testing.T) {
	c := newCloud(t)
	workers := newCluster(t)
	c.runOn(t, workers)
	dir := t.TempDir()
	must(t, dir, "generate", "moons", "--rows", "900", "--out", "train.csv")
	must(t, dir, "train", "--data", "train.csv", "--label", "y", "--features", "96", "--lambda", "1e-6", "--model",
		"model")
	data := c.put("train.csv", read(t, dir, "train.csv"))
	args := c.flags("--readers", "6", "--machine_type", "n2-highmem-4", "--disk_size_gb", "30",
		"--service_account_email", "worker@"+testProject+".iam.gserviceaccount.com", "--use_public_ips=false")
	r := runProgram(t, dir, append([]string{"train", "--data", data, "--label", "y", "--features", "96", "--lambda", "1e-6",
		"--model", "gs://" + testBucket + "/model"}, args...)...)
	if r.code != 0 {
		t.Fatalf("exit code %d\n%s", r.code, r.stderr)
	}
	for name, want := range files(t, dir+"/model") {
		if string(c.get(t, "model/"+name)) != want {
			t.Errorf("%s differs from the direct runner's", name)
		}
	}
	for _, name := range c.names("") {
		if strings.Contains(name, ".bochner-") {
			t.Errorf("left in the bucket: %s", name)
		}
	}
	if len(c.jobs) != 2 || !strings.Contains(r.stderr, c.jobs[0].Name) ||
		!strings.Contains(r.stderr, "console.cloud.google.com") {
		t.Errorf("%d jobs for two passes:\n%s", len(c.jobs), r.stderr)
	}
	for _, j := range c.jobs {
		c.checkJob(t, j)
	}
	c.smallGraph(t, c.jobs[1])
}

// smallGraph checks the size of a staged graph, which does not depend on the number of readers.
func (c *cloud) smallGraph(t *testing.T, j *df.Job) {
	t.Helper()
	p, size := c.graph(t, j)
	t.Logf("graph of %d transforms, %d bytes", len(p.Components.Transforms), size)
	if n := len(p.Components.Transforms); n > 60 || size > 24<<10 {
		t.Errorf("a graph of %d transforms, %d bytes", n, size)
	}
}

// checkJob checks what a request asks Dataflow for.
func (c *cloud) checkJob(t *testing.T, j *df.Job) {
	t.Helper()
	env := j.Environment
	if j.ProjectId != testProject || j.Type != "JOB_TYPE_BATCH" || !strings.HasPrefix(j.Name, "bochner-") ||
		len(j.Steps) != 0 {
		t.Errorf("%s of %s: %s with %d steps besides the staged graph", j.Name, j.ProjectId, j.Type, len(j.Steps))
	}
	for _, x := range []string{"use_runner_v2", "use_portable_job_submission", "beam_fn_api"} {
		if !slices.Contains(env.Experiments, x) {
			t.Errorf("experiments %v lack %s", env.Experiments, x)
		}
	}
	if env.ServiceAccountEmail != "worker@"+testProject+".iam.gserviceaccount.com" ||
		env.TempStoragePrefix != "gs://"+testBucket+"/temp" {
		t.Errorf("account %s, temporary files in %s", env.ServiceAccountEmail, env.TempStoragePrefix)
	}
	if len(env.WorkerPools) != 1 {
		t.Fatalf("%d worker pools", len(env.WorkerPools))
	}
	// Six readers of one thread are one and a half machines of four CPUs.
	w := env.WorkerPools[0]
	if w.MachineType != "n2-highmem-4" || w.NumThreadsPerWorker != 4 || w.NumWorkers != 2 || w.DiskSizeGb != 30 ||
		w.AutoscalingSettings.Algorithm != "AUTOSCALING_ALGORITHM_NONE" || w.IpConfiguration != "WORKER_IP_PRIVATE" {
		t.Errorf("workers %+v, scaling %+v", w, w.AutoscalingSettings)
	}
	if want := "gcr.io/cloud-dataflow/v1beta3/beam_go_sdk:" + beamVersion(t); w.WorkerHarnessContainerImage != want {
		t.Errorf("image %s, want %s", w.WorkerHarnessContainerImage, want)
	}
	if len(w.Packages) != 1 || w.Packages[0].Name != "worker" ||
		!strings.HasPrefix(w.Packages[0].Location, "gs://"+testBucket+"/staging/") {
		t.Fatalf("packages %+v", w.Packages)
	}
	program := sha256.Sum256(c.get(t, w.Packages[0].Location))
	if own := sha256.Sum256(fileBytes(t, binary)); program != own || w.Packages[0].Sha256 != hex.EncodeToString(own[:]) {
		t.Error("the staged program is not the one that runs")
	}
	var o pipelineOptions
	if err := json.Unmarshal(env.SdkPipelineOptions, &o); err != nil {
		t.Fatal(err)
	}
	graph := sha256.Sum256(c.get(t, o.Options.PipelineURL))
	if o.Options.PipelineProtoHash != hex.EncodeToString(graph[:]) {
		t.Error("the hash of the graph is another")
	}
}

// The graph is small for any number of shards and features, because the description of the data and of the
// features is a file of the work directory, which the graph names.
func TestGraphsAreSmall(t *testing.T) {
	campaign.Long(t)
	c := newCloud(t)
	workers := newCluster(t)
	c.runOn(t, workers)
	first := c.run
	c.run = func(j *df.Job) (string, []string) {
		if len(c.jobs) == 1 {
			return first(j)
		}
		return "JOB_STATE_FAILED", []string{"Workflow failed.", "out of quota: CPUS in " + testRegion}
	}
	dir := t.TempDir()
	must(t, dir, "generate", "moons", "--rows", "5000", "--out", "train.csv")
	data := c.put("train.csv", read(t, dir, "train.csv"))
	shard := len(read(t, dir, "train.csv")) / 1000
	args := c.flags("--readers", "256", "--shard_bytes", strconv.Itoa(shard))
	r := runProgram(t, dir, append([]string{"train", "--data", data, "--label", "y", "--features", "10000", "--model",
		"gs://" + testBucket + "/model"}, args...)...)
	if r.code != 1 || !strings.Contains(r.stderr, "out of quota") || !strings.Contains(r.stderr, "--resume") {
		t.Errorf("exit code %d\n%s", r.code, r.stderr)
	}
	if len(c.jobs) != 2 {
		t.Fatalf("%d jobs", len(c.jobs))
	}
	most := 0
	for _, name := range c.names(".bochner-model/") {
		if strings.Contains(name, "/pass-") {
			var file struct {
				Pass struct{ Shards []json.RawMessage }
			}
			if err := json.Unmarshal(c.get(t, name)[sha256.Size:], &file); err != nil { // after its checksum
				t.Fatal(err)
			}
			most = max(most, len(file.Pass.Shards))
		}
	}
	if most < 1000 {
		t.Errorf("%d shards", most)
	}
	for _, j := range c.jobs {
		c.smallGraph(t, j)
	}
	if names := c.names("model/"); len(names) > 0 {
		t.Errorf("a job that failed made %v", names)
	}
}

// The graph that the program leaves for a launcher, which starts it with flags only, has one step, which does
// the whole job on one worker.
func TestTemplateGraphDoesTheWholeJob(t *testing.T) {
	campaign.Long(t)
	c := newCloud(t)
	workers := newCluster(t)
	c.runOn(t, workers)
	dir := t.TempDir()
	must(t, dir, "generate", "moons", "--rows", "500", "--out", "train.csv")
	must(t, dir, "train", "--data", "train.csv", "--label", "y", "--features", "64", "--lambda", "1e-6", "--model",
		"model")
	data := c.put("train.csv", read(t, dir, "train.csv"))
	args := []string{"--job=train", "--data=" + data, "--label=y", "--search=none", "--features=64", "--lambda=1e-6",
		"--model=gs://" + testBucket + "/model"}
	r := runProgram(t, dir, append(args, c.flags("--template_location", "gs://"+testBucket+"/staging/job_object",
		"--worker_machine_type", "n2-highmem-8")...)...)
	if r.code != 0 || len(c.jobs) != 0 || len(c.names("model/")) != 0 {
		t.Fatalf("exit code %d, %d jobs\n%s", r.code, len(c.jobs), r.stderr)
	}
	j := new(df.Job)
	if err := json.Unmarshal(c.get(t, "gs://"+testBucket+"/staging/job_object"), j); err != nil {
		t.Fatal(err)
	}
	if w := j.Environment.WorkerPools[0]; w.MachineType != "n2-highmem-8" || w.NumWorkers != 1 {
		t.Errorf("%+v", w)
	}
	if state, messages := c.run(j); state != "JOB_STATE_DONE" {
		t.Fatalf("%s: %s", state, messages)
	}
	for name, want := range files(t, dir+"/model") {
		if string(c.get(t, "model/"+name)) != want {
			t.Errorf("%s differs from the direct runner's", name)
		}
	}
}

func TestInterruptedDriverCancelsItsJob(t *testing.T) {
	c := newCloud(t)
	running := make(chan struct{})
	c.run = func(j *df.Job) (string, []string) { close(running); return "JOB_STATE_RUNNING", nil }
	data := c.put("train.csv", "a,y\n1,2\n3,4\n")
	cmd := program(t.TempDir(), append([]string{"train", "--data", data, "--label", "y", "--model",
		"gs://" + testBucket + "/model"}, c.flags()...)...)
	done := make(chan result)
	go func() { done <- runCommand(t, cmd) }()
	select {
	case <-running:
	case r := <-done:
		t.Fatalf("exit code %d\n%s", r.code, r.stderr)
	}
	for asked := false; !asked; { // the driver has the answer, and follows the job
		select {
		case r := <-done:
			t.Fatalf("exit code %d\n%s", r.code, r.stderr)
		case <-time.After(time.Millisecond):
			c.mu.Lock()
			asked = c.asked > 0
			c.mu.Unlock()
		}
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.code != 130 {
		t.Errorf("exit code %d\n%s", r.code, r.stderr)
	}
	if j := c.jobs[0]; j.RequestedState != "JOB_STATE_CANCELLED" {
		t.Errorf("the job goes on: %+v", j)
	}
}

func TestCancelledJobIsAnError(t *testing.T) {
	c := newCloud(t)
	c.run = func(*df.Job) (string, []string) { return "JOB_STATE_CANCELLED", nil }
	data := c.put("train.csv", "a,y\n1,2\n3,4\n")
	r := runProgram(t, t.TempDir(), append([]string{"train", "--data", data, "--label", "y", "--model",
		"gs://" + testBucket + "/model"}, c.flags()...)...)
	if r.code != 1 || !strings.Contains(r.stderr, "was stopped from outside") {
		t.Errorf("exit code %d\n%s", r.code, r.stderr)
	}
}

// A job that cannot run is rejected in one sentence before anything is staged.
func TestDataflowRejectsInvalidFlags(t *testing.T) {
	c := newCloud(t)
	data := c.put("train.csv", "a,y\n1,2\n3,4\n")
	model := "gs://" + testBucket + "/model"
	dir := t.TempDir()
	local := write(t, dir, "train.csv", "a,y\n1,2\n3,4\n")
	train := func(data, model string, more ...string) []string {
		return append([]string{"train", "--data", data, "--label", "y", "--model", model}, c.flags(more...)...)
	}
	for _, test := range []struct {
		args []string
		says string
	}{
		{train(data, model, "--project", ""), "--project is missing"},
		{train(data, model, "--project", "My Project"), "not the id of a Google Cloud project"},
		{train(data, model, "--region", ""), "--region is missing"},
		{train(data, model, "--region", "europe-west4-a"), "is a zone; its region is europe-west4"},
		{train(data, model, "--region", "Europe"), "not a region"},
		{train(data, model, "--staging_location", ""), "--staging_location gs://BUCKET/DIR"},
		{train(data, model, "--staging_location", "/tmp"), "not of the form gs://BUCKET/DIR"},
		{train(data, model, "--temp_location", "s3://x/y"), "not of the form gs://BUCKET/DIR"},
		{train(data, model, "--staging_location", "gs://no-such-bucket/x"), "there is no bucket no-such-bucket"},
		{train(data, model, "--temp_location", "gs://no-such-bucket/x"), "there is no bucket no-such-bucket"},
		{train(data, model, "--dry_run"), "--dry_run"},
		{train(data, model, "--execute_async"), "must wait"},
		{train(data, model, "--environment_type", "LOOPBACK"), "containers"},
		{train(local, model), "cannot see the files of this machine"},
		{train(data, "model"), "cannot see the files of this machine"},
		{train(data, "s3://bucket/model"), "cannot sign in to s3://: its keys are settings of this machine"},
		{train(data, model, "--work", "work"), "cannot see the files of this machine"},
		{train(data, model, "--machine_type", "t2a-standard-4"), "GOARCH=arm64"},
		{train(data, model, "--worker_binary", local), "GOOS=linux GOARCH=amd64"},
		{append([]string{"inspect", "--data", data, "--label", "y"}, c.flags()...), "--work gs://BUCKET/DIR"},
		{append([]string{"predict", "--data", data, "--model", model, "--out", "out"}, c.flags()...), "--out out"},
		{append([]string{"featurize", "--data", data, "--out", "out"}, c.flags()...), "--out out"},
		{append([]string{"kernel", "--data", data, "--out", "out"}, c.flags()...), "--out out"},
		{append([]string{"evaluate", "--data", data, "--model", "m", "--work", model}, c.flags()...), "--model m"},
	} {
		r := runProgram(t, dir, test.args...)
		if r.code != 2 || !strings.Contains(r.stderr, test.says) || strings.Count(r.stderr, "\n") > 2 {
			t.Errorf("%v: exit code %d, want 2 and %q\n%s", test.args, r.code, test.says, r.stderr)
		}
	}
	if names := c.names("staging/"); len(names) > 0 || len(c.jobs) > 0 {
		t.Errorf("staged %v, %d jobs", names, len(c.jobs))
	}
}
