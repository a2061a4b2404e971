package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"
)

// paperLearned is Table 1 of Bullins, Zhang and Zhang ("Not-So-Random Features", ICLR 2018):
// test accuracy in percent, by task and number of features, of random Fourier features, of those
// of Sinha and Duchi, and of learned ones.
var paperLearned = map[string]map[int][3]float64{
	"MNIST 1-7": {100: {97.42, 97.60, 99.05}, 500: {99.02, 98.95, 99.28}, 1000: {99.10, 99.05, 99.45},
		2000: {99.42, 99.21, 99.63}, 5000: {99.31, 99.37, 99.65}},
	"MNIST 4-9": {100: {87.72, 88.42, 93.02}, 500: {94.11, 93.99, 96.31}, 1000: {96.95, 95.88, 97.68},
		2000: {97.36, 97.18, 98.72}, 5000: {98.08, 97.76, 99.01}},
	"MNIST 5-6": {100: {91.96, 92.78, 96.62}, 500: {97.63, 97.60, 98.67}, 1000: {97.85, 97.85, 99.18},
		2000: {98.51, 98.36, 99.32}, 5000: {98.82, 98.54, 99.64}},
	"CIFAR plane-bird": {100: {71.75, 73.30, 81.80}, 500: {78.30, 78.80, 82.15}, 1000: {79.85, 79.85, 83.00}},
	"CIFAR auto-truck": {100: {69.70, 71.89, 84.80}, 500: {75.75, 77.33, 85.90}, 1000: {82.55, 83.62, 86.00}},
	"CIFAR dog-frog":   {100: {70.80, 70.75, 81.95}, 500: {79.95, 78.95, 84.05}, 1000: {81.25, 81.25, 85.40}},
	"CIFAR auto-ship":  {100: {70.85, 70.55, 81.00}, 500: {78.00, 77.90, 83.70}, 1000: {79.15, 79.55, 84.40}},
	"CIFAR auto-deer":  {100: {84.65, 84.85, 92.40}, 500: {90.00, 89.75, 93.60}, 1000: {91.85, 91.05, 93.55}},
}

// paperTrials is the number of trials over which the paper's figures are means.
const paperTrials = 10

// methods holds the methods in the order of the table.
var methods = []string{"RBF", "LKRF", "learned"}

// game holds the options of the game, and of the machines that judge its features.
type game struct {
	parts                 string
	rows                  []int   // numbers of rows of generated sets; empty for the default of the part
	chains, steps, sample int     // of the search; 0, as for rate, for the default of the part
	rate                  float64 // of the dual weights
	alternations          int     // of a projection; 0 for exact ones
	c                     float64 // of the classifiers
	gameC                 float64
	width                 float64 // of the kernel from whose frequencies chains start, over the median distance
	proposals             int
	rho                   float64
	pick                  string
}

// register declares the flags.
func (g *game) register(fs *flag.FlagSet) {
	fs.StringVar(&g.parts, "part", "windmill,landscape,checkerboard,mnist,cifar,digits", "of learned: parts to run")
	fs.Func("rows", "of learned: numbers of rows of windmill and checkerboard to learn from (default 2000,10000 and 2000)",
		func(text string) (err error) {
			g.rows, err = counts("rows", text)
			return err
		})
	fs.IntVar(&g.chains, "chains", 0,
		"of learned: chains of a search; 0 is 200 on the windmill and 100 elsewhere; the paper has 500")
	fs.IntVar(&g.steps, "steps", 0,
		"of learned: steps of a chain; 0 is 50 on the windmill and 40 elsewhere; the paper has 100")
	fs.IntVar(&g.sample, "sample", 0,
		"of learned: rows that chains see; 0 is all on the windmill, as in the paper, and 2048 elsewhere")
	fs.Float64Var(&g.rate, "rate", 0, "of learned: rate of the dual weights; 0 is 5 on the windmill and 1 elsewhere")
	fs.IntVar(&g.alternations, "alternations", 0,
		"of learned: alternating projections of the dual weights, 10 in the paper; 0 is exact ones")
	fs.Float64Var(&g.c, "C", 1,
		"of learned: C of the support vector machines, on features of norm 1; of norm √T on the windmill")
	fs.Float64Var(&g.width, "width", 1,
		"of learned: width of the kernel from whose frequencies chains start, over the median distance")
	fs.Float64Var(&g.gameC, "game_C", 1, "of learned: C of the game")
	fs.IntVar(&g.proposals, "proposals", 5000, "of learned: least number of drawn frequencies that are weighed")
	fs.Float64Var(&g.rho, "rho", 10, "of learned: size of the ball of the weights")
	fs.StringVar(&g.pick, "pick", "top", "of learned: how weighed frequencies are taken: top or draw")
}

