//go:build unix

// Command golden runs bochner on data sets and compares everything that it writes with recorded digests. It
// shows that a change of the code does not change results.
//
//	go run ./local/golden -binary build/bochner            # compare with digests.txt
//	go run ./local/golden -binary build/bochner -update    # record instead
//
// The commands are in commands.txt. They run on each data set on the direct runner with the fastest
// instructions of the machine. On generated sets they run again with slower instructions, with the rows in
// three files, and on a job server with one and with three readers. For these variants only differences are
// recorded. For the commands in refusals.txt, exit codes are recorded.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/bochner-ml/bochner/internal/testing/prismtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "golden:", err)
		os.Exit(1)
	}
}

// variant is a way to run all commands that must not change what they write.
type variant struct {
	name    string
	env     string // such as BOCHNER_CPU=go
	files   int    // number of files with the training rows
	readers int    // on a job server; 0 is the direct runner
}

var variants = []variant{
	{"base", "", 1, 0},
	{"avx2", "BOCHNER_CPU=avx2", 1, 0},
	{"go", "BOCHNER_CPU=go", 1, 0},
	{"files", "", 3, 0},
	{"server", "", 1, 1},
	{"readers", "", 3, 3},
}

const digestsFile = "local/golden/digests.txt"

func run(ctx context.Context) error {
	flags := flag.NewFlagSet("golden", flag.ExitOnError) // without Beam's flags
	binary := flags.String("binary", "build/bochner", "program to run")
	data := flags.String("data", os.Getenv("BOCHNER_DATA"),
		"folder of the real data sets; without it only generated ones are used")
	dir := flags.String("dir", "build/golden", "directory for what the commands write, replaced")
	only := flags.String("only", "", "regular expression: the jobs to run, named VARIANT/SET")
	update := flags.Bool("update", false, "record the digests instead of comparing them")
	flags.Parse(os.Args[1:])
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	program, err := filepath.Abs(*binary)
	if err != nil {
		return err
	}
	recorded, err := readDigests(digestsFile)
	if err != nil && !(*update && errors.Is(err, os.ErrNotExist)) {
		return err
	}
	if err := errors.Join(os.RemoveAll(*dir), os.MkdirAll(*dir, 0o777)); err != nil {
		return err
	}
	r := &runner{program: program, dir: *dir}
	sets, err := dataSets(ctx, r, *data)
	if err != nil {
		return err
	}
	found, err := runAll(ctx, r, sets, pattern)
	if err != nil {
		return err
	}
	if *update {
		return recorded.replaced(found).write(digestsFile)
	}
	if changes := recorded.changes(found); len(changes) > 0 {
		fmt.Println(strings.Join(changes, "\n"))
		return fmt.Errorf("%d outputs are not as recorded; compare the files in %s with the previous program's",
			len(changes), *dir)
	}
	n := 0
	for _, outputs := range found {
		n += len(outputs)
	}
	fmt.Printf("%d outputs are as recorded\n", n)
	return nil
}

// runAll runs the commands on each set in each variant that matches the pattern, and the refusals, two at a
// time.
func runAll(ctx context.Context, r *runner, sets []*set, pattern *regexp.Regexp) (digests, error) {
	lines, err := commands()
	if err != nil {
		return nil, err
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // where prism reports every step
	if r.endpoint, err = prismtest.Serve(ctx, 0); err != nil {
		return nil, err
	}
	var jobs []*job
	for _, v := range variants {
		for _, s := range sets {
			if j := (&job{runner: r, variant: v, set: s}); pattern.MatchString(j.name()) && (v.name == "base" || s.generated) {
				jobs = append(jobs, j)
			}
		}
	}
	if j := (&job{runner: r, variant: variants[0], set: &set{name: "refusals"}}); pattern.MatchString(j.name()) {
		jobs = append(jobs, j)
	}
	tasks, ctx := errgroup.WithContext(ctx)
	tasks.SetLimit(2)
	for _, j := range jobs {
		tasks.Go(func() error {
			if j.set.name == "refusals" {
				return j.refusals(ctx, sets[0])
			}
			return j.run(ctx, lines)
		})
	}
	if err := tasks.Wait(); err != nil {
		return nil, err
	}
	found := digests{}
	for _, j := range jobs {
		found[j.name()] = j.found
	}
	return found, nil
}

// line is a command of commands.txt.
type line struct {
	name  string
	kinds []string // of data sets; none for all
	words []string
}

var lineForm = regexp.MustCompile(`^(\S+)\s+(?:\[(.*)\]\s+)?(\S.*)$`)

func commands() ([]line, error) {
	rows, err := rowsOf("local/golden/commands.txt")
	if err != nil {
		return nil, fmt.Errorf("run it in the directory of go.mod: %w", err)
	}
	var all []line
	for _, row := range rows {
		m := lineForm.FindStringSubmatch(row)
		if m == nil {
			return nil, fmt.Errorf("commands.txt: %q, want NAME [KINDS] COMMAND", row)
		}
		all = append(all, line{m[1], strings.Fields(m[2]), strings.Fields(m[3])})
	}
	return all, nil
}

// rowsOf returns the lines of a file that are neither blank nor comments.
func rowsOf(name string) (rows []string, err error) {
	text, err := os.ReadFile(name)
	for row := range strings.Lines(string(text)) {
		if row = strings.TrimSpace(row); row != "" && row[0] != '#' {
			rows = append(rows, row)
		}
	}
	return rows, err
}

// on reports whether the command is for data of these kinds.
func (l line) on(kinds []string) bool {
	return len(l.kinds) == 0 || slices.ContainsFunc(l.kinds, func(k string) bool { return slices.Contains(kinds, k) })
}
