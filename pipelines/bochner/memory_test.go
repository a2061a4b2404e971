//go:build linux

package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

// memoryTable writes a table of n rows of d numbers and a label, of which there are
// so many classes; 0 is a number.
func memoryTable(w io.Writer, n, d, classes int) {
	r := rand.New(rand.NewPCG(uint64(n), uint64(d)))
	b := bufio.NewWriter(w)
	defer b.Flush()
	for j := range d {
		fmt.Fprintf(b, "x%d,", j)
	}
	fmt.Fprintln(b, "y")
	var row []byte
	for i := range n {
		row = row[:0]
		for range d {
			v := r.Uint32()
			row = append(row, '0'+byte(v%10), '.', '0'+byte(v>>8%10), '0'+byte(v>>16%10), ',')
		}
		if classes > 0 {
			fmt.Fprintf(b, "%sc%d\n", row, i%classes)
		} else {
			fmt.Fprintf(b, "%s%.4f\n", row, r.NormFloat64())
		}
	}
}

// memoryNames writes n rows of CSV with a number that names one of so many things, three that measure, and a target.
func memoryNames(w io.Writer, n, things int) {
	r := rand.New(rand.NewPCG(uint64(n), uint64(things)))
	b := bufio.NewWriter(w)
	defer b.Flush()
	of := make([]float64, things)
	for i := range of {
		of[i] = r.NormFloat64()
	}
	fmt.Fprintln(b, "name,x0,x1,x2,y")
	for range n {
		name, x := r.IntN(things), r.NormFloat64()
		fmt.Fprintf(b, "%d,%.2f,%.2f,%.2f,%.4f\n", name, x, r.NormFloat64(), r.NormFloat64(), of[name]+x+0.1*r.NormFloat64())
	}
}

// memoryTexts writes n rows of CSV with a column of texts and d of numbers, no two of which are alike: a survey of them
// is as large as surveys become.
func memoryTexts(w io.Writer, n, d int) {
	r := rand.New(rand.NewPCG(uint64(n), uint64(d)))
	b := bufio.NewWriter(w)
	defer b.Flush()
	fmt.Fprint(b, "text,")
	for j := range d {
		fmt.Fprintf(b, "x%d,", j)
	}
	fmt.Fprintln(b, "y")
	for i := range n {
		fmt.Fprintf(b, "t%d,", i%7)
		for range d {
			fmt.Fprintf(b, "%.7f,", r.NormFloat64())
		}
		fmt.Fprintln(b, r.Float64())
	}
}

// memorySparse writes n rows of LIBSVM with 20 values each, in columns up to d, one of
// which is d.
func memorySparse(w io.Writer, n, d int) {
	r := rand.New(rand.NewPCG(uint64(n), uint64(d)))
	b := bufio.NewWriter(w)
	defer b.Flush()
	for i := range n {
		fmt.Fprint(b, i%2)
		for at, k := 0, 0; k < 20; k++ {
			at += 1 + r.IntN(d/21)
			fmt.Fprintf(b, " %d:%.2f", at, 0.01+r.Float64())
		}
		if i == n/2 {
			fmt.Fprintf(b, " %d:1", d)
		}
		fmt.Fprintln(b)
	}
}

// memoryData are the files that the trainings of memoryCases read.
var memoryData = map[string]func(io.Writer){
	"two.csv":      func(w io.Writer) { memoryTable(w, 3000, 4, 2) },
	"many.csv":     func(w io.Writer) { memoryTable(w, 150_000, 2, 2) },
	"names.csv":    func(w io.Writer) { memoryNames(w, campaign.Pick(2000, 3000), 600) },
	"texts.csv":    func(w io.Writer) { memoryTexts(w, campaign.Pick(10_000, 16_000), 50) },
	"number.csv":   func(w io.Writer) { memoryTable(w, 3000, 4, 0) },
	"hundred.csv":  func(w io.Writer) { memoryTable(w, 3000, 4, 100) },
	"thousand.csv": func(w io.Writer) { memoryTable(w, 4000, 4, 1000) },
	"deep.csv":     func(w io.Writer) { memoryTable(w, 20_000, 4, 1000) },
	"wide.csv":     func(w io.Writer) { memoryTable(w, 250, 8000, 2) },
	"sparse.svm":   func(w io.Writer) { memorySparse(w, 1500, 20_000) },
	"far.svm":      func(w io.Writer) { memorySparse(w, 60, 1_000_040) },
	"many.csv.gz": func(w io.Writer) {
		z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
		memoryTable(z, 150_000, 2, 2)
		z.Close()
	},
}

