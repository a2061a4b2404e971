package command

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bochner-ml/bochner/pipelines"
)

func kernelCommand() *cobra.Command {
	var (
		flags   mapFlags
		o       pipelines.CompareOptions
		budgets string
	)
	cmd := &cobra.Command{
		Use:   "kernel --data FILES",
		Short: "Say how well features approximate their kernel",
		Long: `Kernel draws maps of the kernel that the flags name, of several sizes and with several
seeds, and compares inner products of features with the exact kernel on all pairs of a
sample of rows: mean absolute error, root mean squared error, largest error, and
correlation, with 95 % intervals over the seeds.

For Fourier features of independent frequencies it prints beside the largest error what
is proved about it, with probability 0.95: over the pairs of the sample, and over all
rows of a region as large (after Sutherland and Schneider 2015); and how many features
the proofs ask for, if the error is to be --epsilon at most. Learning needs fewer.

With --out it makes a directory of the table (errors.json) and a picture of it (PNG
and SVG); for a skeleton of images also a picture of the pixels that occur together in
its features. With --draw all the ways to draw features are compared: iid,
orthogonal and structured frequencies of the gaussian kernel, Algorithm 1 and the
hybrid baseline of a skeleton.`,
		Example: `  bochner kernel --data train.csv --label y --width 1
  bochner kernel --data t10k-images-idx3-ubyte.gz --width 7 --draw all --out errors`,
		Args: cobra.NoArgs,
		RunE: job(func(cmd *cobra.Command) (err error) {
			if o.Budgets, err = counts(budgets); err != nil {
				return err
			}
			if o.All = flags.opts.Kernel.Draw == "all"; o.All {
				flags.opts.Kernel.Draw = "iid"
			}
			if o.MapOptions, err = flags.options(cmd); err != nil {
				return err
			}
			result, err := pipelines.Compare(cmd.Context(), o)
			if err != nil {
				return err
			}
			return show(cmd, flags.jobs.json, result)
		}),
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&budgets, "budgets", "64,256,1024,4096", "Numbers of features, with commas between; instead of --features.")
	fs.IntVar(&o.Seeds, "seeds", 10, "Number of draws of each map.")
	fs.IntVar(&o.Rows, "rows", 200, "Rows of the sample, up to 2000; all their pairs are compared.")
	fs.Float64Var(&o.Epsilon, "epsilon", 0.1, "Error for which the bounds tell how many features are enough.")
	fs.StringVar(&o.Out, "out", "", "Directory to make for the table and the pictures; it must not exist.")
	flags.register(fs)
	flags.jobs.register(fs)
	return cmd
}

// counts reads a list of whole numbers.
func counts(text string) ([]int, error) {
	var out []int
	for _, word := range strings.Split(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil {
			return nil, &pipelines.UsageError{Err: fmt.Errorf("--budgets: %q is not a whole number", word)}
		}
		out = append(out, n)
	}
	return out, nil
}
