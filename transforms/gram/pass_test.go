package gram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/prismtest"
	"github.com/bochner-ml/bochner/io/csvio"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/transforms"
)

// table returns lines of 3 numbers and a class, some of them alike.
func table(n int) []string { return labelledTable(n, false) }

// labelledTable is table for classes or targets.
func labelledTable(n int, regression bool) []string {
	rng := rand.New(rand.NewPCG(5, 5))
	lines := make([]string, n)
	for i := range lines {
		y := fmt.Sprint(rng.IntN(3))
		if regression {
			y = fmt.Sprintf("%.3f", rng.Float64()*4-2)
		}
		lines[i] = fmt.Sprintf("%.4f,%.4f,%.4f,%s", rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), y)
		if i%10 == 9 {
			lines[i] = lines[i-1]
		}
	}
	return lines
}

// passOf opens lines with classes, cut to files of some sizes, as a ridge pass.
func passOf(t testing.TB, lines []string, files int) *Pass {
	t.Helper()
	return labelledPass(t, lines, files, false)
}

// labelledPass is passOf for classes or targets.
func labelledPass(t testing.TB, lines []string, files int, regression bool) *Pass {
	t.Helper()
	dir := t.TempDir()
	for f := range files {
		part := lines[f*len(lines)/files : (f+1)*len(lines)/files]
		name := filepath.Join(dir, fmt.Sprintf("%03d.csv", f))
		if err := os.WriteFile(name, []byte(strings.Join(part, "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	d, err := dataset.Open(context.Background(),
		dataset.Options{Files: []string{dir + "/*"}, Label: "-1",
			Formats: []dataset.FormatOptions{csvio.Options{Header: csvio.Absent}}})
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := features.Seal(fourier.Gaussian{In: 3, Out: 64, Width: 2, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	p := &Pass{
		Pass: transforms.Pass{Data: *d, Mode: dataset.FailFast, Seed: 11,
			Target: &transforms.Labeling{Classes: schema.NewVocabulary([]string{"0", "1", "2"})}},
		Spec: Spec{Recipe: sealed, Outputs: 3, FoldPlan: ridge.FoldPlan{Folds: 4}, Steps: 127,
			SolveOptions: SolveOptions{LambdaSearch: ridge.LambdaSearch{Lambda: []float64{1e-3, 1e-2}}}},
	}
	if regression {
		p.Target, p.Spec.Outputs = &transforms.Labeling{Grid: linear.Grids{{Low: -2, High: 2}}}, 1
	}
	return p
}

// sumParts runs the pass and returns the merged parts, one after the other, and where they are; their
// checksums, and the State.
func sumParts(t *testing.T, p *Pass, shardBytes int64, runner string, sc transforms.Scan) ([]byte, State) {
	t.Helper()
	ctx, dir := context.Background(), t.TempDir()
	p.Shards = p.Data.Shards(shardBytes)
	uri, err := transforms.StorePass(ctx, dir, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	st := State{Dir: dir, Reports: at("reports"), Sum: at("sum"), FitReport: at("fit"), Weights: at("weights"),
		Trials: at("trials"), Sketch: at("spread")}
	sc.Pass = uri
	pipeline, s := beam.NewPipelineWithRoot()
	parts, reports := Sums(s, sc, st)
	transforms.Write(s, st.FitReport, Solve(s, sc, st, Index(s, sc, st, Merge(s, sc, st, parts), reports)))
	if _, err := prismtest.Runners[runner](ctx, pipeline); err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, run := range readRuns(t, st, p.Spec.Folds, p.Shape(64)) {
		if err := run.each(ctx, dir, func(_ int, part []byte) error { all = append(all, part...); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	return all, st
}

func readRuns(t *testing.T, st State, folds int, shape ridge.Shape) []storedRun {
	t.Helper()
	index, err := storage.ReadState(context.Background(), st.Sum, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	runs, err := readIndex(index, folds*shape.NumParts())
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

// The sums and the weights are the same, bit for bit, for every cut of the data and assignment to workers.
func TestSumsDoNotDependOnHowTheWorkIsCut(t *testing.T) {
	for _, regression := range []bool{false, true} {
		lines := labelledTable(3000, regression)
		want, st := sumParts(t, labelledPass(t, lines, 1, regression), 1<<30, "direct",
			transforms.Scan{Readers: 1, Threads: 1})
		fit, weights := readFile(t, st.FitReport), readFile(t, st.Weights)
		shuffled := append([]string(nil), lines...)
		rand.New(rand.NewPCG(1, 1)).Shuffle(len(shuffled),
			func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		for i, c := range []struct {
			name   string
			lines  []string
			files  int
			bytes  int64
			runner string
			scan   transforms.Scan
		}{
			{"threads", lines, 1, 1 << 30, "direct", transforms.Scan{Readers: 1, Threads: 3}},
			{"shards", lines, 1, 10_000, "direct", transforms.Scan{Readers: 1, Threads: 1}},
			{"many files", lines, 17, 1 << 30, "direct", transforms.Scan{Readers: 1, Threads: 1}},
			{"readers", lines, 3, 9_000, "direct", transforms.Scan{Readers: 5, Threads: 1}},
			{"prism", lines, 3, 9_000, "prism", transforms.Scan{Readers: 3, Threads: 2}},
			{"reshuffled", lines, 3, 9_000, "direct", transforms.Scan{Readers: 4, Threads: 1, Reshuffle: true}},
			{"reshuffled on prism", lines, 3, 9_000, "prism", transforms.Scan{Readers: 4, Threads: 1, Reshuffle: true}},
			{"split on prism", lines, 3, 9_000, "prism",
				transforms.Scan{Readers: 2, Threads: 1, Reshuffle: true, Split: true, Checkpoint: -1}},
			{"stripes of folds", lines, 3, 9_000, "direct", transforms.Scan{Readers: 2, Threads: 1, Stripes: 3}},
			{"stripes in folds", lines, 3, 9_000, "direct", transforms.Scan{Readers: 1, Threads: 2, Stripes: 12}},
			{"stripes on prism", lines, 3, 9_000, "prism", transforms.Scan{Readers: 2, Threads: 1, Stripes: 8}},
			{"reshuffled stripes", lines, 3, 9_000, "prism",
				transforms.Scan{Readers: 2, Threads: 1, Stripes: 4, Reshuffle: true, Split: true, Checkpoint: -1}},
			{"order", shuffled, 2, 5_000, "prism", transforms.Scan{Readers: 2, Threads: 1}},
		} {
			if !campaign.Whole() && (i%2 == 0) == regression { // each way once
				continue
			}
			got, st := sumParts(t, labelledPass(t, c.lines, c.files, regression), c.bytes, c.runner, c.scan)
			if !bytes.Equal(got, want) {
				t.Errorf("%s: other sums", c.name)
			}
			if !bytes.Equal(readFile(t, st.FitReport), fit) || !bytes.Equal(readFile(t, st.Weights), weights) {
				t.Errorf("%s: other weights", c.name)
			}
		}
		other, _ := sumParts(t, labelledPass(t, lines[1:], 1, regression), 1<<30, "direct",
			transforms.Scan{Readers: 1, Threads: 1})
		if bytes.Equal(other, want) {
			t.Error("a row less gives the same sums: the comparison sees nothing")
		}
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The fold of a row depends on its numbers and the seed only.
func TestFoldOfARowDependsOnItsContent(t *testing.T) {
	const n = 2000
	lines := table(n)
	p := passOf(t, lines, 4)
	_, st := sumParts(t, p, 7000, "direct", transforms.Scan{Readers: 1, Threads: 1})
	shape := p.Shape(64)
	runs := readRuns(t, st, 4, shape)
	want := make([]float64, 4)
	for _, line := range lines {
		var x [3]float32
		fmt.Sscanf(strings.ReplaceAll(line, ",", " "), "%f %f %f", &x[0], &x[1], &x[2])
		want[profile.RowHash(11, x[:])%4]++
	}
	for f := range want {
		head, err := loadPart(context.Background(), st.Dir, runs, f*shape.NumParts())
		if err != nil {
			t.Fatal(err)
		}
		if head[0] != want[f] {
			t.Errorf("fold %d has %g rows, want %g", f, head[0], want[f])
		}
		if sd := 19.4; want[f] < n/4-6*sd || want[f] > n/4+6*sd { // √(n·¼·¾), with a row in five doubled
			t.Errorf("fold %d has %g of %d rows", f, want[f], n)
		}
	}
}

func TestResolveMakesTheSameModelFromTheSums(t *testing.T) {
	ctx := context.Background()
	p := passOf(t, table(1000), 1)
	_, st := sumParts(t, p, 1<<30, "direct", transforms.Scan{Readers: 1, Threads: 1})
	uri, err := transforms.StorePass(ctx, st.Dir, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	weights, fit := readFile(t, st.Weights), readFile(t, st.FitReport)
	again := st
	again.FitReport, again.Weights = st.FitReport+"2", st.Weights+"2"
	pipeline, s := beam.NewPipelineWithRoot()
	sc := transforms.Scan{Pass: uri, Readers: 1, Threads: 1}
	transforms.Write(s, again.FitReport, Solve(s, sc, again, beam.Impulse(s)))
	if _, err := prismtest.Runners["direct"](ctx, pipeline); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(readFile(t, again.FitReport), fit) || !bytes.Equal(readFile(t, again.Weights), weights) {
		t.Error("another model")
	}
	var report FitReport
	if fit, err = storage.ReadState(ctx, st.FitReport, 1<<30); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(fit, &report); err != nil || report.Rows != 1000 || len(report.Table) != 2 {
		t.Errorf("%s: %v", fit, err)
	}
}

func TestDamagedPartsAndIndexesAreFound(t *testing.T) {
	ctx := context.Background()
	p := passOf(t, table(200), 1)
	_, st := sumParts(t, p, 1<<30, "direct", transforms.Scan{Readers: 1, Threads: 1})
	runs, n := readRuns(t, st, 4, p.Shape(64)), 4*p.Shape(64).NumParts()
	index, err := storage.ReadState(ctx, st.Sum, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(index, []byte("\n"))
	for name, damaged := range map[string][]byte{
		"a part missing": bytes.Join(lines[1:], nil),
		"a part twice":   bytes.Join(append(lines[1:len(lines):len(lines)], append([]byte("\n"), lines[1]...)), nil),
		"no JSON":        append([]byte("{\n"), index...),
		"empty":          nil,
		"no places":      bytes.ReplaceAll(index, []byte(`"at":`), []byte(`"was":`)),
		"too long":       bytes.ReplaceAll(index, []byte(`]`), []byte(`,9000000000]`)),
		"backwards":      bytes.ReplaceAll(index, []byte(`]`), []byte(`,0]`)),
	} {
		if _, err := readIndex(damaged, n); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	whole, err := loadPart(ctx, st.Dir, runs, 1)
	if err != nil {
		t.Fatal(err)
	}
	sum := make([]float64, len(whole))
	to := func(key int) []float64 {
		if key == 1 {
			return sum
		}
		values, err := loadPart(ctx, st.Dir, runs, key)
		if err != nil {
			t.Error(err)
		}
		return values
	}
	for range 2 {
		if err := addAll(ctx, st.Dir, runs[:1], 2, to); err != nil {
			t.Fatal(err)
		}
	}
	for i, v := range whole {
		if sum[i] != 2*v {
			t.Fatalf("a part that is added twice: %g at %d, want twice %g", sum[i], i, v)
		}
	}
	if err := addAll(ctx, st.Dir, runs[:1], 2, func(int) []float64 { return whole[:1] }); err == nil ||
		!strings.Contains(err.Error(), "--resume") {
		t.Errorf("a part of another length: %v", err)
	}
	name := filepath.Join(st.Dir, runs[0].File)
	data := readFile(t, name)
	for how, damaged := range map[string][]byte{
		"changed": append(append(data[:runs[0].At[2]-1:runs[0].At[2]-1], data[runs[0].At[2]-1]^1), data[runs[0].At[2]:]...),
		"cut off": data[:runs[0].At[1]+1],
		"empty":   nil,
	} {
		if err := os.WriteFile(name, damaged, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := loadPart(ctx, st.Dir, runs, 1); !errors.Is(err, storage.ErrDamaged) {
			t.Errorf("a part that is %s: %v", how, err)
		}
		if err := addAll(ctx, st.Dir, runs, 2, func(key int) []float64 { return make([]float64, len(whole)) }); err == nil {
			t.Errorf("a part that is %s after it was sound: no error", how)
		}
	}
}

// Rows of the last fold are those that a finer cut has in all later folds.
func TestCutFinerThanTheFoldsLeavesTheRestToTheLast(t *testing.T) {
	plain, cut := &Spec{FoldPlan: ridge.FoldPlan{Folds: 5}}, &Spec{FoldPlan: ridge.FoldPlan{Folds: 2, Cut: 5}}
	for h := range uint64(1000) {
		if got := plain.SumOf(h); got != int(h%5) {
			t.Fatalf("hash %d is in fold %d of 5", h, got)
		}
		if got := cut.SumOf(h); got != min(1, int(h%5)) {
			t.Fatalf("hash %d is in fold %d of 2", h, got)
		}
	}
}
