package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/pipelines/sample"
)

func generateCommand() *cobra.Command {
	var about strings.Builder
	for _, s := range sample.Sets {
		fmt.Fprintf(&about, "\n  %-13s %s", s.Name, s.About)
	}
	var o pipelines.GenerateOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "generate SET --rows N --out FILE",
		Short: "Make sample data",
		Long: `Generate writes a CSV file of rows from a known distribution, with a header and the
label in the last column, y. The same set, seed and noise give the same rows, one by
one. The sets are:
` + about.String(),
		Example: `  bochner generate windmill --rows 2000 --out train.csv
  bochner generate windmill --rows 50000 --seed 2 --out test.csv`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Set = args[0]
			return job(func(cmd *cobra.Command) error {
				made, err := pipelines.Generate(cmd.Context(), o)
				if err != nil {
					return err
				}
				return show(cmd, asJSON, made)
			})(cmd, args)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.Int64Var(&o.Rows, "rows", 2000, "Number of rows.")
	fs.Uint64Var(&o.Seed, "seed", 1, "Seed; another one gives other rows of the same distribution.")
	fs.Float64Var(&o.Noise, "noise", -1, "Standard deviation of the noise; by default that of the set.")
	fs.StringVar(&o.Out, "out", "", "File to make; it must not exist.")
	fs.BoolVar(&asJSON, "json", false, "Print the result as JSON.")
	return cmd
}
