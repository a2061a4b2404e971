package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/pipelines/registry"
)

// table is rows of text, to be cut into files in different ways.
type table struct {
	name   string
	header string   // line at the head of every file; "" for none
	rows   []string // lines, or records of several lines
	label  string   // column; "" where the format has its place
}

// cut describes how the rows of a table are divided into files.
type cut struct {
	files    int // 0 is 1
	shuffled bool
	gzip     bool
}

// write writes the table into a new directory and returns the flags to read it.
func (tb table) write(t *testing.T, c cut) []string {
	t.Helper()
	dir := t.TempDir()
	lines := slices.Clone(tb.rows)
	if c.shuffled {
		rand.New(rand.NewPCG(7, 7)).Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	}
	n := max(1, c.files)
	for i := range n {
		// The parts grow, so that no two have as many rows.
		from, to := len(lines)*i*(i+1)/(n*(n+1)), len(lines)*(i+1)*(i+2)/(n*(n+1))
		text := tb.header + strings.Join(lines[from:to], "")
		name := fmt.Sprintf("part-%d.txt", i)
		if c.gzip {
			var z bytes.Buffer
			w := gzip.NewWriter(&z)
			w.Write([]byte(text))
			w.Close()
			text, name = z.String(), name+".gz"
		}
		write(t, dir, name, text)
	}
	flags := []string{"--data", filepath.Join(dir, "part-*")}
	if tb.label != "" {
		flags = append(flags, "--label", tb.label)
	}
	return flags
}

// generated is a table of the program's own sample data.
func generated(t *testing.T, set string, n int) table {
	t.Helper()
	dir := t.TempDir()
	must(t, dir, "generate", set, "--rows", fmt.Sprint(n), "--out", "f")
	lines := strings.SplitAfter(read(t, dir, "f"), "\n")
	return table{name: set, header: lines[0], rows: lines[1 : n+1], label: "y"}
}

// quoted is moons with names for the classes, one of which has line breaks, and
// in the shape of rows at that.
func quoted(t *testing.T) table {
	tb := generated(t, "moons", 900)
	tb.name = "quoted newlines"
	for i, row := range tb.rows {
		row = strings.TrimSpace(row)
		if x, upper := strings.CutSuffix(row, ",1"); upper {
			row = x + ",\"the upper\n0.5,0.5,\"\"one\"\"\n\"\n"
		} else {
			row = strings.TrimSuffix(row, ",-1") + ",lower\n"
		}
		tb.rows[i] = row
	}
	return tb
}

// sparse is LIBSVM rows of three classes; only the last rows name the last
// columns, so that files differ in their largest index.
func sparse() table {
	r := rand.New(rand.NewPCG(1, 2))
	tb := table{name: "libsvm"}
	for i := range 700 {
		class := r.IntN(3)
		row := strconv.Itoa(class + 1)
		for j := 1; j <= 4+8*i/700; j++ {
			if r.IntN(3) > 0 {
				row += fmt.Sprintf(" %d:%.4g", j, r.NormFloat64()+float64(class)*float64(j%3))
			}
		}
		tb.rows = append(tb.rows, row+"\n")
	}
	return tb
}

// variant is a way to run the program that must not change what it makes.
type variant struct {
	name    string
	cut     cut
	env     []string
	args    []string
	readers int // that training must tell it took; 0 for any
}

const smallShards = "--shard_bytes=2000"

// variants change one thing each.
var variants = []variant{
	{name: "small shards", args: []string{smallShards}},
	{name: "prism, 1 reader", args: []string{"--runner", "prism", "--readers", "1", smallShards}, readers: 1},
	{name: "prism, 2 readers", args: []string{"--runner", "prism", "--readers", "2", smallShards}, readers: 2},
	{name: "prism, 4 readers", args: []string{"--runner", "prism", "--readers", "4", smallShards}, readers: 4},
	{name: "GOMAXPROCS=1", env: []string{"GOMAXPROCS=1"}},
	{name: "GOMAXPROCS=2", env: []string{"GOMAXPROCS=2"}},
	{name: "1 thread", args: []string{"--threads", "1"}},
	{name: "2 threads", args: []string{"--threads", "2"}},
	{name: "3 threads", args: []string{"--threads", "3"}},
	// A level that the machine does not have gives way to the best it has.
	{name: "plain Go", env: []string{"BOCHNER_CPU=go"}},
	{name: "AVX2", env: []string{"BOCHNER_CPU=avx2"}},
	{name: "AVX-512", env: []string{"BOCHNER_CPU=avx512"}},
	{name: "3 files", cut: cut{files: 3}},
	{name: "7 files", cut: cut{files: 7}, args: []string{smallShards}},
	{name: "gzip", cut: cut{gzip: true}},
}

