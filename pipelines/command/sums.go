package command

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/plan"
)

func sumCommand() *cobra.Command {
	var (
		data   dataFlags
		weight string
		jobs   jobFlags
		o      pipelines.SumOptions
		parts  pipelines.Parts
		of     []string
	)
	cmd := &cobra.Command{
		Use:   "sum --recipe MODEL --data FILES --out DIR",
		Short: "Sum a part of the data, for fit",
		Long: `Sum computes what training needs of the rows of --data, by the recipe of the model
--recipe: features, scaling, folds and grid are those of that model, and nothing is
chosen from the rows. It creates the directory --out, from which fit makes models. Sums
are exact: parts can be added and subtracted without changing a bit.

If --out exists and has the sums of the same files by the same recipe, it is left as it
is. Files are recognised by content, and objects of a bucket by generation. Labels that
are not classes of the recipe become new classes. Targets beyond the grid of the recipe
cannot be used (train --target_room makes room).

The summary names columns whose values have moved from those of the recipe. With
--max_drift nothing is written if one has moved farther.

With --of, sums that exist are added up instead, less those of --without.`,
		Example: `  bochner sum --recipe model --data 'data/dt=2026-11-20/*' --out sums/dt=2026-11-20
  bochner sum --of 'sums/dt=*' --out sums/all`,
		Args: cobra.NoArgs,
		RunE: runJob(func(cmd *cobra.Command) error {
			if len(of) > 0 {
				if o.Recipe != "" || len(data.opts.Data) > 0 {
					return exit.Usage("--of adds up sums, which have their recipe: leave out --recipe and --data")
				}
				parts.Sums = of
				result, err := pipelines.AddSums(cmd.Context(), pipelines.FitOptions{Parts: parts, SaveSums: o.Out, Job: jobs.job(cmd)})
				if err != nil {
					return err
				}
				return show(cmd, jobs.json, result)
			}
			if len(parts.Without) > 0 || parts.Last != "" {
				return exit.Usage("--without and --last choose among the sums of --of")
			}
			o.Data, o.MaxBadFraction, o.Job = data.opts, data.maxBad, jobs.job(cmd)
			o.Data.Weight = weight
			result, err := pipelines.Sum(cmd.Context(), o)
			if err != nil {
				return err
			}
			return show(cmd, jobs.json, result)
		}),
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&o.Recipe, "recipe", "", "Directory of the model whose recipe is used, or an alias such as DIR@champion.")
	fs.StringVar(&o.Out, "out", "", "Directory to create.")
	fs.StringSliceVar(&of, "of", nil, "Patterns of directories of sums to add up.")
	chooseParts(fs, &parts)
	data.register(fs)
	fs.StringVar(&weight, "weight_column", "", "Column of the weights of rows; the default is that of the recipe.")
	fs.Float64Var(&o.MaxDrift, "max_drift", 0, "Largest distance, from 0 to 1, by which a column, the labels or the share of repeated rows may have moved from the rows of the recipe; 0 for no bound. If one has certainly moved farther, nothing is written and the exit code is 4.")
	jobs.register(fs)
	return cmd
}

// chooseParts adds the flags that choose among directories of sums.
func chooseParts(fs *pflag.FlagSet, parts *pipelines.Parts) {
	fs.StringSliceVar(&parts.Without, "without", nil, "Patterns of directories of sums to leave out: those among the sums are not added, and others are subtracted.")
	fs.StringVar(&parts.Last, "last", "", "Add only sums whose directory has a date in its name (dt=2026-11-20) among the last days, weeks or hours before the newest, such as 90d.")
}

func fitCommand() *cobra.Command {
	var (
		jobs     jobFlags
		o        pipelines.FitOptions
		lambda   string
		planOnly bool
	)
	cmd := &cobra.Command{
		Use:   "fit --sums DIRS --model DIR",
		Short: "Fit a model to sums",
		Long: `Fit adds the sums of the directories that sum created and creates the model of all their
rows: that of train --recipe on these rows, byte for byte, without reading them.

Lambda is chosen by the squared errors of the folds in the sums. Errors of unrounded
features on held-out rows, and probabilities, need the rows: the table of lambda has
no such columns, and the model no probabilities. evaluate scores it on other rows.`,
		Example: `  bochner fit --sums 'sums/dt=*' --last 90d --model model
  bochner fit --sums sums/all --sums sums/dt=2026-11-20 --without sums/dt=2026-08-22 \
      --save_sums sums/new --model model`,
		Args: cobra.NoArgs,
		RunE: runJob(func(cmd *cobra.Command) (err error) {
			if o.Lambda.Path, err = numbers("lambda", lambda); err != nil {
				return err
			}
			o.Job = jobs.job(cmd)
			if planOnly {
				p, err := plan.Fit(cmd.Context(), o)
				if err != nil {
					return err
				}
				return show(cmd, jobs.json, p)
			}
			result, err := pipelines.Fit(cmd.Context(), o)
			if err != nil {
				return err
			}
			return show(cmd, jobs.json, result)
		}),
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&o.Model, "model", "", "Directory to create; it must not exist.")
	fs.StringSliceVar(&o.Sums, "sums", nil, "Patterns of directories of sums.")
	chooseParts(fs, &o.Parts)
	fs.StringVar(&o.SaveSums, "save_sums", "", "Directory to create with all of the sums in one, for later fits.")
	fs.StringVar(&lambda, "lambda", "auto", "Regularisation λ on the mean loss: a number, several separated by commas, or auto, which is what the recipe says.")
	fs.Float64Var(&o.Lambda.C, "C", 0, "Alternative to --lambda: C = 1/(λn), where n is the number of rows.")
	fs.StringVar(&o.Lambda.Select, "select", "", "What chooses among several values of lambda: mse, the squared errors of scores on the rows of all folds, which is all that sums have. The values error and log_loss of train need rows, and are refused.")
	fs.StringVar(&o.Calibrate, "calibrate", "none", "Probabilities from scores: none. The values platt and isotonic of train need rows, and are refused.")
	fs.BoolVar(&planOnly, "plan", false, "Read the manifests of the sums, print a bound on the memory that the fit uses and an estimate of its time, and exit.")
	fs.Float64Var(&o.MaxDrift, "max_drift", 0, "Largest distance, from 0 to 1, by which the rows of a directory of sums may be away: a column or the labels from those of the recipe, the features of the model from those of the other directories; 0 for no bound. If they are certainly farther away, nothing is written, the exit code is 4, and the message names the directory.")
	jobs.register(fs)
	return cmd
}

