package pipelines

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/disk"
	"github.com/bochner-ml/bochner/internal/testing/gcstest"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/io/storage/gcs"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms/scoring"
)

// brook is a directory of models, one of files, and options of a stream between them.
type brook struct {
	t       *testing.T
	dir     string
	digests map[string]string // of the models by name
	o       options.PredictStream
	log     bytes.Buffer
	rows    int
}

// newBrook trains models of that many features, named by it, and promotes the first.
func newBrook(t *testing.T, features ...int) *brook {
	t.Helper()
	b := &brook{t: t, dir: t.TempDir(), digests: map[string]string{}}
	train := jobtest.Write(t, b.dir, "train.csv", "id,a,b,y\n"+strings.Repeat("r,1,2,p\ns,0.5,-1,q\nt,3,0.25,p\n", 20))
	for _, d := range features {
		dir := filepath.Join(b.dir, "models", fmt.Sprint("m", d))
		_, err := trainPlain(t.Context(), options.Train{
			Prepare: options.Prepare{Data: dataset.Options{Files: []string{train}, Label: "y", Roles: dataset.Roles{ID: "id"}},
				Kernel: &fourier.GaussianOptions{Features: d}, Seed: 1},
			Model: dir, Lambda: options.Lambda{Path: []float64{1e-3}},
		})
		if err != nil {
			t.Fatal(err)
		}
		m, err := models.ReadManifest(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		b.digests[filepath.Base(dir)] = m.SHA256
	}
	b.promote(fmt.Sprint("m", features[0]))
	b.o = options.PredictStream{
		Predict: options.Predict{
			Model: b.path("models@champion"), Data: dataset.Options{Files: []string{b.path("in/*.csv")}}, Out: b.path("out"),
			Content: options.Content{Digest: true}, MaxBadFraction: 1, Job: options.Job{Log: &b.log},
		},
		Poll: time.Millisecond, PerRound: 2, UntilIdle: true,
	}
	if err := os.Mkdir(b.path("in"), 0o777); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *brook) path(name string) string { return filepath.Join(b.dir, name) }

func (b *brook) promote(model string) {
	b.t.Helper()
	if _, err := (registry.Registry{Dir: b.path("models")}).Promote(b.t.Context(), model, registry.Change{}); err != nil {
		b.t.Fatal(err)
	}
}

// put writes a file of n rows into the input.
func (b *brook) put(name string, n int) {
	b.t.Helper()
	text := "id,a,b\n"
	for range n {
		b.rows++
		text += fmt.Sprintf("%d,%d,%g\n", b.rows, b.rows%3, float64(b.rows%7)/4)
	}
	jobtest.Write(b.t, b.path("in"), name, text)
}

// counted returns how often each identifier is in the output, by the digest of its model, and fails
// the test unless every row is there once.
func (b *brook) counted() map[string]int {
	b.t.Helper()
	by, ids := map[string]int{}, map[string]int{}
	files, err := filepath.Glob(b.path("out/*"))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
			fields := strings.Split(line, ",")
			ids[fields[0]]++
			by[fields[len(fields)-1]]++
		}
	}
	for i := range b.rows {
		if n := ids[fmt.Sprint(i+1)]; n != 1 {
			b.t.Errorf("row %d is %d times in the output", i+1, n)
		}
	}
	if len(ids) != b.rows {
		b.t.Errorf("%d rows in the output, %d in the input", len(ids), b.rows)
	}
	return by
}

// The defaults of options.Stream equal those of the flags, and a stream runs with them.
func TestStreamRunsWithTheDefaults(t *testing.T) {
	b := newBrook(t, 8)
	b.put("f.csv", 3)
	o := options.NewPredictStream()
	if o.Reload != time.Minute || o.Poll != 5*time.Second || o.Settle != 10*time.Second || o.PerRound != 64 ||
		o.Messages.Outstanding != 1000 {
		t.Errorf("defaults %+v", o)
	}
	o.Predict, o.Settle, o.UntilIdle = b.o.Predict, 0, true
	if last, err := PredictStream(t.Context(), o); err != nil || last.Files != 1 {
		t.Errorf("%+v, %v", last, err)
	}
}

