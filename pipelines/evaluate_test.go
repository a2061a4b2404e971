package pipelines

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// relabelled returns the lines of a table, every row of a class of which the map has
// another name under that name.
func relabelled(lines []string, names map[string]string) string {
	var b strings.Builder
	for _, line := range lines {
		at := strings.LastIndexByte(line, ',') + 1
		label := strings.TrimSuffix(line[at:], "\n")
		if to, ok := names[label]; ok {
			line = line[:at] + to + "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

func TestLabelsThatTheModelNeverSawAreNamed(t *testing.T) {
	dir := t.TempDir()
	lines := jobtest.Made(t, "moons", 300, 1)
	table := func(name, text string) dataset.Options {
		return dataset.Options{Files: []string{jobtest.Write(t, dir, name, text)}, Label: "y"}
	}
	o := fixed(1)
	o.Data, o.Model, o.Lambda.Path = table("data.csv", strings.Join(lines, "")), filepath.Join(dir,
		"model"), []float64{1e-4}
	if _, err := trainPlain(jobtest.Ctx, o); err != nil {
		t.Fatal(err)
	}
	evaluate := func(d dataset.Options) (*results.Evaluate, error) {
		return Evaluate(jobtest.Ctx, options.Evaluate{Model: o.Model, Data: d})
	}
	ones := int64(0)
	for _, line := range lines {
		if strings.HasSuffix(strings.TrimSuffix(line, "\n"), ",1") {
			ones++
		}
	}
	if ones < 100 {
		t.Fatalf("%d rows of class 1", ones)
	}

	// Two files with different labels, next to one with labels that the model knows.
	d := table("a.csv", relabelled(lines, map[string]string{"1": "one."}))
	d.Files = append(d.Files, jobtest.Write(t, dir, "b.csv",
		relabelled(lines[:31], map[string]string{"-1": "zero", "1": "zero"})))
	r, err := evaluate(d)
	if err != nil {
		t.Fatal(err)
	}
	if want := []results.UnseenLabel{{Label: "one.", Rows: ones}, {Label: "zero", Rows: 30}}; !reflect.DeepEqual(r.UnseenLabels,
		want) || r.Classes.Unseen != ones+30 {
		t.Errorf("%+v of %d rows, want %+v", r.UnseenLabels, r.Classes.Unseen, want)
	}
	if want := fmt.Sprintf("labels that are not classes of the model: \"one.\" (%d rows), \"zero\" (30 rows)\n",
		ones); !strings.Contains(jobtest.Text(t, r), want) {
		t.Errorf("%q is not in\n%s", want, jobtest.Text(t, r))
	}

	r, err = evaluate(o.Data)
	if err != nil || r.UnseenLabels != nil || strings.Contains(jobtest.Text(t, r), "not classes of the model") {
		t.Errorf("labels of the training: %v, %v", r, err)
	}

	_, err = evaluate(table("other.csv", relabelled(lines, map[string]string{"-1": "no", "1": "yes"})))
	jobtest.WantError(t, "no label known", err, exit.CodeData,
		"none of the 300 rows has a label that is a class of the model", `"yes" (`, `"no" (`, "its classes are -1, 1")
	many := lines[:1:1]
	for i := range 12_000 {
		many = append(many, fmt.Sprintf("1,2,label %d\n", i))
	}
	_, err = evaluate(table("many.csv", strings.Join(many, "")))
	jobtest.WantError(t, "many labels", err, exit.CodeData, `"(more than 10000, or longer than 256 bytes)" (12,000 rows)`)
}

// Labels that all differ from the classes in one way are recognised, and the message names a flag
// that makes them classes. With this flag the scores are the same as with the original labels.
func TestFlagThatMakesLabelsClassesIsNamed(t *testing.T) {
	dir := t.TempDir()
	lines := jobtest.Made(t, "moons", 200, 1)
	table := func(name string, names map[string]string) dataset.Options {
		return dataset.Options{Files: []string{jobtest.Write(t, dir, name+".csv", relabelled(lines, names))}, Label: "y"}
	}
	o := fixed(1)
	o.Data, o.Model, o.Lambda.Path = table("data", map[string]string{"-1": "<=50K", "1": "Over"}), filepath.Join(dir,
		"model"), []float64{1e-4}
	if _, err := trainPlain(jobtest.Ctx, o); err != nil {
		t.Fatal(err)
	}
	want, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: o.Model, Data: o.Data})
	if err != nil || want.UnseenHint != "" {
		t.Fatalf("%v, %v", want, err)
	}
	for i, c := range []struct {
		low, high, hint string
		text            dataset.LabelText
	}{
		{"<=50K.", "Over.", `end in ".", the classes do not; --label_strip '.' removes`, dataset.LabelText{Strip: "."}},
		{"<=50K .", "Over .", `end in " ."`, dataset.LabelText{Strip: " ."}},
		{"'<=50K'", "'Over'", `begin with "'" and end in "'", the classes do not; --label_strip ''\''' `,
			dataset.LabelText{Strip: "'"}},
		{"<=50k", "OVER", "upper and lower case alone; --label_case lower", dataset.LabelText{Lower: true}},
	} {
		d := table(fmt.Sprint(i), map[string]string{"-1": c.low, "1": c.high})
		_, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: o.Model, Data: d})
		jobtest.WantError(t, c.low, err, exit.CodeData, "none of the 200 rows has a label that is a class", c.hint)
		d.LabelText = c.text
		got, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: o.Model, Data: d})
		if err != nil || !reflect.DeepEqual(got.Classes, want.Classes) {
			t.Errorf("%s: %+v, %v", c.low, got, err)
		}
	}
	// One label that the model knows, one that it does not.
	got, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: o.Model,
		Data: table("half", map[string]string{"-1": "<=50K", "1": "Over."})})
	if err != nil || !strings.Contains(jobtest.Text(t, got),
		`these labels end in ".", the classes do not; --label_strip '.' removes that`) {
		t.Errorf("%+v, %v", got, err)
	}

	// Labels of later data are stripped like those of the training data.
	o.Data, o.Model = table("pointed", map[string]string{"-1": "<=50K.", "1": "Over."}), filepath.Join(dir, "stripped")
	o.Data.LabelText.Strip = "."
	if r, err := trainPlain(jobtest.Ctx, o); err != nil || !reflect.DeepEqual(r.Classes, []string{"<=50K", "Over"}) {
		t.Fatalf("%+v, %v", r, err)
	}
	o.Data.LabelText.Strip = ""
	if got, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: o.Model, Data: o.Data}); err != nil ||
		!reflect.DeepEqual(got.Classes, want.Classes) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestDoubtfulTaskIsNotedByTheJobs(t *testing.T) {
	dir := t.TempDir()
	table := "a,b,y\n"
	for i := range 520 {
		table += fmt.Sprintf("%d,%d,%d\n", i%7, i%11, 18+i%52)
	}
	o := fixed(1)
	o.Data = dataset.Options{Files: []string{jobtest.Write(t, dir, "ages.csv", table)}, Label: "y"}
	o.Model, o.Lambda.Path = filepath.Join(dir, "model"), []float64{1e-3}
	r, err := trainPlain(jobtest.Ctx, o)
	if err != nil || !strings.Contains(strings.Join(r.Notes, "\n"), "52 distinct whole numbers from 18 to 69") {
		t.Errorf("%v: %q", err, r.Notes)
	}
	p, err := InspectData(jobtest.Ctx, options.InspectData{Data: o.Data})
	if err != nil || !strings.Contains(jobtest.Text(t, p), "note      labels are 52 distinct whole numbers") {
		t.Errorf("%v", err)
	}
}

