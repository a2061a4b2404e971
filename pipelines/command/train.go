package command

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bochner-ml/bochner/pipelines"
)

func trainCommand() *cobra.Command {
	var (
		flags   mapFlags
		o       pipelines.TrainOptions
		lambda  string
		plan    bool
		timings bool
	)
	cmd := &cobra.Command{
		Use:   "train --data FILES --model DIR",
		Short: "Train a model",
		Long: `Train reads the rows of --data, takes them to random features of a kernel, fits a
linear model to the features, and makes the directory --model.

The directory appears whole or not at all. It holds manifest.json, which says what
the model is and what it was made from, and weights.safetensors; the features are
drawn again from the seed wherever the model is used.

The scores of a classifier tell its classes apart and are no probabilities. With
--calibrate the model has probabilities too, which predict --probabilities writes and
evaluate puts to the test; with --loss softmax or logistic it has them by itself.`,
		Example: `  bochner train --data 'train-*.csv' --label y --model model
  bochner train --data train-images-idx3-ubyte.gz --label_files train-labels-idx1-ubyte.gz \
      --width 7 --features 4096 --lambda 1e-6 --model mnist`,
		Args: cobra.NoArgs,
		RunE: job(func(cmd *cobra.Command) (err error) {
			if o.Lambda.Path, err = numbers("lambda", lambda); err != nil {
				return err
			}
			if o.MapOptions, err = flags.options(cmd); err != nil {
				return err
			}
			if plan {
				p, err := pipelines.PlanTraining(cmd.Context(), o)
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
	fs.StringVar(&o.Model, "model", "", "Directory to make; it must not exist.")
	flags.register(fs)
	registerLearned(fs, &o.Learned)
	registerLearner(fs, &o.Learner)
	fs.StringVar(&lambda, "lambda", "auto", "Regularisation λ on the mean loss: a number, several with commas between, or auto for the decades from 1e-8 to 1e-1 (and smaller ones, down to 1e-12, while they do better on a grid of 16 bits; learners in rounds: from 1e-6 to 1e-3). Of several the one with the least held-out error is taken.")
	fs.StringVar(&o.Grid, "grid", "auto", "Bits of the grid on which ridge adds up features: 8; 16, which takes four times as long; auto takes 16 for little data, for raw columns, and where the lambda that was chosen is too small for 8.")
	fs.Float64Var(&o.Lambda.C, "C", 0, "Instead of --lambda: C = 1/(λn), n the number of rows.")
	fs.IntVar(&o.Lambda.Folds, "folds", 0, "Folds of the cross-validation; 0 is 5 if there are several λ, and none otherwise. Learners in rounds, and --calibrate, hold out the first of them.")
	fs.StringVar(&o.Calibrate, "calibrate", "none", "Probabilities of the classes from the scores: none, platt (a sigmoid for each class, for few rows), isotonic (any ascending function, for 1000 rows of each class and more). The curves are fitted to the first of --folds parts of the rows, 5 if not given, by the scores of a model that has not learned from them; the model itself learns from all rows. The losses softmax and logistic have probabilities without it, which it replaces.")
	fs.BoolVar(&plan, "plan", false, "Look at the data (64 MB of them at most), print rows, columns, classes, passes, and the most memory that a training takes, and stop.")
	fs.BoolVar(&timings, "timings", false, "Print where the time went.")
	flags.jobs.register(fs)
	return cmd
}

// numbers reads a list of numbers; auto and the empty text are none.
func numbers(flag, text string) ([]float64, error) {
	if text == "auto" || text == "" {
		return nil, nil
	}
	var out []float64
	for _, word := range strings.Split(text, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
		if err != nil {
			return nil, &pipelines.UsageError{Err: fmt.Errorf("--%s: %q is not a number", flag, word)}
		}
		out = append(out, v)
	}
	return out, nil
}