// order changes the order of the rows.
var order = variant{name: "other order", cut: cut{shuffled: true}}

// share returns the i-th of n shares of a list: in the short form of the tests the ways
// to run a job are shared among those who would try each, so that together they try all.
// In the long form everyone gets the whole list.
func share[T any](list []T, i, n int) []T {
	if long() {
		return slices.Clone(list)
	}
	var some []T
	for ; i < len(list); i += n {
		some = append(some, list[i])
	}
	return some
}

// mixtures change several things.
var mixtures = []variant{
	{
		name: "prism over 7 shuffled files in plain Go", cut: cut{files: 7, shuffled: true},
		env: []string{"BOCHNER_CPU=go", "GOMAXPROCS=2"}, args: []string{"--runner", "prism", "--readers", "4", "--threads",
			"1"}, readers: 4,
	},
	{
		name: "3 compressed files over 2 readers", cut: cut{files: 3, gzip: true},
		env: []string{"GOMAXPROCS=1", "BOCHNER_CPU=avx2"}, args: []string{"--runner", "prism", "--readers", "2", "--threads",
			"2"}, readers: 2,
	},
}

// onOneCore is a mixture on the direct runner.
var onOneCore = variant{
	name: "7 shuffled files in small shards and 3 threads on one core", cut: cut{files: 7, shuffled: true},
	env: []string{"GOMAXPROCS=1"}, args: []string{"--threads", "3", smallShards},
}

// run runs a command in dir in a way, as a program of its own if the way has another environment.
func (v variant) run(t *testing.T, dir string, args ...string) result {
	t.Helper()
	args = append(args, v.args...)
	if v.env == nil {
		return run(t, dir, args...)
	}
	cmd := program(dir, args...)
	cmd.Env = append(os.Environ(), v.env...)
	return runCommand(t, cmd)
}

// train trains in a way and returns the files of the model.
func (v variant) train(t *testing.T, tb table, flags ...string) map[string]string {
	t.Helper()
	model := filepath.Join(t.TempDir(), "model")
	r := v.run(t, t.TempDir(), slices.Concat([]string{"train", "--model", model}, tb.write(t, v.cut), flags)...)
	if r.code != 0 {
		t.Fatalf("%s: exit code %d\n%s", v.name, r.code, r.stderr)
	}
	if want := fmt.Sprintf(" in each of %d reader", v.readers); v.readers > 0 && !strings.Contains(r.stderr, want) {
		t.Errorf("%s: did not take %d readers:\n%s", v.name, v.readers, r.stderr)
	}
	return files(t, model)
}

// files returns the content of all files in a directory, except the lineage of a model, which is about
// the files of the data.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range entries(t, dir) {
		if name != registry.LineageFile && name != "report.html" {
			out[name] = read(t, dir, name)
		}
	}
	return out
}

// same fails the test where two models differ.
func same(t *testing.T, what string, want, got map[string]string) {
	t.Helper()
	if want["weights.safetensors"] != got["weights.safetensors"] {
		t.Errorf("%s: other weights", what)
	}
	if d := cmp.Diff(want["manifest.json"], got["manifest.json"]); d != "" {
		t.Errorf("%s: other manifest: %s", what, d)
	}
	if len(want) != len(got) {
		t.Errorf("%s: %d files, want %d", what, len(got), len(want))
	}
}

