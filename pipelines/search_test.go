package pipelines

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/plan"
)

// searching returns options of a small training with a search on the lines of a table.
func searching(t *testing.T, lines []string) options.Train {
	t.Helper()
	dir := t.TempDir()
	return options.Train{
		Prepare: options.Prepare{
			Data: dataset.Options{Files: []string{jobtest.Write(t, dir, "train.csv", strings.Join(lines, ""))}, Label: "y"},
			Seed: 1, Kernel: &fourier.GaussianOptions{Features: 256},
		},
		Model: filepath.Join(dir, "model"), Search: options.AutoSearch,
		Kernels: []kernel.Options{&fourier.GaussianOptions{Features: 256}, &fourier.LaplaceOptions{Features: 256}},
	}
}

// A search finds features that predict better than the default, judges by rows that it has not seen, and is
// recorded in the model, which predicts as well on other rows.
func TestSearchFindsFeaturesThatPredictBetter(t *testing.T) {
	lines := jobtest.Made(t, "friedman", 700, 3)
	o := searching(t, lines)
	r, err := Train(jobtest.Ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	s := r.Search
	if s == nil || s.Tried < 5 || s.Chosen == s.Default || !(s.Chosen.Loss < s.Default.Loss) {
		t.Fatalf("the search is %+v", s)
	}
	for _, row := range r.Path {
		if row.Failed == "" && row.Folds != 1 {
			t.Errorf("lambda %g: %d folds judge, although the search has seen the rows of all but the first", row.Lambda,
				row.Folds)
		}
	}
	m, err := models.Load(os.DirFS(o.Model))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := m.Manifest.File(tuning.SearchFile); !ok || m.Manifest.Search == nil || *m.Manifest.Search != *s {
		t.Errorf("the manifest says %+v of the search %+v; files %v", m.Manifest.Search, s, m.Manifest.Files)
	}
	unseen := dataset.Options{Files: []string{jobtest.Write(t, t.TempDir(), "test.csv",
		strings.Join(jobtest.Made(t, "friedman", 500, 4), ""))}, Label: "y"}
	score := func(model string) float64 {
		e, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: model, Data: unseen})
		if err != nil {
			t.Fatal(err)
		}
		return *e.Targets.R2
	}
	plain := o
	plain.Search, plain.Kernels, plain.Model = options.NoSearch, nil, o.Model+"-plain"
	if _, err := Train(jobtest.Ctx, plain); err != nil {
		t.Fatal(err)
	}
	if with, without := score(o.Model), score(plain.Model); !(1-with < 0.9*(1-without)) {
		t.Errorf("R² %.4f with a search, %.4f without", with, without)
	}
}

// Files, their order, shards and threads do not change the result of a search.
func TestSearchDependsOnTheRowsOnly(t *testing.T) {
	lines := jobtest.Made(t, "moons", 260, 3)
	files := func(o options.Train) (content [2]string) {
		t.Helper()
		if _, err := Train(jobtest.Ctx, o); err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{tuning.SearchFile, models.WeightsFile} {
			data, err := os.ReadFile(filepath.Join(o.Model, name))
			if err != nil {
				t.Fatal(err)
			}
			content[i] = string(data)
		}
		return content
	}
	o := searching(t, lines)
	o.Job = options.Job{Engine: engine.Engine{Threads: 1}}
	want := files(o)
	p := searching(t, lines)
	dir := t.TempDir()
	p.Data.Files = []string{
		jobtest.Write(t, dir, "b.csv", lines[0]+strings.Join(lines[100:], "")), jobtest.Write(t, dir, "a.csv",
			lines[0]+strings.Join(lines[1:100], "")),
	}
	p.Job = options.Job{Engine: engine.Engine{Threads: 3}, ShardBytes: 1000}
	if got := files(p); got != want {
		t.Error("cut otherwise, the rows give another model")
	}
}

