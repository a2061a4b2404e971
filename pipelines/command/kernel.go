package command

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

func kernelCommand() *cobra.Command {
	var (
		flags   mapFlags
		o       pipelines.CompareOptions
		budgets string
	)
	cmd := &cobra.Command{
		Use:   "kernel --data FILES",
		Short: "Measure how well features approximate their kernel",
		Long: `Kernel draws feature maps of several sizes and with several seeds, and compares inner
products of features with the exact kernel on all pairs of a sample of rows. It prints
the mean absolute error, the root mean squared error, the largest error and the
correlation, with 95 % intervals over the seeds.

For Fourier features with independent frequencies it also prints proven bounds on the
largest error, with probability 0.95: over the pairs of the sample, and over all rows of
a region of the same diameter (after Sutherland and Schneider 2015). It prints how many
features the bounds require for an error of at most --epsilon. Learning needs fewer.

With --out it creates a directory with the table (errors.json) and a plot of it (PNG and
SVG), and for a skeleton of images a picture of the pixels that occur together in its
features. With --draw all it compares the ways to draw features: iid, orthogonal and
structured frequencies of the gaussian kernel, Algorithm 1 and the hybrid baseline of a
skeleton.`,
		Example: `  bochner kernel --data train.csv --label y --width 1
  bochner kernel --data t10k-images-idx3-ubyte.gz --width 7 --draw all --out errors`,
		Args: cobra.NoArgs,
		RunE: runJob(func(cmd *cobra.Command) (err error) {
			if o.Budgets, err = counts(budgets); err != nil {
				return err
			}
			if o.Spec, err = flags.options(cmd); err != nil {
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
	fs.StringVar(&budgets, "budgets", "64,256,1024,4096", "Numbers of features, separated by commas; replaces --features.")
	fs.IntVar(&o.Seeds, "seeds", 10, "Number of seeds per map.")
	fs.IntVar(&o.Rows, "rows", 200, "Rows of the sample, at most 2000; all pairs are compared.")
	fs.Float64Var(&o.Epsilon, "epsilon", 0.1, "Error for which to print the number of features that the bounds require.")
	fs.StringVar(&o.Out, "out", "", "Directory to create for the table and the plots; it must not exist.")
	flags.register(fs, "gaussian")
	draw := fs.Lookup("draw")
	draw.Value = orAll{draw.Value.(*option.Option), &o.All}
	draw.Annotations[ValuesOf] = append(slices.Clone(draw.Annotations[ValuesOf]), "all")
	flags.jobs.register(fs)
	return cmd
}

// orAll is the value of a flag that also accepts the word all, which is not a kernel option.
type orAll struct {
	*option.Option
	all *bool
}

func (v orAll) Set(text string) error {
	if *v.all = text == "all"; *v.all {
		return nil
	}
	return v.Option.Set(text)
}

func (v orAll) String() string {
	if v.all != nil && *v.all {
		return "all"
	}
	return v.Option.String()
}

// counts parses a list of whole numbers.
func counts(text string) ([]int, error) {
	var out []int
	for _, word := range strings.Split(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil {
			return nil, &exit.UsageError{Err: fmt.Errorf("--budgets: %q is not a whole number", word)}
		}
		out = append(out, n)
	}
	return out, nil
}
