package pipelines

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/internal/disk"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/disktest"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/pca"
	"github.com/bochner-ml/bochner/models/svm"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// faultJob is a job that runs on a file system in memory, in a directory of its own.
type faultJob struct {
	name, out string
	run       func(root string, o options.Job) error
	want      map[string]string // what it makes, with root for the name of the directory
	applied   map[string]string // the model that jobs of models take
	data      []byte
}

var faultRoots struct {
	sync.Mutex
	n int
}

// newRoot names a directory that no job had before: the process remembers files of
// jobs by their names.
func newRoot() string {
	faultRoots.Lock()
	defer faultRoots.Unlock()
	faultRoots.n++
	return fmt.Sprintf("/root-%06d", faultRoots.n)
}

// allFaults reports whether every fault is tried, not a few of each kind.
func allFaults() bool { return os.Getenv("BOCHNER_FAULTS") != "" }

// prepared returns a file system with what the job reads.
func (j *faultJob) prepared(root string) *disktest.Mem {
	m := disktest.New()
	m.Put(root+"/data.csv", j.data)
	for name, content := range j.applied {
		m.Put(root+"/applied/"+name, []byte(content))
	}
	return m
}

// on runs the job on a file system.
func (j *faultJob) on(f disk.FS, root string, resume bool, log *strings.Builder) error {
	restore := disk.Swap(f)
	defer restore()
	o := options.Job{Resume: resume, Engine: engine.Engine{Threads: 1}, ShardBytes: 700}
	if log != nil {
		o.Log = log
	}
	err := j.run(root, o)
	storage.Flush() // before another file system takes its place
	return err
}

