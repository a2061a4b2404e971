package pipelines

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// patients returns rows in groups. The rows of a group are nearly equal and share a label, which is a coin flip.
// The column day also numbers the groups, so that rows of the same day share their label.
func patients(groups, each, d int, seed uint64) []string {
	r := rand.New(rand.NewPCG(seed, 7))
	head := "patient,fold,day,"
	for j := range d {
		head += fmt.Sprintf("x%d,", j)
	}
	var lines []string
	for g := range groups {
		base, side := make([]float64, d), []string{"heads", "tails"}[r.IntN(2)]
		for j := range base {
			base[j] = r.NormFloat64()
		}
		for range each {
			row := fmt.Sprintf("p%d,%d,%d,", g, g%4, g)
			for _, x := range base {
				row += fmt.Sprintf("%.4f,", x+0.05*r.NormFloat64())
			}
			lines = append(lines, row+side+"\n")
		}
	}
	r.Shuffle(len(lines), func(i, k int) { lines[i], lines[k] = lines[k], lines[i] })
	return append([]string{head + "y\n"}, lines...)
}

// splits are the ways to hold out whole groups.
var splits = map[string]func(*options.Train){
	"group": func(o *options.Train) { o.Split.Group, o.Data.Drop = []string{"patient"}, []string{"fold", "day"} },
	"fold":  func(o *options.Train) { o.Split.Fold, o.Data.Drop = "fold", []string{"patient", "day"} },
	"time": func(o *options.Train) {
		o.Split.Time, o.Data.Time, o.Data.Drop = true, "day", []string{"patient", "fold"}
	},
}

// fewSplits are the combinations that each run of the tests takes; BOCHNER_HONEST=1 takes all.
var fewSplits = []string{
	"group/learned/ridge", "group/gaussian/ridge, platt", "group/searched/ridge, platt", "group/maxout/svm, patience",
	"group/gaussian/sgd, patience",
	"fold/gaussian/ridge", "fold/gaussian/svm", "time/gaussian/ridge", "time/searched/ridge, one λ", "time/gaussian/sgd",
}

// Coin flips of groups cannot be learned in any kind of held-out set, if groups are held out as a whole: by
// rows each error would be near 0.
func TestHeldOutFiguresOfGroupsMatchChance(t *testing.T) {
	campaign.Long(t)
	const groups, each, d = 150, 6, 6
	all := os.Getenv("BOCHNER_HONEST") != ""
	for split, set := range splits {
		for family, maps := range honestKernels(t, d) {
			for learner, o := range honestLearners {
				name := split + "/" + family + "/" + learner
				if !all && !slices.Contains(fewSplits, name) || split == "fold" && o.Lambda.Folds > 0 {
					continue
				}
				t.Run(name, func(t *testing.T) {
					o.Prepare = maps
					o.Learned = options.Game{Chains: 40, Steps: 15, Harmonics: 1500, Rate: 3,
						LKRF: options.LKRF{Proposals: 20000}}
					if family == "lkrf" {
						o.Learned.By = "lkrf"
					}
					if family == "searched" {
						o.Search, o.Kernels = options.AutoSearch, []kernel.Options{maps.Kernel, &fourier.LaplaceOptions{Features: 128}}
					}
					if o.Calibrate != "" && o.Lambda.Path == nil {
						o.Lambda.Path = []float64{1e-6, 1e-4} // λ of features that could memorise rows
					}
					dir := t.TempDir()
					o.Data = dataset.Options{Files: []string{jobtest.Write(t, dir, "train.csv",
						strings.Join(patients(groups, each, d, 1), ""))}, Label: "y"}
					o.Model = filepath.Join(dir, "model")
					set(&o)
					if o.Search == "" {
						o.Search = options.NoSearch
					}
					if _, err := Train(jobtest.Ctx, o); err != nil {
						t.Fatal(err)
					}
					m, err := models.ReadManifest(jobtest.Ctx, o.Model)
					if err != nil {
						t.Fatal(err)
					}
					judgeGroups(t, m, groups, o.Calibrate != "")
				})
			}
		}
	}
}

