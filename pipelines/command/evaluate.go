package command

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/bochner-ml/bochner/pipelines"
)

func evaluateCommand() *cobra.Command {
	var (
		data dataFlags
		jobs jobFlags
		o    pipelines.EvaluateOptions
	)
	cmd := &cobra.Command{
		Use:   "evaluate --model DIR --data FILES",
		Short: "Score a model on labelled data",
		Long: `Evaluate applies the model to every row of --data and compares with the labels.

For classes it prints accuracy and error with its 95 % interval, precision and recall of
each class, and the confusion matrix; for numbers the root of the mean squared error,
the mean absolute error and R². A label that the model has never seen counts as an error,
and is named with its rows; where every label is such a one, the exit code is 3.

For a model with probabilities (see --calibrate of train) it also prints how good they
are: the log loss, the Brier score, the expected calibration error, and the table that
the latter is made of. A row falls into one of ten bins by the probability of its most
probable class; well calibrated, that class is right in as large a share of a bin's rows
as their mean probability says. --reliability draws this as a picture.

With --gate the exit code is 4 if the score is not reached, for scripts that put a
model to use only then.`,
		Example: `  bochner evaluate --model model --data test.csv
  bochner evaluate --model model --data test.csv --gate 'accuracy>=0.95' --json`,
		Args: cobra.NoArgs,
		RunE: job(func(cmd *cobra.Command) error {
			o.Data, o.MaxBadFraction, o.Job = data.opts, data.maxBad, jobs.job(cmd)
			result, err := pipelines.Evaluate(cmd.Context(), o)
			var gate *pipelines.GateError
			if err != nil && !errors.As(err, &gate) {
				return err
			}
			return errors.Join(err, show(cmd, jobs.json, result))
		}),
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&o.Model, "model", "", "Directory of the model.")
	fs.StringVar(&o.Gate, "gate", "", "Score that must be reached, such as accuracy>=0.95 or rmse<=3; one of accuracy, error, macro_f1, r2, rmse, mae.")
	fs.StringVar(&o.Reliability, "reliability", "", "File for a picture of how far probabilities hold, .png or .svg; the model must have probabilities.")
	data.register(fs)
	jobs.register(fs)
	return cmd
}
