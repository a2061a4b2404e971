package command

import (
	"github.com/spf13/cobra"

	"github.com/bochner-ml/bochner/pipelines"
)

func pruneCommand() *cobra.Command {
	var (
		o             pipelines.PruneOptions
		models, model string
		asJSON        bool
	)
	cmd := &cobra.Command{
		Use:   "prune --sums DIRS --keep 90d --models DIR",
		Short: "Remove old sums that no model needs",
		Long: `Prune removes directories that sum created, if the dates in their names are older than
--keep before the newest of them. Sums that a model was fitted to stay, however old they
are: those of champion, challenger and previous champion of --models, and those of
--model. The lineage.json of a model says which sums these are, by the
files that were summed, so sums that were moved or added up are recognised.

Directories without a date in their name stay. --plan only says what would be removed.
A run that was stopped is finished by the same command; on gs:// what it has left of a
directory, which is not taken for sums, stays until that part is summed again.`,
		Example: `  bochner prune --sums 'sums/dt=*' --keep 90d --models models --plan
  bochner prune --sums 'gs://BUCKET/sums/dt=*' --keep 52w --models gs://BUCKET/models`,
		Args: cobra.NoArgs,
		RunE: runJob(func(cmd *cobra.Command) error {
			o.Log = cmd.ErrOrStderr()
			if models != "" {
				o.Models = []string{models}
			}
			if model != "" {
				o.Model = []string{model}
			}
			result, err := pipelines.PruneSums(cmd.Context(), o)
			if err != nil {
				return err
			}
			return show(cmd, asJSON, result)
		}),
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringSliceVar(&o.Sums, "sums", nil, "Patterns of directories of sums.")
	fs.StringVar(&o.Keep, "keep", "", "Days, weeks or hours before the newest of the sums of which all are kept, such as 90d.")
	fs.StringVar(&models, "models", "", "Directory of models, whose champion, challenger and previous champion keep their sums.")
	fs.StringVar(&model, "model", "", "Model that keeps its sums, too: its directory, or an alias such as DIR@champion.")
	fs.BoolVar(&o.Plan, "plan", false, "Print what would be removed, and remove nothing.")
	fs.BoolVar(&asJSON, "json", false, "Print the result as JSON.")
	return cmd
}