// judgeGroups checks the held-out errors of a manifest, which are as certain as errors of so many
// groups.
func judgeGroups(t *testing.T, m *models.Manifest, groups int, calibrated bool) {
	t.Helper()
	slack := 4 * 0.5 / math.Sqrt(float64(groups)/5)
	seen := 0
	check := func(errors, rows int64) {
		if rows == 0 {
			return
		}
		seen++
		if rate := float64(errors) / float64(rows); math.Abs(rate-0.5) > slack {
			t.Errorf("held-out error of coin flips: %.3f, want 0.5 ± %.2f", rate, slack)
		}
	}
	for _, row := range m.Learner.Table {
		check(row.HeldOutErrors, row.HeldOutRows)
		if row.Failed == "" && row.MSE < 1.3 { // of ±1 codes; a constant has 2
			t.Errorf("λ %g: held-out squared error %.3f: the labels of the group were known", row.Lambda, row.MSE)
		}
	}
	if c := m.Learner.Log; c != nil {
		check(c.HeldOutErrors, c.HeldOutRows)
		for _, tried := range c.Path {
			check(tried.HeldOutErrors, tried.HeldOutRows)
		}
	}
	if m.Learner.Split == nil {
		t.Error("the manifest does not say how rows were held out")
	}
	if calibrated && m.Probabilities.Rows == 0 || seen == 0 && !calibrated && len(m.Learner.Table) == 0 {
		t.Error("nothing was held out")
	}
}

// If all rows occur twice, the model and the reported figures are the same.
func TestCopiesOfAllRowsChangeNoFigure(t *testing.T) {
	campaign.Long(t)
	lines := coins(400, 5, 4)
	twice := slices.Concat(lines, lines[1:])
	for _, search := range []options.Search{options.NoSearch, options.AutoSearch} {
		var errors [2]float64
		for i, table := range [][]string{lines, twice} {
			o := options.Train{Search: search, Prepare: options.Prepare{Seed: 1, Kernel: &fourier.GaussianOptions{Features: 256}}}
			o.Kernels = []kernel.Options{o.Kernel, &fourier.LaplaceOptions{Features: 256}}
			_, m := trainedModel(t, table, o)
			learner := m.Manifest.Learner
			for _, row := range learner.Table {
				if row.Lambda == learner.Lambda {
					errors[i] = float64(row.HeldOutErrors) / float64(row.HeldOutRows)
				}
			}
		}
		if math.Abs(errors[1]-0.5) > 0.16 || math.Abs(errors[1]-errors[0]) > 0.1 {
			t.Errorf("%s: held-out error of coin flips %.3f, of each twice %.3f", search, errors[0], errors[1])
		}
	}
}

