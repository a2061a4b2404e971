package pipelines

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// visits are rows of a table with texts, missing values, copies, and labels that are the same in each group.
func visits(n, groups int, seed uint64) []string {
	r := rand.New(rand.NewPCG(seed, 8))
	coin := make([]string, groups)
	for g := range coin {
		coin[g] = []string{"heads", "tails"}[r.IntN(2)]
	}
	lines := []string{"who,day,size,colour,y\n"}
	for range n {
		g := r.IntN(groups)
		line := fmt.Sprintf("p%d,2024-%02d-%02d,%.1f,%s,%s\n", g, 1+r.IntN(12), 1+r.IntN(28), float64(g)+0.1*r.NormFloat64(),
			[]string{"red", "green", "blue", ""}[r.IntN(4)], coin[g])
		lines = append(lines, line)
		if r.IntN(5) == 0 {
			lines = append(lines, line)
		}
	}
	return lines
}

func tested(file, model string) options.Train {
	o := options.Train{Prepare: options.Prepare{Data: dataset.Options{Files: []string{file}, Label: "y"},
		Kernel: &fourier.GaussianOptions{Features: 32}, Seed: 3}, Model: model, Search: options.SearchNone}
	return o
}

// nothing is a Sink of fields that nobody wants.
type nothing struct{}

func (nothing) Text([]float32, int, []byte) string   { return "" }
func (nothing) Float([]float32, int, float64) string { return "" }
func (nothing) Null([]float32, int) string           { return "" }

var _ schema.Sink = nothing{}

// heldOut returns the lines of the rows that a training with these options holds out.
func heldOut(t *testing.T, o options.Train, share float64) (held []int64) {
	t.Helper()
	part, _, err := prepare.HoldOutTest(t.Context(), (spec.Options{Train: o}).PrepareOptions(), share)
	if err != nil {
		t.Fatal(err)
	}
	o.Data.TestSplit = part.Other()
	d, err := dataset.Open(t.Context(), o.Data)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range d.Shards(math.MaxInt64 / 2) {
		r := d.ReadFrom(t.Context(), nil, s, dataset.Request{Mode: dataset.SkipRow, Lines: true, Describe: nothing{}})
		for b := new(rowio.Block); r.Next(b); {
			held = append(held, b.Lines...)
		}
		r.Close()
	}
	return held
}

// inGap returns the lines of the rows before the held-out ones that --time_gap 30d leaves out.
func inGap(t *testing.T, o options.Train, lines []string, held []int64) (skipped []int64) {
	t.Helper()
	if o.Split.Gap == "" {
		return nil
	}
	day := func(line int64) string { return strings.Split(lines[line-1], ",")[1] }
	first := day(slices.MinFunc(held, func(a, b int64) int { return strings.Compare(day(a), day(b)) }))
	since, err := time.Parse(time.DateOnly, first)
	if err != nil {
		t.Fatal(err)
	}
	from := since.AddDate(0, 0, -30).Format(time.DateOnly)
	for line := int64(2); int(line) <= len(lines); line++ {
		if d := day(line); d >= from && d < first {
			skipped = append(skipped, line)
		}
	}
	if len(skipped) == 0 {
		t.Fatal("no row is in the gap")
	}
	return skipped
}

// A training run with --test gives the model of the file without the test rows and those in the gap before them.
func TestTestRowsAreNotTrainedOn(t *testing.T) {
	for name, set := range map[string]func(*options.Train){
		"content": func(o *options.Train) { o.Data.Drop = []string{"who"} },
		"groups":  func(o *options.Train) { o.Split.Group = []string{"who"} },
		"time":    func(o *options.Train) { o.Split.Time, o.Data.Time = true, "day" },
		"gap":     func(o *options.Train) { o.Split.Time, o.Data.Time, o.Split.Gap = true, "day", "30d" },
		"bad":     func(o *options.Train) { o.MaxBadFraction = 0.1 },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			lines := visits(600, 40, 1)
			if name == "bad" {
				lines = slices.Insert(lines, 100, "p1,2024-01-01\n", "p1,2024-02-02,1,red,\n")
			}
			all, rest := filepath.Join(dir, "all.csv"), filepath.Join(dir, "rest.csv")
			if err := os.WriteFile(all, []byte(strings.Join(lines, "")), 0o666); err != nil {
				t.Fatal(err)
			}
			o := tested(all, filepath.Join(dir, "tested"))
			set(&o)
			result, err := TrainAndTest(t.Context(), options.TrainAndTest{Train: o, TestShare: 0.2})
			if err != nil {
				t.Fatal(err)
			}
			held := heldOut(t, o, 0.2)
			skipped := inGap(t, o, lines, held)
			if n := int(result.Rows.Read + result.Test.Rows.Read); n != len(lines)-1-len(skipped) {
				t.Errorf("%d rows of both parts, want %d", n, len(lines)-1-len(skipped))
			}
			if n := float64(len(held)) / float64(len(lines)); n < 0.12 || n > 0.28 {
				t.Errorf("%d of %d rows are held out", len(held), len(lines))
			}
			var kept, copies = []string{}, map[string]bool{}
			for _, line := range held {
				copies[lines[line-1]] = true
			}
			for i, line := range lines {
				if !slices.Contains(held, int64(i+1)) && !slices.Contains(skipped, int64(i+1)) {
					kept = append(kept, line)
					if copies[line] {
						t.Errorf("copies of %q are in both parts", line)
					}
				}
			}
			if err := os.WriteFile(rest, []byte(strings.Join(kept, "")), 0o666); err != nil {
				t.Fatal(err)
			}
			alone := tested(rest, filepath.Join(dir, "alone"))
			set(&alone)
			if _, err := Train(t.Context(), alone); err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{"weights.safetensors", "manifest.json"} {
				a, err := os.ReadFile(filepath.Join(dir, "tested", file))
				b, err2 := os.ReadFile(filepath.Join(dir, "alone", file))
				if err != nil || err2 != nil || string(a) != string(b) {
					t.Errorf("%s differs from the training without the rows: %v, %v", file, err, err2)
				}
			}
		})
	}
}

