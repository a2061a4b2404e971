package job

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/gram"
)

func openedWork(t *testing.T, out string, o options.Job) *WorkDir {
	t.Helper()
	w, err := openWorkDir(jobtest.Ctx, o, out)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// The name of a state file depends on all inputs of its content.
func TestStateFilesAreNamedByTheirInputs(t *testing.T) {
	w := &WorkDir{Dir: "state"}
	base := func() *gram.Pass {
		return &gram.Pass{Spec: gram.Spec{Outputs: 1, FoldPlan: ridge.FoldPlan{Folds: 5},
			SolveOptions: gram.SolveOptions{LambdaSearch: ridge.LambdaSearch{Lambda: []float64{1e-3}}}}, Pass: transforms.Pass{
			Data: dataset.Dataset{Schema: dataset.Schema{Format: "csv", Dim: 2},
				Files: []dataset.File{{Object: storage.Object{Name: "a", URI: "/a", Size: 3, Version: "v"}}}},
			Shards: []dataset.Shard{{Start: 0, End: 3}}, Mode: dataset.FailFast, Seed: 1,
			Target: &transforms.Labeling{Open: true},
		}}
	}
	name := w.File("sum.bin", "v1", base())
	if name != w.File("sum.bin", "v1", base()) {
		t.Error("equal passes have other names")
	}
	if filepath.Dir(name) != "state" || filepath.Ext(name) != ".bin" {
		t.Error(name)
	}
	seen := map[string]string{name: "nothing"}
	for what, change := range map[string]func(p *gram.Pass){
		"seed":      func(p *gram.Pass) { p.Seed = 2 },
		"mode":      func(p *gram.Pass) { p.Mode = dataset.SkipRow },
		"version":   func(p *gram.Pass) { p.Data.Files[0].Version = "w" },
		"file":      func(p *gram.Pass) { p.Data.Files[0].URI = "/b" },
		"shards":    func(p *gram.Pass) { p.Shards = append(p.Shards, dataset.Shard{Start: 3}) },
		"target":    func(p *gram.Pass) { p.Target.Open = false },
		"folds":     func(p *gram.Pass) { p.Spec.Folds = 4 },
		"lambda":    func(p *gram.Pass) { p.Spec.Lambda[0] = 0.0010000000000000002 },
		"recipe":    func(p *gram.Pass) { p.Spec.Recipe.Kind = "other" },
		"dimension": func(p *gram.Pass) { p.Data.Schema.Dim = 3 },
	} {
		p := base()
		change(p)
		got := w.File("sum.bin", "v1", p)
		if other, taken := seen[got]; taken {
			t.Errorf("another %s has the name of another %s", what, other)
		}
		seen[got] = what
	}
	if w.File("sum.bin", "v2", base()) == name || w.File("fit.bin", "v1", base()) == name {
		t.Error("another program or file has the same name")
	}
}

func TestWorkDirectoryIsKeptOnlyForResume(t *testing.T) {
	for _, c := range []struct {
		err  error
		kept bool
	}{
		{nil, false}, {exit.Dataf("bad"), false}, {exit.Usagef("bad"), false},
		{context.Canceled, true}, {errors.New("boom"),
			true}, {&storage.Error{Op: "read", Name: "f", Err: errors.New("gone")}, true},
	} {
		root := t.TempDir()
		out := filepath.Join(root, "model")
		w := openedWork(t, out, options.Job{})
		file := w.File("x.json", 1)
		if err := storage.WriteFile(jobtest.Ctx, file, []byte("x")); err != nil {
			t.Fatal(err)
		}
		w.Close(jobtest.Ctx, c.err)
		_, err := os.Stat(file)
		if kept := err == nil; kept != c.kept {
			t.Errorf("after %v: kept %v", c.err, kept)
		}
		if list, err := os.ReadDir(root); err != nil || !c.kept && len(list) > 0 {
			t.Errorf("after %v: left %v, %v", c.err, list, err)
		}
		again := openedWork(t, out, options.Job{Resume: true})
		if ok, _ := storage.Exists(jobtest.Ctx, file); ok != c.kept {
			t.Errorf("after %v: a run that resumes finds it: %v", c.err, ok)
		}
		again.Close(jobtest.Ctx, context.Canceled)
		fresh := openedWork(t, out, options.Job{})
		if ok, _ := storage.Exists(jobtest.Ctx, file); ok {
			t.Errorf("after %v: a run that does not resume finds it", c.err)
		}
		fresh.Close(jobtest.Ctx, nil)
	}
}

// Other files in a work directory are never changed.
func TestWorkDirectoryWithOtherFilesIsRejected(t *testing.T) {
	dir := t.TempDir()
	mine := jobtest.Write(t, dir, "thesis.tex", "…")
	_, err := openWorkDir(jobtest.Ctx, options.Job{Work: dir}, filepath.Join(dir, "model"))
	jobtest.WantError(t, "", err, exit.CodeData, "has other files")
	empty := filepath.Join(dir, "work")
	w := openedWork(t, filepath.Join(dir, "model"), options.Job{Work: empty})
	later := jobtest.Write(t, empty, "notes", "…")
	w.Close(jobtest.Ctx, nil)
	for _, f := range []string{mine, later} {
		if _, err := os.Stat(f); err != nil {
			t.Error(err)
		}
	}
}

func TestTwoJobsCannotShareAWorkDirectory(t *testing.T) {
	out := filepath.Join(t.TempDir(), "model")
	w := openedWork(t, out, options.Job{})
	_, err := openWorkDir(jobtest.Ctx, options.Job{Resume: true}, out)
	jobtest.WantError(t, "", err, exit.CodeData, "another run")
	w.Close(jobtest.Ctx, nil)
}

func TestSweepWorkDirsRemovesOnlyUnusedWork(t *testing.T) {
	dir := t.TempDir()
	left, used := openedWork(t, filepath.Join(dir, "left"), options.Job{}), openedWork(t, filepath.Join(dir, "used"),
		options.Job{})
	for _, w := range []*WorkDir{left, used} {
		if err := storage.WriteState(jobtest.Ctx, w.File("sum.bin"), []byte("state")); err != nil {
			t.Fatal(err)
		}
	}
	left.release(jobtest.Ctx)
	other := filepath.Join(dir, ".bochner-notes")
	if err := os.Mkdir(other, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := SweepWorkDirs(jobtest.Ctx, filepath.Join(dir, ".bochner-*")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{left.root: false, used.root: true, used.File("sum.bin"): true, other: true} {
		if there, err := storage.Exists(jobtest.Ctx, name); err != nil || there != want {
			t.Errorf("%s: there %t, want %t: %v", name, there, want, err)
		}
	}
	used.release(jobtest.Ctx)
}
