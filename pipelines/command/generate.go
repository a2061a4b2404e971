package command

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/bochner-ml/bochner/features/sample"
	"github.com/bochner-ml/bochner/pipelines"
)

func generateCommand() *cobra.Command {
	var about strings.Builder
	for _, s := range sample.Sets {
		Entry(&about, s.Name, s.About, 16, UnknownWidth)
	}
	var o pipelines.GenerateOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "generate SET --rows N --out FILE",
		Short: "Generate sample data",
		Long: `Generate writes a CSV file with rows of a known distribution, with a header and the
label in the last column, y. The same set, seed and noise give the same rows; more rows
continue the same sequence. The sets are:

` + strings.TrimSuffix(about.String(), "\n"),
		Example: `  bochner generate windmill --rows 2000 --out train.csv
  bochner generate windmill --rows 50000 --seed 2 --out test.csv`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Set = args[0]
			return runJob(func(cmd *cobra.Command) error {
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
	fs.Uint64Var(&o.Seed, "seed", 1, "Random seed; another seed gives other rows of the same distribution.")
	fs.Float64Var(&o.Noise, "noise", -1, "Standard deviation of the noise; below 0 is the set's own.")
	fs.StringVar(&o.Out, "out", "", "File to create; it must not exist.")
	fs.BoolVar(&asJSON, "json", false, "Print the result as JSON.")
	for _, name := range []string{"rows", "seed", "noise"} {
		fs.Lookup(name).Annotations = map[string][]string{GroupOf: {"Data"}}
	}
	return cmd
}
