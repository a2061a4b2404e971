package pipelines

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// A table with a category, a boolean, a number with few values, a column that is not used, and
// gaps. Rows of the site "north" have the wrong label half of the time.
func sitesTable(n int) string {
	var b strings.Builder
	b.WriteString("x,site,open,level,batch,when,y\n")
	for i := range n {
		x, site := float64(i%41)/20-1, []string{"north", "south", "", "east"}[i%4]
		y := "no"
		if x > 0 != (i%4 == 0 && i%8 == 0) {
			y = "yes"
		}
		fmt.Fprintf(&b, "%g,%s,%v,%g,b%d,2024-01-%02d,%s\n", x, site, i%3 == 0, float64(i%5)/2, i%2, 1+i%28, y)
	}
	return b.String()
}

func TestSlicesByTypedColumnsAreScored(t *testing.T) {
	dir := t.TempDir()
	o := fixed(1)
	o.Data = dataset.Options{Files: []string{jobtest.Write(t, dir, "data.csv", sitesTable(400))}, Label: "y",
		Drop: []string{"batch"}}
	o.Model, o.Lambda.Path = filepath.Join(dir, "model"), []float64{1e-4}
	if _, err := trainPlain(jobtest.Ctx, o); err != nil {
		t.Fatal(err)
	}
	evaluate := func(shard int64, columns ...string) (*results.Evaluate, error) {
		return Evaluate(jobtest.Ctx, options.Evaluate{Model: o.Model, Data: dataset.Options{Files: o.Data.Files, Label: "y"},
			Slices: columns, Job: options.Job{ShardBytes: shard}})
	}
	r, err := evaluate(3000, "site", "open", "level", "batch")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []map[string]int64{
		{"north": 100, "south": 100, "(missing)": 100, "east": 100},
		{"true": 134, "false": 266},
		{"0": 80, "0.5": 80, "1": 80, "1.5": 80, "2": 80},
		{"b0": 200, "b1": 200},
	} {
		got := map[string]int64{}
		errors := 0.0
		for _, s := range r.Slices[i].Slices {
			got[s.Value] = s.Rows
			errors += *s.Error * float64(s.Rows)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || int64(errors+0.5) != r.Classes.Errors {
			t.Errorf("%s: %v with %g errors, want %v with %d", r.Slices[i].Column, got, errors, want, r.Classes.Errors)
		}
	}
	worst := r.Slices[0].Slices[0]
	for _, s := range r.Slices[0].Slices {
		if *s.Error > *worst.Error {
			worst = s
		}
	}
	if worst.Value != "north" || *worst.Error < 0.3 {
		t.Errorf("the worst site is %+v", worst)
	}
	text := jobtest.Text(t, r)
	for _, want := range []string{"by site, 4 values:", "by batch, 2 values:", "(missing)"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	// Neither shards nor other columns change the scores.
	again, err := evaluate(1<<20, "level")
	if err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(r.Slices[2])
	b, _ := json.Marshal(again.Slices[0])
	if string(a) != string(b) {
		t.Errorf("%s\n%s", a, b)
	}
	for _, c := range []struct {
		columns []string
		want    string
	}{
		{[]string{"sitee"}, `there is no column "sitee" (did you mean "site"?)`},
		{[]string{"site", "site"}, "given twice"},
		{[]string{"batch", "y"}, "only one such column"},
		{[]string{"99"}, "there is no column 99; the data has 7"},
	} {
		_, err := evaluate(3000, c.columns...)
		jobtest.WantError(t, c.want, err, exit.CodeUsage, "--slices", c.want)
	}
}

// Slices by a number column work for tables with and without column names, for classes and for a regression; a
// column with too many values is rejected.
func TestSlicesByNumberColumns(t *testing.T) {
	dir := t.TempDir()
	var named, sparse strings.Builder
	named.WriteString("a,b,c,y\n")
	for i := range 700 {
		fmt.Fprintf(&named, "%d,%g,%g,%g\n", i%3, float64(i)/8, 1.7e9+float64(i%2), float64(i%3)+float64(i)/100)
		fmt.Fprintf(&sparse, "%d 1:%d 2:%g\n", i%2, i%3, float64(i)/8)
	}
	train := func(name string, data dataset.Options) options.Evaluate {
		o := fixed(1)
		o.Data, o.Model, o.Lambda.Path = data, filepath.Join(dir, name), []float64{1e-4}
		if _, err := trainPlain(jobtest.Ctx, o); err != nil {
			t.Fatal(err)
		}
		return options.Evaluate{Model: o.Model, Data: data}
	}
	numbers := train("numbers", dataset.Options{Files: []string{jobtest.Write(t, dir, "a.csv", named.String())},
		Label: "y"})
	numbers.Slices = []string{"a", "b", "-2"} // the last is c
	r, err := Evaluate(jobtest.Ctx, numbers)
	if err != nil {
		t.Fatal(err)
	}
	values := func(r score.SliceReport) (text string) {
		for _, s := range r.Slices {
			text += fmt.Sprintf("%s:%d ", s.Value, s.Rows)
		}
		return text
	}
	if got := values(r.Slices[0]); got != "0:234 1:233 2:233 " || r.Slices[0].Slices[0].MAE == nil {
		t.Errorf("a: %s", got)
	}
	if got := values(r.Slices[2]); got != "1700000000:350 1700000001:350 " || r.Slices[2].Column != "c" {
		t.Errorf("c: %s", got)
	}
	if b := r.Slices[1]; !b.Many || b.Slices != nil ||
		!strings.Contains(jobtest.Text(t, r), "column b has more than 512 values") {
		t.Errorf("b: %+v", b)
	}
	classes := train("classes", dataset.Options{Files: []string{jobtest.Write(t, dir, "a.libsvm", sparse.String())}})
	classes.Slices = []string{"1"}
	if r, err := Evaluate(jobtest.Ctx, classes); err != nil || values(r.Slices[0]) != "0:234 1:233 2:233 " {
		t.Errorf("%+v, %v", r, err)
	}
	classes.Slices = []string{"a"}
	_, err = Evaluate(jobtest.Ctx, classes)
	jobtest.WantError(t, "libsvm", err, exit.CodeUsage, `rows have no column "a"; give a position from 1 to 2`)
}
