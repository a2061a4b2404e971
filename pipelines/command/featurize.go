package command

import (
	"github.com/spf13/cobra"

	"github.com/bochner-ml/bochner/pipelines"
)

func featurizeCommand() *cobra.Command {
	var (
		flags mapFlags
		o     pipelines.FeaturizeOptions
	)
	cmd := &cobra.Command{
		Use:   "featurize --data FILES --out DIR",
		Short: "Write the features of data for other programs",
		Long: `Featurize maps the rows of --data to features and writes them to files in the directory
--out, which appears complete or not at all: float32 arrays of at most 64 MiB each, in
the order of the rows, with the labels if the data has any.

The features are those of the kernel that the flags describe, or those of a model. The
format npy writes an array of n×D and one of the labels (class indices as int32, numbers
as float32); safetensors writes the tensors features and labels; csv and parquet write
the columns f1, f2, … and label, jsonl a list "features" and "labels" for each row. With
--kernel maxout, codes writes hashes in which similar rows differ in few bits: for each
row, as uint64 words in .npy, the index of the largest of the q projections of every
unit. manifest.json lists the files, the classes and the recipe.`,
		Example: `  bochner featurize --data train.csv --label y --features 1024 --out features
  bochner featurize --model model --data test.csv --out features --out_format safetensors`,
		Args: cobra.NoArgs,
		RunE: runJob(func(cmd *cobra.Command) (err error) {
			if o.Spec, err = flags.options(cmd); err != nil {
				return err
			}
			result, err := pipelines.Featurize(cmd.Context(), o)
			if err != nil {
				return err
			}
			return show(cmd, flags.jobs.json, result)
		}),
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&o.Out, "out", "", "Directory to create for the features; it must not exist.")
	formatFlag(fs, &o.Format, "npy", "features", pipelines.FeaturizeFormats())
	fs.StringVar(&o.Model, "model", "", "Directory of a model, or an alias such as DIR@champion; its features are written instead of those of the flags.")
	flags.register(fs, "gaussian")
	flags.jobs.register(fs)
	return cmd
}
