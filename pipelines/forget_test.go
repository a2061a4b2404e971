package pipelines

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/disk"
	"github.com/bochner-ml/bochner/internal/testing/disktest"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// forgetting returns the options to forget rows of users u0 to u59 in a directory: those with the ids.
func forgetting(t *testing.T, dir, ids string) options.Forget {
	t.Helper()
	rows := "user,a,y\n"
	for i := range 60 {
		rows += fmt.Sprintf("u%d,%d,%s\n", i, i*37%61, []string{"in", "out"}[i%2])
	}
	data := dataset.Options{Files: []string{jobtest.Write(t, dir, "data.csv", rows)}, Label: "y",
		Roles: dataset.Roles{ID: "user"}}
	_, err := Train(jobtest.Ctx, options.Train{Search: options.SearchNone, Model: dir + "/recipe", Lambda: lambdaOf(1e-3),
		Prepare: options.Prepare{Data: data, Kernel: &fourier.GaussianOptions{Features: 16}, Seed: 1}})
	if err == nil {
		_, err = Sum(jobtest.Ctx, options.Sum{Recipe: dir + "/recipe", Data: data, Out: dir + "/sums"})
	}
	if err == nil {
		_, err = Fit(jobtest.Ctx, options.Fit{SumDirs: options.SumDirs{Sums: []string{dir + "/sums"}}, Model: dir + "/model"})
	}
	if err != nil {
		t.Fatal(err)
	}
	return options.Forget{ForgottenRows: options.ForgottenRows{Model: dir + "/model", SumDirs: options.SumDirs{Sums: []string{dir + "/sums"}},
		Data: data,
		IDs:  jobtest.Write(t, dir, "list", ids)}, Out: dir + "/without"}
}

