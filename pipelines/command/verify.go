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
		Short: "Prove that a model of svm is as good as it says",
		Long: `Verify computes the objective of a model of --learner svm and a lower bound of the best
objective again, from scratch, from the data that the model was trained on and the dual
variables that its directory keeps. It says whether the duality gap that the manifest
records holds, and ends with exit code 4 if it does not: then weights, dual variables
or data are not those of the training. All that it prints was computed again or is what
the computation went by: the loss, lambda, the rows, the classes and their weights.

The files must be those of the training, in the same order and number.`,
		Example: `  bochner verify --model model --data 'train-*.csv' --label y`,
		Args:    cobra.NoArgs,
		RunE: job(func(cmd *cobra.Command) error {
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
	fs.StringVar(&o.Model, "model", "", "Directory of the model.")
	data.register(fs)
	jobs.register(fs)
	return cmd
}
