package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/internal/disk"
	"github.com/bochner-ml/bochner/internal/testing/disktest"
	"github.com/bochner-ml/bochner/internal/testing/prismtest"
	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/transforms/rows"
)

// A pipeline in which one call of the disk fails makes the same sums and models, or fails, and then the next run makes
// them.
func TestPipelinesOfRowsSurviveAFaultOfTheDisk(t *testing.T) {
	if !beam.Initialized() {
		beam.Init()
	}
	dir := t.TempDir()
	in := func(name ...string) string { return filepath.Join(append([]string{dir}, name...)...) }
	text := "x,l\n"
	for i := range 60 {
		text += fmt.Sprintf("%d,%c\n", i*i%101, 'a'+i%2)
	}
	if err := os.WriteFile(in("rows.csv"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	must(t, "train", "--data", in("rows.csv"), "--label", "l", "--features", "4", "--search", "none", "--model",
		in("recipe"), "--quiet")
	recipe, err := rows.ReadRecipe(t.Context(), in("recipe"))
	if err != nil {
		t.Fatal(err)
	}
	all := tableRows(t, text)
	run := func(name string) error {
		p, s := beam.NewPipelineWithRoot()
		timed := beam.WindowInto(s, window.NewFixedWindows(30*time.Second), beam.ParDo(s, atItsTime, beam.CreateList(s, all)))
		rows.Predict(s, rows.Model{Name: in("recipe")}, timed)
		pipelines.FitStored(s, in(name, "models"), rows.Store(s, recipe, in(name, "sums"), rows.Sum(s, recipe, timed)))
		_, err := prismtest.Runners["direct"](t.Context(), p)
		return err
	}
	made := func(name string) map[string]string {
		files := map[string]string{}
		for _, of := range []string{"sums", "models"} {
			places, _ := filepath.Glob(in(name, of, "[^.]*"))
			for _, place := range places {
				for file, content := range directory(t, place) {
					files[of+"/"+filepath.Base(place)+"/"+file] = content
				}
			}
		}
		return files
	}
	faulty := func(name string, call int) (*disktest.Fault, error) {
		f := &disktest.Fault{FS: disk.OS{}, At: call, Do: func() error { return errors.New("the disk is broken") }}
		defer disk.Swap(f)()
		return f, run(name)
	}
	f, err := faulty("whole", 0)
	if err != nil {
		t.Fatal(err)
	}
	want, calls, failed := made("whole"), f.Calls(), 0
	for i := range 16 {
		name := fmt.Sprint("fault-", i)
		f, err := faulty(name, 1+i*calls/16)
		switch d := cmp.Diff(want, made(name)); {
		case err != nil:
			failed++
		case f.Hit() != "" && d != "":
			t.Errorf("%s fails without an error: %s", f.Hit(), d)
		}
		if err := run(name); err != nil {
			t.Errorf("after %s: %v", f.Hit(), err)
		}
		if d := cmp.Diff(want, made(name)); d != "" {
			t.Errorf("after %s: %s", f.Hit(), d)
		}
	}
	if failed < 8 || len(want) < 20 {
		t.Errorf("%d of 16 pipelines failed, with %d files", failed, len(want))
	}
}
