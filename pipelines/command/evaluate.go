package command

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/pipelines/exit"
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
		Long: `Evaluate applies the model to every row of --data and compares its predictions with the
labels.

For classification it prints accuracy and error with a 95 % interval, precision and
recall of each class, and the confusion matrix; for regression the root mean squared
error, the mean absolute error and R². A label that the model was not trained on counts
as an error and is listed with its rows; if every label is of this kind, the exit code
is 3.

For a model with probabilities (see --calibrate of train) it also prints the log loss,
the Brier score, the expected calibration error and its table. Each row falls into one
of ten bins by the probability of its predicted class. A model is well calibrated if in
each bin the share of correct rows equals the mean probability. --reliability plots this.

With --gate the exit code is 4 if the score does not meet the condition, for scripts
that deploy a model only if it does.`,
		Example: `  bochner evaluate --model model --data test.csv
  bochner evaluate --model model --data test.csv --gate 'accuracy>=0.95' --json`,
		Args: cobra.NoArgs,
		RunE: runJob(func(cmd *cobra.Command) error {
			o.Data, o.MaxBadFraction, o.Job = data.opts, data.maxBad, jobs.job(cmd)
			result, err := pipelines.Evaluate(cmd.Context(), o)
			var gate *exit.GateError
			if err != nil && !errors.As(err, &gate) {
				return err
			}
			return errors.Join(err, show(cmd, jobs.json, result))
		}),
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&o.Model, "model", "", "Directory of the model.")
	fs.StringVar(&o.Gate, "gate", "", "Condition on a score, such as accuracy>=0.95 or rmse<=3; scores are accuracy, error, macro_f1, r2, rmse, mae.")
	fs.StringVar(&o.Reliability, "reliability", "", "File for a reliability diagram, .png or .svg; the model must have probabilities.")
	data.register(fs)
	jobs.register(fs)
	return cmd
}
