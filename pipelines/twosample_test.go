package pipelines

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/models/drift"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// people returns the lines of a table of related columns with groups of four rows, the header
// first; sign is the sign of the relation.
func people(n int, seed uint64, sign float64) []string {
	r := rand.New(rand.NewPCG(seed, 1))
	lines := []string{"city,a,b,home,y\n"}
	for i := range n {
		city, a := []string{"Rome", "Oslo", "Bonn"}[r.IntN(3)], r.NormFloat64()
		b := fmt.Sprintf("%.3f", sign*a+0.3*r.NormFloat64())
		if r.IntN(50) == 0 {
			b = ""
		}
		lines = append(lines, fmt.Sprintf("%s,%.3f,%s,h%d,%s\n", city, a, b, i/4, []string{"yes", "no"}[r.IntN(2)]))
	}
	return lines
}

func twoSample(t *testing.T, a, b string, set func(*options.TwoSample)) (*results.TwoSample, error) {
	t.Helper()
	o := options.TwoSample{A: a, B: b}
	o.Kernel, o.Data.Drop = &fourier.GaussianOptions{Features: 128}, []string{"home"}
	if set != nil {
		set(&o)
	}
	return TwoSample(jobtest.Ctx, o)
}

func TestTwoSampleSeesWhatNoColumnShows(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, lines []string) string {
		return jobtest.Write(t, dir, name, strings.Join(lines, ""))
	}
	rows := people(600, 1, 1)
	a, alike, related := write("a.csv", rows), write("b.csv", people(500, 2, 1)), write("c.csv", people(500, 3, -1))
	r, err := twoSample(t, a, alike, func(o *options.TwoSample) { o.MinP, o.MaxDrift = 0.001, 0.1 })
	if err != nil || r.Features.P < 0.001 || len(r.Columns) > 0 || r.A.Used != 600 || r.B.Used != 500 {
		t.Errorf("drawn alike: %+v, %v", r, err)
	}
	r, err = twoSample(t, a, related, func(o *options.TwoSample) { o.MinP = 0.001 })
	jobtest.WantError(t, "related otherwise", err, exit.CodeGate, "p < 1e-06, below 0.001")
	if r.Features.P != drift.MinP || len(r.Columns) > 0 || r.Features.AtLeast < 0.1 {
		t.Fatalf("related otherwise: %+v", r.Features)
	}
	if text := jobtest.Text(t, r); !strings.Contains(text, "p < 1e-06 that both are from the same distribution") {
		t.Error(text)
	}
	_, err = twoSample(t, a, related, func(o *options.TwoSample) { o.MaxDrift = 0.1 })
	jobtest.WantError(t, "a bound on the distance", err, exit.CodeGate, "the features have moved by at least")

	// Neither the order of the tables nor files, readers or the order of rows change p.
	write("part-1.csv", rows[:200])
	half := slices.Clone(rows[200:])
	slices.Reverse(half)
	write("part-2.csv", append(rows[:1:1], half...))
	for _, again := range [][2]string{{related, a}, {dir + "/part-*.csv", related}} {
		s, err := twoSample(t, again[0], again[1], func(o *options.TwoSample) { o.Job.Engine.Threads, o.Job.ShardBytes = 2, 1000 })
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprintf("%.9g", s.Features.Squared) != fmt.Sprintf("%.9g", r.Features.Squared) {
			t.Errorf("%v: %+v, want %+v", again, s.Features, r.Features)
		}
	}
}

func TestTwoSampleTakesTheRecipeOfAModel(t *testing.T) {
	dir := t.TempDir()
	a := jobtest.Write(t, dir, "a.csv", strings.Join(people(600, 1, 1), ""))
	var o options.Train
	o.Data.Files, o.Data.Label, o.Data.Drop, o.Model = []string{a}, "y", []string{"home"}, dir+"/model"
	o.Kernel, o.Search = &fourier.GaussianOptions{Features: 64}, "none"
	_, err := Train(jobtest.Ctx, o)
	o.Model, o.Data.Drop, o.Split.Group = dir+"/grouped", nil, []string{"home"}
	_, grouped := Train(jobtest.Ctx, o)
	if err = errors.Join(err, grouped); err != nil {
		t.Fatal(err)
	}
	var unlabelled strings.Builder // without y, with a level that the model has not seen
	for _, line := range people(500, 3, -1) {
		unlabelled.WriteString(strings.Replace(line[:strings.LastIndex(line, ",")], "Rome", "Lima", 1) + "\n")
	}
	b := jobtest.Write(t, dir, "b.csv", unlabelled.String())
	r, err := TwoSample(jobtest.Ctx, options.TwoSample{A: a, B: b, Recipe: dir + "/model"})
	if err != nil || r.Dim != 64 || r.Features.P > 1e-3 || len(r.Notes) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if len(r.Columns) == 0 || r.Columns[0].Name != "city" {
		t.Errorf("columns %+v", r.Columns)
	}
	r, err = TwoSample(jobtest.Ctx, options.TwoSample{A: a, B: b, Recipe: dir + "/grouped"})
	jobtest.WantError(t, "groups", err, exit.CodeUsage, "its rows have weights or groups", "keep one row of each group")
	if r != nil {
		t.Error(r)
	}
}

// Columns of paths, which always distinguish the tables, are left out.
func TestTwoSampleIgnoresPathColumns(t *testing.T) {
	dir := t.TempDir()
	for i, day := range []string{"dt=2026-11-01", "dt=2026-11-02"} {
		if err := os.Mkdir(dir+"/"+day, 0o777); err != nil {
			t.Fatal(err)
		}
		jobtest.Write(t, dir, day+"/rows.csv", strings.Join(people(300, uint64(i), 1), ""))
	}
	r, err := twoSample(t, dir+"/dt=2026-11-01/*", dir+"/dt=2026-11-02/*", nil)
	if err != nil || r.Features.P < 0.001 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestTwoSampleRejectsInvalidInput(t *testing.T) {
	dir := t.TempDir()
	a := jobtest.Write(t, dir, "a.csv", strings.Join(people(100, 1, 1), ""))
	b := jobtest.Write(t, dir, "b.csv", strings.Join(people(29, 2, 1), ""))
	for _, c := range []struct {
		b    string
		set  func(*options.TwoSample)
		code exit.Code
		want string
	}{
		{b, nil, exit.CodeData, "b.csv has 29 rows; a test needs 30"},
		{a, nil, exit.CodeData, "its rows would count twice"},
		{dir + "/*.csv", nil, exit.CodeData, "its rows would count twice"},
		{"", nil, exit.CodeUsage, "test needs two tables"},
		{b, func(o *options.TwoSample) { o.Prepare.Data.Files = []string{a} }, exit.CodeUsage, "not from Prepare.Data"},
		{b, func(o *options.TwoSample) { o.MinP = 1e-9 }, exit.CodeUsage, "--min_p must be"},
		{b, func(o *options.TwoSample) { o.MinP = 2 }, exit.CodeUsage, "--min_p must be"},
		{b, func(o *options.TwoSample) { o.MaxDrift = 2 }, exit.CodeUsage, "--max_drift must be"},
	} {
		r, err := twoSample(t, a, c.b, c.set)
		jobtest.WantError(t, c.want, err, c.code, c.want)
		if r != nil {
			t.Errorf("%s: %+v", c.want, r)
		}
	}
}
