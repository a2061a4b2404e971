package command

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/vet"
	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/internal/testing/prismtest"
	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/pipelines/results"
)

func init() {
	beam.RegisterType(reflect.TypeFor[visit]())
	beam.RegisterFunction(ofItsDay)
}

// visit is a row of a program's own type.
type visit struct {
	Key  string `bochner:",key"`
	X    float64
	City string   `beam:"city"`
	Y    *float64 `bochner:"y"`
	Kind string   `bochner:"kind,label"`
	Day  int64    `bochner:"-"`
}

func ofItsDay(v visit, emit func(beam.EventTime, visit)) { emit(beam.EventTime(86_400_000*v.Day), v) }

// Rows of several windows give the same recipe in any order and on any runner. The model of each window has the
// bytes of the model that the command trains by this recipe.
func TestTrainRowsWorksWithoutARecipe(t *testing.T) {
	if !beam.Initialized() {
		beam.Init()
	}
	dir := t.TempDir()
	in := func(name ...string) string { return filepath.Join(append([]string{dir}, name...)...) }
	r := rand.New(rand.NewPCG(8, 8))
	var visits []visit
	text := []string{"X,city,y,kind"}
	for i := range 900 {
		y := float64(r.IntN(100)) / 8
		v := visit{Key: fmt.Sprint(i), X: float64(r.IntN(10000)) / 64, City: []string{"Oslo", "Rome", ""}[r.IntN(3)], Y: &y,
			Day: int64(i % 3)}
		v.Kind = map[bool]string{true: "far", false: "near"}[v.X+y > 80]
		line := fmt.Sprintf("%g,%s,%g,%s", v.X, v.City, y, v.Kind)
		if i%50 == 0 {
			v.Y, line = nil, fmt.Sprintf("%g,%s,,%s", v.X, v.City, v.Kind)
		}
		visits, text = append(visits, v), append(text, line)
	}
	visits, text = append(visits, visit{Key: "bad", X: 1, Kind: ""}), append(text, "1,,,")
	if err := os.WriteFile(in("all.csv"), []byte(strings.Join(text, "\n")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	train := func(name, runner string, visits []visit) error {
		p, s := beam.NewPipelineWithRoot()
		all := beam.ParDo(s, ofItsDay, beam.CreateList(s, visits))
		if name != "without windows" {
			all = beam.WindowInto(s, window.NewFixedWindows(24*time.Hour), all)
		}
		_, rejected := pipelines.TrainRows(s, pipelines.TrainRowsOptions{Dir: in(name), Sample: 300, Features: 40,
			Lambda: []float64{1e-3, 1e-5}}, all)
		beam.ParDo0(s, &keepFn{t.Name() + name}, rejected)
		if e, err := vet.Evaluate(t.Context(), p); err != nil || e.RequiresRegistrations() {
			t.Errorf("%s: %v, something is not registered", name, err)
		}
		_, err := prismtest.Runners[runner](t.Context(), p)
		return err
	}
	var first map[string]string
	for name, runner := range map[string]string{"as they come": "direct", "mixed": "prism", "without windows": "direct"} {
		if name == "mixed" {
			r.Shuffle(len(visits), func(i, j int) { visits[i], visits[j] = visits[j], visits[i] })
		}
		if err := train(name, runner, visits); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		kept.Lock()
		if got := kept.of[t.Name()+name]; len(got) != 1 || got["bad"] == nil {
			t.Errorf("%s: rejected are %v", name, got)
		}
		kept.Unlock()
		if recipe := directory(t, in(name, "recipe")); first == nil {
			first = recipe
			must(t, "train", "--recipe", in(name, "recipe"), "--data", in("all.csv"), "--model", in("want"),
				"--max_bad_fraction", "0.1", "--quiet")
			if d := cmp.Diff(directory(t, in("want")), first); d == "" {
				t.Error("the model of the sample equals the model of all rows")
			}
		} else if d := cmp.Diff(first, recipe); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		model := in(name, "models", "sums")
		if name != "without windows" {
			model = in(name, "all")
			if days, err := filepath.Glob(in(name, "models", "dt=1970-01-0[123]")); err != nil || len(days) != 3 {
				t.Errorf("%s: the models of days are %v", name, days)
			}
			must(t, "fit", "--sums", in(name, "sums", "dt=*"), "--model", model, "--quiet")
		}
		want := directory(t, in("want"))
		delete(want, results.SetAsideFile) // which names lines of the file
		got := directory(t, model)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: the model differs from the command's: %s", name, d)
		}
	}
	kept.Lock()
	delete(kept.of, t.Name()+"as they come")
	kept.Unlock()
	if err := train("as they come", "direct", visits); err != nil {
		t.Errorf("again: %v", err)
	}
	err := train("as they come", "direct", visits[:500])
	if err == nil || !strings.Contains(err.Error(), "the recipe is of other rows; choose another directory") {
		t.Errorf("on other rows: %v", err)
	}
}
