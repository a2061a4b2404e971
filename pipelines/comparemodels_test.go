package pipelines

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/paired"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// mixedTable has columns of several types, gaps, three classes and weights.
func mixedTable(seed uint64, n int) (lines []string) {
	r := rand.New(rand.NewPCG(seed, 3))
	lines = []string{"a,b,site,c,w,y,target\n"}
	for range n {
		a, b, c := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
		site := []string{"north", "south", "east"}[r.IntN(3)]
		y := "low"
		switch v := a + b*c + 0.3*r.NormFloat64(); {
		case v > 1:
			y = "high"
		case v > 0 || site == "north" && r.IntN(5) == 0:
			y = "middle"
		}
		text := fmt.Sprintf("%.4f", b)
		if r.IntN(20) == 0 {
			text = ""
		}
		lines = append(lines, fmt.Sprintf("%.4f,%s,%s,%.4f,%d,%s,%.4f\n", a, text, site, c, r.IntN(4), y,
			10*a+5*b*c+r.NormFloat64()))
	}
	return lines
}

// comparable trains two models that differ in features, columns, their order and classes.
func comparable(t *testing.T, dir string, label string) (champion, challenger string) {
	t.Helper()
	lines := mixedTable(1, 600)
	drop := "target"
	if label == "target" {
		drop = "y"
	}
	trainOptions := func(name string, lines []string, drop ...string) options.Train {
		return options.Train{
			Prepare: options.Prepare{
				Data: dataset.Options{Files: []string{jobtest.Write(t, dir, name+".csv", strings.Join(lines, ""))}, Label: label,
					Drop: append(drop, "w")},
				Kernel: &fourier.GaussianOptions{Features: 64}, Seed: 1,
			},
			Model: filepath.Join(dir, name),
		}
	}
	first := trainOptions("champion", lines, drop)
	// The challenger has not seen rows of class "high"; its columns are in another order.
	var others []string
	for _, line := range lines {
		f := strings.Split(strings.TrimSuffix(line, "\n"), ",")
		if label == "y" && f[5] == "high" {
			continue
		}
		others = append(others, strings.Join([]string{f[3], f[6], f[5], f[1], f[0], f[4], f[2]}, ",")+"\n")
	}
	second := trainOptions("challenger", others, drop, "site")
	second.Kernel = &fourier.GaussianOptions{Features: 128}
	if label == "y" {
		first.Calibrate, second.Calibrate = "platt", "platt"
	}
	for _, o := range []options.Train{first, second} {
		if _, err := trainPlain(jobtest.Ctx, o); err != nil {
			t.Fatal(err)
		}
	}
	return first.Model, second.Model
}

