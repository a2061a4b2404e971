package command

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window/trigger"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/teststream"
	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/prismtest"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms/rows"
)

func init() {
	beam.RegisterFunction(atItsTime)
	beam.RegisterFunction(numbered)
	beam.RegisterFunction(storedName)
	beam.RegisterType(reflect.TypeFor[rows.Row]())
}

// atItsTime gives a row the time of its key, a number of seconds.
func atItsTime(r rows.Row, emit func(beam.EventTime, rows.Row)) {
	var seconds int64
	fmt.Sscan(r.Key, &seconds)
	emit(beam.EventTime(1000*seconds), r)
}

// directory returns the files of a directory, without the lineage of a model.
func directory(t *testing.T, name string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(name)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		if e.Name() == registry.LineageFile || e.Name() == "report.html" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(name, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(data)
	}
	return files
}

// sumRows stores the sums of rows in a pipeline of its own, of all together, of each window of 200 s, or of shards
// of these, and returns the rows and models that it rejects. Unless fitted is "", it also fits models to the sums,
// in this directory.
func sumRows(t *testing.T, recipe rows.Recipe, table []rows.Row, cut, runner, out, fitted string) map[string]any {
	t.Helper()
	key := t.Name() + out
	p, s := beam.NewPipelineWithRoot()
	all := beam.CreateList(s, table)
	if cut != "global" {
		all = beam.WindowInto(s, window.NewFixedWindows(200*time.Second), beam.ParDo(s, atItsTime, all))
	}
	if cut == "shards" {
		recipe.Shards = 3
	}
	of := rows.Sum(s, recipe, all)
	beam.ParDo0(s, &keepFn{key}, of.Rejected)
	stored := rows.Store(s, recipe, out, of)
	if fitted != "" {
		_, rejected := pipelines.FitStored(s, fitted, stored)
		beam.ParDo0(s, &keepFn{key}, rejected)
	}
	if _, err := prismtest.Runners[runner](t.Context(), p); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	kept.Lock()
	defer kept.Unlock()
	rejected := kept.of[key]
	delete(kept.of, key)
	return rejected
}

// compareSums checks that sums of a pipeline are the sums of a file and list the same rows.
func compareSums(t *testing.T, file, pipeline string) {
	t.Helper()
	var parts [2]*sums.Manifest
	for i, place := range []string{file, pipeline} {
		var err error
		if parts[i], err = sums.ReadManifest(t.Context(), place); err != nil {
			t.Fatal(err)
		}
	}
	if c := parts[0].RowHashes; c == nil || c.Size != 8*parts[0].Rows.Used || parts[1].RowHashes == nil ||
		*c != *parts[1].RowHashes {
		t.Errorf("%s: other rows are listed than in the sums of the file: %+v", pipeline, parts[1].RowHashes)
	}
	if parts[0].Sums != parts[1].Sums || parts[0].Rows != parts[1].Rows {
		t.Errorf("%s: the sums differ from the file's: %s", pipeline, cmp.Diff(parts[0], parts[1]))
	}
}

// forgetOnce checks that rows can be forgotten by a model and its sums, and not a second time.
func forgetOnce(t *testing.T, lines, model, places string) {
	t.Helper()
	dir := t.TempDir()
	gone, less, lessSums := filepath.Join(dir, "gone.csv"), filepath.Join(dir, "less"), filepath.Join(dir, "less-sums")
	if err := os.WriteFile(gone, []byte(lines), 0o666); err != nil {
		t.Fatal(err)
	}
	forget := []string{"forget", "--data", gone, "--quiet"}
	must(t, append(forget, "--model", model, "--sums", places, "--out", less, "--save_sums", lessSums)...)
	code, _, said := execute(append(forget, "--model", less, "--sums", lessSums, "--out", filepath.Join(dir, "again"))...)
	if code != 3 || !strings.Contains(said, ": the row is not in the sums") {
		t.Errorf("%s: rows of the pipeline are forgotten again: exit code %d\n%s", model, code, said)
	}
}

