// Command repro repeats experiments of the papers that bochner implements, on real data, and prints our figures
// next to theirs.
//
//	BOCHNER_DATA=… go run ./local/repro maxout
//	BOCHNER_DATA=… go run ./local/repro compositional
//	BOCHNER_DATA=… go run ./local/repro images
//	BOCHNER_DATA=… go run ./local/repro learned
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/imageio"
	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "repro:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) < 2 {
		return errors.New("name an experiment: maxout, compositional, images, learned")
	}
	fs := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	var e experiment
	fs.StringVar(&e.out, "out", filepath.Join("build", "repro-"+os.Args[1]), "directory for tables and pictures")
	fs.IntVar(&e.seeds, "seeds", 5, "seeds up to 1,000 features")
	fs.IntVar(&e.large, "large_seeds", 1, "seeds above 1,000 features")
	features := fs.String("features", "", "numbers of features, instead of the paper's")
	qs := fs.String("q", "", "values of q, instead of the paper's")
	var g game
	g.register(fs)
	if err := fs.Parse(os.Args[2:]); err != nil {
		return err
	}
	if e.data = os.Getenv("BOCHNER_DATA"); e.data == "" && !(os.Args[1] == "learned" && g.generated()) {
		return errors.New("set BOCHNER_DATA to the folder of the data sets (see README.md)")
	}
	var err error
	if e.features, err = counts("features", *features); err != nil {
		return err
	}
	if e.qs, err = counts("q", *qs); err != nil {
		return err
	}
	if err := os.MkdirAll(e.out, 0o777); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	switch os.Args[1] {
	case "maxout":
		return e.maxout(ctx)
	case "compositional":
		return e.compositional(ctx)
	case "images":
		return e.imageTable(ctx)
	case "learned":
		return e.learned(ctx, g)
	}
	return fmt.Errorf("unknown experiment %q; have maxout, compositional, images, learned", os.Args[1])
}

// counts reads a list of whole numbers.
func counts(flag, text string) (out []int, err error) {
	if text == "" {
		return nil, nil
	}
	for _, word := range strings.Split(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, fmt.Errorf("-%s: %w", flag, err)
		}
		out = append(out, n)
	}
	return out, nil
}

// experiment holds the flags.
type experiment struct {
	data, out    string
	seeds, large int
	features, qs []int
	searches     bool // for features that are not given
}

// seedsOf returns the number of seeds for a number of features.
func (e experiment) seedsOf(features int) int {
	if features > 1000 {
		return e.large
	}
	return e.seeds
}

// write writes a table of the results.
func (e experiment) write(name string, cells any) error {
	data, err := json.MarshalIndent(cells, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(e.out, name), append(data, '\n'), 0o666)
}

// mnist returns the options for the files of a part of MNIST.
func (e experiment) mnist(part string) dataset.Options {
	dir := filepath.Join(e.data, "mnist")
	return dataset.Options{
		Files: []string{filepath.Join(dir, part+"-images-idx3-ubyte.gz")},
		Formats: []dataset.FormatOptions{imageio.Options{LabelFiles: []string{filepath.Join(dir,
			part+"-labels-idx1-ubyte.gz")}}},
	}
}

// errorOn trains and returns the error on test rows in percent.
func (e experiment) errorOn(ctx context.Context, test dataset.Options, name string, o options.Prepare,
	lambda options.Lambda) (float64, *results.Train, error) {
	model := filepath.Join(e.out, name)
	if err := os.RemoveAll(model); err != nil {
		return 0, nil, err
	}
	defer os.RemoveAll(model)
	train := options.Train{Prepare: o, Model: model, Lambda: lambda}
	if !e.searches {
		train.Search = options.SearchNone
	}
	trained, err := pipelines.Train(ctx, train)
	if err != nil {
		return 0, nil, err
	}
	scored, err := pipelines.Evaluate(ctx, options.Evaluate{Model: model, Data: test})
	if err != nil {
		return 0, nil, err
	}
	return 100 * scored.Classes.Error, trained, nil
}
