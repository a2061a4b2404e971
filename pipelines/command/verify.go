package command

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

func verifyCommand() *cobra.Command {
	var (
		data dataFlags
		jobs jobFlags
		o    pipelines.VerifyOptions
		f    pipelines.ForgetOptions
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

The files must be those of the training, in the same order.

With --certificate it verifies what forget wrote instead, from the sums of before and the
forgotten rows (with --ids if forget had it): that the rows were in the sums, all digests,
and the weights of the model without the rows.`,
		Example: `  bochner verify --model model --data 'train-*.csv' --label y
  bochner verify --certificate forgotten.json --model model-2 --sums 'sums/dt=*' --data rows.csv`,
		Args: cobra.NoArgs,
		RunE: runJob(func(cmd *cobra.Command) error {
			o.Data, o.MaxBadFraction, o.Job = data.opts, data.maxBad, jobs.job(cmd)
			if f.Certificate != "" {
				f.Model, f.Data, f.MaxBadFraction, f.Job = o.Model, o.Data, o.MaxBadFraction, o.Job
				remove, err := takeIDs(cmd, &f)
				if err != nil {
					return err
				}
				result, err := pipelines.VerifyForgotten(cmd.Context(), f)
				return showBoth(cmd, jobs.json, result, errors.Join(err, remove()))
			}
			if f.IDs != "" {
				return exit.Usage("--ids names the rows of a certificate of forget: name its file with --certificate")
			}
			result, err := pipelines.Verify(cmd.Context(), o)
			return showBoth(cmd, jobs.json, result, err)
		}),
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&o.Model, "model", "", "Directory of the model, or an alias such as DIR@champion (see the command models).")
	fs.StringVar(&f.Certificate, "certificate", "", "File that forget wrote, which is verified.")
	fs.StringSliceVar(&f.Sums, "sums", nil, "Patterns of the directories of sums of before, for --certificate.")
	chooseParts(fs, &f.Parts)
	data.register(fs)
	chooseIDs(fs, &f.IDs, &data.opts.ID)
	jobs.register(fs)
	return cmd
}

// showBoth prints a result that may come with an error.
func showBoth[R any, P interface {
	*R
	io.WriterTo
}](cmd *cobra.Command, json bool, result P, err error) error {
	if result == nil {
		return err
	}
	if showErr := show(cmd, json, result); showErr != nil {
		return showErr
	}
	return err
}
