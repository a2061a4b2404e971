package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/realdata"
)

// covered is how intervals or sets did on rows that a model was not trained on.
type covered struct {
	inside, width float64 // share, and mean width or number of classes
	novel         float64 // share inside among the tenth of the rows with the largest novelty
}

// coverage applies the model of dir to the file of labelled rows and compares what it predicts with the labels,
// the last fields of their lines.
func coverage(t *testing.T, dir, model, file string, header bool, flags ...string) (c covered) {
	t.Helper()
	os.RemoveAll(filepath.Join(dir, "said"))
	must(t, dir, append([]string{"predict", "--model", model, "--data", file, "--interval", "0.9", "--novelty", "--quiet",
		"--out", "said"}, flags...)...)
	records, err := csv.NewReader(strings.NewReader(read(t, dir, "said", "part-00000.csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(read(t, dir, file)), "\n")
	if header {
		lines = lines[1:]
	}
	if len(lines) != len(records)-1 {
		t.Fatalf("%d predictions of %d rows", len(records)-1, len(lines))
	}
	type row struct{ inside, novelty float64 }
	rows := make([]row, len(lines))
	number := func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for i, line := range lines {
		said := records[i+1]
		truth := strings.TrimSpace(line[strings.LastIndexAny(line, ",\t")+1:])
		rows[i].novelty = number(said[len(said)-1])
		if len(said) == 3 { // prediction, set, novelty
			set := strings.Split(said[1], "|")
			c.width += float64(len(set)) / float64(len(rows))
			if !slices.Contains(set, said[0]) {
				t.Fatalf("row %d: the prediction %s is not in the set %s", i, said[0], said[1])
			}
			if slices.Contains(set, truth) {
				rows[i].inside = 1
			}
			continue
		}
		y, low, high := number(truth), number(said[1]), number(said[2])
		c.width += (high - low) / float64(len(rows))
		if low <= y && y <= high {
			rows[i].inside = 1
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(b.novelty, a.novelty) })
	tenth := len(rows) / 10
	for i, r := range rows {
		c.inside += r.inside / float64(len(rows))
		if i < tenth {
			c.novel += r.inside / float64(tenth)
		}
	}
	return c
}

// coverTable is a table whose rows a seed draws: files of rows to train on and to test with.
type coverTable struct {
	name   string
	draw   func(t *testing.T, dir string, seed int)
	header bool
	flags  []string // to read it
	train  []string
}

// simulated returns a table of lines with numbers that a function makes, the last of them y.
func simulated(name string, train, test int, row func(rng *rand.Rand) []float64) coverTable {
	labels := []string{"--label", "y"}
	return coverTable{name: name, header: true, train: labels, draw: func(t *testing.T, dir string, seed int) {
		for i, n := range []int{train, test} {
			rng := rand.New(rand.NewPCG(uint64(seed), uint64(i+1)))
			file := []string{"train.csv", "test.csv"}[i]
			write(t, dir, file, numericLines(n, func() []float64 { return row(rng) }))
		}
	}}
}

func numericLines(n int, row func() []float64) string {
	var b strings.Builder
	for i := range n {
		v := row()
		if i == 0 {
			for j := range len(v) - 1 {
				fmt.Fprintf(&b, "x%d,", j+1)
			}
			b.WriteString("y\n")
		}
		for j, x := range v {
			if j > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strconv.FormatFloat(x, 'g', 9, 64))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// friedman is a row of Friedman's first problem, whose noise has a standard deviation that the columns may
// decide.
func friedman(rng *rand.Rand, noise func(x []float64) float64) []float64 {
	x := make([]float64, 11)
	for j := range 10 {
		x[j] = rng.Float64()
	}
	x[10] = 10*math.Sin(math.Pi*x[0]*x[1]) + 20*(x[2]-.5)*(x[2]-.5) + 10*x[3] + 5*x[4] + noise(x)*rng.NormFloat64()
	return x
}

// sampled returns a table of lines of real data, of which each seed takes others.
func sampled(t *testing.T, name string, train, test int, header bool, flags []string, file ...string) coverTable {
	lines := strings.Split(strings.TrimSpace(string(realdata.Read(t, file...))), "\n")
	head := ""
	if header {
		head, lines = lines[0]+"\n", lines[1:]
	}
	return coverTable{name: name, header: header, flags: flags, draw: func(t *testing.T, dir string, seed int) {
		order := rand.New(rand.NewPCG(uint64(seed), 3)).Perm(len(lines))
		for file, at := range map[string][]int{"train.csv": order[:train], "test.csv": order[train:][:test]} {
			var b strings.Builder
			b.WriteString(head)
			for _, i := range at {
				b.WriteString(lines[i] + "\n")
			}
			write(t, dir, file, b.String())
		}
	}}
}

// means returns the coverage of a table over seeds, by models that are trained with the flags.
func (tb coverTable) means(t *testing.T, seeds int, flags ...string) (mean covered, se float64) {
	t.Helper()
	var squares float64
	for seed := range seeds {
		dir := t.TempDir()
		tb.draw(t, dir, seed)
		must(t, dir, slices.Concat([]string{"train", "--data", "train.csv", "--model", "model", "--quiet", "--search", "none",
			"--seed", fmt.Sprint(seed + 1)}, tb.flags, tb.train, flags)...)
		c, n := coverage(t, dir, "model", "test.csv", tb.header, tb.flags...), float64(seeds)
		mean.inside += c.inside / n
		mean.width += c.width / n
		mean.novel += c.novel / n
		squares += c.inside * c.inside
	}
	n := float64(seeds)
	return mean, math.Sqrt(max(0, squares/n-mean.inside*mean.inside) / max(1, n-1))
}

func one([]float64) float64    { return 1 }
func ramp(x []float64) float64 { return 0.3 + 2*x[5] }

// Intervals and sets for 90% contain 90% of the targets and classes of new rows, over tables and seeds. With
// BOCHNER_LONG=1 these are many, and the log is the table of docs/evaluating.md.
func TestIntervalsCoverTheirConfidence(t *testing.T) {
	long := long()
	same := func(rng *rand.Rand) []float64 { return friedman(rng, one) }
	if !long {
		m, se := simulated("friedman", 800, 1000, same).means(t, 5, "--features", "192")
		if math.Abs(m.inside-0.9) > 0.01+4*max(se, 0.005) {
			t.Errorf("intervals for 90%% contain %.4f ± %.4f", m.inside, se)
		}
		return
	}
	tables := []coverTable{
		simulated("friedman, 1,000 rows", 1000, 2000, same),
		simulated("friedman, 3,000 rows", 3000, 2000, same),
		simulated("noise by a column, 2,000 rows", 2000, 2000, func(rng *rand.Rand) []float64 { return friedman(rng, ramp) }),
	}
	for _, rows := range []int{1000, 3000} {
		tables = append(tables, sampled(t, fmt.Sprintf("houses, %d rows", rows), rows, 2000, true,
			[]string{"--label", "target"}, "csv", "houses.tsv.gz"))
	}
	classes := []string{"--header", "no", "--label", "15"}
	adult := sampled(t, "adult, sets, 3,000 rows", 3000, 2000, false, classes, "csv", "adult-train.csv.gz")
	t.Log("| table | intervals | coverage | ± | mean width | coverage of the most novel tenth |")
	for _, tb := range append(tables, adult) {
		kinds := []string{"scaled", "plain"}
		flags := []string{"--features", "256"}
		if tb.name == adult.name {
			kinds, flags = kinds[:1], append(flags, "--calibrate", "platt")
		}
		for _, kind := range kinds {
			m, se := tb.means(t, 24, append(flags, "--intervals", kind)...)
			t.Logf("| %s | %s | %.2f%% | %.2f%% | %.4g | %.1f%% |", tb.name, kind, 100*m.inside, 100*se, m.width, 100*m.novel)
			if math.Abs(m.inside-0.9) > 0.01 {
				t.Errorf("%s: %s intervals for 90%% contain %.4f ± %.4f", tb.name, kind, m.inside, se)
			}
		}
	}
}

// grouped rows: y has an effect of the group, and three columns are the group's.
func groupedRows(rng *rand.Rand, groups, size, first int) (text string) {
	rows := make(chan []float64, groups*size)
	for g := range groups {
		own, effect := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}, 3*rng.NormFloat64()
		for range size {
			x := friedman(rng, one)
			rows <- append(append([]float64{float64(first + g)}, append(own, x[:5]...)...), x[10]+effect)
		}
	}
	return strings.Replace(numericLines(groups*size, func() []float64 { return <-rows }), "x1,", "group,", 1)
}

// moving rows: in the order of time, the mean of y moves by drift from the first to the last of n.
func movingRows(rng *rand.Rand, from, to, n int, drift float64) string {
	at := from
	return strings.Replace(numericLines(to-from, func() []float64 {
		x := friedman(rng, one)
		x[10] += drift * float64(at) / float64(n)
		at++
		return append([]float64{float64(at)}, x...)
	}), "x1,", "time,", 1)
}

// If new rows differ from the held-out ones, coverage is lower: without --group_column for rows of new groups,
// and for later rows whose mean moves, though less so with --time_split. The log has the figures.
func TestCoverageOfGroupsAndDrift(t *testing.T) {
	campaign.Long(t)
	seeds := 2
	if long() {
		seeds = 24
	}
	grouped := coverTable{header: true, flags: []string{"--label", "y"}, draw: func(t *testing.T, dir string, seed int) {
		rng := rand.New(rand.NewPCG(uint64(seed), 4))
		write(t, dir, "train.csv", groupedRows(rng, 100, 10, 0))
		write(t, dir, "test.csv", groupedRows(rng, 100, 10, 100))
	}}
	moving := coverTable{header: true, flags: []string{"--label", "y"}, draw: func(t *testing.T, dir string, seed int) {
		rng := rand.New(rand.NewPCG(uint64(seed), 5))
		write(t, dir, "train.csv", movingRows(rng, 0, 1000, 1250, 6))
		write(t, dir, "test.csv", movingRows(rng, 1000, 1250, 1250, 6))
	}}
	of := map[string]float64{}
	for _, c := range []struct {
		name  string
		table coverTable
		flags []string
	}{
		{"groups, held out row by row", grouped, []string{"--drop", "group"}},
		{"groups, held out whole", grouped, []string{"--group_column", "group"}},
		{"moving mean, held out at random", moving, []string{"--drop", "time"}},
		{"moving mean, last rows held out", moving, []string{"--time_column", "time", "--time_split"}},
	} {
		m, se := c.table.means(t, seeds, append(c.flags, "--features", "192")...)
		of[c.name] = m.inside
		t.Logf("| %s | %.2f%% | %.2f%% | %.4g |", c.name, 100*m.inside, 100*se, m.width)
	}
	if a, b := of["groups, held out row by row"], of["groups, held out whole"]; a > b-0.03 || b < 0.88 {
		t.Errorf("of new groups %.3f are covered with rows held out one by one, %.3f with whole groups", a, b)
	}
	if a, b := of["moving mean, held out at random"], of["moving mean, last rows held out"]; a > b-0.02 {
		t.Errorf("of later rows %.3f are covered by random rows, %.3f by the last", a, b)
	}
}
