package command

import (
	"github.com/spf13/cobra"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/models/pca"
	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/pipelines/internal/training"
	"github.com/bochner-ml/bochner/pipelines/plan"
)

func embedCommand() *cobra.Command {
	var (
		flags    mapFlags
		o        pipelines.EmbedOptions
		planOnly bool
	)
	cmd := &cobra.Command{
		Use:   "embed --data FILES --model DIR",
		Short: "Find the principal components of the features (kernel PCA)",
		Long: `Embed computes the principal components of the features of all rows, which is kernel PCA
with random features, and creates the directory --model. predict with that model writes
the coordinates of each row along the components.

Rows need no labels. With class labels, --picture plots a sample of the rows along the
first two components.`,
		Example: `  bochner embed --data train-images-idx3-ubyte.gz --label_files train-labels-idx1-ubyte.gz \
      --width 7 --components 2 --model plane --picture plane.png
  bochner predict --model plane --data t10k-images-idx3-ubyte.gz --out coordinates`,
		Args: cobra.NoArgs,
		RunE: runJob(func(cmd *cobra.Command) (err error) {
			if o.Spec, err = flags.options(cmd); err != nil {
				return err
			}
			if planOnly {
				p, err := plan.Embedding(cmd.Context(), training.Options{Spec: o.Spec, Model: o.Model}, o.Training)
				if err != nil {
					return err
				}
				return show(cmd, flags.jobs.json, p)
			}
			result, err := pipelines.Embed(cmd.Context(), o)
			if err != nil {
				return err
			}
			return show(cmd, flags.jobs.json, result)
		}),
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&o.Model, "model", "", "Directory to create; it must not exist.")
	o.Training = *pca.NewTraining()
	for _, option := range option.List(&o.Training) {
		addOption(fs, option)
	}
	fs.StringVar(&o.Picture, "picture", "", "File for a plot of a sample of the rows along the first two components, .png or .svg.")
	fs.BoolVar(&planOnly, "plan", false, "Read up to 64 MB of the data, print rows, columns, passes and a bound on the memory that the job uses, and exit.")
	flags.register(fs, "gaussian")
	flags.jobs.register(fs)
	return cmd
}
