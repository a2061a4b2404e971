package command

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bochner-ml/bochner/pipelines"
)

func alignCommand() *cobra.Command {
	var (
		flags mapFlags
		o     pipelines.AlignOptions
	)
	cmd := &cobra.Command{
		Use:   "align --data FILES --out DIR",
		Short: "Find the features that tell classes apart",
		Long: `Align finds frequencies of Fourier features in labelled rows, instead of drawing them:
by the game between a kernel and a support vector machine of Bullins, Zhang and Zhang
(2018), over all rows; or by weighing drawn frequencies as Sinha and Duchi (2016) do. With
--kernel harmonic it chooses spherical harmonics, for rows of which only the direction
matters.

It makes the directory --out, for train (and embed, featurize) --kernel learned
--frequencies DIR. Train --kernel learned does both at once.`,
		Example: `  bochner align --data train.csv --label y --features 200 --out features
  bochner train --data train.csv --label y --kernel learned --frequencies features --learner svm --C 1 --model model
  bochner train --data train.csv --label y --kernel learned --features 200 --model model`,
		Args: cobra.NoArgs,
		RunE: job(func(cmd *cobra.Command) (err error) {
			if o.MapOptions, err = flags.options(cmd); err != nil {
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
	fs.StringVar(&o.Out, "out", "", "Directory to make; it must not exist.")
	flags.register(fs)
	fs.IntVar(&o.Folds, "folds", 0, "Parts that the rows are cut into. The first is not looked at, so that train can choose λ and give held-out errors by it; 0 is 5, and 1 learns from all rows, of which none can judge then.")
	registerLearned(fs, &o.Learned)
	fs.IntVar(&o.Learned.Partitions, "partitions", 0, "Partitions to which the rows are dealt; 0 is 8. A parameter of the features.")
	fs.IntVar(&o.Learned.PerJob, "rounds_per_job", 0, "Rounds over the data in one job of the runner; 0 is 5, one of the game. Does not change results.")
	fs.Int64Var(&o.Learned.Keep, "keep_bytes", pipelines.DefaultKeep, "Bytes of rows that each worker process keeps in memory between rounds. Does not change results.")
	fs.StringVar(&o.Curve, "curve", "", "File for a picture of how the game went, .png or .svg.")
	flags.jobs.register(fs)
	return cmd
}

// registerLearned adds the flags that say how features are found.
func registerLearned(fs *pflag.FlagSet, o *pipelines.LearnedOptions) {
	fs.StringVar(&o.By, "align", "game", "How the frequencies of --kernel learned are found: game, or lkrf, which weighs drawn ones.")
	fs.StringVar(&o.Preset, "preset", "paper", "Constants of the game: paper, or demo (those of its authors' demonstration, which take a frequency a round; projections are exact all the same).")
	fs.Float64Var(&o.Lambda, "align_lambda", 0, "Regularisation λ of the game's support vector machine, on the mean loss; 0 goes by --align_c.")
	fs.Float64Var(&o.C, "align_c", 0, "Instead of --align_lambda: C = 1/(λn), n the number of rows; 0 is 1.")
	fs.IntVar(&o.Chains, "chains", 0, "Chains that search in each round of the game; 0 is the preset's 500.")
	fs.IntVar(&o.Steps, "steps", 0, "Steps of a chain; 0 is the preset's 100.")
	fs.IntVar(&o.Take, "take", 0, "Frequencies that a round takes, the best of the chains' ends; 0 is the preset's: 10 of paper, 1 of demo.")
	fs.Float64Var(&o.Rate, "align_rate", 0, "How far the dual weights move in a round; 0 is 1 for the preset paper, 0.1 for demo, 3 for harmonics. Where there are many rounds more may do better.")
	fs.IntVar(&o.Sample, "sample", 0, "Rows that are searched on; 0 is 10000, or fewer if they are long.")
	fs.BoolVar(&o.Exact, "exact_chains", false, "Search on all rows, up to 65536.")
	fs.IntVar(&o.Proposals, "proposals", 0, "Of lkrf: frequencies that are drawn; 0 is 20 for each that is taken.")
	fs.Float64Var(&o.Rho, "rho", 0, "Of lkrf: size of the ball in which weights are; 0 is 10.")
	fs.StringVar(&o.Pick, "pick", "top", "Of lkrf: top takes the largest weights, draw draws by them.")
	fs.IntVar(&o.Harmonics, "harmonics", 0, "Of --kernel harmonic: how many of the first harmonics are looked at; 0 is 1000.")
}