func TestModelIsTheSameByteForByte(t *testing.T) {
	tables := []table{generated(t, "moons", 900), generated(t, "friedman", 600), sparse()}
	kernels := [][]string{
		{"--kernel", "gaussian", "--scale", "standard"},
		{"--kernel", "laplace", "--scale", "minmax"},
		{"--kernel", "cauchy", "--scale", "standard,unit", "--form", "offset"},
		{"--kernel", "matern", "--nu", "2.5", "--scale", "minmax", "--width", "scale"},
		{"--kernel", "maxout", "--q", "8", "--scale", "standard"},
	}
	ways := slices.Concat(variants, []variant{order}, mixtures)
	for i, tb := range tables {
		for k, kernel := range kernels {
			list := share(ways, i*len(kernels)+k, len(tables)*len(kernels))
			if long() || k%len(tables) == i {
				list = append(list, onOneCore)
			}
			t.Run(tb.name+" "+kernel[1], func(t *testing.T) {
				t.Parallel()
				flags := append([]string{"--features", "96"}, kernel...)
				want := variant{}.train(t, tb, flags...)
				if len(want["weights.safetensors"]) < 4*96 {
					t.Fatalf("a model of %d bytes of weights", len(want["weights.safetensors"]))
				}
				for _, v := range list {
					same(t, v.name, want, v.train(t, tb, flags...))
				}
			})
		}
	}
}

// A searched model has a learned metric, which is a file that workers read, and is the same byte for byte.
func TestSearchedModelIsTheSameByteForByte(t *testing.T) {
	tb := generated(t, "rotated", 420)
	flags := []string{"--search", "auto", "--features", "64"}
	want := variant{}.train(t, tb, flags...)
	if want["metric.safetensors"] == "" || want["search.json"] == "" {
		t.Fatal("no full metric was chosen")
	}
	ways := share(mixtures, 0, 2) // which are in another order
	if long() {
		ways = append(ways, onOneCore)
	}
	for _, v := range ways {
		same(t, v.name, want, v.train(t, tb, flags...))
	}
}

func TestFoldsDoNotChangeTheModelOfOneLambda(t *testing.T) {
	campaign.Long(t)
	for _, tb := range []table{generated(t, "moons", 900), generated(t, "friedman", 600), sparse()} {
		flags := []string{"--features", "64", "--lambda", "1e-5"}
		want := variant{}.train(t, tb, append(flags, "--folds", "1")...)
		for _, folds := range []string{"5", "7"} {
			got := variant{}.train(t, tb, append(flags, "--folds", folds)...)
			if want["weights.safetensors"] != got["weights.safetensors"] {
				t.Errorf("%s: other weights with %s folds", tb.name, folds)
			}
			if !strings.Contains(got["manifest.json"], `"folds": `+folds) {
				t.Errorf("%s: no sign of %s folds in the manifest", tb.name, folds)
			}
		}
		// So that equal weights mean something: another λ, seed or row gives others.
		for _, other := range [][]string{{"--lambda", "2e-5"}, {"--seed", "2"}} {
			got := variant{}.train(t, tb, append(flags, other...)...)
			if want["weights.safetensors"] == got["weights.safetensors"] {
				t.Errorf("%s: the same weights with %v", tb.name, other)
			}
		}
		fewer := tb
		fewer.rows = tb.rows[1:]
		if got := (variant{}).train(t, fewer, flags...); want["weights.safetensors"] == got["weights.safetensors"] {
			t.Errorf("%s: the same weights without the first row", tb.name)
		}
	}
}

// inQuotes counts the shards of a text that begin inside a quoted field.
func inQuotes(text string, size int) (n int) {
	shards := (len(text) + size - 1) / size
	step := (len(text) + shards - 1) / shards
	for at := step; at < len(text); at += step {
		if strings.Count(text[:at], `"`)%2 == 1 {
			n++
		}
	}
	return n
}

func TestCutsInsideQuotedFieldsDoNotAffectTheModel(t *testing.T) {
	tb := quoted(t)
	if n := inQuotes(tb.header+strings.Join(tb.rows, ""), 2000); n < 3 {
		t.Fatalf("only %d cuts fall inside quotes", n)
	}
	flags := []string{"--features", "96", "--kernel", "laplace", "--scale", "minmax"}
	want := variant{}.train(t, tb, flags...)
	if !strings.Contains(want["manifest.json"], `the upper\n0.5,0.5,\"one\"\n`) {
		t.Fatalf("the label with line breaks is not among the classes: %s", want["manifest.json"])
	}
	for _, v := range []variant{
		{name: "small shards", args: []string{smallShards}},
		// The file is read whole once the cuts have shown: that is one reader's work.
		{name: "prism", args: []string{smallShards, "--runner", "prism", "--readers", "4"}, readers: 1},
		{name: "7 files, other order", cut: cut{files: 7, shuffled: true},
			args: []string{"--shard_bytes=1000", "--runner", "prism", "--readers", "4"}, readers: 4},
		{name: "gzip", cut: cut{gzip: true}, args: []string{smallShards}},
	} {
		same(t, v.name, want, v.train(t, tb, flags...))
	}
}