// The fold rule is part of the recipe: sums of parts of the data, for any cut, lead to the model of a training
// run by the recipe.
func TestSumsKeepTheFoldAssignment(t *testing.T) {
	lines := patients(40, 5, 3, 2)
	for name, set := range splits {
		dir := t.TempDir()
		path := func(name string) string { return filepath.Join(dir, name) }
		o := options.Train{Search: options.NoSearch,
			Prepare: options.Prepare{Kernel: &fourier.GaussianOptions{Features: 64}, Seed: 1}}
		o.Data = dataset.Options{Files: []string{jobtest.Write(t, dir, "all.csv", strings.Join(lines, ""))}, Label: "y"}
		o.Model = path("recipe")
		set(&o)
		if _, err := Train(jobtest.Ctx, o); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var parts []string
		for i, cut := range [][]string{lines[1:71], lines[71:]} {
			file := jobtest.Write(t, dir, fmt.Sprintf("part%d.csv", i), lines[0]+strings.Join(cut, ""))
			parts = append(parts, path(fmt.Sprint("sum", i)))
			if _, err := Sum(jobtest.Ctx, options.Sum{Recipe: o.Model, Data: dataset.Options{Files: []string{file}},
				Out: parts[i]}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if _, err := Fit(jobtest.Ctx, options.Fit{SumDirs: options.SumDirs{Sums: parts}, Model: path("fitted")}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		whole, err := os.ReadFile(filepath.Join(o.Model, models.WeightsFile))
		if err != nil {
			t.Fatal(err)
		}
		fitted, err := os.ReadFile(filepath.Join(path("fitted"), models.WeightsFile))
		if err != nil {
			t.Fatal(err)
		}
		a, errA := models.ReadManifest(jobtest.Ctx, o.Model)
		b, errB := models.ReadManifest(jobtest.Ctx, path("fitted"))
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if !bytes.Equal(whole, fitted) || a.Learner.Lambda != b.Learner.Lambda || b.Learner.Split == nil {
			t.Errorf("%s: sums lead to λ %g and another model than λ %g", name, b.Learner.Lambda, a.Learner.Lambda)
		}
		for i := range a.Learner.Table {
			if a.Learner.Table[i].MSE != b.Learner.Table[i].MSE {
				t.Errorf("%s: λ %g: held-out error %g of sums, %g of rows", name, a.Learner.Table[i].Lambda, b.Learner.Table[i].MSE,
					a.Learner.Table[i].MSE)
			}
		}
	}
}

func TestInvalidSplitsAreRejected(t *testing.T) {
	lines := patients(3, 4, 2, 3)
	for _, c := range []struct {
		want string
		code exit.Code
		set  func(*options.Train)
	}{
		{"fewer than 5 folds", exit.CodeData, func(o *options.Train) { o.Split.Group = []string{"patient"} }},
		{"cannot be used together", exit.CodeUsage,
			func(o *options.Train) { o.Split.Group, o.Split.Fold = []string{"patient"}, "fold" }},
		{"needs --time_column", exit.CodeUsage, func(o *options.Train) { o.Split.Time = true }},
		{"cannot be used with --schema: give --time_column", exit.CodeUsage,
			func(o *options.Train) { o.Split.Time, o.Types.Schema = true, "schema.yaml" }},
		{"--time_gap needs --time_split", exit.CodeUsage, func(o *options.Train) { o.Split.Gap = "7d" }},
		{"must be a number with a unit", exit.CodeUsage,
			func(o *options.Train) { o.Split.Time, o.Data.Time, o.Split.Gap = true, "day", "7 days" }},
		{"give a number without a unit", exit.CodeUsage,
			func(o *options.Train) { o.Split.Time, o.Data.Time, o.Split.Gap = true, "day", "7d" }},
		{"--time_split: the gap leaves no rows before it", exit.CodeData,
			func(o *options.Train) { o.Split.Time, o.Data.Time, o.Split.Gap = true, "day", "7" }},
		{"must be a whole number", exit.CodeData, func(o *options.Train) { o.Split.Fold = "x0" }},
		{"cannot be used with --fold_column", exit.CodeUsage,
			func(o *options.Train) { o.Split.Fold, o.Lambda.Folds = "fold", 3 }},
		{`no column "patients"`, exit.CodeData, func(o *options.Train) { o.Split.Group = []string{"patients"} }},
	} {
		dir := t.TempDir()
		o := options.Train{Search: options.NoSearch, Prepare: options.Prepare{Seed: 1}, Lambda: options.Lambda{}}
		o.Data = dataset.Options{Files: []string{jobtest.Write(t, dir, "data.csv", strings.Join(lines, ""))}, Label: "y"}
		o.Model = filepath.Join(dir, "model")
		c.set(&o)
		_, err := Train(jobtest.Ctx, o)
		jobtest.WantError(t, c.want, err, c.code, c.want)
	}
}

// Counts of texts exclude held-out rows from their own held-out error, as new rows are not counted.
func TestCountsExcludeHeldOutRows(t *testing.T) {
	r, rows := rand.New(rand.NewPCG(4, 4)), []string{"id,key,x,y\n"}
	for group := range 80 {
		size := 1 + r.IntN(20)
		for range size {
			rows = append(rows, fmt.Sprintf("g%d,k%d,%.3f,%.3f\n", group, group, r.NormFloat64(),
				float64(size)+0.1*r.NormFloat64()))
		}
	}
	for name, set := range map[string]func(*options.Train){
		"given": func(o *options.Train) { o.Encode.Encode, o.Search = preprocess.CountEncoding, options.NoSearch },
		"found": func(o *options.Train) {},
	} {
		dir := t.TempDir()
		o := options.Train{Prepare: options.Prepare{Kernel: &fourier.GaussianOptions{Features: 64}, Seed: 1}}
		o.Data = dataset.Options{Files: []string{jobtest.Write(t, dir, "rows.csv", strings.Join(rows, ""))}, Label: "y"}
		o.Split.Group = []string{"id"}
		o.Types.Categorical = []string{"key"}
		o.Model = filepath.Join(dir, "model")
		set(&o)
		result, err := Train(jobtest.Ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range result.Path {
			if row.R2 > 0.2 {
				t.Errorf("%s: lambda %g explains %.3f of the variance of new groups by their sizes", name, row.Lambda, row.R2)
			}
		}
	}
}

// Models that were judged by groups are compared and evaluated by groups if the data has them, and others if a
// flag requests it.
func TestComparisonsAndEvaluationsCountGroups(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, lines []string) string { return jobtest.Write(t, dir, name, strings.Join(lines, "")) }
	train := func(name string, seed uint64, set func(*options.Train)) string {
		o := options.Train{Search: options.NoSearch,
			Prepare: options.Prepare{Kernel: &fourier.GaussianOptions{Features: 64}, Seed: seed}}
		o.Data = dataset.Options{Files: []string{filepath.Join(dir, "train.csv")}, Label: "y"}
		o.Model = filepath.Join(dir, name)
		set(&o)
		if _, err := Train(jobtest.Ctx, o); err != nil {
			t.Fatal(err)
		}
		return o.Model
	}
	write("train.csv", patients(60, 5, 3, 1))
	rows := patients(80, 5, 3, 2)
	named := write("new.csv", rows)
	for i, line := range rows {
		_, rows[i], _ = strings.Cut(line, ",")
	}
	unnamed := write("unnamed.csv", rows)
	alone := func(o *options.Train) { o.Data.Drop = []string{"patient", "fold", "day"} }
	grouped, other, plain := train("grouped", 1, splits["group"]), train("other", 2, alone), train("plain", 3, alone)
	for _, c := range []struct {
		champion, challenger, data, test string
		group                            []string
	}{
		{grouped, other, named, "groups", nil},
		{other, grouped, named, "groups", nil},
		{grouped, other, unnamed, "mcnemar", nil},
		{other, plain, named, "mcnemar", nil},
		{other, plain, named, "groups", []string{"patient"}},
	} {
		r, err := CompareModels(jobtest.Ctx, options.CompareModels{Champion: c.champion, Challenger: c.challenger,
			Data: dataset.Options{Files: []string{c.data}}, Group: c.group})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Comparisons[0].Test; got != c.test || (len(r.Groups) > 0) != (c.test == "groups") {
			t.Errorf("%s and %s on %s: test %s by %v, want %s", filepath.Base(c.champion), filepath.Base(c.challenger),
				filepath.Base(c.data), got, r.Groups, c.test)
		}
	}
	for _, c := range []struct {
		model, data   string
		group, slices []string
		rows          int64 // the intervals are for fewer rows than that
	}{
		{grouped, named, nil, nil, 200}, {grouped, named, nil, []string{"patient"}, 200}, {grouped, named, nil,
			[]string{"day"}, 200},
		{grouped, unnamed, nil, nil, 401}, {plain, named, nil, nil, 401}, {plain, named, []string{"patient"}, nil, 200},
	} {
		r, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: c.model, Data: dataset.Options{Files: []string{c.data}},
			Group: c.group, Slices: c.slices})
		if err != nil {
			t.Fatal(err)
		}
		width, by := r.Classes.ErrorHigh-r.Classes.ErrorLow, r.Independent > 0
		if by != (c.rows == 200) || by && r.Independent >= 200 || by != (width > 0.12) ||
			by != strings.Contains(jobtest.Text(t, r), "groups of column patient: ") {
			t.Errorf("%s on %s by %v, %v: %g rows, an interval of %.3f", filepath.Base(c.model), filepath.Base(c.data), c.group,
				c.slices, r.Independent, width)
		}
	}
	// A group whose name is a feature of the champion, which does not know the names of new groups, is one as well.
	named1 := train("named", 4, func(o *options.Train) {
		o.Data.Drop, o.Encode.Encode = []string{"fold", "day"},
			preprocess.CountEncoding
	})
	for _, models := range [][2]string{{named1, grouped}, {grouped, named1}} {
		r, err := CompareModels(jobtest.Ctx, options.CompareModels{Champion: models[0], Challenger: models[1],
			Data: dataset.Options{Files: []string{named}}})
		if err != nil {
			t.Fatal(err)
		}
		if c := r.Comparisons[0]; c.Test != "groups" || c.Low == nil || len(r.Groups) != 1 {
			t.Errorf("%s: %+v by %v", filepath.Base(models[0]), c, r.Groups)
		}
	}
	_, err := CompareModels(jobtest.Ctx, options.CompareModels{Champion: other, Challenger: plain,
		Data: dataset.Options{Files: []string{named}}, Group: []string{"nobody"}})
	jobtest.WantError(t, "unknown group", err, exit.CodeUsage, "--group_column", "nobody")
}
