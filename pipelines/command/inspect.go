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
		table tableFlags
		jobs  jobFlags
		model string
		file  string
		plot  string
	)
	cmd := &cobra.Command{
		Use:   "inspect [--data FILES] [--model DIR]",
		Short: "Describe data, a model, or a model's use of columns",
		Long: `Inspect reads all rows of --data and describes them: rows, the role and type of each
column as train would use it, ranges and moments of numbers, labels, and rows that
are not usable. Notes name decisions that may be wrong and the flags that change
them. --write_schema writes the types to a file, which can be edited and given to
other commands with --schema. Or inspect loads the model in --model, verifies its
checksums, and describes it. With both, it also measures on up to 1,000 rows of the
data how much of the variance of the model's predictions changes with each column:
for any features and learner. Labels are not needed.`,
		Example: `  bochner inspect --data 'train-*.csv' --label y --max_bad_fraction 1
  bochner inspect --data train.csv --label y --write_schema schema.yaml
  bochner inspect --model model
  bochner inspect --model model --data test.csv --importance effects.png`,
		Args: cobra.NoArgs,
		RunE: runJob(func(cmd *cobra.Command) error {
			rows := len(data.opts.Data) > 0
			switch {
			case model == "" && !rows:
				return &exit.UsageError{Err: errors.New("inspect takes --data, --model or both")}
			case model != "":
				if err := refuse(cmd, append(table.names(), "write_schema"), "cannot be used with --model: a model has its columns and their types"); err != nil {
					return err
				}
			}
			if plot != "" && model == "" {
				return &exit.UsageError{Err: errors.New("--importance needs --model")}
			}
			o := pipelines.InspectOptions{Data: data.opts, Types: table.types, MaxBadFraction: data.maxBad, WriteSchema: file, Job: jobs.job(cmd)}
			table.into(&o.Data)
			if model != "" {
				var report *pipelines.ModelReport
				var err error
				if rows {
					report, err = pipelines.InspectEffects(cmd.Context(), model, o)
				} else {
					report, err = pipelines.InspectModel(cmd.Context(), model)
				}
				if err != nil {
					return err
				}
				if plot != "" {
					if err := report.DrawImportance(cmd.Context(), plot); err != nil {
						return err
					}
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
	fs.StringVar(&model, "model", "", "Directory of a model, or an alias such as DIR@champion.")
	fs.StringVar(&plot, "importance", "", "File for a plot of the importance of columns, .png or .svg: with --data of their effects on predictions, otherwise by the learned metric.")
	data.register(fs)
	table.register(fs)
	fs.StringVar(&file, "write_schema", "", "File to create with the role, type and levels of each column, for --schema.")
	jobs.register(fs)
	return cmd
}