// memoryMore holds the memoryCases that the short form of the tests leaves out. The other 6 cases cover most of what
// they do.
var memoryMore = []string{
	"a search", "sparse, folds", "many classes, folds", "wide, structured", "svm of many classes", "features found",
	"a path", "many probabilities", "wide, as it is", "far columns", "many rows, packed", "numbers", "sgd of many classes",
	"sgd that keeps none", "maxout", "folds", "a small search", "probabilities", "many classes", "features found, game",
	"sgd", "many features",
}

// memoryCases are trainings by name: the file, and flags.
var memoryCases = map[string][2]string{
	"many features":       {"two.csv", "--features 3072 --lambda 1e-3"},
	"a search":            {"number.csv", "--search auto --features 2048"},
	"a small search":      {"names.csv", "--search auto --features 256"}, // with levels, which others do not have but may
	"stripes":             {"two.csv", "--features 2048 --lambda 1e-3 --folds 5 --worker_bytes 150000000"},
	"folds":               {"two.csv", "--features 1536 --lambda 1e-3 --folds 5"},
	"a path":              {"two.csv", "--features 2048 --lambda 1e-4,1e-2 --folds 3"},
	"probabilities":       {"two.csv", "--features 2048 --lambda 1e-3 --calibrate platt"},
	"numbers":             {"number.csv", "--features 2560 --lambda 1e-3"},
	"many classes":        {"thousand.csv", "--features 1536 --lambda 1e-3"},
	"many probabilities":  {"deep.csv", "--features 256 --lambda 1e-3 --calibrate isotonic --folds 2"},
	"many classes, folds": {"thousand.csv", "--features 768 --lambda 1e-3 --folds 3"},
	"wide":                {"wide.csv", "--features 1024 --lambda 1e-3"},
	"wide, structured":    {"wide.csv", "--features 1024 --lambda 1e-3 --draw structured"},
	"wide, as it is":      {"wide.csv", "--kernel linear --learner sgd --rounds 2 --lambda 1e-3"},
	"maxout":              {"wide.csv", "--kernel maxout --features 512 --lambda 1e-3"},
	"sparse":              {"sparse.svm", "--features 512 --lambda 1e-3"},
	"sparse, folds":       {"sparse.svm", "--features 256 --lambda 1e-3 --folds 5"},
	"far columns":         {"far.svm", "--features 8 --lambda 1e-3"},
	"types to find":       {"texts.csv", "--features 64 --lambda 1e-3"},
	"many rows":           {"many.csv", "--features 256 --lambda 1e-3"},
	"many rows, packed":   {"many.csv.gz", "--features 256 --lambda 1e-3"},
	"svm":                 {"two.csv", "--features 4096 --learner svm --lambda 1e-3 --rounds 2"},
	"svm of many classes": {"hundred.csv", "--features 1024 --learner svm --lambda 1e-3 --rounds 1"},
	"sgd":                 {"two.csv", "--features 8192 --learner sgd --lambda 1e-3 --rounds 2"},
	"sgd of many classes": {"hundred.csv", "--features 2048 --learner sgd --lambda 1e-3 --rounds 1 --rate 0.1"},
	"sgd that keeps none": {"hundred.csv",
		"--features 4096 --learner sgd --lambda 1e-3 --rounds 1 --keep_bytes 0 --rate 0.1"},
	"features found":       {"two.csv", "--kernel learned --align lkrf --features 2048 --lambda 1e-3"},
	"features found, game": {"two.csv", "--kernel learned --features 1024 --chains 50 --steps 5 --take 256 --lambda 1e-3"},
}

// The planned memory is enough for training, and not much more than training takes.
func TestPlanBoundsTraining(t *testing.T) {
	if n := len(memoryCases) - len(memoryMore); n != 6 {
		t.Errorf("the short form has %d trainings, want 6", n)
	}
	dir := t.TempDir()
	var cases []string
	files := map[string]bool{}
	for name, c := range memoryCases {
		if long() || !slices.Contains(memoryMore, name) {
			cases, files[c[0]] = append(cases, name), true
		}
	}
	for name := range files {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		memoryData[name](f)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range cases {
		c := memoryCases[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := t.TempDir()
			args := append([]string{"train", "--quiet", "--data", c[0], "--model", out + "/model"}, strings.Fields(c[1])...)
			if strings.Contains(c[0], ".csv") {
				args = append(args, "--label", "y")
			}
			var plan struct {
				Peak int64 `json:"bytes_peak"`
			}
			if err := json.Unmarshal([]byte(must(t, dir, append(args, "--plan", "--json")...)), &plan); err != nil {
				t.Fatal(err)
			}
			boundsPeak(t, plan.Peak, func(try int) *exec.Cmd {
				args[slices.Index(args, "--model")+1] = fmt.Sprint(out, "/model", try)
				return program(dir, args...)
			})
		})
	}
}