// On every runner, and in a bucket, a stream writes for each file what a batch of that file writes.
func TestStreamWritesTheBytesOfABatch(t *testing.T) {
	b := newBrook(t, 8)
	for i := range 3 {
		b.put(fmt.Sprintf("f%d.csv", i), 20*i+1)
	}
	b.o.Lines, b.o.Scores = true, true
	want := map[string][]byte{}
	server, address := gcstest.Start(t)
	gcs.UseEmulator(func() string { return address })
	t.Cleanup(func() { gcs.UseEmulator(func() string { return "" }) })
	for i := range 3 {
		name := fmt.Sprintf("f%d.csv", i)
		o := b.o.Predict
		o.Data.Files, o.Out = []string{b.path("in/" + name)}, b.path(fmt.Sprint("batch", i))
		if _, err := Predict(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		var err error
		if want[name], err = os.ReadFile(filepath.Join(o.Out, "part-00000.csv")); err != nil {
			t.Fatal(err)
		}
		in, err := os.ReadFile(b.path("in/" + name))
		if err != nil {
			t.Fatal(err)
		}
		server.Fill("in/dt=1/"+name, in)
	}
	for _, runner := range []string{engine.Direct, "prism", "gs"} {
		o := b.o
		o.Out, o.Job.Engine.Runner = b.path("out-"+runner), runner
		below := ""
		if runner == "gs" {
			o.Job.Engine.Runner, o.Out, o.Data.Files = engine.Direct, "gs://bucket/out", []string{"gs://bucket/in/dt=*/*.csv"}
			below = "dt=1/"
		}
		last, err := PredictStream(t.Context(), o)
		if err != nil || last.Files != 3 || !last.Ended {
			t.Fatalf("%s: %+v, %v", runner, last, err)
		}
		for name, text := range want {
			got, err := storage.ReadFile(t.Context(), storage.Join(o.Out, below+name+".predictions.csv"), 1<<20)
			if err != nil || !bytes.Equal(got, text) {
				t.Errorf("%s: %s is %q, %v; want %q", runner, name, got, err, text)
			}
		}
	}
}

// A stream that is stopped ends after its current file, without an error; the next one predicts the rest. Files
// that a killed stream had not finished are predicted again.
func TestRestartedStreamPredictsEveryFileOnce(t *testing.T) {
	b := newBrook(t, 8)
	for i := range 5 {
		b.put(fmt.Sprintf("f%d.csv", i), 3)
	}
	ctx, stop := context.WithCancel(t.Context())
	o := b.o
	o.UntilIdle = false
	o.Each = func(r results.StreamRound) error {
		if r.Files != 2 || r.Backlog != 3 || r.Model != b.digests["m8"] {
			t.Errorf("first round: %+v", r)
		}
		stop()
		return nil
	}
	last, err := PredictStream(ctx, o)
	if err != nil || last.Files != 2 || last.Rows != 6 {
		t.Fatalf("stopped: %+v, %v", last, err)
	}
	if err := os.Remove(b.path("out/f0.csv.predictions.csv")); err != nil { // as if it was killed before it
		t.Fatal(err)
	}
	left := jobtest.Write(t, b.path("out"), ".tmp-f0.csv.predictions.csv-0123456789abcdef", "id,pred")
	theirs := jobtest.Write(t, b.path("out"), ".tmp-f0", "")
	if last, err = PredictStream(t.Context(), b.o); err != nil || last.Files != 4 {
		t.Errorf("again: %+v, %v", last, err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an unfinished file is left: %v", err)
	}
	if err := os.Remove(theirs); err != nil {
		t.Error(err)
	}
	if last, err = PredictStream(t.Context(), b.o); err != nil || last.Files != 0 {
		t.Errorf("with nothing left: %+v, %v", last, err)
	}
	b.counted()
}

func TestStreamNamesRowsWithoutPredictions(t *testing.T) {
	b := newBrook(t, 8)
	b.put("a.csv", 3)
	jobtest.Write(t, b.path("in"), "rows.csv", "id,a,b\nx,1,2\ny,oops,3\n")
	jobtest.Write(t, b.path("in"), "columns.csv", "other,a\n1,2\n")
	jobtest.Write(t, b.path("in"), "empty.csv", "")
	last, err := PredictStream(t.Context(), b.o)
	if err != nil || last.Files != 2 || last.BadFiles != 2 || last.Rows != 4 || last.SetAside != 1 {
		t.Fatalf("%+v, %v", last, err)
	}
	if last.Total.P50 <= 0 || last.Total.P99 < last.Total.P50 {
		t.Errorf("latencies %v, %v", last.Total.P50, last.Total.P99)
	}
	in := `"error": "` + b.path("in")
	for name, want := range map[string]string{
		"rows.csv.rows.json": `"oops" is not a number`, "columns.csv.file.json": in +
			"/columns.csv: missing column", "empty.csv.file.json": in + "/empty.csv: is empty",
	} {
		text, err := os.ReadFile(b.path("out-dead/" + name))
		var l scoring.DeadLetter
		if err == nil {
			err = json.Unmarshal(text, &l)
		}
		if err != nil || !strings.Contains(strings.ReplaceAll(string(text), `\"`, `"`), want) ||
			filepath.Dir(l.File) != b.path("in") {
			t.Errorf("%s: %v, %s, want %q", name, err, text, want)
		}
	}
	if !strings.Contains(b.log.String(), "note: no predictions for columns.csv: "+b.path("in")) {
		t.Errorf("log %s", &b.log)
	}
	out, err := os.ReadFile(b.path("out/rows.csv.predictions.csv"))
	if err != nil || !strings.Contains(string(out), "\ny,,"+b.digests["m8"]) {
		t.Errorf("%v, %s", err, out)
	}
	// A smaller share makes the file bad. What was bad is tried again once its letter is gone.
	o := b.o
	o.MaxBadFraction = 0.4
	for _, name := range []string{"out/rows.csv.predictions.csv", "out-dead/columns.csv.file.json"} {
		if err := os.Remove(b.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	jobtest.Write(t, b.path("in"), "columns.csv", "id,b,a\nz,2,3\n")
	if last, err = PredictStream(t.Context(), o); err != nil || last.BadFiles != 1 || last.Files != 1 {
		t.Errorf("%+v, %v", last, err)
	}
	if text, err := os.ReadFile(b.path("out-dead/rows.csv.file.json")); err != nil ||
		!strings.Contains(string(text), "1 of 2 rows cannot be used") {
		t.Errorf("%v, %s", err, text)
	}
}

// Models change between files, a bad one is not used, and all rows of a file are predicted by one model.
func TestStreamUsesTheModelThatIsChampion(t *testing.T) {
	b := newBrook(t, 8, 16, 24)
	b.put("f0.csv", 10)
	b.o.Reload, b.o.PerRound = 1, 1
	o, round := b.o, 0
	want := map[string]int{}
	next := []string{"m16", "broken", "m24"}
	used := []string{"m8", "m16", "m16", "m24"}
	if err := os.CopyFS(b.path("models/broken"), os.DirFS(b.path("models/m24"))); err != nil {
		t.Fatal(err)
	}
	o.Each = func(r results.StreamRound) error {
		want[b.digests[used[round]]] += 10
		if r.Files != 1 || (r.ReloadError != "") != (round == 2) {
			t.Errorf("round %d: %+v", round, r)
		}
		if round < len(next) {
			b.promote(next[round])
			if next[round] == "broken" {
				if err := os.Truncate(b.path("models/broken/"+models.WeightsFile), 100); err != nil {
					t.Fatal(err)
				}
			}
			round++
			b.put(fmt.Sprintf("f%d.csv", round), 10)
		}
		return nil
	}
	last, err := PredictStream(t.Context(), o)
	if err != nil || last.Files != 4 || last.Reloads != 2 {
		t.Fatalf("%+v, %v", last, err)
	}
	if by := b.counted(); fmt.Sprint(by) != fmt.Sprint(want) {
		t.Errorf("rows by model %v, want %v", by, want)
	}
	if n := strings.Count(b.log.String(), "stays in use"); n != 1 {
		t.Errorf("%d notes on the bad model: %s", n, &b.log)
	}
}

// If names disappear and come back with other names and another model, files with predictions are not predicted
// again.
func TestStreamKnowsFinishedFilesByTheirOutputs(t *testing.T) {
	server, address := gcstest.Start(t)
	gcs.UseEmulator(func() string { return address })
	t.Cleanup(func() { gcs.UseEmulator(func() string { return "" }) })
	for _, runner := range []string{engine.Direct, "prism", "gs"} {
		b := newBrook(t, 8, 16)
		o := b.o
		o.Job.Engine.Runner, o.Reload, o.UntilIdle, o.PerRound = runner, 1, false, 9
		away := func() error {
			return errors.Join(os.Rename(b.path("in"), b.path("aside")), os.Mkdir(b.path("in"), 0o777))
		}
		back := func() error {
			return errors.Join(os.Rename(b.path("aside/f0.csv"), b.path("in/f0.csv")),
				os.Rename(b.path("aside/f1.csv"), b.path("in/f1.csv")))
		}
		put := b.put
		if runner == "gs" {
			o.Job.Engine.Runner, o.Data.Files, o.Out = engine.Direct, []string{"gs://bucket/in/*.csv"}, "gs://bucket/out"
			away = func() error {
				return errors.Join(storage.Remove(t.Context(), "gs://bucket/in/f0.csv"),
					storage.Remove(t.Context(), "gs://bucket/in/f1.csv"))
			}
			fill := func(name string) {
				text, err := os.ReadFile(b.path("in/" + name))
				if err != nil {
					t.Fatal(err)
				}
				server.Fill("in/"+name, text)
			}
			back = func() error { fill("f0.csv"); fill("f1.csv"); return nil }
			put = func(name string, n int) { b.put(name, n); fill(name) }
		}
		put("f0.csv", 2)
		put("f1.csv", 3)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		steps := []func() error{
			func() error { b.promote("m16"); defer put("g.csv", 1); return away() },
			func() error { defer put("last.csv", 1); return back() },
			func() error { stop(); return nil },
		}
		done := 0
		o.Each = func(r results.StreamRound) error {
			if done += int(r.Files); done < 2 || len(steps) == 0 {
				return nil
			}
			next := steps[0]
			steps = steps[1:]
			return next()
		}
		last, err := PredictStream(ctx, o)
		if err != nil || last.Files != 4 || last.BadFiles+last.Retried > 0 {
			t.Errorf("%s: %+v, %v", runner, last, err)
		}
		for name, model := range map[string]string{"f0.csv": "m8", "f1.csv": "m8", "g.csv": "m16", "last.csv": "m16"} {
			text, err := storage.ReadFile(t.Context(), storage.Join(o.Out, name+".predictions.csv"), 1<<20)
			if err != nil || !strings.Contains(string(text), b.digests[model]) {
				t.Errorf("%s: %s is not of the model %s: %v, %s", runner, name, model, err, text)
			}
		}
	}
}

// opening is a file system in which something happens to a file once before it is opened.
type opening struct {
	disk.FS
	name   string
	before func() error
}

func (o *opening) Open(name string) (disk.File, error) {
	if do := o.before; name == o.name && do != nil {
		o.before = nil
		if err := do(); err != nil {
			return nil, err
		}
	}
	return o.FS.Open(name)
}

// A listed file that was moved or replaced before it is read has no dead letter, and gets predictions when it
// is back.
func TestFileMovedBeforeReadingHasNoDeadLetter(t *testing.T) {
	for what, place := range map[string]func(name string) error{
		"nothing":      func(string) error { return nil },
		"a directory":  func(name string) error { return os.Mkdir(name, 0o777) },
		"a pipe":       func(name string) error { return syscall.Mkfifo(name, 0o666) },
		"another file": func(name string) error { return os.WriteFile(name, []byte("no,table\n"), 0o666) },
	} {
		b := newBrook(t, 8)
		b.put("a.csv", 2)
		b.put("b.csv", 2)
		name, aside := b.path("in/a.csv"), b.path("aside.csv")
		restore := disk.Swap(&opening{FS: disk.Current(), name: name,
			before: func() error { return errors.Join(os.Rename(name, aside), place(name)) }})
		o := b.o
		o.Each = func(r results.StreamRound) error {
			if _, err := os.Stat(aside); err == nil && r.Retried > 0 {
				return errors.Join(os.RemoveAll(name), os.Rename(aside, name))
			}
			return nil
		}
		last, err := PredictStream(t.Context(), o)
		restore()
		if err != nil || last.Files != 2 || last.Retried != 1 || last.BadFiles != 0 {
			t.Errorf("%s: %+v, %v, %s", what, last, err, &b.log)
		}
		b.counted()
	}
}

// Entries that cannot be read are counted and noted; files are predicted, and no content of a file outside is
// shown.
func TestUnreadableFilesOfAStreamWait(t *testing.T) {
	b := newBrook(t, 8)
	b.put("a.csv", 3)
	jobtest.Write(t, b.dir, "secret.csv", "id,a,b\nsecret,1,2\n")
	err := errors.Join(os.Symlink("../secret.csv", b.path("in/out.csv")),
		os.Symlink("/etc/passwd", b.path("in/passwd.csv")), os.Symlink("none", b.path("in/none.csv")),
		syscall.Mkfifo(b.path("in/pipe.csv"), 0o666), os.Mkdir(b.path("in/dir.csv"), 0o777))
	if err != nil {
		t.Fatal(err)
	}
	b.o.Settle = time.Millisecond
	future := time.Now().Add(24 * time.Hour)
	if err := os.Chtimes(b.path("in/a.csv"), future, future); err != nil {
		t.Fatal(err)
	}
	last, err := PredictStream(t.Context(), b.o)
	if err != nil || last.Files != 1 || last.BadFiles+last.Retried > 0 || last.Waiting != 5 || last.Backlog != 5 {
		t.Errorf("%+v, %v", last, err)
	}
	for _, want := range []string{"out.csv: a symbolic link that leads out", "passwd.csv: a symbolic link that leads out",
		"none.csv: is a symbolic link to none", "pipe.csv: not a regular file",
		"dir.csv: is a directory", "a.csv has a time in the future"} {
		if n := strings.Count(b.log.String(), want); n != 1 {
			t.Errorf("%d notes with %q: %s", n, want, &b.log)
		}
	}
	if strings.Contains(b.log.String(), "root:") || !strings.Contains(last.String(), "backlog 5 (5 cannot be read yet)") {
		t.Errorf("%s; %s", last, &b.log)
	}
	b.counted()
	// A second stream recognises changes by the times.
	grown := time.Now().Add(-time.Millisecond)
	if err := os.Chtimes(b.path("out/a.csv.predictions.csv"), grown, grown.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(b.path("in/a.csv"), grown, grown); err != nil {
		t.Fatal(err)
	}
	if last, err := PredictStream(t.Context(), b.o); err != nil || last.Files != 0 || last.Changed != 1 {
		t.Errorf("after a file has grown: %+v, %v", last, err)
	}
}

func TestStreamRejectsInvalidOptions(t *testing.T) {
	b := newBrook(t, 8)
	b.put("f.csv", 1)
	for what, test := range map[string]struct {
		change func(*options.PredictStream)
		code   exit.Code
		want   string
	}{
		"its own output": {func(o *options.PredictStream) { o.Data.Files = []string{b.path("**")} }, exit.CodeUsage,
			"where the stream writes"},
		"no alias": {func(o *options.PredictStream) { o.Model = b.path("models@challenger") }, exit.CodeModel,
			"is challenger"},
		"drift":    {func(o *options.PredictStream) { o.MaxDrift = 0.1 }, exit.CodeUsage, "has no end"},
		"no pause": {func(o *options.PredictStream) { o.Poll = 0 }, exit.CodeUsage, "--poll must be at least 1ms (have 0s)"},
		"negative age": {func(o *options.PredictStream) { o.MaxAge = -time.Hour }, exit.CodeUsage,
			"--max_age must be at least 0s (have -1h0m0s)"},
		"no probabilities":  {func(o *options.PredictStream) { o.Probabilities = true }, exit.CodeUsage, "has no probabilities"},
		"one file":          {func(o *options.PredictStream) { o.Out = b.path("new.csv") }, exit.CodeUsage, "give a directory"},
		"a file in its way": {func(o *options.PredictStream) { o.Out = b.path("train.csv") + "/" }, exit.CodeData, "train.csv"},
	} {
		o := b.o
		test.change(&o)
		_, err := PredictStream(t.Context(), o)
		jobtest.WantError(t, what, err, test.code, test.want)
	}
	o := b.o
	o.Each = func(results.StreamRound) error {
		_, err := PredictStream(t.Context(), b.o)
		jobtest.WantError(t, "a second stream", err, exit.CodeData, "in use by another run")
		return nil
	}
	if _, err := PredictStream(t.Context(), o); err != nil {
		t.Error(err)
	}
}
