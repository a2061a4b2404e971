package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/models"
)

// Intervals do not depend on how a model is trained or applied, and a program that loads the model computes the
// same ones as the command.
func TestIntervalsAreTheSameEverywhere(t *testing.T) {
	campaign.Long(t)
	tb := generated(t, "friedman", 600)
	flags := []string{"--features", "96", "--search", "none", "--lambda", "1e-5,1e-4"}
	want := variant{}.train(t, tb, flags...)
	same(t, onOneCore.name, want, onOneCore.train(t, tb, flags...))
	same(t, mixtures[0].name, want, mixtures[0].train(t, tb, flags...))
	if plain := (variant{}).train(t, tb, append(flags, "--intervals", "plain")...); plain["weights.safetensors"] !=
		want["weights.safetensors"] || plain["manifest.json"] == want["manifest.json"] {
		t.Error("plain intervals change the weights, or are those that are scaled")
	}

	dir := t.TempDir()
	for name, content := range want {
		os.MkdirAll(filepath.Join(dir, "model"), 0o777)
		write(t, filepath.Join(dir, "model"), name, content)
	}
	must(t, dir, "generate", "friedman", "--rows", "70", "--seed", "2", "--out", "new.csv")
	os.Mkdir(filepath.Join(dir, "in"), 0o777)
	write(t, dir, "in/new.csv", read(t, dir, "new.csv"))
	asked := []string{"predict", "--model", "model", "--interval", "0.9", "--novelty", "--quiet"}
	said := must(t, dir, append(asked, "--data", "new.csv", "--out", "-")...)
	must(t, dir, append(asked, "--data", "in/*.csv", "--out", "out", "--stream", "--until_idle", "--settle", "0")...)
	if got := read(t, dir, "out", "new.csv.predictions.csv"); got != said {
		t.Errorf("a stream has %.200s, a batch %.200s", got, said)
	}
	many := must(t, dir, append(asked, "--data", "new.csv", "--out", "-", smallShards, "--threads", "2")...)
	if many != said {
		t.Error("other predictions in small shards")
	}
	records, err := csv.NewReader(strings.NewReader(said)).ReadAll()
	if err != nil || len(records) != 71 ||
		strings.Join(records[0], " ") != "prediction prediction_low prediction_high novelty" {
		t.Fatal(err, records[0], len(records))
	}
	m, err := models.LoadURI(t.Context(), filepath.Join(dir, "model"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(read(t, dir, "new.csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows[1:] {
		x := make([]float64, 10)
		for j := range x {
			x[j], _ = strconv.ParseFloat(row[j], 64)
		}
		ends, novelty := make([]float64, 2), make([]float64, 1)
		if err := m.Intervals(ends, x, 0.9); err != nil {
			t.Fatal(err)
		}
		if err := m.Novelty(novelty, x); err != nil {
			t.Fatal(err)
		}
		for c, v := range ends {
			if got, _ := strconv.ParseFloat(records[i+1][1+c], 64); math.Abs(got-v) > m.Resolution(0) {
				t.Errorf("row %d: the command has %v, a program %v", i, got, v)
			}
		}
		if got := records[i+1][3]; got != strconv.FormatFloat(novelty[0], 'g', -1, 32) {
			t.Errorf("row %d: novelty %s of the command, %g of a program", i, got, novelty[0])
		}
	}
}

// A model of sums knows the novelty of rows but has no intervals, and equals a model that is trained by the
// recipe.
func TestSumsHaveNoveltyWithoutIntervals(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "generate", "friedman", "--rows", "500", "--out", "a.csv")
	must(t, dir, "train", "--data", "a.csv", "--label", "y", "--features", "64", "--search", "none", "--model", "m")
	must(t, dir, "sum", "--recipe", "m", "--data", "a.csv", "--out", "sums")
	must(t, dir, "fit", "--sums", "sums", "--model", "fitted")
	must(t, dir, "train", "--recipe", "m", "--data", "a.csv", "--model", "again")
	if a, b := read(t, dir, "fitted", "sketch.safetensors"), read(t, dir, "again", "sketch.safetensors"); a != b {
		t.Error("another spread by sums")
	}
	r := run(t, dir, "predict", "--model", "fitted", "--data", "a.csv", "--interval", "0.9", "--out", "-")
	if r.code != 2 || !strings.Contains(r.stderr, "train on rows, not on sums") {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
	novelty := must(t, dir, "predict", "--model", "m", "--data", "a.csv", "--novelty", "--out", "-")
	if novelty != must(t, dir, "predict", "--model", "fitted", "--data", "a.csv", "--novelty", "--out", "-") &&
		read(t, dir, "m", "weights.safetensors") == read(t, dir, "fitted", "weights.safetensors") {
		t.Error("another novelty by sums")
	}
	mean := 0.0
	for _, line := range strings.Split(strings.TrimSpace(novelty), "\n")[1:] {
		v, err := strconv.ParseFloat(line[strings.Index(line, ",")+1:], 64)
		if err != nil {
			t.Fatal(err)
		}
		mean += v / 500
	}
	if math.Abs(mean-1) > 0.01 {
		t.Errorf("the mean novelty of the training rows is %g", mean)
	}
}

// Sets are texts or arrays of the names of classes, and evaluate reports how often they contain the class.
func TestPredictionSetsListClassNames(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "generate", "moons", "--rows", "600", "--noise", "0.6", "--out", "a.csv")
	must(t, dir, "generate", "moons", "--rows", "600", "--noise", "0.6", "--seed", "2", "--out", "b.csv")
	must(t, dir, "train", "--data", "a.csv", "--label", "y", "--features", "64", "--calibrate", "platt", "--model", "m")
	asked := []string{"predict", "--model", "m", "--data", "b.csv", "--interval", "0.95", "--out", "-"}
	lines := strings.Split(strings.TrimSpace(must(t, dir, asked...)), "\n")[1:]
	objects := strings.Split(strings.TrimSpace(must(t, dir, append(asked, "--out_format", "jsonl")...)), "\n")
	both := 0
	for i, line := range lines {
		var row struct {
			Prediction json.Number
			Set        []json.Number
		}
		if err := json.Unmarshal([]byte(objects[i]), &row); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, n := range row.Set {
			names = append(names, n.String())
		}
		if got := row.Prediction.String() + "," + strings.Join(names, "|"); got != line ||
			!slices.Contains(row.Set, row.Prediction) {
			t.Fatalf("%s in JSON, %s in CSV", objects[i], line)
		}
		if len(names) == 2 {
			both++
		}
	}
	if both == 0 || both == len(lines) {
		t.Errorf("%d of %d sets have both classes", both, len(lines))
	}
	var scored struct {
		Intervals []struct {
			Level, Coverage, Width float64
			Rows                   int64
		}
	}
	out := must(t, dir, "evaluate", "--model", "m", "--data", "b.csv", "--json")
	if err := json.Unmarshal([]byte(out), &scored); err != nil {
		t.Fatal(err)
	}
	if s := scored.Intervals; len(s) != 1 || s[0].Rows != 600 || s[0].Level != 0.9 || s[0].Coverage < 0.8 ||
		s[0].Width < 1 {
		t.Errorf("%+v", s)
	}
}

// A row with a finite score and an infinite novelty has a prediction, and counts in the scores, but has no
// interval.
func TestRowsWithoutAnIntervalAreNotCovered(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "generate", "friedman", "--rows", "260", "--out", "a.csv")
	must(t, dir, "train", "--data", "a.csv", "--label", "y", "--kernel", "linear", "--model", "m")
	header, rows, _ := strings.Cut(read(t, dir, "a.csv"), "\n")
	write(t, dir, "b.csv", header+"\n"+rows+strings.Repeat("1e30,", strings.Count(header, ","))+"1\n")
	predicted := must(t, dir, "predict", "--model", "m", "--data", "b.csv", "--interval", "0.9", "--out", "-")
	var scored struct {
		Targets   struct{ Rows int64 }
		Intervals []struct {
			Rows      int64
			NotFinite int64 `json:"not_finite"`
			Width     float64
		}
	}
	if err := json.Unmarshal([]byte(must(t, dir, "evaluate", "--model", "m", "--data", "b.csv", "--json")), &scored); err != nil {
		t.Fatal(err)
	}
	if s := scored.Intervals[0]; !strings.HasSuffix(predicted, "\n,,\n") || scored.Targets.Rows != 261 || s.Rows != 260 || s.NotFinite != 1 || s.Width > 100 {
		t.Errorf("%+v; the last row is predicted as %q", scored, predicted[len(predicted)-20:])
	}
	if said := must(t, dir, "evaluate", "--model", "m", "--data", "b.csv"); !strings.Contains(said,
		"(left out: 1 row without a finite interval)") {
		t.Error(said)
	}
	var counted struct {
		NotFinite int64 `json:"not_finite"`
	}
	summary := must(t, dir, "predict", "--model", "m", "--data", "b.csv", "--novelty", "--out", "p")
	if err := json.Unmarshal([]byte(read(t, dir, "p/manifest.json")), &counted); err != nil || counted.NotFinite != 1 ||
		rowOf(summary, "unpredicted") != "unpredicted 1 row: the numbers are too large for the model" {
		t.Errorf("%+v (%v), %s", counted, err, summary)
	}
	summary = must(t, dir, "predict", "--model", "m", "--data", "b.csv", "--out", "all")
	if rowOf(summary, "unpredicted") != "" || strings.Contains(read(t, dir, "all/manifest.json"), "not_finite") {
		t.Errorf("a row with a prediction is called unpredicted: %s", summary)
	}
}

// If a model has no intervals, or too few held-out rows for a level, the error names the next step.
func TestMissingIntervalsAreAnErrorWithAdvice(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "generate", "friedman", "--rows", "260", "--out", "a.csv")
	must(t, dir, "generate", "moons", "--rows", "260", "--out", "c.csv")
	train := func(model, data string, flags ...string) {
		must(t, dir, append([]string{"train", "--data", data, "--label", "y", "--features", "32", "--search",
			"none", "--model", model}, flags...)...)
	}
	train("m", "a.csv")
	train("one", "a.csv", "--lambda", "1e-4")
	train("none", "a.csv", "--intervals", "none")
	train("sgd", "a.csv", "--learner", "sgd", "--rounds", "2", "--lambda", "1e-3,1e-4")
	train("classes", "c.csv", "--calibrate", "none")
	for _, c := range []struct{ model, flag, want string }{
		{"m", "--interval=0.999", "needs 999 held-out rows; the model has"},
		{"m", "--interval=1.2", "above 0 and below 1"},
		{"one", "--interval=0.9", "several --lambda or with --folds"},
		{"none", "--interval=0.9", "--intervals none"},
		{"none", "--novelty", "it was trained with --intervals none; train again without"},
		{"sgd", "--novelty", "learner sgd"},
		{"classes", "--interval=0.9", "probabilities"},
	} {
		data := "a.csv"
		if c.model == "classes" {
			data = "c.csv"
		}
		r := run(t, dir, "predict", "--model", c.model, "--data", data, c.flag, "--out", "-")
		if r.code != 2 || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s %s: exit code %d, %s; want %q", c.model, c.flag, r.code, r.stderr, c.want)
		}
	}
	said := must(t, dir, "predict", "--model", "sgd", "--data", "a.csv", "--interval", "0.9", "--out", "-")
	if !strings.HasPrefix(said, "prediction,prediction_low,prediction_high\n") {
		t.Errorf("intervals of sgd: %.100s", said)
	}
	for _, model := range []string{"m", "sgd"} {
		out := must(t, dir, "evaluate", "--model", model, "--data", "a.csv")
		if !strings.Contains(out, "90% intervals contain") {
			t.Errorf("%s: %s", model, out)
		}
	}
}

