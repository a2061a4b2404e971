package models

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/internal/testing/gcstest"
	_ "github.com/bochner-ml/bochner/io/formats"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/storage"
	_ "github.com/bochner-ml/bochner/io/storage/s3"
	"github.com/bochner-ml/bochner/models/linear"
)

// files returns the files of a model that differs from the models of all other numbers. Its learned
// frequencies are in a file of their own, which the recipe names.
func files(t testing.TB, number, frequencies int, change func(*Manifest)) []storage.File {
	t.Helper()
	const in = 4
	f := &learned.Frequencies{Count: frequencies, In: in}
	for i := range frequencies * in {
		f.W = append(f.W, float32(math.Sin(float64(i+number))))
	}
	data, err := learned.Encode(f)
	if err != nil {
		t.Fatal(err)
	}
	recipe := learned.Recipe{In: in, Count: frequencies, Form: fourier.Paired, Seed: 1,
		SHA256: NewFileEntry(learned.FileName, data).SHA256}
	sealed, err := features.Seal(recipe)
	if err != nil {
		t.Fatal(err)
	}
	m := &Model{
		Manifest: &Manifest{
			Program: "test", Task: Regression, Recipe: sealed, Learner: Learner{Kind: "ridge", Folds: 1},
			Input:   Input{Format: "csv", Dim: in, Columns: []string{"a", "b", "c", "d"}},
			Targets: Targets{TargetGrid: linear.Grids{{Low: -1, High: 1}}},
		},
		Linear:     &linear.Model{K: 1, D: 2 * frequencies, B: []float32{float32(number)}},
		ExtraFiles: []storage.File{{Name: learned.FileName, Data: data}},
	}
	for i := range m.Linear.D {
		m.Linear.W = append(m.Linear.W, float32(math.Cos(float64(i*number))))
	}
	if change != nil {
		if change(m.Manifest); m.Manifest.Vocabulary != nil {
			k := len(m.Manifest.Vocabulary.Classes)
			m.Linear = &linear.Model{K: k, D: m.Linear.D, W: make([]float32, k*m.Linear.D), B: make([]float32, k)}
			m.Manifest.TargetGrid = nil
		}
	}
	files, err := Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// store writes the files as they are, without the care of storage.Publish.
func store(t testing.TB, dir string, files []storage.File) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// promote makes a model of a directory champion.
func promote(t testing.TB, dir, model string) {
	t.Helper()
	s := &Aliases{Format: AliasFormat, Champion: model, Events: 1, Last: []byte("{}")}
	data, err := s.Encode()
	if name := storage.Join(dir, AliasFile); err == nil && strings.HasPrefix(dir, "s3://") {
		err = storage.WriteFile(t.Context(), name, data)
	} else if err == nil { // as storage does, without the wait for the disk
		if err = os.WriteFile(name+".new", data, 0o666); err == nil {
			err = os.Rename(name+".new", name)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// atPoint opens a handle until the test ends.
func atPoint(t testing.TB, name string, ttl time.Duration) *Handle {
	t.Helper()
	h, err := OpenHandle(t.Context(), name, ttl)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// at sets the time of this package, and returns how to let it pass.
func at(t testing.TB) (pass func(time.Duration)) {
	var now atomic.Int64
	now.Store(1e18)
	clock = func() time.Time { return time.Unix(0, now.Load()) }
	t.Cleanup(func() { clock = time.Now })
	return func(d time.Duration) { now.Add(int64(d)) }
}

// logged collects what is logged.
func logged(t testing.TB) *bytes.Buffer {
	var text bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&text, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return &text
}

func digest(files []storage.File) string {
	m := files[len(files)-1].Data
	_, sum, _ := bytes.Cut(m[bytes.LastIndex(m, []byte(`"sha256"`)):], []byte(`: "`))
	return string(sum[:64])
}

// rows are some that each model scores differently.
func someRows(n int) []float64 {
	x := make([]float64, 4*n)
	for i := range x {
		x[i] = math.Sin(float64(i * i))
	}
	return x
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// While a hundred models replace one another, every batch of scores comes from the one model that Model has
// returned for it, and earlier models leave no memory.
func TestReloadsTearNoPredictionAndLeakNoMemory(t *testing.T) {
	const reloads, goroutines, frequencies = 100, 3, 1024
	const model = frequencies * (4*4 + 2*4) // bytes of a file of frequencies and of weights, at least
	dir := t.TempDir()
	logged(t)
	x := someRows(4)
	var want sync.Map // digest → scores
	train := func(i int) {
		name := fmt.Sprintf("m%d", i)
		store(t, filepath.Join(dir, name), files(t, i, frequencies, nil))
		m, err := LoadURI(t.Context(), filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		y := slices.Repeat([]float64{0}, len(x)/4)
		if err := m.Predict(y, x); err != nil {
			t.Fatal(err)
		}
		want.Store(m.Manifest.SHA256, y)
		promote(t, dir, name)
	}
	train(0)
	h := atPoint(t, dir+"@champion", 0)
	ctx := t.Context()
	var running sync.WaitGroup
	var seen sync.Map // digests that were used
	batches := make(chan struct{}, 10)
	for range goroutines {
		running.Go(func() {
			y := slices.Repeat([]float64{0}, len(x)/4)
			for range batches {
				m := h.Model(ctx)
				for i := range y { // in pieces, so that swaps come between
					if err := m.Predict(y[i:i+1], x[4*i:4*i+4]); err != nil {
						t.Error(err)
						return
					}
				}
				expected, ok := want.Load(m.Manifest.SHA256)
				if !ok || !slices.Equal(y, expected.([]float64)) {
					t.Errorf("scores %v of the model %.8s, want %v", y, m.Manifest.SHA256, expected)
					return
				}
				seen.Store(m.Manifest.SHA256, true)
			}
		})
	}
	defer running.Wait()
	defer close(batches)
	var early uint64
	for i := 1; i <= reloads; i++ {
		train(i)
		for len(batches) < cap(batches) { // to be done while models change
			batches <- struct{}{}
		}
		m, y := h.Model(ctx), [4]float64{}
		predict := func(from, to int) {
			if err := m.Predict(y[from:to], x[4*from:4*to]); err != nil {
				t.Fatal(err)
			}
		}
		predict(0, 2)
		if swapped, err := h.Refresh(ctx); !swapped || err != nil {
			t.Fatalf("reload %d: %t, %v", i, swapped, err)
		}
		predict(2, 4) // a use that began before the swap ends with its model
		if expected, _ := want.Load(m.Manifest.SHA256); !slices.Equal(y[:], expected.([]float64)) {
			t.Fatalf("reload %d: scores %v, want %v", i, y, expected)
		}
		for used := false; !used && !t.Failed(); _, used = seen.Load(h.Model(ctx).Manifest.SHA256) {
			select {
			case batches <- struct{}{}:
			default:
				runtime.Gosched()
			}
		}
		if i == 10 {
			early = heap()
		}
	}
	n := 0
	for range seen.Range {
		n++
	}
	if n < reloads { // the first one may not have been
		t.Errorf("%d models were used, want %d", n, reloads)
	}
	if s := h.Stats(); s.Swaps != reloads || s.Failures != 0 {
		t.Errorf("%+v", s)
	}
	// Memory that was decoded for recipes is released after the collection that finds a manifest unused.
	late := heap()
	for try := 0; late > early+20*model && try < 100; try++ {
		late = heap()
	}
	if late > early+20*model {
		t.Errorf("%d kB after %d reloads, %d kB after 10; a model has %d kB", late>>10, reloads, early>>10, model>>10)
	}
}

func TestBadModelKeepsThePreviousOneAndIsReportedOnce(t *testing.T) {
	dir := t.TempDir()
	good, next := files(t, 1, 8, nil), files(t, 2, 8, nil)
	store(t, filepath.Join(dir, "good"), good)
	store(t, filepath.Join(dir, "next"), next)
	half := slices.Clone(next)
	store(t, filepath.Join(dir, "half"), half[len(half)-1:]) // the manifest before its weights
	broken := slices.Clone(next)
	broken[0].Data = slices.Clone(broken[0].Data)
	broken[0].Data[len(broken[0].Data)-1] ^= 1
	store(t, filepath.Join(dir, "broken"), broken)
	store(t, filepath.Join(dir, "wide"), files(t, 3, 8, func(m *Manifest) { m.Input.Columns[2] = "z" }))
	text := logged(t)
	promote(t, dir, "good")
	h := atPoint(t, dir+"@champion", 0)
	failures := int64(0)
	for _, bad := range []struct{ model, want string }{
		{"none", "no longer exists"},
		{"half", "is missing"},
		{"broken", "its checksum does not match"},
		{"wide", `needs the column "z", which rows need not have`},
	} {
		promote(t, dir, bad.model)
		text.Reset()
		for range 3 {
			if swapped, err := h.Refresh(t.Context()); swapped || err == nil || !strings.Contains(err.Error(), bad.want) {
				t.Errorf("%s: %t, %v, want %q", bad.model, swapped, err, bad.want)
			}
			failures++
		}
		if n := strings.Count(text.String(), "level=WARN"); n != 1 ||
			!strings.Contains(text.String(), h.Model(t.Context()).Manifest.SHA256) {
			t.Errorf("%s: %d warnings: %s", bad.model, n, text)
		}
		if s := h.Stats(); s.Failures != failures || s.Err == nil || s.Swaps != 0 {
			t.Errorf("%s: %+v", bad.model, s)
		}
		if got := h.Model(t.Context()).Manifest.SHA256; got != digest(good) {
			t.Errorf("%s: the model is %.8s", bad.model, got)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, AliasFile), []byte(`{"format":`), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Refresh(t.Context()); !errors.Is(err, ErrBadModel) {
		t.Errorf("half a file of aliases: %v", err)
	}
	promote(t, dir, "half")
	store(t, filepath.Join(dir, "half"), half) // its copy ends
	if swapped, err := h.Refresh(t.Context()); !swapped || err != nil {
		t.Errorf("after the copy: %t, %v", swapped, err)
	}
	if s := h.Stats(); s.Err != nil || s.Swaps != 1 || h.Model(t.Context()).Manifest.SHA256 != digest(next) {
		t.Errorf("%+v", s)
	}
}

// A name is looked up again after the interval, and a model that replaces another in its directory is used too.
func TestNameIsLookedUpAfterTheInterval(t *testing.T) {
	pass := at(t)
	dir := filepath.Join(t.TempDir(), "model")
	one, two := files(t, 1, 8, nil), files(t, 2, 8, nil)
	store(t, dir, one)
	h, never := atPoint(t, dir, time.Minute), atPoint(t, dir, 0)
	store(t, dir, two)
	pass(time.Minute - 1)
	if got := h.Model(t.Context()).Manifest.SHA256; got != digest(one) || h.Stats().Checks != 1 {
		t.Errorf("before the time: %.8s, %+v", got, h.Stats())
	}
	pass(1)
	if got := never.Model(t.Context()).Manifest.SHA256; got != digest(one) {
		t.Errorf("a handle that never looks: %.8s", got)
	}
	for range 3 {
		if got := h.Model(t.Context()).Manifest.SHA256; got != digest(two) {
			t.Errorf("after the time: %.8s", got)
		}
	}
	// A lookup that fails waits as long.
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	pass(time.Minute)
	for range 3 {
		h.Model(t.Context())
	}
	if s := h.Stats(); s.Checks != 3 || s.Failures != 1 {
		t.Errorf("%+v, want 3 lookups, of which one failed", s)
	}
	// One whose caller gives up does not count.
	pass(time.Minute)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	h.Model(gone)
	if s := h.Stats(); s.Checks != 3 {
		t.Errorf("%+v after a caller that gave up", s)
	}
	h.Model(t.Context())
	if s := h.Stats(); s.Checks != 4 {
		t.Errorf("%+v after the next caller", s)
	}
}

func TestHandlesShareOneModel(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "model")
	store(t, dir, files(t, 1, 8, nil))
	a, b := atPoint(t, dir, 0), atPoint(t, dir+"/.", 0)
	if a.Model(t.Context()) != b.Model(t.Context()) {
		t.Error("two models")
	}
	a.Close()
	a.Close()
	if len(open.byName) != 1 {
		t.Errorf("%d names are open", len(open.byName))
	}
	b.Close()
	if len(open.byName) != 0 {
		t.Errorf("%d names are open after the last handle", len(open.byName))
	}
	if _, err := OpenHandle(t.Context(), dir+"x", 0); !errors.Is(err, fs.ErrNotExist) || len(open.byName) != 0 {
		t.Errorf("%v; %d names are open", err, len(open.byName))
	}
}

// Aliases on s3:// work as on disk; while one caller loads, the others use the previous model.
func TestOneCallerLoadsWhileOthersUseTheModel(t *testing.T) {
	pass := at(t)
	server := gcstest.StartS3(t)
	const dir = "s3://bucket/models"
	put := func(name string, files []storage.File) {
		for _, f := range files {
			server.Fill("models/"+name+"/"+f.Name, f.Data)
		}
		promote(t, dir, name)
	}
	one, two := files(t, 1, 8, nil), files(t, 2, 8, nil)
	put("one", one)
	h := atPoint(t, dir+"@champion", time.Minute)
	put("two", two)
	server.Faults.Set(gcstest.Rules{Hold: "read models/two/" + WeightsFile})
	pass(time.Minute)
	got := make(chan string)
	go func() { got <- h.Model(t.Context()).Manifest.SHA256 }()
	for server.Faults.Seen()["read held"] == 0 {
		runtime.Gosched()
	}
	if now := h.Model(t.Context()).Manifest.SHA256; now != digest(one) {
		t.Errorf("while another caller loads: %.8s", now)
	}
	server.Faults.Set(gcstest.Rules{})
	if now := <-got; now != digest(two) {
		t.Errorf("the caller that has loaded: %.8s", now)
	}
}

// A caller that waits for the lookup of another gives up when its context ends, and leaves nothing open.
func TestWaitingForALookupEndsWithTheContext(t *testing.T) {
	server := gcstest.StartS3(t)
	const dir = "s3://bucket/models/one"
	for _, f := range files(t, 1, 8, nil) {
		server.Fill("models/one/"+f.Name, f.Data)
	}
	server.Faults.Set(gcstest.Rules{Hold: "read models/one/" + WeightsFile})
	opened := make(chan *Handle, 1)
	go func() {
		h, err := OpenHandle(t.Context(), dir, 0)
		if err != nil {
			t.Error(err)
		}
		opened <- h
	}()
	for server.Faults.Seen()["read held"] == 0 {
		runtime.Gosched()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	failed := make(chan error, 2)
	go func() {
		_, err := OpenHandle(ctx, dir, 0)
		failed <- err
	}()
	select {
	case err := <-failed:
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), dir) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("a handle waits for the model although its context has ended")
	}
	server.Faults.Set(gcstest.Rules{})
	h := <-opened
	if _, err := h.Refresh(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if h.Close(); len(open.byName) != 0 {
		t.Errorf("%d names are open", len(open.byName))
	}
}

func TestReplacementModelsMustFitRowsAndOutputs(t *testing.T) {
	load := func(change func(*Manifest)) *Model {
		dir := t.TempDir()
		store(t, dir, files(t, 1, 8, change))
		m, err := LoadURI(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	classes := func(names ...string) func(*Manifest) {
		return func(m *Manifest) { m.Task, m.Vocabulary = Classification, schema.NewVocabulary(names) }
	}
	unnamed := func(m *Manifest) { m.Input.Columns = nil }
	for _, test := range []struct {
		what          string
		first, second func(*Manifest)
		want          string // "" if it fits
	}{
		{"the same", nil, nil, ""},
		{"another order", nil, func(m *Manifest) { slices.Reverse(m.Input.Columns) }, ""},
		{"another column", nil, func(m *Manifest) { m.Input.Columns[0] = "e" }, `the column "e"`},
		{"more classes", classes("x", "y"), classes("x", "y", "z"), ""},
		{"another task", nil, classes("x", "y"), "for classification, and not for regression"},
		{"another target", nil, func(m *Manifest) { m.Input.Label = "price" }, "it predicts"},
		{"no names", unnamed, unnamed, ""},
		{"names, where there were none", unnamed, nil, "rows have 4 numbers, named true"},
	} {
		err := replaceable(load(test.first), load(test.second))
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", test.what, err, test.want)
		}
	}
}
