package command

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

func inspectCommand() *cobra.Command {
	var (
		data  dataFlags
		jobs  jobFlags
		model string
	)
	cmd := &cobra.Command{
		Use:   "inspect --data FILES | --model DIR",
		Short: "Describe data or a model",
		Long: `Inspect reads all rows of --data once and describes them: rows, columns with their
ranges and moments, labels, and rows that are not usable. Or it loads the model in
--model, verifies its checksums, and describes it.`,
		Example: `  bochner inspect --data 'train-*.csv' --label y --max_bad_fraction 1
  bochner inspect --model model`,
		Args: cobra.NoArgs,
		RunE: runJob(func(cmd *cobra.Command) error {
			if (model == "") == (len(data.opts.Data) == 0) {
				return &exit.UsageError{Err: errors.New("inspect takes either --data or --model")}
			}
			o := pipelines.InspectOptions{Data: data.opts, MaxBadFraction: data.maxBad, Job: jobs.job(cmd)}
			if model != "" {
				report, err := pipelines.InspectModel(cmd.Context(), model)
				if err != nil {
					return err
				}
				return show(cmd, jobs.json, report)
			}
			report, err := pipelines.InspectData(cmd.Context(), o)
			if err != nil {
				return err
			}
			return show(cmd, jobs.json, report)
		}),
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&model, "model", "", "Directory of a model.")
	data.register(fs)
	jobs.register(fs)
	return cmd
}