// made returns what the job has made, nil if there is nothing.
func (j *faultJob) made(m *disktest.Mem, root string) map[string]string {
	all := m.Files(root + "/" + j.out)
	for name, content := range all {
		all[name] = strings.ReplaceAll(content, root, "root")
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// faultJobs returns the jobs, each with what it makes undisturbed.
func faultJobs(t *testing.T) []*faultJob {
	data := func(root string) dataset.Options {
		return dataset.Options{Files: []string{root + "/data.csv"}, Label: "y"}
	}
	train := func(change func(*options.Train)) func(string, options.Job) error {
		return func(root string, o options.Job) error {
			opts := options.Train{
				Prepare: options.Prepare{Data: data(root), Kernel: &fourier.GaussianOptions{Features: 8}, Seed: 1, Job: o},
				Model:   root + "/model", Lambda: options.Lambda{Path: []float64{1e-4, 1e-2}, Folds: 2},
			}
			if change != nil {
				change(&opts)
			}
			_, err := trainPlain(jobtest.Ctx, opts)
			return err
		}
	}
	jobs := []*faultJob{
		{name: "ridge", out: "model", run: train(nil)},
		{name: "ridge with a checkpoint after every shard", out: "model",
			run: train(func(o *options.Train) { o.Job.Engine.Checkpoint = -1 })},
		{name: "svm", out: "model", run: train(func(o *options.Train) {
			o.Lambda = options.Lambda{Path: []float64{1e-2}, Folds: 1}
			o.Learner = &svm.LearnerOptions{Shared: iterative.Shared{Stop: iterative.Stop{Rounds: 3}}}
		})},
		{name: "learned", out: "model", run: train(func(o *options.Train) {
			o.Kernel = &learned.Options{Features: 4}
			o.Learned = options.Game{Sample: 20, Chains: 4, Steps: 2, Take: 2, Running: iterative.Running{Partitions: 2}}
			o.Learner = nil // the rounds of svm are the job before
		})},
		{name: "predict", out: "out", run: func(root string, o options.Job) error {
			_, err := Predict(jobtest.Ctx, options.Predict{Model: root + "/applied", Data: data(root), Out: root + "/out",
				Job: o})
			return err
		}},
		{name: "featurize", out: "out", run: func(root string, o options.Job) error {
			_, err := Featurize(jobtest.Ctx, options.Featurize{Model: root + "/applied",
				Prepare: options.Prepare{Data: data(root), Job: o}, Format: "npy", Out: root + "/out"})
			return err
		}},
		{name: "sum", out: "out", run: func(root string, o options.Job) error {
			_, err := Sum(jobtest.Ctx, options.Sum{Recipe: root + "/applied", Data: data(root), Out: root + "/out", Job: o})
			return err
		}},
		{name: "embed", out: "model", run: func(root string, o options.Job) error {
			_, err := Embed(jobtest.Ctx, options.Embed{Prepare: options.Prepare{Data: data(root),
				Kernel: &fourier.GaussianOptions{Features: 8}, Seed: 1, Job: o}, LearnerOptions: pca.LearnerOptions{Components: 2},
				Model: root + "/model"})
			return err
		}},
	}
	lines := []byte(strings.Join(jobtest.Made(t, "windmill", 60, 1), ""))
	var applied map[string]string
	for _, j := range jobs {
		j.data, j.applied = lines, applied
		root := newRoot()
		m := j.prepared(root)
		if err := j.on(m, root, false, nil); err != nil {
			t.Fatalf("%s, undisturbed: %v", j.name, err)
		}
		j.want = j.made(m, root)
		if j.name == "ridge" {
			applied = j.want
		}
		if left := left(m, root); len(left) > 0 {
			t.Errorf("%s, undisturbed, leaves %q", j.name, left)
		}
	}
	return jobs
}

// left returns the files other than the data and the output.
func left(m *disktest.Mem, root string) (names []string) {
	for name := range m.Files(root) {
		if top, _, _ := strings.Cut(name, "/"); !slices.Contains([]string{"data.csv", "applied", "model", "out"}, top) {
			names = append(names, name)
		}
	}
	return names
}

// A way is how a job is disturbed.
type way struct {
	name   string
	err    error
	once   bool // only one call fails, and the job ends by itself
	reads  bool // calls that change nothing fail, too
	resume bool
	after  func(*disktest.Mem)
}

var errGone = errors.New("this process is gone")

var ways = []way{
	{name: "an error once", err: syscall.EIO, once: true, reads: true, resume: true, after: func(m *disktest.Mem) {}},
	{name: "an error from there on", err: syscall.EIO, reads: true, resume: true, after: (*disktest.Mem).Kill},
	{name: "a full disk", err: syscall.ENOSPC, once: true, resume: true, after: func(m *disktest.Mem) {}},
	{name: "killed", err: errGone, resume: true, after: (*disktest.Mem).Kill},
	{name: "killed, begun anew", err: errGone, after: (*disktest.Mem).Kill},
	{name: "power cut", err: errGone, resume: true, after: (*disktest.Mem).PowerCut},
	{name: "power cut, zeros", err: errGone, resume: true, after: (*disktest.Mem).PowerCutZeros},
}

// outcomes counts how disturbed runs ended.
type outcomes struct{ faults, absent, whole, hidden, resumed int }

// For a failure, a kill and a loss of power at any call to the file system, the output is whole and right, or
// it is absent and the job has failed; and the same job, run again, makes it whole. `make test-faults` tries
// every call.
func TestAnyFaultLeavesTheOutputWholeOrAbsent(t *testing.T) {
	for _, j := range faultJobs(t) {
		t.Run(j.name, func(t *testing.T) {
			calls := map[bool]int{} // by way.reads
			for i, w := range ways {
				var o outcomes
				if allFaults() {
					for n := 1; j.disturbed(t, w, n, &o) && !t.Failed(); n++ {
					}
				} else { // one call, another for each way
					if calls[w.reads] == 0 {
						calls[w.reads] = j.calls(t, w)
					}
					if n := 1 + i*calls[w.reads]/len(ways); !j.disturbed(t, w, n, &o) {
						t.Errorf("%s: there is no call %d", w.name, n)
					}
				}
				t.Logf("%-24s %4d faults: %4d absent with an error, %d whole with an error, %d whole without; %d times made whole by the next run",
					w.name, o.faults, o.absent, o.whole, o.hidden, o.resumed)
			}
		})
	}
}

// calls counts the calls of the job that can be disturbed in a way.
func (j *faultJob) calls(t *testing.T, w way) int {
	t.Helper()
	root := newRoot()
	count := &disktest.Fault{FS: j.prepared(root), Writes: !w.reads}
	if err := j.on(count, root, false, nil); err != nil {
		t.Fatal(err)
	}
	return count.Calls()
}

// disturbed runs the job with a fault at the n-th call. It returns false if there
// were not so many.
func (j *faultJob) disturbed(t *testing.T, w way, n int, o *outcomes) bool {
	t.Helper()
	root := newRoot()
	m := j.prepared(root)
	f := &disktest.Fault{FS: m, At: n, Do: func() error { return w.err }, On: !w.once, Writes: !w.reads}
	err := j.on(f, root, false, nil)
	hit := f.Hit()
	if hit == "" {
		return false
	}
	o.faults++
	when := fmt.Sprintf("%s, %s at call %d (%s)", j.name, w.name, n, hit)
	w.after(m)
	got := j.made(m, root)
	switch {
	case got != nil && !maps.Equal(got, j.want):
		t.Errorf("%s: %v; what is there is not right: %s", when, err, differences(got, j.want))
		return true
	case got == nil && err == nil:
		t.Errorf("%s: no error and nothing made", when)
		return true
	case err == nil:
		o.hidden++
	case got == nil:
		o.absent++
	default:
		o.whole++
	}
	var log strings.Builder
	again := j.on(m, root, w.resume, &log)
	if got != nil && errors.Is(again, fs.ErrExist) {
		again = nil // it says so, as it should
	} else if again == nil {
		o.resumed++
	}
	if got := j.made(m, root); again != nil || !maps.Equal(got, j.want) {
		t.Errorf("%s, and run again: %v; %s\n%s", when, again, differences(got, j.want), log.String())
	}
	return true
}

func differences(got, want map[string]string) string {
	var text []string
	for name, content := range want {
		if g, ok := got[name]; !ok {
			text = append(text, name+" is missing")
		} else if g != content {
			text = append(text, name+" differs")
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			text = append(text, name+" is there")
		}
	}
	return strings.Join(text, ", ")
}

// A damaged file of state is never used: its part is done again, with a note.
func TestDamagedStateIsRedone(t *testing.T) {
	campaign.Long(t)
	damages := map[string]func([]byte) []byte{
		"zeros":   func(b []byte) []byte { return make([]byte, len(b)) },
		"cut off": func(b []byte) []byte { return b[:len(b)/2] },
		"empty":   func([]byte) []byte { return nil },
		"one bit": func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
	}
	noted, tried := 0, 0
	for _, j := range faultJobs(t) {
		// Killed when it begins to publish, it has left all its state.
		killed := func() (*disktest.Mem, string) {
			root := newRoot()
			m := j.prepared(root)
			f := &disktest.Fault{FS: m, Do: func() error { return errGone }, On: true}
			f.When = func(call string) bool { return strings.HasPrefix(call, "mkdir "+root+"/.tmp-") }
			if j.on(f, root, false, nil) == nil || f.Hit() == "" {
				t.Fatalf("%s was not killed", j.name)
			}
			m.Kill()
			return m, root
		}
		state := func(m *disktest.Mem, root string) (names []string) {
			for name := range m.Files(root + "/.bochner-" + j.out + "/state") {
				names = append(names, root+"/.bochner-"+j.out+"/state/"+name)
			}
			slices.Sort(names)
			return names
		}
		for at := range state(killed()) {
			for i, what := range slices.Sorted(maps.Keys(damages)) {
				if !allFaults() && (j.name == "learned" || at%len(damages) != i) {
					continue
				}
				m, root := killed()
				names := state(m, root) // they follow from the name of the directory
				if at >= len(names) {
					continue // this run did more in one job than the first, and has less state
				}
				name := names[at]
				m.Change(name, damages[what])
				tried++
				var log strings.Builder
				err := j.on(m, root, true, &log)
				if got := j.made(m, root); err != nil || !maps.Equal(got, j.want) {
					t.Errorf("%s, %s of %s: %v; %s\n%s", j.name, what, name, err, differences(got, j.want), log.String())
				}
				if strings.Contains(log.String(), "is damaged: its checksum does not match; this part is done again") {
					noted++
				}
			}
		}
	}
	// Files that nobody asks for again, such as the results of a pass whose solve is done, is
	// not looked at.
	if noted < tried/5 {
		t.Errorf("%d of %d damaged files were noted", noted, tried)
	}
	t.Logf("%d files damaged, %d told of, every output right", tried, noted)
}