// compare and evaluate agree on each model, and the rows on which only one model is wrong match
// their predictions.
func TestComparisonsAgreeWithEvaluations(t *testing.T) {
	dir := t.TempDir()
	champion, challenger := comparable(t, dir, "y")
	data := dataset.Options{Files: []string{jobtest.Write(t, dir, "test.csv", strings.Join(mixedTable(2, 900), ""))}}
	compare := func(o options.CompareModels) (*results.CompareModels, error) {
		o.Data = data
		return CompareModels(jobtest.Ctx, o)
	}
	r, err := compare(options.CompareModels{Champion: champion, Challenger: challenger, Slices: []string{"site", "w"}})
	if err != nil {
		t.Fatal(err)
	}
	scores := map[string]*results.Evaluate{}
	for _, name := range []string{champion, challenger} {
		if scores[name], err = Evaluate(jobtest.Ctx,
			options.Evaluate{Model: name, Data: data, Slices: []string{"w"}}); err != nil {
			t.Fatal(err)
		}
	}
	a, b := scores[champion], scores[challenger]
	for i, want := range []struct {
		metric paired.Metric
		a, b   float64
	}{
		{paired.Error, a.Classes.Error, b.Classes.Error},
		{paired.LogLoss, a.Probabilities.LogLoss, b.Probabilities.LogLoss},
		{paired.Brier, a.Probabilities.Brier, b.Probabilities.Brier},
	} {
		c := r.Comparisons[i]
		if c.Metric != want.metric || math.Abs(c.Champion-want.a) > 1e-9 || math.Abs(c.Challenger-want.b) > 1e-9 ||
			math.Abs(c.Difference-(want.b-want.a)) > 1e-9 {
			t.Errorf("%+v, want %+v", c, want)
		}
		if c.Low == nil || *c.Low >= c.Difference || *c.High <= c.Difference || c.P <= 0 {
			t.Errorf("%+v", c)
		}
	}
	p := r.Comparisons[0].Pairs
	if p.Both+p.Champion != a.Classes.Errors || p.Both+p.Challenger != b.Classes.Errors || p.Champion == 0 ||
		p.Challenger == 0 || p.Rows != 900 {
		t.Errorf("pairs %+v, errors %d and %d", p, a.Classes.Errors, b.Classes.Errors)
	}
	if len(r.Champion.UnseenLabels) != 0 || fmt.Sprint(r.Challenger.UnseenLabels) != fmt.Sprint(b.UnseenLabels) ||
		len(b.UnseenLabels) != 1 {
		t.Errorf("unseen %v and %v, want %v", r.Champion.UnseenLabels, r.Challenger.UnseenLabels, b.UnseenLabels)
	}
	if fmt.Sprint(r.Rows) != fmt.Sprint(a.Rows) {
		t.Errorf("rows %+v, want %+v", r.Rows, a.Rows)
	}
	for _, s := range r.Slices[1].Slices {
		i := slices.IndexFunc(a.Slices[0].Slices, func(q score.SliceScore) bool { return q.Value == s.Value })
		if q := a.Slices[0].Slices[i]; s.Rows != q.Rows || math.Abs(s.Champion-*q.Error) > 1e-9 {
			t.Errorf("w %s: %+v, want %+v", s.Value, s, q)
		}
	}
	if len(r.Slices[0].Slices) != 3 {
		t.Errorf("%+v", r.Slices[0])
	}
	// The other way around all differences have the other sign.
	back, err := compare(options.CompareModels{Champion: challenger, Challenger: champion})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range back.Comparisons {
		if d := r.Comparisons[i]; c.Difference != -d.Difference || math.Abs(c.P-d.P) > 1e-9 ||
			math.Abs(*c.Low+*d.High) > 1e-9 {
			t.Errorf("%+v, the other way %+v", d, c)
		}
	}
	// Cuts change nothing.
	want, _ := json.Marshal(r)
	for _, shard := range []int64{700, 5000} {
		cut, err := compare(options.CompareModels{Champion: champion, Challenger: challenger, Slices: []string{"site", "w"},
			Job: options.Job{ShardBytes: shard}})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := json.Marshal(cut); string(got) != string(want) {
			t.Errorf("shards of %d bytes:\n%s\nwant\n%s", shard, got, want)
		}
	}
	// A gate that the challenger does not pass, and one that it passes.
	r, err = compare(options.CompareModels{Champion: champion, Challenger: challenger,
		Gate: "better at 95%, log_loss better at 95%"})
	jobtest.WantError(t, "gate", err, exit.CodeGate, "error better at 95%: the rows do not show it", "log_loss better")
	if r == nil || len(r.Gate) != 2 || r.Gate[0].Holds ||
		!strings.Contains(jobtest.Text(t, r), "not passed  error better at 95%") {
		t.Errorf("%+v", r)
	}
	r, err = compare(options.CompareModels{Champion: challenger, Challenger: champion, Gate: "better at 95%"})
	if err != nil || !r.Gate[0].Holds || !strings.Contains(jobtest.Text(t, r), "passed      error better at 95% (p ") {
		t.Errorf("%+v, %v", r, err)
	}
	// A model is no better than itself, and no worse.
	r, err = compare(options.CompareModels{Champion: champion, Challenger: champion, Gate: "not worse by 1% at 99%"})
	if err != nil || r.Comparisons[1].P != 1 || r.Comparisons[1].Difference != 0 ||
		!strings.Contains(jobtest.Text(t, r), "the two models are the same") {
		t.Errorf("%+v, %v", r, err)
	}
	_, err = compare(options.CompareModels{Champion: champion, Challenger: champion, Gate: "better at 60%"})
	jobtest.WantError(t, "same model", err, exit.CodeGate, "error better at 60%")
}

func TestRegressionsAreComparedByTheirErrors(t *testing.T) {
	dir := t.TempDir()
	champion, challenger := comparable(t, dir, "target")
	for _, weight := range []string{"", "w"} {
		data := dataset.Options{Files: []string{jobtest.Write(t, dir, "test.csv", strings.Join(mixedTable(2, 900), ""))},
			Roles: dataset.Roles{Weight: weight}}
		r, err := CompareModels(jobtest.Ctx, options.CompareModels{Champion: champion, Challenger: challenger, Data: data,
			Gate: "rmse not worse by 900% at 95%", Slices: []string{"site"}})
		if err != nil {
			t.Fatal(err)
		}
		a, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: champion, Data: data})
		if err != nil {
			t.Fatal(err)
		}
		b, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: challenger, Data: data})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range r.Comparisons {
			want := map[paired.Metric][2]float64{
				paired.RMSE: {a.Targets.RMSE, b.Targets.RMSE}, paired.MAE: {a.Targets.MAE, b.Targets.MAE},
				paired.MSE: {a.Targets.RMSE * a.Targets.RMSE, b.Targets.RMSE * b.Targets.RMSE},
			}[c.Metric]
			if math.Abs(c.Champion/want[0]-1) > 1e-5 || math.Abs(c.Challenger/want[1]-1) > 1e-5 || *c.Low >= c.Difference ||
				*c.High <= c.Difference {
				t.Errorf("weight %q: %+v, want %v", weight, c, want)
			}
		}
		if r.Rows.Used != a.Rows.Used || r.Rows.Weightless != a.Rows.Weightless || (weight == "w") != (r.Weights != nil) ||
			weight == "w" && r.Rows.Weightless == 0 {
			t.Errorf("weight %q: %+v, want %+v", weight, r.Rows, a.Rows)
		}
		if text := jobtest.Text(t, r); !strings.Contains(text, "RMSE by site, 3 values") {
			t.Errorf("%s", text)
		}
	}
}

