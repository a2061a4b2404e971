package command

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
)

func alignCommand() *cobra.Command {
	var (
		flags mapFlags
		o     pipelines.AlignOptions
	)
	cmd := &cobra.Command{
		Use:   "align --data FILES --out DIR",
		Short: "Learn the features that separate classes",
		Long: `Align learns frequencies of Fourier features from labelled rows instead of drawing
them: with the game between a kernel and a support vector machine of Bullins, Zhang and
Zhang (2018), over all rows, or by weighting drawn frequencies as Sinha and Duchi (2016)
do. With --kernel harmonic it selects spherical harmonics, for rows of which only the
direction matters.

It creates the directory --out, which train, embed and featurize read with --kernel
learned --frequencies DIR. train --kernel learned does both steps at once.`,
		Example: `  bochner align --data train.csv --label y --features 200 --out features
  bochner train --data train.csv --label y --kernel learned --frequencies features --learner svm --C 1 --model model
  bochner train --data train.csv --label y --kernel learned --features 200 --model model`,
		Args: cobra.NoArgs,
		RunE: runJob(func(cmd *cobra.Command) (err error) {
			if o.Spec, err = flags.options(cmd); err != nil {
				return err
			}
			result, err := pipelines.Align(cmd.Context(), o)
			if err != nil {
				return err
			}
			return show(cmd, flags.jobs.json, result)
		}),
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&o.Out, "out", "", "Directory to create; it must not exist.")
	flags.register(fs, "learned")
	fs.Lookup("kernel").Usage = "Kernel: learned or harmonic."
	fs.IntVar(&o.Folds, "folds", 0, "Folds of the rows. The first fold is not used, so that train can choose lambda and report held-out errors on it; 0 is 5. 1 learns from all rows; nothing is then left to measure held-out errors on.")
	registerLearned(fs, &o.Learned)
	fs.IntVar(&o.Learned.Partitions, "partitions", 0, "Partitions that the rows are assigned to; 0 is 8. A parameter of the features.")
	fs.IntVar(&o.Learned.PerJob, "rounds_per_job", 0, "Passes over the data in one job of the runner; 0 is 5, one round of the game. Does not change results.")
	o.Learned.Keep = iterative.DefaultKeep
	fs.Var((*byteCount)(&o.Learned.Keep), "keep_bytes", "Bytes of rows that each worker process caches between rounds, as a number or as 8GB. Does not change results.")
	fs.StringVar(&o.Curve, "curve", "", "File for a plot of the game's log, .png or .svg.")
	flags.jobs.register(fs)
	return cmd
}

// registerLearned adds the flags that say how features are found.
func registerLearned(fs *pflag.FlagSet, o *tuning.GameOptions) {
	fs.StringVar(&o.By, "align", "game", "How the frequencies of --kernel learned are learned: game, or lkrf, which weights drawn frequencies.")
	fs.StringVar(&o.Preset, "preset", "paper", "Constants of the game: paper, or demo (those of the authors' demonstration, which takes one frequency per round).")
	fs.Float64Var(&o.Lambda, "align_lambda", 0, "Regularisation λ of the game's support vector machine, on the mean loss; 0 uses --align_c.")
	fs.Float64Var(&o.C, "align_c", 0, "Alternative to --align_lambda: C = 1/(λn), where n is the number of rows; 0 is 1.")
	fs.IntVar(&o.Chains, "chains", 0, "Search chains in each round of the game; 0 is 500.")
	fs.IntVar(&o.Steps, "steps", 0, "Steps of each chain; 0 is 100.")
	fs.IntVar(&o.Take, "take", 0, "Frequencies that each round adds, the best that its chains found; 0 is 10 for the preset paper, 1 for demo.")
	fs.Float64Var(&o.Rate, "align_rate", 0, "Step size of the dual variables; 0 is 1 for the preset paper, 0.1 for demo, 3 for harmonics. With many rounds a larger step can do better.")
	fs.IntVar(&o.Sample, "sample", 0, "Rows that the chains search on; 0 is 10000, or fewer if rows are long.")
	fs.BoolVar(&o.Exact, "exact_chains", false, "Search on all rows; the limit is 65536 rows.")
	fs.IntVar(&o.Proposals, "proposals", 0, "For lkrf: frequencies to draw; 0 is 20 for each that is used.")
	fs.Float64Var(&o.Rho, "rho", 0, "For lkrf: radius of the ball of weights; 0 is 10.")
	fs.StringVar(&o.Pick, "pick", "top", "For lkrf: top keeps the frequencies with the largest weights, draw samples frequencies by weight.")
	fs.IntVar(&o.Harmonics, "harmonics", 0, "For --kernel harmonic: number of harmonics to choose from, lowest degree first; 0 is 1000.")
}