// predict applies a model in a way, and returns the lines of all files in the
// order of the rows, without headers, and how many files there were.
func (v variant) predict(t *testing.T, model string, tb table, flags ...string) (lines []string, parts int) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	args := slices.Concat([]string{"predict", "--model", model, "--out", out}, tb.write(t, v.cut)[:2], flags)
	if r := v.run(t, t.TempDir(), args...); r.code != 0 {
		t.Fatalf("%s: exit code %d\n%s", v.name, r.code, r.stderr)
	}
	var about struct{ Parts []struct{ Names []string } }
	if err := json.Unmarshal([]byte(read(t, out, "manifest.json")), &about); err != nil {
		t.Fatal(err)
	}
	if len(entries(t, out)) != len(about.Parts)+1 {
		t.Errorf("%s: the directory has %v", v.name, entries(t, out))
	}
	for i, part := range about.Parts {
		text := read(t, out, part.Names[0])
		if strings.HasSuffix(part.Names[0], ".csv") {
			_, text, _ = strings.Cut(text, "\n")
		}
		lines = append(lines, strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")...)
		lines[len(lines)-1] += "\n"
		if i > 0 && about.Parts[i-1].Names[0] >= part.Names[0] {
			t.Errorf("%s: %s comes behind %s", v.name, part.Names[0], about.Parts[i-1].Names[0])
		}
	}
	return lines, len(about.Parts)
}

func TestPredictionsAreTheSameByteForByte(t *testing.T) {
	for i, tb := range []table{generated(t, "moons", 900), generated(t, "friedman", 600), sparse(), quoted(t)} {
		t.Run(tb.name, func(t *testing.T) {
			t.Parallel()
			model := filepath.Join(t.TempDir(), "model")
			must(t, t.TempDir(), slices.Concat([]string{"train", "--model", model, "--features", "96"}, tb.write(t, cut{}))...)
			flags := []string{"--scores", "--out_format", "jsonl"}
			want, parts := variant{}.predict(t, model, tb, flags...)
			if len(want) != len(tb.rows) || parts != 1 {
				t.Fatalf("%d predictions in %d files for %d rows", len(want), parts, len(tb.rows))
			}
			all := share(variants, i, 3)
			if tb.name == "quoted newlines" {
				all = []variant{{name: "small shards", args: []string{"--runner", "prism", "--readers", "4", smallShards}}}
			}
			for _, v := range all {
				got, parts := v.predict(t, model, tb, flags...)
				if !slices.Equal(want, got) {
					t.Errorf("%s: other predictions", v.name)
				}
				if slices.Contains(v.args, smallShards) && v.cut.files == 0 && tb.name != "quoted newlines" && parts < 4 {
					t.Errorf("%s: only %d files of predictions", v.name, parts)
				}
			}
			shuffled, _ := order.predict(t, model, tb, flags...)
			if slices.Equal(want, shuffled) {
				t.Error("shuffled rows gave predictions in the old order")
			}
			slices.Sort(shuffled)
			if !slices.Equal(slices.Sorted(slices.Values(want)), shuffled) {
				t.Error("other order: other predictions")
			}
		})
	}
}

func TestPredictionsInCSVMatchThoseInJSON(t *testing.T) {
	tb := generated(t, "friedman", 300)
	model := filepath.Join(t.TempDir(), "model")
	must(t, t.TempDir(), slices.Concat([]string{"train", "--model", model, "--features", "96"}, tb.write(t, cut{}))...)
	asJSON, _ := variant{}.predict(t, model, tb, "--out_format", "jsonl")
	asCSV, parts := variant{}.predict(t, model, tb, "--out_format", "csv", smallShards)
	if parts < 2 || len(asJSON) != 300 {
		t.Fatalf("%d predictions, %d files", len(asJSON), parts)
	}
	for i, line := range asCSV {
		asCSV[i] = `{"prediction":` + strings.TrimSpace(line) + "}\n"
	}
	if d := cmp.Diff(asJSON, asCSV); d != "" {
		t.Error(d)
	}
}
