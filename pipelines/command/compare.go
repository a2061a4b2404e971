package command

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/bochner-ml/bochner/pipelines"
)

func compareCommand() *cobra.Command {
	var (
		data  dataFlags
		jobs  jobFlags
		o     pipelines.CompareModelsOptions
		gates []string
	)
	cmd := &cobra.Command{
		Use:   "compare --champion DIR --challenger DIR --data FILES",
		Short: "Compare two models on the same rows",
		Long: `Compare applies two models to every row of --data and compares their predictions: the
champion, which is in use, and the challenger, which may replace it. The rows must be
labelled, and neither model may have been trained on them.

The models may have different features, columns and classes; columns are found by name.
For classification it compares errors, and with probabilities of both models the log loss
and the Brier score; for regression the squared and the absolute error. Differences are
those of the challenger minus the champion: above 0, the challenger is worse.

Because both models are given the same rows, only rows on which they differ count, and
small differences show on few rows. Errors are compared by the exact test of McNemar and
the score interval of Tango, losses by a paired t test corrected for skewness.

With --slices it also compares the models on the rows of each value of a column.

With --gate the exit code is 4 unless the challenger shows that it deserves to replace the
champion. Conditions are in words:

  not worse by 0.2 % at 95 %
  better at 95 %
  log_loss better by 1 % at 99 %

A condition holds if the rows refute its opposite with that confidence; a challenger that
does not deserve it passes with a probability of about 5% at most if the confidence is
95%. A condition on a loss is not decided, and so does not hold, on fewer than 500 rows at
that confidence, or if a few rows make up most of the difference. A condition can name
error, log_loss, brier, rmse, mse or mae; without a name it is on the error, of a regression
the rmse. Percent are percentage points for the error, and a share of the champion's score
for the others.`,
		Example: `  bochner compare --champion model --challenger new --data test.csv
  bochner compare --champion model --challenger new --data test.csv --gate 'not worse by 0.2 % at 95 %'`,
		Args: cobra.NoArgs,
		RunE: runJob(func(cmd *cobra.Command) error {
			o.Data, o.MaxBadFraction, o.Job = data.opts, data.maxBad, jobs.job(cmd)
			o.Gate = strings.Join(gates, ",")
			result, err := pipelines.CompareModels(cmd.Context(), o)
			return showGated(cmd, jobs.json, result, err)
		}),
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&o.Champion, "champion", "", "Directory of the model in use, or an alias such as DIR@champion (see the command models).")
	fs.StringVar(&o.Challenger, "challenger", "", "Directory of the model that may replace it, or an alias.")
	fs.StringArrayVar(&gates, "gate", nil, "Condition in words, such as 'not worse by 0.2 % at 95 %' or 'better at 95 %'. Several are separated by commas, or given one by one; all must hold.")
	fs.StringSliceVar(&o.Slices, "slices", nil, "Columns by whose values rows are compared apart, as for evaluate; columns of the champion.")
	fs.StringSliceVar(&o.Group, "group_column", nil, "Columns, separated by commas, that together name what a row belongs to, such as a patient: tests then count groups instead of rows. The default is the --group_column of the models, if the data has it.")
	data.register(fs)
	jobs.register(fs)
	return cmd
}