// Errors on new groups are one half if the labels of groups are coin flips, although rows of known groups
// reveal them.
func TestTestsOfCoinFlipsMatchChance(t *testing.T) {
	const runs = 10
	sums := map[bool]float64{}
	for seed := range uint64(runs) {
		for _, grouped := range []bool{true, false} {
			dir := t.TempDir()
			file := filepath.Join(dir, "coins.csv")
			if err := os.WriteFile(file, []byte(strings.Join(visits(200, 20, seed), "")), 0o666); err != nil {
				t.Fatal(err)
			}
			o := tested(file, filepath.Join(dir, "model"))
			o.Data.Drop, o.Kernel = []string{"day", "colour"}, &fourier.GaussianOptions{Features: 64, Width: 0.1}
			if grouped {
				o.Split.Group = []string{"who"}
			} else {
				o.Data.Drop = []string{"day", "colour", "who"}
			}
			r, err := TrainAndTest(t.Context(), options.TrainAndTest{Train: o, TestShare: 0.3})
			if err != nil {
				t.Fatal(err)
			}
			sums[grouped] += r.Test.Classes.Error / runs
		}
	}
	// The share of wrong groups, of about 6 in each test, has the standard deviation 0.2.
	if got := sums[true]; math.Abs(got-0.5) > 4*0.2/math.Sqrt(runs) {
		t.Errorf("the mean error on new groups is %.3f", got)
	}
	if got := sums[false]; got > 0.35 {
		t.Errorf("the mean error on new rows of known groups is %.3f, so this test would not see a leak", got)
	}
}

func TestInvalidTestSetsAreRejected(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "t.csv")
	if err := os.WriteFile(file, []byte(strings.Join(visits(50, 1, 1), "")), 0o666); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]struct {
		set  func(*options.Train)
		test options.TrainAndTest
	}{
		"is a file of the training data too": {nil, options.TrainAndTest{TestFiles: []string{file}}},
		"above 0 and below 1":                {nil, options.TrainAndTest{TestShare: 1}},
		"none in one of the two parts":       {nil, options.TrainAndTest{TestShare: 1 - 1e-9}},
		"--fold_column":                      {func(o *options.Train) { o.Split.Fold = "size" }, options.TrainAndTest{TestShare: 0.2}},
		"--recipe":                           {func(o *options.Train) { o.Recipe = "model" }, options.TrainAndTest{TestShare: 0.2}},
		"--test 0.2 with --time_split: the gap leaves no rows before it": {func(o *options.Train) {
			o.Split.Time, o.Data.Time, o.Split.Gap = true, "day", "600d"
		}, options.TrainAndTest{TestShare: 0.2}},
		"there is one group": {func(o *options.Train) { o.Split.Group = []string{"who"} }, options.TrainAndTest{TestShare: 0.2}},
	} {
		o := tested(file, filepath.Join(dir, "model"))
		o.Job.Log = io.Discard
		if c.set != nil {
			c.set(&o)
		}
		c.test.Train = o
		if _, err := TrainAndTest(t.Context(), c.test); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if _, err := os.Stat(filepath.Join(dir, "model")); err == nil {
			t.Errorf("%s: a model was trained", want)
		}
	}
}

func TestTestSetLeavesNoWorkDirectories(t *testing.T) {
	dir := t.TempDir()
	file := jobtest.Write(t, t.TempDir(), "visits.csv", strings.Join(visits(300, 60, 1), ""))
	o := tested(file, filepath.Join(dir, "model"))
	o.Job.Work = filepath.Join(dir, "work") + "/"
	if _, err := TrainAndTest(t.Context(), options.TrainAndTest{Train: o, TestShare: 0.3}); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}