func TestInvalidMaxBadFractionIsRejected(t *testing.T) {
	for _, f := range []float64{-1e-9, 1.01, math.NaN(), math.Inf(1)} {
		jobtest.WantError(t, fmt.Sprint(f), prepare.CheckFraction(f), exit.CodeUsage, "--max_bad_fraction")
		_, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: "m", MaxBadFraction: f})
		jobtest.WantError(t, "evaluate", err, exit.CodeUsage, "--max_bad_fraction")
		_, err = Predict(jobtest.Ctx, options.Predict{Model: "m", Out: "o", MaxBadFraction: f})
		jobtest.WantError(t, "predict", err, exit.CodeUsage, "--max_bad_fraction")
		_, err = InspectData(jobtest.Ctx, options.InspectData{MaxBadFraction: f})
		jobtest.WantError(t, "inspect", err, exit.CodeUsage, "--max_bad_fraction")
		_, err = trainPlain(jobtest.Ctx, options.Train{Model: "m", Prepare: options.Prepare{MaxBadFraction: f}})
		jobtest.WantError(t, "train", err, exit.CodeUsage, "--max_bad_fraction")
	}
	if prepare.Mode(0) != dataset.FailFast || prepare.Mode(0.1) != dataset.SkipRow {
		t.Error("modes")
	}
}

// One target far from all others does not change the result of learners in rounds for the others: ε and λ are
// in units of the spread, which it does not stretch.
func TestOneOutlierDoesNotSetTheUnitsOfARegression(t *testing.T) {
	lines := func(outlier bool) string {
		r := rand.New(rand.NewPCG(5, 6))
		var b strings.Builder
		b.WriteString("a,b,y\n")
		for i := range 600 {
			x, z := r.NormFloat64(), r.NormFloat64()
			y := math.Sin(x) + 0.5*z + 0.1*r.NormFloat64()
			if outlier && i == 17 {
				y = 1000
			}
			fmt.Fprintf(&b, "%g,%g,%g\n", x, z, y)
		}
		return b.String()
	}
	dir := t.TempDir()
	clean := dataset.Options{Files: []string{jobtest.Write(t, dir, "clean.csv", lines(false))}, Label: "y"}
	for _, loss := range []string{"epsilon_insensitive", "huber"} {
		for _, name := range []string{"svm", "sgd"} {
			o := options.Train{Prepare: options.Prepare{Kernel: &fourier.GaussianOptions{Features: 128}, Seed: 1},
				Lambda: options.Lambda{Path: []float64{1e-4}}}
			o.Data = dataset.Options{Files: []string{jobtest.Write(t, dir, "data.csv", lines(true))}, Label: "y"}
			o.Model = filepath.Join(dir, loss+name)
			o.Learner = jobtest.Iterative(name, func(s *iterative.Shared) { s.Loss, s.Rounds = loss, 30 })
			if _, err := trainPlain(jobtest.Ctx, o); err != nil {
				t.Fatal(err)
			}
			score, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: o.Model, Data: clean})
			if err != nil {
				t.Fatal(err)
			}
			if r2 := *score.Targets.R2; !(r2 > 0.9) {
				t.Errorf("%s, %s: R² %.3f on the rows without the outlier", name, loss, r2)
			}
		}
	}
}