func point(r *rand.Rand) string { return fmt.Sprintf("%.4f,%.4f", r.NormFloat64(), r.NormFloat64()) }

func letter(r *rand.Rand) string { return string(rune('a' + r.IntN(3))) }

func pointAndLetter(r *rand.Rand) string { return point(r) + "," + letter(r) }

// kindsOfRows are tables, and jobs whose models can be made of their sums.
var kindsOfRows = []struct {
	name, header string
	row          func(r *rand.Rand) string
	command      string
	bad          string // a row that is set aside
}{
	{"classes", "x,y,l", pointAndLetter,
		"train --features 60 --search none", "1,x,a"},
	{"regression", "x,y,l", func(r *rand.Rand) string { return fmt.Sprintf("%s,%.5f", point(r), r.NormFloat64()) },
		"train --features 60 --search none --folds 3 --task regression", "1,1,"},
	{"weights", "x,y,w,l", func(r *rand.Rand) string { return fmt.Sprintf("%s,%d,%s", point(r), r.IntN(4), letter(r)) },
		"train --features 60 --search none --weight_column w --class_weight balanced --lambda 1e-4", "1,1,-1,a"},
	{"copies", "x,y,l", func(r *rand.Rand) string { return fmt.Sprintf("%d,%d,%s", r.IntN(4), r.IntN(5), letter(r)) },
		"train --features 60 --search none", "1,1,NA"},
	{"types", "x,c,l", func(r *rand.Rand) string {
		return fmt.Sprintf("%.4f,%s,%s", r.NormFloat64(), []string{"red", "green", "blue", ""}[r.IntN(4)], letter(r))
	}, "train --features 60 --search none", "x,red,a"},
	{"several targets", "x,y,p,l", func(r *rand.Rand) string {
		return fmt.Sprintf("%s,%.5f,%.3f", point(r), r.Float64(),
			1000*r.Float64())
	}, "train --features 60 --search none --label p,l --target_room 1", "1,1,0.5,"},
	{"embedding", "x,y,l", pointAndLetter,
		"embed --features 60 --components 3", "1,,a"},
}

