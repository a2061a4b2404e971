package command

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/training"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
	"github.com/bochner-ml/bochner/pipelines/plan"
)

func trainCommand() *cobra.Command { return trainingCommand(nil) }

// trainingCommand returns train, or another command with its flags, which calls run with the
// options that they set.
func trainingCommand(run func(cmd *cobra.Command, o training.Options, asJSON bool) error) *cobra.Command {
	var (
		flags    mapFlags
		learners learnerFlags
		o        training.Options
		lambda   string
		planOnly bool
		room     float64
		split    prepare.Split
		timings  bool
	)
	cmd := &cobra.Command{
		Use:   "train --data FILES --model DIR",
		Short: "Train a model",
		Long: `Train maps the rows of --data to random features of a kernel, fits a linear model to
the features, and creates the directory --model.

The directory appears complete or not at all. It contains manifest.json, which
describes the model and its training data, and weights.safetensors. The features
themselves are drawn again from the seed wherever the model is used.

The scores of a classifier are not probabilities. With --calibrate the model also has
probabilities, which predict --probabilities writes and evaluate checks. Models with
--loss softmax or logistic always have them.`,
		Example: `  bochner train --data 'train-*.csv' --label y --model model
  bochner train --data train-images-idx3-ubyte.gz --label_files train-labels-idx1-ubyte.gz \
      --width 7 --features 4096 --lambda 1e-6 --model mnist`,
		Args: cobra.NoArgs,
		RunE: runJob(func(cmd *cobra.Command) (err error) {
			if o.Lambda.Path, err = numbers("lambda", lambda); err != nil {
				return err
			}
			if o.Spec, err = flags.options(cmd); err != nil {
				return err
			}
			o.Room, o.Split = room, split
			o.Kernels = flags.kernels.searched(cmd.Flags().Changed("kernel"))
			if o.Recipe != "" && run == nil {
				if err := fixedByRecipe(cmd); err != nil {
					return err
				}
			}
			if o.Learner, err = learners.chosen(o.LearnsFeatures()); err != nil {
				return err
			}
			if !cmd.Flags().Changed("features") {
				if o, err = o.UpTo(tuning.MostFeatures); err != nil {
					return err
				}
			}
			if run != nil {
				return run(cmd, o, flags.jobs.json)
			}
			if planOnly {
				p, err := plan.Training(cmd.Context(), o)
				if err != nil {
					return err
				}
				return show(cmd, flags.jobs.json, p)
			}
			result, err := pipelines.Train(cmd.Context(), o)
			if err != nil {
				return err
			}
			result.Timings = timings
			return show(cmd, flags.jobs.json, result)
		}),
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&o.Model, "model", "", "Directory to create; it must not exist.")
	fs.StringVar(&o.Recipe, "recipe", "", "Directory of a model whose recipe is used for this data, or an alias such as DIR@champion: features, scaling, folds and grid are those of that model, and nothing is chosen from the rows. The model is that of sum and fit.")
	flags.register(fs, "gaussian")
	fs.StringVar(&o.Search, "search", "auto", "How features are chosen that flags do not set: auto (view of the columns, kernel, width, metric and features beside them, by held-out errors on a sample of the rows) or none (defaults). --kernel keeps the kernel; --width and --gamma leave nothing to search. Up to 128 rows get 2,048 features, unless --features is given.")
	for _, split := range option.List(&split) {
		addOption(fs, split)
	}
	for _, size := range option.List(&o.Size) {
		addOption(fs, size)
	}
	registerLearned(fs, &o.Learned)
	o.Learned.Running = iterative.Defaults().Running
	o.Learned.PerJob = 0 // one round of a game
	learners.register(fs, &o.Learned.Running)
	fs.StringVar(&lambda, "lambda", "auto", "Regularisation λ on the mean loss: a number, several separated by commas, or auto: powers of ten from 1e-8 to 1e-1 (down to 1e-12 while smaller ones do better on a 16-bit grid; 1e-6 to 1e-3 for iterative learners, 1e-7 to 1e-3 for cg). Of several values the one with the smallest held-out error is chosen.")
	fs.StringVar(&o.Lambda.Select, "select", "", "What chooses among several values of lambda for classes: mse (of scores against ±1 codes, on the rows of all folds), error or log_loss (on the rows of the first fold, scored as in predictions; log_loss is that of the softmax of the scores times the best of 15 factors). The default is log_loss for ridge after a search for features, of the values that mse leads to, unless classes have weights or retrain trains; otherwise mse for ridge, and error for iterative learners.")
	fs.Float64Var(&o.Lambda.C, "C", 0, "Alternative to --lambda: C = 1/(λn), where n is the number of rows.")
	fs.IntVar(&o.Lambda.Folds, "folds", 0, "Folds of the cross-validation; 0 is 5 if there are several values of lambda, and none otherwise. Iterative learners and --calibrate hold out the first fold.")
	fs.StringVar(&o.Calibrate, "calibrate", "none", "Probabilities from scores: none, platt (a sigmoid per class, for few rows) or isotonic (an increasing step function per class, for 1000 rows per class and more). The curves are fitted to the first fold (one of --folds, 5 by default) with scores of a model that was not trained on it; the final model is trained on all rows. Replaces the probabilities that the losses softmax and logistic have by themselves.")
	fs.StringVar(&o.Positive, "positive", "", "For two classes, the positive one: --threshold is for it, and so are precision, recall, F1 and the areas under curves of evaluate. The default is the rarer class; of equally frequent ones, the second in order.")
	fs.StringVar(&o.Threshold, "threshold", "", "For two classes, predict the positive one from this threshold on, instead of the class with the larger score or probability: a number, as for predict, or error, f1 (of the positive class) or balanced (accuracy) for the best one on held-out rows. These rows are those of the first fold, scored by a model that was not trained on them; the summary says what to expect on other rows.")
	fs.Float64Var(&room, "target_room", 0, "For a regression whose model is a recipe for later data (see bochner sum): how far the grid of targets reaches beyond the targets of this data on either side, as a multiple of their range. 0.5 doubles the range. Later targets beyond the grid cannot be used.")
	fs.BoolVar(&planOnly, "plan", false, "Read up to 64 MB of the data, print rows, columns, classes, passes and a bound on the memory that training uses, and exit.")
	fs.BoolVar(&timings, "timings", false, "Print the time of each stage.")
	flags.jobs.register(fs)
	return cmd
}

// fixedByRecipe refuses flags that say what a recipe says.
func fixedByRecipe(cmd *cobra.Command) (err error) {
	var data dataFlags
	var jobs jobFlags
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	data.register(own)
	jobs.register(own)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if own.Lookup(f.Name) == nil && cmd.InheritedFlags().Lookup(f.Name) == nil && !slices.Contains([]string{"recipe", "model", "weight_column", "lambda", "C", "calibrate", "threshold", "select", "folds", "timings"}, f.Name) && err == nil {
			err = exit.Usage("--%s cannot be used with --recipe, which is that of a model: leave it out, or train without --recipe", f.Name)
		}
	})
	return err
}

// numbers parses a list of numbers; auto and the empty text give none.
func numbers(flag, text string) ([]float64, error) {
	if text == "auto" || text == "" {
		return nil, nil
	}
	var out []float64
	for _, word := range strings.Split(text, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
		if err != nil {
			return nil, &exit.UsageError{Err: fmt.Errorf("--%s: %q is not a number", flag, word)}
		}
		out = append(out, v)
	}
	return out, nil
}