// Flags that the user sets are not searched.
func TestSetFlagsAreNotSearched(t *testing.T) {
	lines := jobtest.Made(t, "moons", 100, 3)
	for name, set := range map[string]func(o *options.Train){
		"width":  func(o *options.Train) { o.Kernel, o.Kernels = &fourier.GaussianOptions{Features: 64, Width: 2}, nil },
		"gamma":  func(o *options.Train) { o.Kernel, o.Kernels = &fourier.GaussianOptions{Features: 64, Gamma: 2}, nil },
		"search": func(o *options.Train) { o.Search = options.NoSearch },
	} {
		o := searching(t, lines)
		set(&o)
		r, err := Train(jobtest.Ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		if r.Search != nil {
			t.Errorf("%s: searched %+v", name, r.Search)
		}
	}
	o := searching(t, lines)
	o.Kernel, o.Kernels, o.Scale = &fourier.LaplaceOptions{Features: 64}, nil, []string{"minmax"}
	r, err := Train(jobtest.Ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Search == nil || !strings.HasPrefix(r.Search.Chosen.Features, "minmax, laplace") {
		t.Errorf("with kernel and scale set it is %+v", r.Search)
	}
}

// All folds choose the λ of few rows, and the figures still come from the fold that the search has not seen. This also
// holds for models that are trained by the recipe. The landmarks, which 400 rows with 256 features have, are rows of
// the other folds.
func TestAllFoldsChooseTheLambdaOfFewRows(t *testing.T) {
	for rows, by := range map[int64]string{600: models.ByAllFolds, 3100: "", 400: ""} {
		if rows == 3100 && !campaign.Whole() {
			continue // TestAllFoldsJudgeAfterASearchOfFewRows has the limit
		}
		o := searching(t, jobtest.Made(t, "friedman", rows, 3))
		o.Kernels = o.Kernels[:1]
		r, err := Train(jobtest.Ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		m, err := models.LoadURI(jobtest.Ctx, o.Model)
		if err != nil {
			t.Fatal(err)
		}
		if m.Manifest.Learner.Select != by || strings.Contains(jobtest.Text(t, r),
			"of all 5 folds; shown are figures of the first") != (by != "") {
			t.Errorf("%d rows: λ by %q\n%s", rows, m.Manifest.Learner.Select, jobtest.Text(t, r))
		}
		for _, row := range r.Path {
			if math.Abs(row.MSE-row.FoldMSE) > 1e-9*row.MSE || row.Folds != 1 {
				t.Errorf("%d rows: %+v", rows, row)
			}
		}
		if rows != 400 {
			continue
		}
		var byRecipe options.Train
		byRecipe.Data, byRecipe.Job, byRecipe.Recipe, byRecipe.Model = o.Data, o.Job, o.Model, o.Model+"-again"
		again, err := Train(jobtest.Ctx, byRecipe)
		if err != nil {
			t.Fatal(err)
		}
		if again.Lambda != r.Lambda {
			t.Errorf("λ is %v, and %v for the same rows by the recipe", r.Lambda, again.Lambda)
		}
	}
}

// Training searches unless a flag turns that off.
func TestSearchIsTheDefault(t *testing.T) {
	o := searching(t, jobtest.Made(t, "moons", 100, 3))
	o.Search = ""
	r, err := Train(jobtest.Ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Search == nil {
		t.Error("nothing was searched")
	}
}

// A search ends after two thirds of the time, with its best candidate.
func TestSearchEndsWithTheTime(t *testing.T) {
	o := searching(t, jobtest.Made(t, "moons", 300, 3))
	o.Size.Time = time.Nanosecond
	r, err := Train(jobtest.Ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Search == nil || !strings.Contains(fmt.Sprint(r.Notes), "the search ended at two thirds of --time 1ns") {
		t.Fatalf("search %+v, notes %q", r.Search, r.Notes)
	}
	data, err := os.ReadFile(filepath.Join(o.Model, tuning.SearchFile))
	if err != nil {
		t.Fatal(err)
	}
	var found tuning.Result
	if err := json.Unmarshal(data, &found); err != nil || !found.Stopped || found.Tried != r.Search.Tried {
		t.Errorf("%s has %+v, %v", tuning.SearchFile, found.Result, err)
	}
}

// If a search does not apply, the model equals the model of a training run without a search, and a note gives
// the reason.
func TestWithoutASearchTheModelMatchesSearchNone(t *testing.T) {
	friedman := jobtest.Made(t, "friedman", 100, 3)
	var two, wide, few []string
	for i, line := range friedman {
		two = append(two, fmt.Sprintf("%s,%d\n", strings.TrimSuffix(line, "\n"), i%13))
		wide = append(wide, fmt.Sprintf("%d %d:1 3100:%d\n", i%2, 1+i%50, i%7))
	}
	few = append(few, friedman[0])
	for i := range 200 {
		few = append(few, friedman[1+i%13])
	}
	two[0] = strings.TrimSuffix(friedman[0], "\n") + ",z\n"
	for _, c := range []struct {
		name, why string
		lines     []string
		set       func(o *options.Train)
	}{
		{"few rows", "fewer than 40 rows", friedman[:30], func(*options.Train) {}},
		{"few rows beside those held out", "too few rows are left", friedman[:46], func(*options.Train) {}},
		{"few different rows", "there are only 13 different rows", few, func(*options.Train) {}},
		{"several targets", "several targets", two, func(o *options.Train) { o.Data.Label = "y,z" }},
		{"long rows", "more than 3,072 numbers", wide, func(o *options.Train) { o.Data.Label = "" }},
	} {
		var weights [2]string
		for i, search := range []options.Search{options.AutoSearch, options.NoSearch} {
			o := searching(t, c.lines)
			o.Search, o.Lambda.Path = search, []float64{1e-4, 1e-2}
			c.set(&o)
			r, err := Train(jobtest.Ctx, o)
			if err != nil {
				t.Fatalf("%s, %s: %v", c.name, search, err)
			}
			if said := strings.Contains(jobtest.Text(t, r), "were not searched: ") &&
				strings.Contains(jobtest.Text(t, r), c.why); said != (i == 0) || r.Search != nil {
				t.Errorf("%s, %s: search %v in\n%s", c.name, search, r.Search, jobtest.Text(t, r))
			}
			data, err := os.ReadFile(filepath.Join(o.Model, models.WeightsFile))
			if err != nil {
				t.Fatal(err)
			}
			weights[i] = string(data)
		}
		if weights[0] != weights[1] {
			t.Errorf("%s: another model than without a search", c.name)
		}
	}
}

// With few rows a search is for fewer features, unless a number is set or there is nothing to search, and the
// plan states it.
func TestFewRowsAreSearchedForFewerFeatures(t *testing.T) {
	campaign.Long(t)
	lines := jobtest.Made(t, "friedman", 60, 3)
	for _, c := range []struct {
		name string
		rows int
		set  func(o *options.Train)
		want int
	}{
		{"60 rows", 60, func(o *options.Train) {}, 2048},
		{"a kernel", 60, func(o *options.Train) { o.Kernel, o.Kernels = &fourier.LaplaceOptions{}, nil }, 2048},
		{"a number", 60, func(o *options.Train) { o.Kernel, o.Kernels = &fourier.LaplaceOptions{Features: 3000}, nil }, 3000},
		{"too few rows beside those held out", 46, func(o *options.Train) { o.Lambda.Path = []float64{1e-3, 1e-2} },
			kernel.DefaultFeatures},
	} {
		o := searching(t, lines[:c.rows])
		o.Kernel, o.Kernels, o.Lambda.Path = nil, nil, []float64{1e-3}
		c.set(&o)
		planned, err := plan.Training(jobtest.Ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Train(jobtest.Ctx, o); err != nil {
			t.Fatal(err)
		}
		m, err := models.Load(os.DirFS(o.Model))
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Linear.D; got != c.want || planned.Features != c.want && c.rows != 46 {
			t.Errorf("%s: %d features, %d by the plan, want %d", c.name, got, planned.Features, c.want)
		}
	}
}

// A search encodes texts that hardly repeat by counts, and the log loss chooses λ for classes of many rows.
// Without a search neither happens.
func TestSearchCountsTextsThatHardlyRepeat(t *testing.T) {
	lines := jobtest.Made(t, "moons", 1500, 3)
	with := []string{"id," + lines[0]}
	for i, line := range lines[1:] {
		with = append(with, fmt.Sprintf("id%d,%s", i%900, line))
	}
	o := searching(t, with)
	o.Kernel = &fourier.GaussianOptions{Features: 64}
	o.Kernels = []kernel.Options{o.Kernel}
	r, err := Train(jobtest.Ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Search == nil || !strings.Contains(fmt.Sprint(r.Notes), "how often their texts occur") ||
		r.Select != string(options.SelectLogLoss) {
		t.Errorf("search %+v, lambda by %q, notes %q", r.Search, r.Select, r.Notes)
	}
	o.Search, o.Model = options.NoSearch, o.Model+"-plain"
	if r, err = Train(jobtest.Ctx, o); err != nil {
		t.Fatal(err)
	}
	if r.Select != "" || strings.Contains(fmt.Sprint(r.Notes), "how often their texts occur") {
		t.Errorf("without a search lambda by %q, notes %q", r.Select, r.Notes)
	}
}

// Numbers that name things are categories if they predict better so; a note and the metric name them, and
// --numeric keeps them numbers. A typed table has the same.
func TestSearchMakesCategoriesOfNumbersThatNameThings(t *testing.T) {
	campaign.Long(t)
	r := rand.New(rand.NewPCG(1, 2))
	plain, typed := []string{"time,place,y\n"}, []string{"time,kind,place,y\n"}
	for i := range 400 {
		place, time := i%30, r.Float64()
		y := float64(place*place*7%13) * (1 + time)
		plain = append(plain, fmt.Sprintf("%.3f,%d,%.3f\n", time, place, y))
		typed = append(typed, fmt.Sprintf("%.3f,%c,%d,%.3f\n", time, 'a'+i%3, place, y))
	}
	for name, lines := range map[string][]string{"plain": plain, "typed": typed} {
		o := searching(t, lines)
		o.Task, o.Kernels = "regression", o.Kernels[:1]
		found, err := Train(jobtest.Ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(found.Search.Chosen.Features, "levels, ") ||
			!strings.Contains(fmt.Sprint(found.Notes), "values are categories, as predictions are better so: place; --numeric") {
			t.Errorf("%s: chose %q, notes %q", name, found.Search.Chosen.Features, found.Notes)
		}
		if i := found.Stretch; i != nil && (len(i.Columns) != len(strings.Split(lines[0], ","))-1 ||
			i.Columns[0].Name == "") {
			t.Errorf("%s: stretch %+v", name, i)
		}
		o.Types.Numeric, o.Model = []string{"time"}, o.Model+"-time"
		if other, err := Train(jobtest.Ctx, o); err != nil || other.Search.Chosen.Features != found.Search.Chosen.Features {
			t.Errorf("%s: %+v, %v where another column is to be numbers", name, other, err)
		}
		o.Types.Numeric, o.Model = []string{"place"}, o.Model+"-place"
		kept, err := Train(jobtest.Ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(kept.Search.Chosen.Features, "levels") ||
			found.Search.Chosen.Loss > 0.8*kept.Search.Chosen.Loss {
			t.Errorf("%s: loss %.4f, %.4f of %q with numbers", name, found.Search.Chosen.Loss, kept.Search.Chosen.Loss,
				kept.Search.Chosen.Features)
		}
	}
}

// Rows of formats without columns are searched too, and remain numbers, since no flag could name columns.
func TestRowsWithoutColumnsAreSearched(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var lines []string
	for i := range 400 {
		place, time := i%30, r.Float64()
		lines = append(lines, fmt.Sprintf("%.3f 1:%.3f 2:%d\n", float64(place*place*7%13)*(1+time), time, place))
	}
	o := searching(t, nil)
	o.Data = dataset.Options{Files: []string{jobtest.Write(t, t.TempDir(), "train.libsvm", strings.Join(lines, ""))}}
	o.Task, o.Kernels = "regression", o.Kernels[:1]
	found, err := Train(jobtest.Ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if found.Search == nil || found.Search.Tried < 5 || strings.HasPrefix(found.Search.Chosen.Features, "levels") {
		t.Errorf("the search is %+v", found.Search)
	}
}