// The sums of each window of rows of a pipeline give the model of a training run by the recipe on the same rows
// in a file, byte for byte.
func TestModelsOfSumsOfWindowsMatchFiles(t *testing.T) {
	if !beam.Initialized() {
		beam.Init()
	}
	for i, c := range kindsOfRows {
		t.Run(c.name, func(t *testing.T) {
			if i%3 > 0 { // classes, copies and an embedding take all ways
				campaign.Long(t)
			}
			dir := t.TempDir()
			in := func(name ...string) string { return filepath.Join(append([]string{dir}, name...)...) }
			r := rand.New(rand.NewPCG(uint64(i), 5))
			file := func(name string, n int, more ...string) string {
				text := c.header + "\n"
				for range n {
					text += c.row(r) + "\n"
				}
				text += strings.Join(more, "\n") + "\n"
				if err := os.WriteFile(in(name), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
				return text
			}
			file("first.csv", 300)
			text := file("later.csv", 400, c.bad)
			command := strings.Fields(c.command)
			if !slices.Contains(command, "--label") {
				command = append(command, "--label", "l")
			}
			must(t, append(command, "--data", in("first.csv"), "--model", in("recipe"), "--quiet")...)
			must(t, "train", "--recipe", in("recipe"), "--data", in("later.csv"), "--model", in("want"), "--max_bad_fraction",
				"0.1", "--quiet")
			must(t, "sum", "--recipe", in("recipe"), "--data", in("later.csv"), "--out", in("sum"), "--max_bad_fraction", "0.1",
				"--quiet")
			recipe, err := rows.ReadRecipe(t.Context(), in("recipe"))
			if err != nil {
				t.Fatal(err)
			}
			want := directory(t, in("want"))
			delete(want, results.SetAsideFile) // which names lines of the file
			cuts := map[string]string{"global": "direct", "windows": "prism"}
			if i < 2 {
				cuts["shards"] = []string{"direct", "prism"}[i]
			}
			for cut, runner := range cuts {
				name := cut + "-" + runner
				fitted := ""
				if cut == "global" || i == 0 {
					fitted = in("models-" + name)
				}
				rejected := sumRows(t, recipe, tableRows(t, text), cut, runner, in(name), fitted)
				bad := fmt.Sprint(400)
				if last, ok := rejected[in(name, "dt=1970-01-01T000640")]; ok != (i == 0 && cut != "global") {
					t.Errorf("%s: the model of no rows: %v", name, last)
				}
				if _, ok := rejected[bad]; !ok {
					t.Errorf("%s: rejected are %v", name, rejected)
				}
				places := in(name)
				if cut == "global" {
					compareSums(t, in("sum"), in(name))
				} else {
					places = in(name, "dt=*")
					if all, err := filepath.Glob(places); err != nil || len(all) != 3 {
						t.Errorf("%s: the windows %v", name, all)
					}
				}
				if left, err := os.ReadDir(in(name + ".parts")); err == nil {
					t.Errorf("%s: %d parts are left", name, len(left))
				}
				if cut == "global" {
					if d := cmp.Diff(want, directory(t, in("models-"+name, name))); d != "" {
						t.Errorf("%s: fitted in the pipeline: %s", name, d)
					}
					continue
				}
				for _, w := range []string{"dt=1970-01-01T000000", "dt=1970-01-01T000320"}[:2*max(0, 1-i)] {
					must(t, "fit", "--sums", in(name, w), "--model", in(name, "m-"+w), "--quiet")
					if d := cmp.Diff(directory(t, in(name, "m-"+w)), directory(t, in("models-"+name, w))); d != "" {
						t.Errorf("%s: fitted in the pipeline: %s", name, d)
					}
				}
				must(t, "fit", "--sums", places, "--model", in("model-"+name), "--quiet")
				if cut == "windows" && i < 3 { // with ways to choose λ that are quick
					gone := strings.Join(strings.SplitN(text, "\n", 4)[:3], "\n") + "\n"
					forgetOnce(t, gone, in("model-"+name), places)
				}
				if d := cmp.Diff(want, directory(t, in("model-"+name))); d != "" {
					t.Errorf("%s: %s", name, d)
				}
			}
			if m, err := models.ReadManifest(t.Context(), in("want")); err != nil || m.Rows.SetAside < 1 {
				t.Errorf("%+v, %v", m.Rows, err)
			}
		})
	}
}

// A pipeline that runs again finds the sums and models that it has stored; one with other rows does not replace
// them. No parts are left, also of sessions, whose windows are merged after their rows were summed.
func TestExistingSumsAndModelsAreKept(t *testing.T) {
	if !beam.Initialized() {
		beam.Init()
	}
	dir := t.TempDir()
	in := func(name ...string) string { return filepath.Join(append([]string{dir}, name...)...) }
	text := "x,l\n"
	for i := range 200 {
		text += fmt.Sprintf("%d,%c\n", i*i%101, 'a'+i%2)
	}
	if err := os.WriteFile(in("rows.csv"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	must(t, "train", "--data", in("rows.csv"), "--label", "l", "--features", "20", "--search", "none", "--model",
		in("recipe"), "--quiet")
	recipe, err := rows.ReadRecipe(t.Context(), in("recipe"))
	if err != nil {
		t.Fatal(err)
	}
	run := func(out string, all []rows.Row, windows *window.Fn) error {
		p, s := beam.NewPipelineWithRoot()
		timed := beam.WindowInto(s, windows, beam.ParDo(s, atItsTime, beam.CreateList(s, all)))
		pipelines.FitStored(s, in("models"), rows.Store(s, recipe, out, rows.Sum(s, recipe, timed)))
		_, ran := prismtest.Runners["direct"](t.Context(), p)
		if _, err := os.Stat(strings.TrimRight(out, "/") + ".parts"); ran == nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: parts are left: %v", out, err)
		}
		return ran
	}
	all, global := tableRows(t, text), window.NewGlobalWindows()
	if err := run(in("sums")+"/", all, global); err != nil {
		t.Fatal(err)
	}
	if err := run(in("sessions"), all, window.NewSessions(time.Minute)); err != nil {
		t.Fatal(err)
	}
	sums, model := directory(t, in("sums")), directory(t, in("models", "sums"))
	if err := run(in("sums"), all, global); err != nil {
		t.Errorf("again: %v", err)
	}
	if err := run(in("sums"), all[:100], global); err == nil || !strings.Contains(err.Error(), "exists and has other sums") {
		t.Errorf("other rows: %v", err)
	}
	if d := cmp.Diff(sums, directory(t, in("sums"))) + cmp.Diff(model, directory(t, in("models", "sums"))); d != "" {
		t.Error(d)
	}
}

// A row of several targets, one of which is beyond its grid, is rejected by the name of that target.
func TestTargetsBeyondTheirGridsAreRejected(t *testing.T) {
	if !beam.Initialized() {
		beam.Init()
	}
	dir := t.TempDir()
	text := "x,p,l\n"
	for i := range 100 {
		text += fmt.Sprintf("%d,%d,%g\n", i*i%101, i%7, 0.5*float64(i%3))
	}
	data, model := filepath.Join(dir, "rows.csv"), filepath.Join(dir, "recipe")
	if err := os.WriteFile(data, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	must(t, "train", "--data", data, "--label", "p,l", "--features", "20", "--search", "none", "--model", model, "--quiet")
	recipe, err := rows.ReadRecipe(t.Context(), model)
	if err != nil {
		t.Fatal(err)
	}
	p, s := beam.NewPipelineWithRoot()
	of := rows.Sum(s, recipe, beam.CreateList(s, []rows.Row{
		{Key: "in", Numbers: map[string]float64{"x": 1, "p": 6, "l": 1}},
		{Key: "beyond", Values: []float64{1}, Numbers: map[string]float64{"p": 2, "l": 6}},
		{Key: "without", Label: "3", Numbers: map[string]float64{"x": 1, "p": 1}},
	}))
	beam.ParDo0(s, &keepFn{t.Name()}, of.Rejected)
	rows.Store(s, recipe, filepath.Join(dir, "sums"), of)
	if _, err := prismtest.Runners["direct"](t.Context(), p); err != nil {
		t.Fatal(err)
	}
	kept.Lock()
	defer kept.Unlock()
	got := fmt.Sprint(len(kept.of[t.Name()]), kept.of[t.Name()]["beyond"], kept.of[t.Name()]["without"])
	if !strings.Contains(got, `the label 6 in column "l" is beyond the grid`) ||
		!strings.Contains(got, `no label (column "l")`) || !strings.HasPrefix(got, "2") {
		t.Error(got)
	}
	if part, err := sums.ReadManifest(t.Context(), filepath.Join(dir, "sums")); err != nil || part.Rows.Used != 1 ||
		part.Rows.SetAside != 2 {
		t.Errorf("%+v, %v", part, err)
	}
}

// numbered returns one of some rows of two classes.
func numbered(i int) rows.Row {
	x := float64(i * i % 101)
	return rows.Row{Key: fmt.Sprint(i), Values: []float64{x}, Label: string(rune('a' + i%2))}
}

// storedName makes a row of sums for keepFn.
func storedName(s rows.Stored) rows.Row { return rows.Row{Key: s.Dir, Label: fmt.Sprint(s.Rows)} }

// Rows that come after their window was stored make further sums of the window. All of them add up to the sums of
// all its rows, bit for bit, in FitStored and in fit.
func TestLateRowsMakeFurtherSumsOfTheirWindow(t *testing.T) {
	if !beam.Initialized() {
		beam.Init()
	}
	dir := t.TempDir()
	in := func(name ...string) string { return filepath.Join(append([]string{dir}, name...)...) }
	text := "x,l\n"
	for i := range 200 {
		r := numbered(i)
		text += fmt.Sprintf("%g,%s\n", r.Values[0], r.Label)
	}
	if err := os.WriteFile(in("rows.csv"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	must(t, "train", "--data", in("rows.csv"), "--label", "l", "--features", "20", "--search", "none", "--model",
		in("recipe"), "--quiet")
	must(t, "train", "--recipe", in("recipe"), "--data", in("rows.csv"), "--model", in("want"), "--quiet")
	recipe, err := rows.ReadRecipe(t.Context(), in("recipe"))
	if err != nil {
		t.Fatal(err)
	}
	config := teststream.NewConfig()
	for _, c := range []struct{ from, end, watermark int }{{0, 150, 100_000}, {150, 190, 110_000}, {190, 200, 120_000}} {
		var some []int
		for i := c.from; i < c.end; i++ {
			some = append(some, i)
		}
		if err := config.AddElementList(1000, some); err != nil {
			t.Fatal(err)
		}
		if err := config.AdvanceWatermark(int64(c.watermark)); err != nil {
			t.Fatal(err)
		}
	}
	if err := config.AdvanceWatermarkToInfinity(); err != nil {
		t.Fatal(err)
	}
	p, s := beam.NewPipelineWithRoot()
	all := beam.WindowInto(s, window.NewFixedWindows(10*time.Second),
		beam.ParDo(s, numbered, teststream.Create(s, config)),
		beam.Trigger(trigger.AfterEndOfWindow().LateFiring(trigger.Repeat(trigger.AfterCount(1)))),
		beam.AllowedLateness(time.Hour), beam.PanesDiscard())
	stored := rows.Store(s, recipe, in("sums"), rows.Sum(s, recipe, all))
	fitted, _ := pipelines.FitStored(s, in("models"), stored)
	beam.ParDo0(s, &keepFn{t.Name()}, beam.ParDo(s, storedName, stored))
	_ = fitted
	if _, err := prismtest.Runners["prism"](t.Context(), p); err != nil {
		t.Fatal(err)
	}
	kept.Lock()
	got := fmt.Sprint(kept.of[t.Name()])
	kept.Unlock()
	places, err := filepath.Glob(in("sums", "*"))
	if err != nil || len(places) < 2 || filepath.Base(places[1]) != "dt=1970-01-01T000000-part-2" {
		t.Fatalf("the sums are %v, of %s", places, got)
	}
	last := in("models", filepath.Base(places[len(places)-1]))
	must(t, "fit", "--sums", in("sums", "dt=*"), "--last", "1h", "--model", in("all"), "--quiet")
	for _, name := range []string{last, in("all")} {
		if d := cmp.Diff(directory(t, in("want")), directory(t, name)); d != "" {
			t.Errorf("%s of %v is not the model of all rows: %s", name, places, d)
		}
	}
	again := func() error {
		p, s := beam.NewPipelineWithRoot()
		pipelines.FitStored(s, in("models"), beam.Create(s, rows.Stored{Dir: places[len(places)-1], Window: places}))
		_, err := prismtest.Runners["direct"](t.Context(), p)
		return err
	}
	if err := again(); err != nil {
		t.Errorf("the model of these parts exists: %v", err)
	}
	if err := errors.Join(os.RemoveAll(last), os.Rename(in("models", filepath.Base(places[0])), last)); err != nil {
		t.Fatal(err)
	}
	if err := again(); err == nil {
		t.Error("the model of the first part passes for the model of all")
	}
}