// Outputs that cannot all be created are rejected before any of them is created.
func TestNestedOutputsAreRejected(t *testing.T) {
	dir := t.TempDir()
	o := forgetting(t, dir, "u3\n")
	fit := func(model, save string) error {
		_, err := Fit(jobtest.Ctx, options.Fit{SumDirs: o.SumDirs, Model: dir + model, SaveSums: dir + save})
		return err
	}
	before, _ := filepath.Glob(dir + "/*")
	forget := func(out, save, certificate string) error {
		o := o
		o.Out, o.SaveSums, o.Certificate = dir+out, save, certificate
		_, err := Forget(jobtest.Ctx, o)
		return err
	}
	for want, err := range map[string]error{
		"--out and --save_sums are the same directory": forget("/new", dir+"/new", ""),
		"/new/a is inside --out":                       forget("/new", dir+"/new/a", ""),
		"/new/b is inside --save_sums":                 forget("/new/b", dir+"/new", ""),
		"/new is a directory that forget creates":      forget("/new", "", dir+"/new"),
		"/less is a directory that forget creates":     forget("/new", dir+"/less", dir+"/less"),
		"/new/c is inside --model":                     fit("/new", "/new/c"),
		"/new/d is inside --save_sums":                 fit("/new/d", "/new"),
	} {
		if exit.CodeOf(err) != exit.CodeUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if after, _ := filepath.Glob(dir + "/*"); !slices.Equal(after, before) {
		t.Errorf("created %v", after)
	}
}

// The list of ids, which is as large as its file, is removed when the job ends.
func TestIDListIsRemovedAfterTheJob(t *testing.T) {
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

// A removal that cannot end in a model is rejected, and an output that exists is found before rows are read.
func TestForgettingThatLeavesNoModelIsRejected(t *testing.T) {
	dir := t.TempDir()
	var log strings.Builder
	o := forgetting(t, dir, "u3\n")
	o.Job.Log = &log
	all := o
	all.IDs = ""
	_, err := Forget(jobtest.Ctx, all)
	jobtest.WantError(t, "all rows", err, exit.CodeData,
		"all 60 rows of the sums would be forgotten, and none is left to fit a model to")
	log.Reset()
	o.Out = o.Model
	o.Model = dir + "/recipe" // or the place would be the model's
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

// Concurrent jobs of one program that forget rows by ids have a list each, which its readers share.
func TestConcurrentJobsHaveTheirOwnIDLists(t *testing.T) {
	const jobs = 3
	var of [jobs]options.Forget
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

// Rows that are not in the sums, or occur less often there, are rejected by file and line, and nothing is
// written; all others are forgotten.
func TestOnlyRowsThatAreInTheSumsAreForgotten(t *testing.T) {
	dir := t.TempDir()
	first := forgetting(t, dir, "") // u0 to u59
	rows := func(name string, rows ...string) []string {
		return []string{jobtest.Write(t, dir, name, "user,a,y\n"+strings.Join(rows, "\n")+"\n")}
	}
	do := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	twice := []string{"v,0.5,in", "v,0.5,in", "v,1.5,out"}
	do(Sum(jobtest.Ctx, options.Sum{Recipe: dir + "/recipe", Data: dataset.Options{Files: rows("day.csv", twice...)},
		Out: dir + "/day"}))
	do(Fit(jobtest.Ctx, options.Fit{SumDirs: options.SumDirs{Sums: []string{dir + "/sums", dir + "/day"}}, Model: dir + "/both",
		SaveSums: dir + "/total"}))
	for i, of := range [][]string{{dir + "/total"}, {dir + "/day", dir + "/sums"}} {
		for k, c := range []struct {
			name  string
			rows  []string
			times int    // that they can be forgotten, one time after the other
			place string // of the first row that is refused then
		}{
			{"a row that is there twice", twice[:1], 2, ":2: "},
			{"both of two", twice[:2], 1, ":2: "},
			{"three of two", append(twice[:2:2], twice[0]), 0, ":4: "},
			{"one that is there, one that is not", []string{twice[2], "v,1.5,in"}, 0, ":3: "},
			{"never there", []string{"v,0.75,in", "v,0.25,in"}, 0, ":2: "},
			{"another order", []string{twice[2], twice[0]}, 1, ":2: "},
		} {
			name := fmt.Sprintf("%d-%d", i, k)
			o := first
			o.Model, o.Sums, o.IDs, o.Data.Files, o.Data.ID = dir+"/both", of, "", rows(name+".csv", c.rows...), ""
			o.Job.ShardBytes = []int64{0, 20}[i]
			hidden := map[string]bool{}
			for n := range c.times + 1 {
				o.Out, o.SaveSums = fmt.Sprintf("%s/out-%s-%d", dir, name, n), fmt.Sprintf("%s/less-%s-%d", dir, name, n)
				o.Certificate = o.Out + ".json"
				r, err := Forget(jobtest.Ctx, o)
				if n < c.times {
					do(r, err)
					hidden[r.Certificate.Codes[0]] = true
					o.Model, o.Sums = o.Out, []string{o.SaveSums}
					continue
				}
				jobtest.WantError(t, c.name, err, exit.CodeData, name+".csv"+c.place+"the row is not in the sums")
				for _, made := range []string{o.Out, o.SaveSums, o.Certificate} {
					if _, err := os.Stat(made); err == nil {
						t.Errorf("%s: %s was written", c.name, made)
					}
				}
			}
			if len(hidden) != c.times {
				t.Errorf("%s: certificates of the same row have the same code", c.name)
			}
		}
	}
}

func contentOf(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Sums list the same rows, byte for byte, for any number of readers and cut of the files.
func TestRowListsAreIndependentOfReadersAndCuts(t *testing.T) {
	dir := t.TempDir()
	forgetting(t, dir, "")
	lines := strings.SplitAfter(strings.TrimSpace(contentOf(t, dir+"/data.csv")), "\n")
	lines = append(lines[:60], lines[7:]...) // some are there twice
	lines[len(lines)-1] += "\n"
	r := rand.New(rand.NewPCG(3, 3))
	var want map[string]string
	for i, c := range []struct {
		files, readers int
		shard          int64
	}{{1, 1, 0}, {1, 3, 100}, {4, 1, 60}, {7, 3, 20}} {
		var files []string
		rows := slices.Clone(lines[1:])
		if i > 0 {
			r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		}
		for k := range c.files {
			some := rows[k*len(rows)/c.files : (k+1)*len(rows)/c.files]
			files = append(files, jobtest.Write(t, dir, fmt.Sprintf("cut-%d-%d.csv", i, k), lines[0]+strings.Join(some, "")))
		}
		out := fmt.Sprintf("%s/sums-%d", dir, i)
		o := options.Sum{Recipe: dir + "/recipe", Data: dataset.Options{Files: files, Label: "y",
			Roles: dataset.Roles{ID: "user"}}, Out: out}
		o.Job.ShardBytes, o.Job.Engine.Checkpoint = c.shard, -1
		if c.readers > 1 {
			o.Job.Engine.Runner, o.Job.Engine.Readers = "prism", c.readers
		}
		if _, err := Sum(jobtest.Ctx, o); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, pattern := range []string{"row_hashes.bin", "*.sums"} {
			names, _ := filepath.Glob(out + "/" + pattern)
			for _, name := range names {
				got[filepath.Base(name)] = contentOf(t, name)
			}
		}
		if len(got["row_hashes.bin"]) != 8*len(rows) || len(got) < 2 {
			t.Fatalf("%d bytes for %d rows in %d files", len(got["row_hashes.bin"]), len(rows), len(got))
		}
		if want == nil {
			want = got
		}
		if !maps.Equal(got, want) {
			t.Errorf("%+v: other sums, or other rows are listed", c)
		}
	}
}

// A forget that is stopped at any moment continues to the same model, sums and certificate, and forgets once.
func TestStoppedForgetForgetsOnce(t *testing.T) {
	dir := t.TempDir()
	o := forgetting(t, dir, "u3\nu8\n")
	forget := func(name string, resume bool) error {
		o := o
		o.Out, o.SaveSums, o.Certificate, o.Job.Resume = dir+"/"+name, dir+"/"+name+"-sums", dir+"/"+name+".json", resume
		_, err := Forget(jobtest.Ctx, o)
		storage.Flush()
		return err
	}
	made := func(name string) map[string]string {
		files := map[string]string{"certificate": contentOf(t, dir+"/"+name+".json")}
		for _, of := range []string{"", "-sums"} {
			names, _ := filepath.Glob(dir + "/" + name + of + "/*")
			for _, file := range names {
				files[of+filepath.Base(file)] = contentOf(t, file)
			}
		}
		return files
	}
	stopped := func(name string, call int) (f *disktest.Fault, err error) {
		f = &disktest.Fault{FS: disk.OS{}, At: call, Do: func() error { return errStopped }, On: true, Writes: true}
		defer disk.Swap(f)()
		return f, forget(name, false)
	}
	f, err := stopped("whole", 0)
	if err != nil {
		t.Fatal(err)
	}
	want, calls, continued := made("whole"), f.Calls(), 0
	for i := range 8 {
		name := fmt.Sprint("stopped-", i)
		if f, err := stopped(name, 1+i*calls/8); err == nil || f.Hit() == "" {
			t.Fatalf("%s was not stopped: %v", name, err)
		}
		if _, err := os.Stat(dir + "/" + name); err == nil {
			continue // it stopped after the model
		}
		continued++
		if err := forget(name, true); err != nil {
			t.Fatalf("%s does not continue: %v", name, err)
		}
		if got := made(name); !maps.Equal(got, want) {
			t.Errorf("%s: %s", name, differences(got, want))
		}
		again := o
		again.Model, again.Sums, again.Out, again.IDs = dir+"/"+name, []string{dir + "/" + name + "-sums"}, dir+
			"/again", o.IDs
		_, err := Forget(jobtest.Ctx, again)
		jobtest.WantError(t, name+" again", err, exit.CodeData, "data.csv:5: the row is not in the sums")
	}
	if continued < 4 {
		t.Errorf("%d of 8 continued", continued)
	}
}

// The certificate of another removal is kept, and found before any work.
func TestForgetKeepsAnExistingCertificate(t *testing.T) {
	dir := t.TempDir()
	o := forgetting(t, dir, "u3\nu8\n")
	o.Certificate = jobtest.Write(t, dir, "proof", "other")
	if r, err := Forget(jobtest.Ctx, o); exit.CodeOf(err) != exit.CodeData || r != nil {
		t.Errorf("%+v, %v", r, err)
	}
	if contentOf(t, o.Certificate) != "other" {
		t.Error("the certificate was replaced")
	}
	if _, err := os.Stat(o.Out); err == nil {
		t.Error("the model was created")
	}
}

// A certificate that cannot be written does not hide the result, which does not name its file.
func TestForgetReturnsItsResultWithoutACertificateFile(t *testing.T) {
	dir := t.TempDir()
	o := forgetting(t, dir, "u3\nu8\n")
	o.Certificate = jobtest.Write(t, dir, "file", "") + "/proof" // no directory
	o.Job.Resume = true                                          // looks at the certificate only at the end
	r, err := Forget(jobtest.Ctx, o)
	if _, done := errors.AsType[*exit.DoneError](err); !done || r == nil || r.Certificate == nil || r.File != "" {
		t.Errorf("%+v, %v", r, err)
	}
}

// With the sums and the rows, anybody can verify a certificate. With the certificate and the recipe only,
// nobody can find out whether a row was forgotten. The certificate does not hold for sums without the rows.
func TestCertificateDoesNotRevealItsRows(t *testing.T) {
	dir := t.TempDir()
	o := forgetting(t, dir, "u3\nu8\n")
	o.Certificate, o.SaveSums = dir+"/proof", dir+"/less"
	r, err := Forget(jobtest.Ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	verify := options.VerifyForgotten{ForgottenRows: o.ForgottenRows, Certificate: o.Certificate}
	verify.Model = o.Out
	if v, err := VerifyForgotten(jobtest.Ctx, verify); err != nil || !v.Holds {
		t.Errorf("%+v, %v", v, err)
	}
	// The same rows, forgotten from sums that have one more: everything that depends on the rows only differs.
	more := dataset.Options{Files: []string{jobtest.Write(t, dir, "more.csv", "user,a,y\nw,3.5,in\n")}}
	if _, err = Sum(jobtest.Ctx, options.Sum{Recipe: dir + "/recipe", Data: more, Out: dir + "/more"}); err != nil {
		t.Fatal(err)
	}
	other := o
	other.Sums = []string{dir + "/sums", dir + "/more"}
	other.Model, other.Out, other.Certificate, other.SaveSums = dir+"/model-more", dir+"/less-more", dir+"/proof-more", ""
	if _, err = Fit(jobtest.Ctx, options.Fit{SumDirs: other.SumDirs, Model: other.Model}); err != nil {
		t.Fatal(err)
	}
	q, err := Forget(jobtest.Ctx, other)
	if err != nil {
		t.Fatal(err)
	}
	for _, hidden := range append(r.Certificate.Codes, r.Certificate.SumsOfRows) {
		if hidden == q.Certificate.SumsOfRows || slices.Contains(q.Certificate.Codes, hidden) {
			t.Errorf("%s is of the rows alone, so that it can be compared with that of a guess", hidden)
		}
	}
	lineage, err := os.ReadFile(o.Out + "/lineage.json")
	if err != nil || !strings.Contains(string(lineage), r.Certificate.SumsOfRows) {
		t.Errorf("the lineage does not name what was forgotten as the certificate does: %v\n%s", err, lineage)
	}
	verify.Sums = []string{o.SaveSums}
	v, err := VerifyForgotten(jobtest.Ctx, verify)
	jobtest.WantError(t, "sums that never had the rows", err, exit.CodeGate, "does not hold",
		"data.csv:5: the row is not in the sums")
	if v == nil || v.Holds || len(v.Why) == 0 {
		t.Errorf("%+v", v)
	}
}
