package command

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/bochner-ml/bochner/pipelines"
)

func evaluateCommand() *cobra.Command {
	var (
		data  dataFlags
		jobs  jobFlags
		o     pipelines.EvaluateOptions
		gates []string
	)
	cmd := &cobra.Command{
		Use:   "evaluate --model DIR --data FILES",
		Short: "Score a model on labelled data",
		Long: `Evaluate applies the model to every row of --data and compares its predictions with the
labels.

For classification it prints accuracy, error and balanced accuracy with 95 % intervals,
precision and recall of each class, and the confusion matrix. For two classes it prints
the area under the ROC curve (AUC) and the average precision of the positive class; for up
to 100 classes their means, each class against the others by its probability, or by its
score if there are none; for 10 classes and more how often the class of a row is among
the first 3 and 5. A label that the model was not
trained on counts as an error and is listed with its rows; if every label is of this
kind, the exit code is 3.

For regression it prints the root mean squared error, the mean absolute error, its
quantiles, R², and the mean absolute percentage error (MAPE) if no target is 0; the
first two and R² with 95% intervals.

For a model with probabilities (see --calibrate of train) it also prints the log loss,
the Brier score, the expected calibration error and its table. Each row falls into one
of ten bins by the probability of its predicted class. A model is well calibrated if in
each bin the share of correct rows equals the mean probability. --reliability plots this.

With --slices it also prints a table of the main scores for each value of a column: the
50 values with the most rows, and the others in one line.

For two classes it also prints the threshold with the best balanced accuracy on these
rows; --threshold of predict and evaluate takes it. A threshold that was chosen on some
rows does better on them than on others, so check it on other rows.

With --gate the exit code is 4 if a score does not meet its condition, for scripts that
deploy a model only if it does. Gates of classifiers can name accuracy, error,
balanced_accuracy, macro_f1, macro_precision, macro_recall, auc and average_precision;
for two classes precision, recall and f1 of the positive one; for 10 classes and more top3 and
top5; with probabilities log_loss, brier and ece. Gates of a regression can name rmse,
mae, max_error, mape, r2, and p50_error, p90_error, p95_error and p99_error, which are
quantiles of the absolute error. With --json the scores have these names. A model of
several targets has all of them for each target: rmse:price<=3 is a gate on one,
rmse<=3 on each, and mean_r2 is the mean of their r2.`,
		Example: `  bochner evaluate --model model --data test.csv
  bochner evaluate --model model --data test.csv --gate 'accuracy>=0.95,auc>=0.98' --json`,
		Args: cobra.NoArgs,
		RunE: runJob(func(cmd *cobra.Command) error {
			o.Data, o.MaxBadFraction, o.Job = data.opts, data.maxBad, jobs.job(cmd)
			o.Gate = strings.Join(gates, ",")
			result, err := pipelines.Evaluate(cmd.Context(), o)
			return showGated(cmd, jobs.json, result, err)
		}),
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&o.Model, "model", "", "Directory of the model, or an alias such as DIR@champion (see the command models).")
	fs.StringArrayVar(&gates, "gate", nil, "Condition on a score, such as accuracy>=0.95, auc>=0.9, rmse<=3 or rmse:TARGET<=3. Several are separated by commas, or given one by one; all must hold.")
	thresholdFlag(fs, &o.Threshold)
	fs.StringSliceVar(&o.Group, "group_column", nil, "Columns, separated by commas, that together name what a row belongs to, such as a patient: intervals then count groups instead of rows. The default is the --group_column of the model, if the data has it.")
	fs.StringSliceVar(&o.Slices, "slices", nil, "Columns by whose values rows are scored apart, by name or position, separated by commas: categories, times by their months, or numbers with up to 512 values. One of them can be a column that is not a feature of the model.")
	fs.StringVar(&o.Reliability, "reliability", "", "File for a reliability diagram, .png or .svg; the model must have probabilities.")
	data.register(fs)
	jobs.register(fs)
	return cmd
}