// imageDefaults holds the constants of the game on images, if flags do not set them.
var imageDefaults = game{chains: 100, steps: 40, sample: 2048, rate: 1}

// or returns g with the default constants where g has none.
func (g game) or(defaults game) game {
	g.chains, g.steps = cmp.Or(g.chains, defaults.chains), cmp.Or(g.steps, defaults.steps)
	g.sample, g.rate = cmp.Or(g.sample, defaults.sample), cmp.Or(g.rate, defaults.rate)
	return g
}

// learnedCell has our figure and the paper's.
type learnedCell struct {
	Task     string    `json:"task"`
	Features int       `json:"features"`
	Method   string    `json:"method"`
	Accuracy []float64 `json:"accuracy"` // percent, by trial
	Mean     float64   `json:"mean"`
	Error    float64   `json:"error"` // standard error of the mean over trials
	Paper    float64   `json:"paper,omitempty"`
	// Apart is the difference from the paper's figure in standard errors: of both means over
	// trials, and of two accuracies on the test rows.
	Apart float64 `json:"apart,omitempty"`
}

// generated reports whether all parts generate their data.
func (g game) generated() bool {
	for name := range strings.SplitSeq(g.parts, ",") {
		if name != "windmill" && name != "checkerboard" && name != "landscape" {
			return false
		}
	}
	return true
}

// learned repeats those experiments of the paper that the flags name.
func (e experiment) learned(ctx context.Context, g game) error {
	parts := map[string]func(context.Context, game) error{
		"windmill": e.windmill, "checkerboard": e.checkerboard, "mnist": e.digitPairs, "cifar": e.imagePairs,
		"digits": e.allDigits, "landscape": e.landscape,
	}
	names := strings.Split(g.parts, ",")
	for _, name := range names {
		if parts[name] == nil {
			return fmt.Errorf("-part: unknown part %q; have checkerboard, cifar, digits, landscape, mnist, windmill", name)
		}
	}
	for _, name := range names {
		if err := parts[name](ctx, g); err != nil {
			return err
		}
	}
	return nil
}

// digitPairs repeats Table 1 for MNIST, with all rows of the pairs.
func (e experiment) digitPairs(ctx context.Context, g game) error {
	train, test, err := e.allRows(ctx)
	if err != nil {
		return err
	}
	g = g.or(imageDefaults)
	fmt.Printf("\nMNIST, hinge loss, C = %g, %s; accuracy in %%, mean ± standard error (trials) | paper (apart, in "+
		"standard errors)\n", g.c, g)
	for _, pair := range [][2]int32{{1, 7}, {4, 9}, {5, 6}} {
		task := fmt.Sprintf("MNIST %d-%d", pair[0], pair[1])
		split := func(int) (a, b digits) { return train.pair(pair, 255), test.pair(pair, 255) }
		if err := e.table(ctx, g, task, split, []int{100, 500, 1000, 2000, 5000}); err != nil {
			return err
		}
	}
	return nil
}