// Each of several targets has its own intervals, whole groups are held out, and rows of weight 0 do not count.
func TestIntervalsWorkWithTargetsGroupsAndWeights(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("x,g,w,a,b\n")
	for i := range 400 {
		x, e := float64(i%97)/97, float64(i*7919%101)/101-0.5
		fmt.Fprintf(&b, "%g,%d,%d,%g,%g\n", x, i/8, i%2*2, math.Sin(6*x)+0.2*e, 1000*x+50*e)
	}
	write(t, dir, "a.csv", b.String())
	must(t, dir, "train", "--data", "a.csv", "--label", "a,b", "--group_column", "g", "--weight_column", "w",
		"--features", "32", "--search", "none", "--model", "m")
	m, err := models.LoadURI(t.Context(), filepath.Join(dir, "m"))
	if err != nil {
		t.Fatal(err)
	}
	v := m.Manifest.Intervals
	if v == nil || len(v.Scores) != 2 || v.Groups < 5 || v.Groups > 20 || v.Rows != 4*v.Groups {
		t.Fatalf("%+v", v)
	}
	said := must(t, dir, "predict", "--model", "m", "--data", "a.csv", "--interval", "0.8", "--out", "-")
	want := "prediction_a,prediction_b,prediction_a_low,prediction_a_high,prediction_b_low,prediction_b_high\n"
	if !strings.HasPrefix(said, want) {
		t.Errorf("%.150s", said)
	}
	write(t, dir, "b.csv", strings.Replace(b.String(), "w,a,b", "w,a,a_low", 1))
	must(t, dir, "train", "--data", "b.csv", "--label", "a,a_low", "--features", "32", "--search", "none",
		"--model", "twice")
	twice := run(t, dir, "predict", "--model", "twice", "--data", "b.csv", "--interval", "0.8", "--out", "-")
	if twice.code != 2 || !strings.Contains(twice.stderr, "prediction_a_low") {
		t.Error(twice.code, twice.stderr)
	}
	r := run(t, dir, "predict", "--model", "m", "--data", "a.csv", "--interval", "0.99", "--out", "-")
	if r.code != 2 || !strings.Contains(r.stderr, "needs 99 held-out groups of rows") {
		t.Error(r.stderr)
	}
}