// Rows that one of the models cannot read are not compared, and are set aside with their line.
func TestRowsThatOneModelCannotReadAreSetAside(t *testing.T) {
	dir := t.TempDir()
	champion, challenger := comparable(t, dir, "y")
	lines := mixedTable(2, 400)
	good := strings.Join(lines, "")
	// Column b is a number of both models, site a category of the champion only.
	for _, i := range []int{7, 300} {
		f := strings.Split(lines[i], ",")
		f[3] = "x"
		lines[i] = strings.Join(f, ",")
	}
	lines[50] = strings.Replace(lines[50], ","+strings.Split(lines[50], ",")[5]+",", ",,", 1) // no label
	data := dataset.Options{Files: []string{jobtest.Write(t, dir, "bad.csv", strings.Join(lines, ""))}}
	_, err := CompareModels(jobtest.Ctx, options.CompareModels{Champion: champion, Challenger: challenger, Data: data})
	jobtest.WantError(t, "bad rows", err, exit.CodeData, "bad.csv:8:4", "--max_bad_fraction 0")
	for _, shard := range []int64{0, 900} {
		r, err := CompareModels(jobtest.Ctx, options.CompareModels{Champion: champion, Challenger: challenger, Data: data,
			MaxBadFraction: 0.1, Job: options.Job{ShardBytes: shard}})
		if err != nil {
			t.Fatal(err)
		}
		if c := r.Rows; c.Read != 400 || c.Used != 397 || c.Unlabeled != 1 || c.SetAside != 3 || len(r.SetAside) != 3 ||
			r.SetAside[2].Line != 301 {
			t.Errorf("%+v, %+v", c, r.SetAside)
		}
		if r.Comparisons[0].Pairs.Rows != 397 {
			t.Errorf("%+v", r.Comparisons[0].Pairs)
		}
	}
	// A column that only the challenger has cannot be read.
	alone := filepath.Join(dir, "alone")
	o := options.Train{Prepare: options.Prepare{Data: dataset.Options{Files: []string{filepath.Join(dir, "champion.csv")},
		Label: "y", Columns: []string{"a", "c"}}, Kernel: &fourier.GaussianOptions{Features: 32}, Seed: 1}, Model: alone}
	only := o
	only.Data.Columns, only.Model = []string{"a"}, filepath.Join(dir, "only")
	for _, o := range []options.Train{o, only} {
		if _, err := trainPlain(jobtest.Ctx, o); err != nil {
			t.Fatal(err)
		}
	}
	r, err := CompareModels(jobtest.Ctx, options.CompareModels{Champion: only.Model, Challenger: alone, Data: data,
		MaxBadFraction: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Rows; c.Read != 400 || c.Used != 397 || c.SetAside != 3 || c.Unlabeled != 1 || r.SetAside[0].Line != 8 ||
		r.SetAside[0].Reason == "" {
		t.Errorf("%+v, %+v", c, r.SetAside)
	}
	_, err = CompareModels(jobtest.Ctx, options.CompareModels{Champion: only.Model, Challenger: alone, Data: data})
	jobtest.WantError(t, "bad for the challenger", err, exit.CodeData, "bad.csv:8:4")
	// And all of the good table is compared.
	data.Files = []string{jobtest.Write(t, dir, "good.csv", good)}
	if r, err = CompareModels(jobtest.Ctx, options.CompareModels{Champion: only.Model, Challenger: alone,
		Data: data}); err != nil || r.Rows.Used != 400 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestIncomparableModelsAreRejected(t *testing.T) {
	dir := t.TempDir()
	champion, challenger := comparable(t, dir, "y")
	other := t.TempDir()
	numbers, _ := comparable(t, other, "target")
	test := dataset.Options{Files: []string{jobtest.Write(t, dir, "test.csv", strings.Join(mixedTable(2, 100), ""))}}
	for _, c := range []struct {
		o     options.CompareModels
		code  exit.Code
		words []string
	}{
		{options.CompareModels{Champion: champion}, exit.CodeUsage, []string{"--champion or --challenger is missing"}},
		{options.CompareModels{Champion: champion, Challenger: numbers}, exit.CodeUsage, []string{"no score in common"}},
		{options.CompareModels{Champion: champion, Challenger: challenger, Gate: "not better"}, exit.CodeUsage,
			[]string{"--gate", "conditions read like"}},
		{options.CompareModels{Champion: champion, Challenger: challenger, Gate: "rmse better at 95%"}, exit.CodeUsage,
			[]string{"--gate", "not compared by rmse", "have error, log_loss, brier"}},
		{options.CompareModels{Champion: champion, Challenger: challenger, Slices: []string{"nothing"}}, exit.CodeUsage,
			[]string{"--slices", "nothing"}},
		{options.CompareModels{Champion: champion, Challenger: filepath.Join(dir, "none")}, exit.CodeModel,
			[]string{"does not exist"}},
		{options.CompareModels{Champion: champion, Challenger: challenger, Data: dataset.Options{Label: "site"}},
			exit.CodeData, []string{"site"}},
	} {
		c.o.Data.Files = test.Files
		_, err := CompareModels(jobtest.Ctx, c.o)
		jobtest.WantError(t, fmt.Sprintf("%+v", c.o), err, c.code, c.words...)
	}
	// Rows that one of them was trained on, in another order and in two files.
	lines := mixedTable(1, 600)
	slices.Reverse(lines[1:])
	trained := dataset.Options{Files: []string{
		jobtest.Write(t, dir, "one.csv", strings.Join(lines[:300], "")), jobtest.Write(t, dir, "two.csv",
			lines[0]+strings.Join(lines[300:], "")),
	}}
	for _, swap := range []bool{false, true} {
		o := options.CompareModels{Champion: champion, Challenger: challenger, Data: trained}
		if swap {
			o.Champion, o.Challenger = challenger, champion
		}
		_, err := CompareModels(jobtest.Ctx, o)
		jobtest.WantError(t, "rows of the training", err, exit.CodeData, champion+" was trained on files of these rows")
	}
	// As many other rows are compared.
	trained.Files = []string{jobtest.Write(t, dir, "others.csv", strings.Join(mixedTable(9, 600), ""))}
	if r, err := CompareModels(jobtest.Ctx,
		options.CompareModels{Champion: champion, Challenger: challenger, Data: trained}); err != nil || r.Rows.Used != 600 {
		t.Errorf("%v", err)
	}
}

func TestComparisonsNameTheDecisionRules(t *testing.T) {
	dir := t.TempDir()
	data := func(seed uint64) dataset.Options {
		return dataset.Options{Files: []string{jobtest.Write(t, dir, fmt.Sprintf("data%d.csv", seed),
			strings.Join(jobtest.Made(t, "moons", 500, seed), ""))}, Label: "y"}
	}
	plain, cut := fixed(1), fixed(1)
	for _, o := range []*options.Train{&plain, &cut} {
		o.Data, o.Lambda.Path = data(1), []float64{1e-1}
	}
	plain.Model, cut.Model, cut.Threshold = filepath.Join(dir, "plain"), filepath.Join(dir, "cut"), "f1"
	for _, o := range []options.Train{plain, cut} {
		if _, err := trainPlain(jobtest.Ctx, o); err != nil {
			t.Fatal(err)
		}
	}
	r, err := CompareModels(jobtest.Ctx, options.CompareModels{Champion: plain.Model, Challenger: cut.Model, Data: data(2)})
	if err != nil {
		t.Fatal(err)
	}
	text := jobtest.Text(t, r)
	if !strings.Contains(text, "the challenger decides by threshold ") || strings.Contains(text, "the champion decides") ||
		r.Champion.Rule != "" || r.Challenger.Rule == "" {
		t.Errorf("%s", text)
	}
}

func TestComparisonsOfFewRowsSayWhyTheyHaveNoInterval(t *testing.T) {
	dir := t.TempDir()
	champion, challenger := comparable(t, dir, "target")
	o := options.CompareModels{Champion: champion, Challenger: challenger, Slices: []string{"site"}}
	o.Data = dataset.Options{Files: []string{jobtest.Write(t, dir, "few.csv", strings.Join(mixedTable(2, 29), ""))}}
	r, err := CompareModels(jobtest.Ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	text := jobtest.Text(t, r)
	for _, want := range []string{"  -  -\n", "no interval and no p: only 29 rows, want 30\n",
		"values with fewer than 30 rows or groups of equal size have no interval and no p\n"} {
		if strings.Count(text, want) == 0 || strings.Count(text, "no interval and no p:") > 1 {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