// imagePairs compares the methods on pairs of classes of the available CIFAR-10 images, as histograms of
// oriented gradients. Each trial tests on another fifth of the rows.
func (e experiment) imagePairs(ctx context.Context, g game) error {
	all, err := e.images(ctx)
	if err != nil {
		return err
	}
	g = g.or(imageDefaults)
	fmt.Printf("\nCIFAR-10, a part of its images, hinge loss, C = %g, %s; accuracy in %%, mean ± standard error "+
		"(trials) | paper, with all images\n", g.c, g)
	for _, p := range []struct {
		task string
		pair [2]int32
	}{{"plane-bird", [2]int32{0, 2}}, {"auto-truck", [2]int32{1, 9}}, {"dog-frog", [2]int32{5, 6}},
		{"auto-ship", [2]int32{1, 8}}, {"auto-deer", [2]int32{1, 4}}} {
		rows := all.pair(p.pair, 1)
		split := func(trial int) (train, test digits) { return rows.fifth(trial) }
		if err := e.table(ctx, g, "CIFAR "+p.task, split, []int{100, 500, 1000}); err != nil {
			return err
		}
	}
	return nil
}

// table compares the methods on one task.
func (e experiment) table(ctx context.Context, g game, task string,
	split func(trial int) (train, test digits), sizes []int) error {
	if len(e.features) > 0 {
		sizes = e.features
	}
	var cells []*learnedCell // by size, then by method
	for _, m := range sizes {
		for i, method := range methods {
			cells = append(cells, &learnedCell{Task: task, Features: m, Method: method, Paper: paperLearned[task][m][i]})
		}
	}
	tested := 0
	for trial := range max(e.seeds, e.large) {
		train, test := split(trial)
		tested = len(test.class)
		mine := slices.DeleteFunc(slices.Clone(cells), func(c *learnedCell) bool { return trial >= e.seedsOf(c.Features) })
		if len(mine) == 0 {
			break
		}
		most := 0
		for _, c := range mine {
			most = max(most, c.Features/2)
		}
		for _, method := range methods {
			choose, err := g.frequencies(method, train, most, uint64(trial+1)) // larger sets begin with the smaller ones
			if err != nil {
				return err
			}
			for _, c := range mine {
				if c.Method != method {
					continue
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				accuracy, err := judgeFrequencies(choose(c.Features/2), train, test, g.c)
				if err != nil {
					return err
				}
				c.Accuracy = append(c.Accuracy, accuracy)
			}
		}
	}
	for i, c := range cells {
		if i%len(methods) == 0 {
			fmt.Printf("%-17s m = %4d ", task, c.Features)
		}
		c.compare(tested)
		fmt.Printf("  %s %5.2f ± %.2f (%d)", c.Method, c.Mean, c.Error, len(c.Accuracy))
		if c.Paper > 0 {
			fmt.Printf(" | %5.2f (%+.1f)", c.Paper, c.Apart)
		}
		if i%len(methods) == len(methods)-1 {
			fmt.Println()
		}
	}
	return e.write(strings.ReplaceAll(task, " ", "-")+".json", cells)
}

// compare sets the fields that follow from the accuracies and the number of test rows.
func (c *learnedCell) compare(tested int) {
	c.Mean = stat.Mean(c.Accuracy, nil)
	p := c.Mean / 100
	sampling := 100 * math.Sqrt(p*(1-p)/float64(tested)) // of an accuracy on the test rows
	// The paper prints no deviations. Assume that its trials vary as samples of test rows do.
	theirs := sampling / math.Sqrt(paperTrials)
	c.Error = sampling
	if n := len(c.Accuracy); n > 1 {
		c.Error = stat.StdErr(stat.StdDev(c.Accuracy, nil), float64(n))
	}
	if c.Paper > 0 {
		c.Apart = (c.Mean - c.Paper) / math.Sqrt(c.Error*c.Error+theirs*theirs+sampling*sampling)
	}
}

func (g game) String() string {
	seen, projections := "all rows", "exact projections"
	if g.sample < math.MaxInt {
		seen = fmt.Sprint(g.sample, " rows")
	}
	if g.alternations > 0 {
		projections = fmt.Sprint(g.alternations, " alternating projections")
	}
	return fmt.Sprintf("%d chains of %d steps on %s, start of width %g medians, game C = %g, rate %g, %s", g.chains,
		g.steps, seen, g.width, g.gameC, g.rate, projections)
}
