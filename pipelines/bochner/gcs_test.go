//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/gcstest"
	"github.com/bochner-ml/bochner/internal/testing/realdata"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/io/storage/gcs"
	"github.com/bochner-ml/bochner/pipelines/registry"
)

// bucket begins the names of the objects that tests use.
const bucket = "gs://" + gcstest.Bucket + "/"

// objects is a storage server in a process of its own.
type objects struct{ address string }

// newObjects starts a server that ends with the test, which has gs:// mean it too.
func newObjects(t *testing.T, flags ...string) *objects {
	t.Helper()
	cmd := exec.Command(filepath.Join(filepath.Dir(binary), objectsServer),
		append([]string{"-listen", "127.0.0.1:0"}, flags...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the server says %q: %v", line, err)
	}
	s := &objects{line[strings.LastIndexByte(line, ' ')+1 : len(line)-1]}
	gcs.UseEmulator(func() string { return s.address })
	t.Cleanup(func() { gcs.UseEmulator(func() string { return "" }) })
	return s
}

// flags returns the arguments with those that name the server.
func (s *objects) flags(args ...string) []string {
	return append(slices.Clone(args), "--storage_emulator", s.address)
}

// rules has requests fail from now on, and returns what has failed before.
func (s *objects) rules(t *testing.T, rules gcstest.Rules) (seen map[string]int) {
	t.Helper()
	body, err := json.Marshal(rules)
	if err != nil {
		t.Fatal(err)
	}
	seen = s.seen(t)
	set, err := http.Post("http://"+s.address+gcstest.Control, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	set.Body.Close()
	return seen
}

// waits returns when a request of a kind is held back by the rules. It fails the test
// if the job, whose result comes from ended, is over before.
func (s *objects) waits(t *testing.T, kind string, ended <-chan result) {
	t.Helper()
	for s.seen(t)[kind+" held"] == 0 {
		select {
		case r := <-ended:
			t.Fatalf("the job ended before a %s was held: exit code %d\n%s", kind, r.code, r.stderr)
		case <-time.After(time.Millisecond):
		}
	}
}

// seen returns what has befallen requests since the rules were set.
func (s *objects) seen(t *testing.T) (seen map[string]int) {
	t.Helper()
	r, err := http.Get("http://" + s.address + gcstest.Control)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(&seen); err != nil {
		t.Fatal(err)
	}
	return seen
}

// put copies a file to the bucket and returns its name there.
func (s *objects) put(t *testing.T, dir, name string) string {
	t.Helper()
	if err := storage.WriteFile(t.Context(), bucket+name, []byte(read(t, dir, name))); err != nil {
		t.Fatal(err)
	}
	return bucket + name
}

// names returns the names of all objects below a directory, hidden ones too.
func (s *objects) names(t *testing.T, dir string) (names []string) {
	t.Helper()
	for _, pattern := range []string{"**", "**/.*", "**/.*/**", ".*", ".*/**"} {
		list, err := storage.List(t.Context(), bucket+dir+pattern)
		if err != nil && !strings.Contains(err.Error(), "no file matches") {
			t.Fatal(err)
		}
		for _, o := range list {
			names = append(names, strings.TrimPrefix(o.Name, bucket+dir))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// files returns the files of a directory of the bucket.
func (s *objects) files(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	for _, name := range s.names(t, dir+"/") {
		if name == registry.LineageFile || name == "report.html" {
			continue // about the files of the data
		}
		data, err := storage.ReadFile(t.Context(), bucket+dir+"/"+name, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		got[name] = string(data)
	}
	return got
}

// there reports whether any object matches a pattern.
func (s *objects) there(t *testing.T, pattern string) bool {
	list, err := storage.List(t.Context(), bucket+pattern)
	return err == nil && len(list) > 0
}

// everything generates, trains, predicts and evaluates in the bucket, and checks
// that this gives what it gives on the disk, and leaves nothing else. It returns
// which requests have failed.
func (s *objects) everything(t *testing.T, flags ...string) (seen map[string]int) {
	t.Helper()
	dir := t.TempDir()
	config := write(t, dir, "flags.yaml", "features: 128\nlambda: 1e-6,1e-4\nfolds: 3\n")
	job := func(at, config string) (printed string) {
		on := func(args ...string) string {
			if at != "" {
				args = s.flags(args...)
			}
			return must(t, dir, args...)
		}
		on("generate", "moons", "--rows", "3000", "--out", at+"train.csv")
		on("generate", "moons", "--rows", "2000", "--seed", "2", "--out", at+"test.csv")
		on(append([]string{"train", "--config", config, "--data", at + "tr*.csv", "--label", "y", "--model", at + "model",
			smallShards}, flags...)...)
		on(append([]string{"predict", "--model", at + "model", "--data", at + "test.csv", "--out", at + "predictions",
			smallShards}, flags...)...)
		return on(append([]string{"evaluate", "--model", at + "model", "--data", at + "test.csv", "--json", "--quiet"},
			flags...)...)
	}
	s.put(t, dir, "flags.yaml")
	want, got := job("", config), job(bucket, bucket+"flags.yaml")
	if d := cmp.Diff(want, strings.ReplaceAll(got, bucket, "")); d != "" {
		t.Errorf("evaluate: %s", d)
	}
	same(t, "model", files(t, filepath.Join(dir, "model")), s.files(t, "model"))
	local, remote := files(t, filepath.Join(dir, "predictions")), s.files(t, "predictions")
	remote["manifest.json"] = strings.ReplaceAll(remote["manifest.json"], bucket, "")
	same(t, "predictions", local, remote)
	if len(local) < 4 {
		t.Errorf("%d files of predictions show nothing", len(local))
	}
	seen = s.rules(t, gcstest.Rules{})
	for _, name := range s.names(t, "") {
		if top, _, _ := strings.Cut(name, "/"); !slices.Contains([]string{"train.csv", "test.csv", "model", "predictions",
			"flags.yaml"}, top) {
			t.Errorf("left in the bucket: %s", name)
		}
	}
	return seen
}

func TestEveryJobWorksInABucketAsOnTheDisk(t *testing.T) {
	newObjects(t).everything(t)
	t.Run("prism", func(t *testing.T) { newObjects(t).everything(t, "--runner", "prism", "--readers", "2") })
}

// Outputs are the same if a fifth of all requests fails. Failures are random, so jobs run until each kind of
// request has failed in every way.
func TestStorageFaultsDoNotAffectOutputs(t *testing.T) {
	missing := map[string]bool{}
	for _, kind := range []string{"list", "read", "stat", "write", "copy", "delete"} {
		for _, way := range []string{gcstest.Busy, gcstest.Reset, gcstest.Cut, gcstest.Unheard} {
			missing[kind+" "+way] = true
		}
	}
	for seed := 0; len(missing) > 0; seed++ {
		if seed == 20 {
			t.Fatalf("after %d runs none of these has failed: %v", seed, missing)
		}
		seen := newObjects(t, "-faults", "0.2", "-seed", fmt.Sprint(seed)).everything(t)
		t.Log(seen)
		for fault := range seen {
			delete(missing, fault)
		}
	}
}

// A model of MNIST in a bucket has the bytes of the model on the disk.
func TestMNISTModelInABucketEqualsTheLocalOne(t *testing.T) {
	data := realdata.Path(t, "mnist")
	s := newObjects(t, "-fill", data, "-faults", "0.05")
	dir := t.TempDir()
	files4 := func(at, set string) []string {
		return []string{"--data", at + set + "-images-idx3-ubyte.gz", "--label_files", at + set + "-labels-idx1-ubyte.gz"}
	}
	flags := []string{"--width", "7", "--lambda", "1e-6", "--features", "1024", "--quiet"}
	must(t, dir, slices.Concat([]string{"train", "--model", "model"}, files4(data+"/", "train"), flags)...)
	begun := time.Now()
	must(t, dir, s.flags(slices.Concat([]string{"train", "--model", bucket + "model"}, files4(bucket, "train"),
		flags)...)...)
	t.Logf("trained in %v", time.Since(begun))
	same(t, "model", files(t, filepath.Join(dir, "model")), s.files(t, "model"))
	must(t, dir, s.flags(append([]string{"predict", "--model", bucket + "model", "--out", bucket + "out"},
		files4(bucket, "t10k")...)...)...)
	must(t, dir, s.flags(append([]string{"evaluate", "--model", bucket + "model", "--gate", "accuracy>=0.942"},
		files4(bucket, "t10k")...)...)...)
}

func TestStorageErrorsAreOneSentence(t *testing.T) {
	s := newObjects(t)
	dir := t.TempDir()
	must(t, dir, s.flags("generate", "moons", "--rows", "300", "--out", bucket+"data.csv")...)
	train := func(data, model string, more ...string) []string {
		return s.flags(append([]string{"train", "--data", data, "--label", "y", "--features", "32", "--lambda", "1e-4",
			"--model", model, "--quiet"}, more...)...)
	}
	must(t, dir, train(bucket+"data.csv", bucket+"model")...)
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{3, "list gs://bucket/none.csv: there is no such file (404); check its name, and the name of the bucket bucket",
			train(bucket+"none.csv", bucket+"m")},
		{3, "list gs://bucket/none-*: no file matches the pattern", train(bucket+"none-*", bucket+"m")},
		{5, "there is no bucket elsewhere (404); check its name", train("gs://elsewhere/*", bucket+"m")},
		{5, "there is no bucket elsewhere (404); check its name", train(bucket+"data.csv", "gs://elsewhere/m")},
		{3,
			"list gs://denied/data.csv: access denied (403: tester@example.com does not have access to the Google Cloud Storage bucket); " +
				"check the name of the bucket denied, and that your account has the right storage.objects.get there",
			train("gs://denied/data.csv", bucket+"m")},
		{3, "has the right storage.objects.", train(bucket+"data.csv", "gs://denied/m")},
		{3, "access denied (403", s.flags("evaluate", "--model", "gs://denied/m", "--data", bucket+"data.csv")},
		{3, "access denied (403", s.flags("train", "--config", "gs://denied/flags.yaml")},
		{2, "--config: open gs://bucket/none.yaml: there is no such file (404)",
			s.flags("train", "--config", bucket+"none.yaml")},
		{3, "open gs://bucket/none.yaml: there is no such file (404)",
			train(bucket+"data.csv", bucket+"m", "--schema", bucket+"none.yaml")},
		{6, "gs://bucket/none: the directory does not exist",
			s.flags("evaluate", "--model", bucket+"none", "--data", bucket+"data.csv")},
		{3, "gs://bucket/model: already exists; remove it or name another", train(bucket+"data.csv", bucket+"model")},
		{3, "unknown scheme ftp://; have paths of the local disk, gs://, s3://", train("ftp://bucket/data.csv", bucket+"m")},
		{5, "no Google credentials found; run gcloud auth application-default login",
			[]string{"inspect", "--data", bucket + "data.csv"}},
	} {
		cmd := program(dir, c.args...)
		cmd.Env = append(os.Environ(), "HOME="+dir, "NO_GCE_CHECK=true", "GOOGLE_APPLICATION_CREDENTIALS=",
			"STORAGE_EMULATOR_HOST=")
		r := runCommand(t, cmd)
		said := strings.TrimSuffix(r.stderr, "the same command with --resume continues from the finished part\n")
		said = strings.TrimSuffix(said, "see bochner train --help\n")
		if r.code != c.code || !strings.Contains(said, c.want) || strings.Count(said, "\n") != 1 ||
			!strings.HasPrefix(said, "bochner: ") {
			t.Errorf("%q: exit code %d, want %d and %q\n%s", c.args, r.code, c.code, c.want, r.stderr)
		}
	}
	cmd := program(dir, "inspect", "--data", bucket+"data.csv")
	cmd.Env = append(os.Environ(), "STORAGE_EMULATOR_HOST="+s.address)
	if r := runCommand(t, cmd); r.code != 5 || !strings.Contains(r.stderr, "STORAGE_EMULATOR_HOST is set") {
		t.Errorf("the variable alone: exit code %d\n%s", r.code, r.stderr)
	}
	if got := s.names(t, ""); len(got) != 7 { // the data and the model
		t.Errorf("left in the bucket: %v", got)
	}
}

func TestConcurrentTrainingInABucketPublishesOneModel(t *testing.T) {
	s := newObjects(t)
	dir := t.TempDir()
	must(t, dir, s.flags("generate", "moons", "--rows", "300", "--out", bucket+"data.csv")...)
	var wg sync.WaitGroup
	results := make([]result, 16)
	for i := range results {
		wg.Go(func() {
			results[i] = runProgram(t, dir, s.flags("train", "--data", bucket+"data.csv", "--label", "y", "--features", "32",
				"--lambda", "1e-4",
				"--seed", fmt.Sprint(i+1), "--model", bucket+"model", "--work", fmt.Sprint(bucket, "work-", i), "--quiet")...)
		})
	}
	wg.Wait()
	won := 0
	for i, r := range results {
		switch {
		case r.code == 0:
			won = i + 1
			if winners := slices.IndexFunc(results[i+1:], func(r result) bool { return r.code == 0 }); winners >= 0 {
				t.Errorf("runs %d and %d made the model", i, i+1+winners)
			}
		case r.code != 3 || !strings.Contains(r.stderr, "gs://bucket/model: already exists") &&
			!strings.Contains(r.stderr, "gs://bucket/model: in use by another run"):
			t.Errorf("run %d: exit code %d\n%s", i, r.code, r.stderr)
		}
	}
	said := must(t, dir, s.flags("inspect", "--model", bucket+"model")...)
	if won == 0 || !regexp.MustCompile(fmt.Sprintf(`"Seed": ?%d\b`, won)).MatchString(said) &&
		!strings.Contains(s.files(t, "model")["manifest.json"], fmt.Sprintf(`"seed": "%d"`, won)) {
		t.Errorf("run %d won; the model is\n%s", won, said)
	}
	if d := cmp.Diff([]string{"data.csv", "model/lineage.json", "model/manifest.json", "model/profile.json", "model/report.html",
		"model/sketch.safetensors", "model/weights.safetensors"}, s.names(t, "")); d != "" {
		t.Error(d)
	}
}

// killedAt starts a run of a job and kills it before a request is served, as gcstest.Rules.Hold does.
func (s *objects) killedAt(t *testing.T, c *chore, request string) {
	t.Helper()
	s.rules(t, gcstest.Rules{Hold: request})
	run := c.start(t)
	kind, _, _ := strings.Cut(request, " ")
	if !run.until(func() bool { return s.seen(t)[kind+" held"] > 0 }) {
		t.Fatalf("the run ended before a %s: %s", request, run.stderr.String())
	}
	run.signal(os.Kill)
	for s.seen(t)[kind+" abandoned"] < s.seen(t)[kind+" held"] {
		time.Sleep(time.Millisecond)
	}
	s.rules(t, gcstest.Rules{})
}

func TestTrainingKilledWhileItPublishesLeavesAWholeModelOrNone(t *testing.T) {
	s := newObjects(t)
	dir := t.TempDir()
	must(t, dir, s.flags("generate", "moons", "--rows", "2000", "--out", bucket+"data.csv")...)
	args := s.flags("train", "--data", bucket+"data.csv", "--label", "y", "--features", "256", "--lambda", "1e-8,1e-4",
		"--folds", "3", "--model", bucket+"model")
	must(t, dir, args...)
	want := s.files(t, "model")
	remove := func() {
		if err := storage.Remove(t.Context(), bucket+"model"); err != nil {
			t.Fatal(err)
		}
	}
	remove()
	for _, at := range []struct{ sign, next string }{ // what there is, and the request that the storage holds back
		{".bochner-model/state/pass-*", "write .bochner-model/state/sum-*"},
		{".bochner-model/state/sum-*", "write .bochner-model/state/fit-*"},
		{".bochner-model/state/fit-*", "write model/weights.safetensors"},
		{".tmp-model-claim", "write model/profile.json"},
		{"model/weights.safetensors", "copy model/manifest.json"},
		{"model/manifest.json", "delete .tmp-model-claim"},
	} {
		sign := at.sign
		s.killedAt(t, &chore{dir: dir, args: args}, at.next)
		if !s.there(t, sign) {
			t.Errorf("no %s before %s: %v", sign, at.next, s.names(t, ""))
		}
		if s.there(t, "model/manifest.json") {
			same(t, "killed at "+sign, want, s.files(t, "model"))
		} else if r := runProgram(t, dir, s.flags("inspect", "--model", bucket+"model")...); r.code != 6 {
			t.Errorf("killed at %s: a model without manifest is taken for one: exit code %d\n%s", sign, r.code, r.stderr)
		}
		r := runProgram(t, dir, append(slices.Clone(args), "--resume")...)
		if exists := r.code == 3 && strings.Contains(r.stderr, "already exists"); r.code != 0 &&
			!(exists && sign == "model/manifest.json") {
			t.Fatalf("killed at %s: --resume ends with code %d\n%s", sign, r.code, r.stderr)
		}
		same(t, "resumed after "+sign, want, s.files(t, "model"))
		if got := s.names(t, ""); len(got) != len(want)+3 && sign != "model/manifest.json" { // data, lineage, report
			t.Errorf("killed at %s, resumed, left %v", sign, got)
		}
		remove()
	}
}

func TestReplacingDataDuringARunIsAnError(t *testing.T) {
	inRounds := []string{"--learner", "svm", "--lambda", "1e-6", "--rounds", "15", "--gap", "1e-12", "--keep_bytes",
		"0"} // reads in every round
	for name, test := range map[string]struct {
		remote bool
		flags  []string
		begun  string // what is in the work directory, or about to be, when the data are replaced
	}{
		"disk, rounds":   {false, inRounds, "state/*/report-*.json"},
		"bucket":         {true, []string{"--lambda", "1e-8,1e-4"}, "state/profile-*"},
		"bucket, prism":  {true, []string{"--lambda", "1e-8,1e-4", "--runner", "prism"}, "state/profile-*"},
		"bucket, rounds": {true, inRounds, "state/*/report-*"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "bucket" || name == "bucket, rounds" { // the others read a bucket, and in rounds
				campaign.Long(t)
			}
			s := newObjects(t)
			dir := t.TempDir()
			at := dir + "/"
			if test.remote {
				at = bucket
			}
			data, model := at+"data.csv", at+"model"
			must(t, dir, s.flags("generate", "moons", "--rows", "2000", "--out", data)...)
			old, err := storage.ReadFile(t.Context(), data, 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			c := &chore{dir: dir, out: "model",
				args: s.flags(append([]string{"train", "--data", data, "--label", "y", "--features", "64", "--shard_bytes=5000",
					"--model", model}, test.flags...)...)}
			var run *started
			if test.remote { // the storage holds a result back, and then the data
				s.rules(t, gcstest.Rules{Hold: "write .bochner-model/" + test.begun})
				run = c.start(t)
				for _, hold := range []string{"write", "read"} {
					if !run.until(func() bool { return s.seen(t)[hold+" held"] > 0 }) {
						t.Fatalf("the run ended before a %s was held: %s", hold, run.stderr.String())
					}
					s.rules(t, gcstest.Rules{Hold: "read data.csv"})
				}
			} else {
				run = c.stopped(t, func() bool { n := len(c.state(test.begun)); return n > 2 && n < 10 })
			}
			if err := storage.WriteFile(t.Context(), data, bytes.Replace(old, []byte("0."), []byte("9."), 1)); err != nil {
				t.Fatal(err)
			}
			s.rules(t, gcstest.Rules{})
			run.signal(syscall.SIGCONT)
			if code := run.cmd.ProcessState.ExitCode(); code != 3 ||
				strings.Count(run.stderr.String(), data+": the file has changed since it was listed") != 1 {
				t.Errorf("exit code %d\n%s", code, run.stderr.String())
			}
			if got := append(s.names(t, ""), entries(t, dir)...); !slices.Equal(got, []string{"data.csv"}) {
				t.Errorf("left %v", got)
			}
			// Who means the new data gets a model of them.
			must(t, dir, append(c.args, "--resume")...)
			must(t, dir, append(c.args, "--model", at+"fresh")...)
			weights := func(model string) string {
				data, err := storage.ReadFile(t.Context(), at+model+"/weights.safetensors", 1<<30)
				if err != nil {
					t.Fatal(err)
				}
				return string(data)
			}
			if weights("model") != weights("fresh") {
				t.Error("the run that resumes makes another model than one that begins")
			}
		})
	}
}

// A run that stopped because it could not read resumes, and makes the same model.
func TestRunResumesAfterTheStorageHasFailed(t *testing.T) {
	if testing.Short() {
		t.Skip("waits until a storage that fails is given up")
	}
	s := newObjects(t)
	dir := t.TempDir()
	must(t, dir, s.flags("generate", "moons", "--rows", "2000", "--out", bucket+"data.csv")...)
	args := s.flags("train", "--data", bucket+"data.csv", "--label", "y", "--features", "64", "--lambda", "1e-4",
		"--model", bucket+"model")
	must(t, dir, args...)
	want := s.files(t, "model")
	if err := storage.Remove(t.Context(), bucket+"model"); err != nil {
		t.Fatal(err)
	}
	s.rules(t, gcstest.Rules{Hold: "write .bochner-model/state/pass-*"})
	interrupted := (&chore{dir: dir, args: args}).start(t)
	if !interrupted.until(func() bool { return s.seen(t)["write held"] > 0 }) {
		t.Fatalf("the run never began\n%s", interrupted.stderr.String())
	}
	s.rules(t, gcstest.Rules{Share: 1, Kinds: []string{"read"}, Ways: []string{gcstest.Busy}})
	<-interrupted.ended
	if code := interrupted.cmd.ProcessState.ExitCode(); code != 5 ||
		!strings.Contains(interrupted.stderr.String(), "--resume continues") {
		t.Errorf("exit code %d\n%s", code, interrupted.stderr.String())
	}
	s.rules(t, gcstest.Rules{})
	must(t, dir, append(args, "--resume")...)
	same(t, "resumed", want, s.files(t, "model"))
}

func TestTrainReadsThousandsOfObjects(t *testing.T) {
	campaign.Long(t)
	n := 500
	if long() {
		n = 10_000
	}
	s := newObjects(t, "-many", fmt.Sprint(n))
	dir := t.TempDir()
	tables := filepath.Join(dir, "tables")
	empty := filepath.Join(dir, "empty")
	for _, d := range []string{tables, empty} {
		if err := os.Mkdir(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		write(t, tables, fmt.Sprintf("part-%05d.csv", i), "x,z,y\n1,2,0\n3,4,1\n")
		write(t, empty, fmt.Sprintf("part-%05d.csv", i), "")
	}
	plan := func(data string) {
		begun := time.Now()
		said := must(t, dir, s.flags("train", "--plan", "--data", data, "--label", "y", "--model", "m")...)
		took := time.Since(begun)
		t.Logf("plan of %s: %v", data, took)
		if !strings.Contains(said, fmt.Sprint(n, " files of csv")) {
			t.Error(said)
		}
	}
	plan(filepath.Join(tables, "part-*.csv"))
	plan("gs://" + gcstest.Bucket + "/part-*.csv")
	s.rules(t, gcstest.Rules{Delay: 20 * time.Millisecond}) // as far as a data centre is
	plan("gs://" + gcstest.Bucket + "/part-*.csv")

	must(t, dir, "generate", "moons", "--rows", "500", "--out", "full.csv")
	write(t, empty, fmt.Sprintf("part-%05dx.csv", n/2), read(t, dir, "full.csv"))
	flags := []string{"--label", "y", "--features", "32", "--lambda", "1e-4", "--quiet"}
	must(t, dir, append([]string{"train", "--data", "full.csv", "--model", "want"}, flags...)...)
	begun := time.Now()
	must(t, dir, append([]string{"train", "--data", filepath.Join(empty, "*.csv"), "--model", "got"}, flags...)...)
	t.Logf("training on %d empty files and a full one: %v", n, time.Since(begun))
	same(t, "among empty files", files(t, filepath.Join(dir, "want")), files(t, filepath.Join(dir, "got")))
}
