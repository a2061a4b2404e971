package command

import (
	"github.com/spf13/cobra"

	"github.com/bochner-ml/bochner/pipelines"
)

func verifyCommand() *cobra.Command {
	var (
		data dataFlags
		jobs jobFlags
		o    pipelines.VerifyOptions
	)
	cmd := &cobra.Command{
		Use:   "verify --model DIR --data FILES",
		Short: "Verify the optimality certificate of an svm model",
		Long: `Verify recomputes the objective of an svm model and a lower bound on the optimum from the
training data and the dual variables in the model directory. It reports whether the
duality gap of the manifest holds. The exit code is 4 if it does not: then the weights,
the dual variables or the data are not those of the training. Everything that it prints
was recomputed or was an input of the computation: the loss, lambda, the rows, the
classes and their weights.

The files must be those of the training, in the same order.`,
		Example: `  bochner verify --model model --data 'train-*.csv' --label y`,
		Args:    cobra.NoArgs,
		RunE: runJob(func(cmd *cobra.Command) error {
			o.Data, o.MaxBadFraction, o.Job = data.opts, data.maxBad, jobs.job(cmd)
			result, err := pipelines.Verify(cmd.Context(), o)
			if result == nil {
				return err
			}
			if showErr := show(cmd, jobs.json, result); showErr != nil {
				return showErr
			}
			return err
		}),
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&o.Model, "model", "", "Directory of the model, or an alias such as DIR@champion (see the command models).")
	data.register(fs)
	jobs.register(fs)
	return cmd
}