// boundsPeak checks that a plan is enough, and not much more than what is taken. What a process takes
// at most depends on when its garbage is collected: where a run takes too much or too little, most of
// five may not take more than 1.15 times the plan and 16 MB, by which the smallest programs grow on a
// loaded machine, and one must take two thirds of it.
func boundsPeak(t *testing.T, plan int64, run func(try int) *exec.Cmd) {
	t.Helper()
	limit := plan*115/100 + 16<<20
	var peaks []int64
	for try := range 5 {
		r, peak := runMeasured(t, run(try))
		if r.code != 0 {
			t.Fatalf("exit code %d: %s", r.code, r.stderr)
		}
		peaks = append(peaks, peak)
		if most := slices.Max(peaks); most <= limit && 3*most >= 2*plan {
			break
		}
	}
	slices.Sort(peaks)
	middle, most := peaks[len(peaks)/2], slices.Max(peaks)
	t.Logf("plan %d MB, %d runs, peak %d MB, in the middle %d MB, ratio %.2f", plan/1e6, len(peaks), most/1e6, middle/1e6,
		float64(plan)/float64(most))
	if middle > limit || 3*most < 2*plan {
		t.Errorf("plan %d MB, peak %d MB, in the middle %d MB; want a peak of at least two thirds of the plan, and at most %d MB in the middle",
			plan/1e6, most/1e6, middle/1e6, limit/1e6)
	}
}

// runMeasured is runWatched with the peak in bytes. It takes the peak from wait4, which misses
// nothing, unless that could be the peak of this process, which started the program.
func runMeasured(t *testing.T, cmd *exec.Cmd) (result, int64) {
	t.Helper()
	r, watched := runWatched(t, cmd)
	peak := int64(watched) << 20
	own := int64(0)
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		_, rest, _ := strings.Cut(string(status), "VmHWM:")
		fmt.Sscan(rest, &own)
	}
	if kib := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss; kib > own {
		peak = kib << 10
	}
	return r, peak
}

func TestPlanBoundsEmbedding(t *testing.T) {
	campaign.Long(t)
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "d.csv"))
	if err != nil {
		t.Fatal(err)
	}
	memoryTable(f, 3000, 4, 0)
	f.Close()
	args := []string{"embed", "--data", "d.csv", "--features", "2048", "--components", "3"}
	for _, labels := range [][]string{nil, {"--label",
		"y"}} { // the labels are a column of numbers as others are, or nothing
		args := slices.Concat(args, labels)
		if said := must(t, dir, append(args, "--plan")...); !strings.Contains(said, "2048 features, 3 components\n") ||
			strings.Contains(said, "output") {
			t.Errorf("the plan says\n%s", said)
		}
		var plan struct {
			Peak   int64 `json:"bytes_peak"`
			Passes int
		}
		if err := json.Unmarshal([]byte(must(t, dir, append(args, "--plan", "--json")...)), &plan); err != nil {
			t.Fatal(err)
		}
		if got := entries(t, dir); len(got) != 1 {
			t.Errorf("a plan has made %v", got)
		}
		if plan.Passes != 2 {
			t.Errorf("%d passes", plan.Passes)
		}
		boundsPeak(t, plan.Peak, func(int) *exec.Cmd {
			return program(dir, append(args, "--quiet", "--model", filepath.Join(t.TempDir(), "m"))...)
		})
	}
}

func TestPlanBoundsFit(t *testing.T) {
	campaign.Long(t)
	dir := t.TempDir()
	rows := 0
	for i := range 3 {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%d.csv", i)))
		if err != nil {
			t.Fatal(err)
		}
		memoryTable(f, 3000+i, 4, 0)
		f.Close()
		rows += 3000 + i
	}
	must(t, dir, "train", "--data", "*.csv", "--label", "y", "--features", "1536", "--folds", "3", "--lambda", "1e-4,1e-2",
		"--model", "m", "--quiet")
	for i := range 3 {
		must(t, dir, "sum", "--recipe", "m", "--data", fmt.Sprintf("%d.csv", i), "--out", fmt.Sprint("sums/", i), "--quiet")
	}
	var plan struct {
		Peak int64 `json:"bytes_peak"`
		Rows int
	}
	if err := json.Unmarshal([]byte(must(t, dir, "fit", "--sums", "sums/*", "--model", "fitted", "--plan", "--json")),
		&plan); err != nil {
		t.Fatal(err)
	}
	if plan.Rows != rows {
		t.Errorf("%d rows, want %d", plan.Rows, rows)
	}
	boundsPeak(t, plan.Peak, func(try int) *exec.Cmd {
		return program(dir, "fit", "--sums", "sums/*", "--model", fmt.Sprint("fitted", try), "--quiet")
	})
}
