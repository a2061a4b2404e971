package pipelines

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/disk"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/jobtest"
	"github.com/bochner-ml/bochner/pipelines/prepare"
	"github.com/bochner-ml/bochner/pipelines/tuning"
)

// forgetting returns the options to forget rows of users u0 to u59 in a directory: those with the ids.
func forgetting(t *testing.T, dir, ids string) ForgetOptions {
	t.Helper()
	rows := "user,a,y\n"
	for i := range 60 {
		rows += fmt.Sprintf("u%d,%d,%s\n", i, i*i%17, []string{"in", "out"}[i%2])
	}
	data := dataset.Options{Data: []string{jobtest.Write(t, dir, "data.csv", rows)}, Label: "y", ID: "user"}
	_, err := Train(jobtest.Ctx, TrainOptions{Search: tuning.None, Model: dir + "/recipe", Lambda: lambdaOf(1e-3),
		Spec: prepare.Spec{Data: data, Kernel: &fourier.GaussianOptions{Features: 16}, Seed: 1}})
	if err == nil {
		_, err = Sum(jobtest.Ctx, SumOptions{Recipe: dir + "/recipe", Data: data, Out: dir + "/sums"})
	}
	if err == nil {
		_, err = Fit(jobtest.Ctx, FitOptions{Parts: Parts{Sums: []string{dir + "/sums"}}, Model: dir + "/model"})
	}
	if err != nil {
		t.Fatal(err)
	}
	return ForgetOptions{Model: dir + "/model", Parts: Parts{Sums: []string{dir + "/sums"}}, Data: data, IDs: jobtest.Write(t, dir, "list", ids), Out: dir + "/without"}
}

// A list of ids is as large as its file, and nothing needs it when the job has ended.
func TestAListOfIDsIsNotKeptAfterTheJob(t *testing.T) {
	var list strings.Builder
	for i := range 100_000 { // most of nobody, which the job finds out when it has read the rows
		fmt.Fprintf(&list, "u%d%s\n", i, strings.Repeat("x", i%2*80))
	}
	o := forgetting(t, t.TempDir(), list.String())
	size := list.Len()
	list.Reset()
	held := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // empties pools, too
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := held()
	if _, err := Forget(jobtest.Ctx, o); err == nil || !strings.Contains(err.Error(), "ids") {
		t.Fatalf("ids of no row: %v", err)
	}
	if more := held() - before; more > size/2 {
		t.Errorf("%d bytes more are held than before a list of %d bytes", more, size)
	}
}

// What cannot end in a model is refused, and a place that is taken is found before rows are read.
func TestForgettingThatLeavesNoModelIsRefused(t *testing.T) {
	dir := t.TempDir()
	var log strings.Builder
	o := forgetting(t, dir, "u3\n")
	o.Job.Log = &log
	all := o
	all.IDs = ""
	_, err := Forget(jobtest.Ctx, all)
	jobtest.WantError(t, "all rows", err, exit.CodeData, "all 60 rows of the sums would be forgotten, and none is left to fit a model to")
	log.Reset()
	o.Out = o.Model
	o.Model = dir + "/recipe" // or the place would be that of the model
	_, err = Forget(jobtest.Ctx, o)
	jobtest.WantError(t, "a place that is taken", err, exit.CodeData, "already exists")
	if log.Len() > 0 {
		t.Errorf("something was done before:\n%s", log.String())
	}
}

// storedLists is the disk, on which each of so many jobs stores its list of ids before any of them
// continues.
type storedLists struct {
	disk.FS
	jobs   sync.WaitGroup
	stored atomic.Int32
	read   atomic.Int32 // how often a stored list was opened
}

func (f *storedLists) Rename(from, to string) error {
	err := f.FS.Rename(from, to)
	if filepath.Base(to) == "ids" {
		f.stored.Add(1)
		f.jobs.Done()
		f.jobs.Wait()
	}
	return err
}

func (f *storedLists) Open(name string) (disk.File, error) {
	if filepath.Base(name) == "ids" {
		f.read.Add(1)
	}
	return f.FS.Open(name)
}

// Jobs of one program that forget rows by ids have a list each, which its readers share with it.
func TestJobsAtTheSameTimeHaveTheirOwnListsOfIDs(t *testing.T) {
	const jobs = 3
	var of [jobs]ForgetOptions
	for i := range of {
		var ids string
		for k := range i + 1 {
			ids += fmt.Sprintf("u%d\n", 7*k+i)
		}
		of[i] = forgetting(t, t.TempDir(), ids)
	}
	f := &storedLists{FS: disk.OS{}}
	f.jobs.Add(jobs)
	defer disk.Swap(f)()
	var wg sync.WaitGroup
	for i, o := range of {
		wg.Go(func() {
			r, err := Forget(jobtest.Ctx, o)
			if err != nil || r.Rows != int64(i+1) {
				t.Errorf("job %d: %+v, %v", i, r, err)
			}
		})
	}
	wg.Wait()
	if stored, read := f.stored.Load(), f.read.Load(); stored != jobs || read != 0 {
		t.Errorf("%d lists were stored, and read again %d times in the process that has them", stored, read)
	}
}