func forgetCommand() *cobra.Command {
	var (
		data   dataFlags
		weight string
		jobs   jobFlags
		o      pipelines.ForgetOptions
	)
	cmd := &cobra.Command{
		Use:   "forget --model DIR --sums DIRS --data FILES [--ids FILE] --out DIR",
		Short: "Make a model forget rows, exactly",
		Long: `Forget subtracts the rows of --data from the sums that the model was fitted to, and creates
the model --out of the rest: byte for byte that of a training by the same recipe that
never saw the rows. The rows must have the columns, labels and weights with which they
were trained on.

With --ids it forgets only the rows of --data whose id is in a list, which can be the files
that the model was trained on: all rows with such an id, and no others. An id without a
row is refused.

A row that is not in the sums, or not as often as it is to be forgotten, is refused, and
nothing is written: rows that were forgotten before, too. The certificate has the
digests of sums and models before and after, and codes of the forgotten rows, which take
the sums, or all of their rows, to compute; verify --certificate recomputes all of it.
What the recipe was chosen by is not forgotten: scaling, width and the statistics of the
profile. Train a new recipe to be rid of that.

The sums of the day of the rows still have them: save the new sums with --save_sums, or
sum that day again without the rows.`,
		Example: `  bochner forget --model model --sums 'sums/dt=*' --data rows.csv --out model-2 \
      --save_sums sums/all --certificate forgotten.json
  bochner verify --certificate forgotten.json --model model-2 --sums 'sums/dt=*' --data rows.csv
  bochner forget --model model --sums 'sums/dt=*' --data 'data/dt=*/*' --id_column user \
      --ids users.txt --out model-3`,
		Args: cobra.NoArgs,
		RunE: runJob(func(cmd *cobra.Command) error {
			o.Data, o.MaxBadFraction, o.Job = data.opts, data.maxBad, jobs.job(cmd)
			o.Data.Weight = weight
			remove, err := takeIDs(cmd, &o)
			if err != nil {
				return err
			}
			result, err := pipelines.Forget(cmd.Context(), o)
			if err = errors.Join(err, remove()); err != nil {
				return err
			}
			return show(cmd, jobs.json, result)
		}),
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&o.Model, "model", "", "Directory of the model, or an alias such as DIR@champion.")
	fs.StringSliceVar(&o.Sums, "sums", nil, "Patterns of the directories of sums that the model was fitted to.")
	chooseParts(fs, &o.Parts)
	fs.StringVar(&o.Out, "out", "", "Directory of the model without the rows, to create.")
	fs.StringVar(&o.SaveSums, "save_sums", "", "Directory to create with the sums without the rows.")
	fs.StringVar(&o.Certificate, "certificate", "", "File to create that says what was forgotten, and proves it.")
	data.register(fs)
	chooseIDs(fs, &o.IDs, &data.opts.ID)
	fs.StringVar(&weight, "weight_column", "", "Column of the weights of rows; the default is that of the recipe.")
	jobs.register(fs)
	return cmd
}

// chooseIDs adds the flags that choose rows by their ids.
func chooseIDs(fs *pflag.FlagSet, list, column *string) {
	fs.StringVar(list, "ids", "", "File with the ids of rows to forget, one a line, or - for standard input: of --data only these rows are forgotten. Ids are compared byte for byte with the text in the files. In memory the list takes about three times its size.")
	fs.StringVar(column, "id_column", "", "Column of the ids, by name or position; the default is that of the training data.")
}

// takeIDs replaces - in --ids by a file with what standard input has, which remove deletes.
func takeIDs(cmd *cobra.Command, o *pipelines.ForgetOptions) (remove func() error, err error) {
	if o.IDs != "-" {
		return func() error { return nil }, nil
	}
	if o.Data.As != "" {
		return nil, exit.Usage("--data and --ids cannot both be standard input: give one of them as a file")
	}
	o.IDs, remove, err = SpoolStdin(cmd.Context(), cmd.InOrStdin())
	return remove, err
}
